"""`memory search`: find memories by what they say."""

from typing import Any

import click
from memory_core.retrieval_tools import memory_search

from memory_mcp.memory_tables import found_table
from memory_mcp.output import people
from memory_mcp.tool_commands import ToolCommand


def _show(found: list[dict[str, Any]]) -> None:
    if found:
        people().print(found_table(found, "similarity"))
    else:
        click.echo("nothing found")


search = ToolCommand(
    "search",
    lambda: memory_search,
    _show,
    help="Find memories of any kind by what they say, best match first.\n\n"
    "Each is shown with how near its meaning is, its kind, its text and its id.",
)
