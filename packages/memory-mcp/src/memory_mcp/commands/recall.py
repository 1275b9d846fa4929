"""`memory recall`: be reminded of what matters about a topic."""

from collections.abc import Mapping
from typing import Any

import click
from memory_core.retrieval_tools import memory_recall

from memory_mcp.memory_tables import found_table
from memory_mcp.output import people
from memory_mcp.tool_commands import ToolCommand


def _show(recalled: list[dict[str, Any]]) -> None:
    if not recalled:
        click.echo("nothing is remembered about it")
        return
    people().print(found_table(recalled, "composite_score"))
    explained = [memory for memory in recalled if "explanation" in memory]
    if explained:
        click.echo()
    for memory in explained:
        click.echo(_explanation(memory["id"], memory["explanation"]))


def _explanation(memory_id: str, told: Mapping[str, Any]) -> str:
    components = ", ".join(f"{name} {value:.2f}" for name, value in told["components"].items())
    # A search by meaning alone, or by words alone, has only one order.
    if "semantic_rank" not in told:
        return f"{memory_id}  {components}"
    return f"{memory_id}  {components}; rank by meaning {told['semantic_rank']}, by words {told['keyword_rank']}"


recall = ToolCommand(
    "recall",
    lambda: memory_recall,
    _show,
    help="Be reminded of what matters about a topic, and keep it fresh.\n\n"
    "Each is shown with its score, its kind, its text and its id. The score weighs how relevant, important, lately "
    "used and certain a memory is.",
)
