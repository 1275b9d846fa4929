"""`memory confirm`: say that something still holds."""

from typing import Any

import click
from memory_core.storage_tools import memory_confirm

from memory_mcp.tool_commands import ToolCommand, missing_memory


def _show(answer: dict[str, Any]) -> None:
    if answer["found"]:
        click.echo(f"{answer['memory_type']} {answer['id']} is confirmed")


confirm = ToolCommand(
    "confirm",
    lambda: memory_confirm,
    _show,
    failure=missing_memory,
    help="Say that a fact or rule still holds, so that it stops fading.",
)
