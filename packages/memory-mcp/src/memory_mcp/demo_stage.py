"""How the demo tells its story: chapters, the calls it makes, and what came back."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from memory_core import Memory
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table

KIND_STYLES = {"episode": "cyan", "fact": "green", "rule": "magenta"}

# Indentation: above, right, below, left.
TEXT = (0, 0, 0, 3)
RESULT = (0, 0, 0, 5)

_ID = re.compile(r"'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'")


class Stage:
    """Calls tools and shows what a reader needs to follow."""

    def __init__(self, memory: Memory, console: Console) -> None:
        self._memory = memory
        self._console = console
        self._chapters = 0

    def chapter(self, title: str, text: str) -> None:
        """Begin a chapter."""
        self._chapters += 1
        self._console.print(f"\n[bold]{self._chapters}. {escape(title)}[/]")
        self._console.print(Padding(escape(text), TEXT, expand=False))
        self._console.print()

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Run a tool and show the call, as a model would make it."""
        shown = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
        call = f"[bold]{tool}[/]([dim]{escape(shown)}[/])"
        self._console.print(Padding(call, TEXT, expand=False))
        return await self._memory.call(tool, **arguments)

    def answer(self, text: str) -> None:
        """Show what came of a call, in words."""
        self._console.print(Padding(f"[green]->[/] {escape(text)}", RESULT, expand=False))

    def block(self, text: str) -> None:
        """Show a text as the agent would get it."""
        self._console.print(
            Padding(Panel(escape(text.strip()), expand=False, border_style="dim"), RESULT, expand=False)
        )

    def found(self, memories: Iterable[Mapping[str, Any]], score: str) -> None:
        """Show memories, best first, with one of their scores."""
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for memory in memories:
            kind = memory["memory_type"]
            table.add_row(f"{memory[score]:.2f}", f"[{KIND_STYLES[kind]}]{kind}[/]", escape(memory["content"]))
        self._console.print(Padding(table, RESULT, expand=False))

    def counts(self, stats: Mapping[str, Mapping[str, Any]]) -> None:
        """Show how many memories are in each state, leaving out states without any."""
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for kind in ("episodes", "facts", "rules"):
            states = stats[kind]
            filled = [f"{count} {state}" for state, count in states.items() if isinstance(count, int) and count]
            table.add_row(f"[{KIND_STYLES[kind.removesuffix('s')]}]{kind}[/]", ", ".join(filled) or "none")
        self._console.print(Padding(table, RESULT, expand=False))


def _short(value: Any) -> str:
    text = repr(value)
    if _ID.fullmatch(text):
        return f"{text[:9]}…'"
    return text if len(text) <= 60 else f"{text[:57]}…{text[-1]}"
