"""`memory context`: the block of text that is put before a session's instructions."""

import click
from memory_core.retrieval_tools import memory_context

from memory_mcp.tool_commands import ToolCommand

context = ToolCommand(
    "context",
    lambda: memory_context,
    click.echo,
    named=("butler",),
    help="Print what matters for a prompt as one text for a model.\n\n"
    "It is put before the instructions of a session: facts and rules, within the budget.",
)
