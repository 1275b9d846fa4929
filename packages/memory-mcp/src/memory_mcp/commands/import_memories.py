"""`memory import`: read an export into a tenant."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TextIO

import click
from memory_core.memory_import import ImportCounts
from memory_core.memory_import import import_memories as read_export

from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, print_json
from memory_mcp.progress_bars import progress_bar


@click.command("import")
@click.argument("file", type=click.File(encoding="utf-8"))
@json_option
@click.pass_obj
def import_memories(invocation: Invocation, file: TextIO, as_json: bool) -> None:
    """Read FILE, which `memory export` wrote; '-' reads stdin.

    The rows become the tenant's. What is there stays as it is, so a second import changes nothing. It is imported whole
    or not at all.
    """
    counts = asyncio.run(_import(invocation, file))
    if as_json:
        print_json({kind: asdict(outcome) for kind, outcome in counts.items()})
    else:
        for line in _lines(counts):
            click.echo(line)


async def _import(invocation: Invocation, lines: Iterable[str]) -> Mapping[str, ImportCounts]:
    async with invocation.memory() as memory:
        with progress_bar() as bar:
            return await read_export(memory.pool, lines, memory.embedder, progress=bar.show, tenant_id=memory.tenant_id)


def _lines(counts: Mapping[str, ImportCounts]) -> list[str]:
    told = [
        f"{kind}: {outcome.inserted:,} inserted, {outcome.unchanged:,} there already"
        + (f", {outcome.conflicts:,} left out" if outcome.conflicts else "")
        for kind, outcome in counts.items()
        if any(vars(outcome).values())
    ]
    return told or ["the file holds nothing"]
