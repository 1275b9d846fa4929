"""Commands that run one tool: their options come from its declaration, what they print from its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

import click
from memory_core import Tool
from memory_core.progress import listening

from memory_mcp.failures import Failed
from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, print_json
from memory_mcp.progress_bars import progress_bar
from memory_mcp.tool_options import tool_parameters

Show = Callable[[Any], None]
Failure = Callable[[Any], str | None]


class ToolCommand(click.Command):
    """Runs one tool; the tool is looked at only when the command is used, which keeps the start quick."""

    def __init__(
        self,
        name: str,
        find: Callable[[], Tool],
        show: Show,
        *,
        help: str,
        named: Collection[str] = (),
        piped: Collection[str] = (),
        failure: Failure = lambda _answer: None,
    ) -> None:
        """Take the tool's finder, how people see its answer, and what in an answer means that it could not be done.

        Parameters in `named` are options although the tool needs them; those in `piped` may come from stdin.
        """
        super().__init__(name, callback=self._run, help=help)
        self._find = find
        self._show = show
        self._named = named
        self._piped = piped
        self._failure = failure

    @cached_property
    def tool(self) -> Tool:
        """The tool that is run."""
        return self._find()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the tool's parameters, and those that every command has."""
        if not self.params:
            self.params = list(tool_parameters(self.tool, self._named, self._piped))
            json_option(self)
        return super().get_params(ctx)

    def _run(self, as_json: bool, **values: Any) -> None:
        given = {name: value for name, value in values.items() if value not in (None, ())}
        answer = asyncio.run(self._call(click.get_current_context().obj, given))
        (print_json if as_json else self._show)(answer)
        failure = self._failure(answer)
        if failure is not None:
            raise Failed(failure)

    async def _call(self, invocation: Invocation, arguments: Mapping[str, Any]) -> Any:
        async with invocation.memory() as memory:
            with progress_bar() as bar, listening(bar.show):
                return await self.tool.call(memory, arguments)


def missing_memory(answer: Mapping[str, Any]) -> str | None:
    """Return what is wrong where an answer says that the memory was not found."""
    return None if answer["found"] else "the tenant has no such memory; `memory search` shows the ids of those it has"
