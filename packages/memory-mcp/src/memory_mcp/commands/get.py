"""`memory get`: read one memory in full."""

from typing import Any

from memory_core.storage_tools import memory_get

from memory_mcp.memory_tables import values_table
from memory_mcp.output import people
from memory_mcp.tool_commands import ToolCommand, missing_memory


def _show(answer: dict[str, Any]) -> None:
    if answer["found"]:
        shown = {name: value for name, value in answer["memory"].items() if value not in (None, [], {})}
        people().print(values_table(shown))


get = ToolCommand(
    "get",
    lambda: memory_get,
    _show,
    failure=missing_memory,
    help="Show one memory in full, with its state. What has no value is left out.",
)
