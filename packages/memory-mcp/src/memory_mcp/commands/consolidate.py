"""`memory consolidate`: distil waiting episodes into facts and rules, now."""

from typing import Any

import click

from memory_mcp.installed_tools import installed_tool
from memory_mcp.memory_tables import counted
from memory_mcp.tool_commands import ToolCommand


def show(answer: dict[str, Any]) -> None:
    """Print what came of a run, and what the model cost."""
    counts = dict(answer["counts"])
    if answer["dry_run"]:
        waiting = ", ".join(f"{episodes} of {butler}" for butler, episodes in answer["waiting"].items())
        click.echo(f"{counts['episodes_waiting']} episodes wait" + (f": {waiting}" if waiting else ""))
        return
    tokens = counts.pop("input_tokens"), counts.pop("output_tokens")
    click.echo(counted(counts))
    if any(tokens):
        click.echo(f"{tokens[0]:,} tokens read and {tokens[1]:,} written by the model")
    for error in answer["errors"]:
        click.echo(f"! {error}")


def _failure(answer: dict[str, Any]) -> str | None:
    failed = answer["counts"]["episodes_failed"]
    return f"{failed} episodes could not be consolidated and are tried again later" if failed else None


consolidate = ToolCommand(
    "consolidate",
    lambda: installed_tool("consolidation", "memory_run_consolidation"),
    show,
    failure=_failure,
    help="Turn waiting episodes into facts and rules, with a model.\n\n"
    "It takes the tenant's episodes. Without `consolidation.spawner` in the configuration it only counts what waits. "
    "For all tenants: `memory worker run consolidate`.",
)
