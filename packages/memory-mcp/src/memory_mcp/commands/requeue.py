"""`memory requeue`: give dead letters of consolidation a new start."""

from typing import Any

import click

from memory_mcp.installed_tools import installed_tool
from memory_mcp.tool_commands import ToolCommand


def _show(answer: dict[str, Any]) -> None:
    click.echo(f"{answer['requeued']} episodes will be tried again")


requeue = ToolCommand(
    "requeue",
    lambda: installed_tool("consolidation-upkeep", "memory_requeue_episodes"),
    _show,
    help="Try episodes again that consolidation has given up on.\n\nMend the cause first; `memory doctor` counts them.",
)
