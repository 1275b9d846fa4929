"""`memory store`: keep an episode, a fact or a rule."""

from typing import Any

import click
from memory_core.storage_tools import memory_store_episode, memory_store_fact, memory_store_rule

from memory_mcp.tool_commands import ToolCommand


@click.group()
def store() -> None:
    """Store what happened, what is true or how to behave.

    The new memory's id is printed. '-' for the content reads it from stdin.
    """


def _show(stored: dict[str, Any]) -> None:
    click.echo(stored["id"])


store.add_command(
    ToolCommand(
        "episode",
        lambda: memory_store_episode,
        _show,
        named=("butler",),
        piped=("content",),
        help="Store what happened; it is kept for a week and distilled into facts and rules.",
    )
)
store.add_command(
    ToolCommand(
        "fact",
        lambda: memory_store_fact,
        _show,
        piped=("content",),
        help="Store what is true; it replaces the fact with the same subject, predicate and scope.",
    )
)
store.add_command(
    ToolCommand(
        "rule",
        lambda: memory_store_rule,
        _show,
        piped=("content",),
        help="Store how to behave; feedback on it makes it mature.",
    )
)
