"""`memory export`: all that a tenant has, as JSON Lines."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click
from memory_core.memory_export import export_memories

from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, print_json
from memory_mcp.progress_bars import progress_bar


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--no-embeddings", is_flag=True, help="Leave the vectors out: much smaller, embedded anew on import.")
@json_option
@click.pass_obj
def export(invocation: Invocation, file: Path, no_embeddings: bool, as_json: bool) -> None:
    """Write all that the tenant has to FILE, or to stdout for '-'.

    Memories, entities, links and events, as JSON Lines. The rows are of one moment, whatever others write meanwhile.
    FILE is complete or not there at all.
    """
    to_stdout = str(file) == "-"
    if to_stdout and as_json:
        raise click.UsageError("with '-' the memories go to stdout, so there is no room for --json; name a file")
    with click.open_file("-", "w", encoding="utf-8") if to_stdout else _complete_file(file) as output:
        counts = asyncio.run(_export(invocation, output, embeddings=not no_embeddings))
    if as_json:
        print_json(counts)
    else:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts.items() if count)
        click.echo(f"exported {sum(counts.values()):,} rows" + (f": {kinds}" if kinds else ""), err=to_stdout)


async def _export(invocation: Invocation, output: IO[str], *, embeddings: bool) -> dict[str, int]:
    async with invocation.memory() as memory:
        with progress_bar() as bar:
            return await export_memories(
                memory.pool, output.write, embeddings=embeddings, progress=bar.show, tenant_id=memory.tenant_id
            )


@contextmanager
def _complete_file(path: Path) -> Iterator[IO[str]]:
    """Write beside the file and put it in place at the end; it holds memories, so only its owner may read it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as output:
            yield output
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
