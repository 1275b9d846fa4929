"""`memory forget`: take a memory out of use."""

from typing import Any

import click
from memory_core.storage_tools import memory_forget

from memory_mcp.tool_commands import ToolCommand, missing_memory


def _show(answer: dict[str, Any]) -> None:
    if answer["found"]:
        click.echo(f"{answer['memory_type']} {answer['id']} is forgotten")


forget = ToolCommand(
    "forget",
    lambda: memory_forget,
    _show,
    failure=missing_memory,
    help="Take a memory out of use: it is no longer found. `memory purge` erases for good.",
)
