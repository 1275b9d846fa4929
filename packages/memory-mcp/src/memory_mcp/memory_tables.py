"""How people see memories and counts of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

KIND_STYLES = {"episode": "cyan", "fact": "green", "rule": "magenta"}


def found_table(memories: Iterable[Mapping[str, Any]], score: str) -> Table:
    """Return memories, best first, with one of their scores; below each its id."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for memory in memories:
        kind = memory["memory_type"]
        told = f"{escape(_text(memory))}\n[dim]{memory['id']}[/]"
        table.add_row(_number(memory.get(score)), f"[{KIND_STYLES[kind]}]{kind}[/]", told)
    return table


def states_table(stats: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return how many memories are in each state, leaving out states without any."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for kind in ("episodes", "facts", "rules"):
        states = stats[kind]
        filled = [f"{count} {state}" for state, count in states.items() if isinstance(count, int) and count]
        table.add_row(f"[{KIND_STYLES[kind.removesuffix('s')]}]{kind}[/]", ", ".join(filled) or "none")
    return table


def values_table(values: Mapping[str, Any]) -> Table:
    """Return names and values, one a line."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in values.items():
        table.add_row(f"[bold]{escape(name)}[/]", escape(printable(str(value))))
    return table


def counted(counts: Mapping[str, int]) -> str:
    """Return counts as words: `2 facts created, 1 link created`, leaving out what did not happen."""
    happened = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    return ", ".join(happened) or "nothing to do"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _text(memory: Mapping[str, Any]) -> str:
    # A fact that is only a value ("Lisbon") says little without what it is the value of.
    about = f"{memory['subject']} {memory['predicate']}: " if memory["memory_type"] == "fact" else ""
    return printable(f"{about}{memory['content']}")


def printable(text: str) -> str:
    """Return a text that cannot steer a terminal: what memories say was written by anybody."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
