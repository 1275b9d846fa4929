"""`memory stats`: how many memories there are in each state."""

from typing import Any

from memory_core.retrieval_tools import memory_stats

from memory_mcp.memory_tables import states_table
from memory_mcp.output import people
from memory_mcp.tool_commands import ToolCommand


def _show(counted: dict[str, Any]) -> None:
    console = people()
    console.print(states_table(counted))
    waiting = counted["episodes"]["backlog_age_hours"]
    if waiting is not None:
        console.print(f"the oldest episode that is not consolidated waits for {waiting:.1f} hours")


stats = ToolCommand(
    "stats",
    lambda: memory_stats,
    _show,
    help="Count memories by the state that they are in.\n\nWhen each worker last ran is told by `memory worker list`.",
)
