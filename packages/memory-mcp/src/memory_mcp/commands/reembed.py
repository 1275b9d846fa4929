"""`memory reembed`: move every stored vector to the configured model."""

import asyncio

import click
from memory_core.reembedding import Reembedding
from memory_core.reembedding import reembed as move_vectors

from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, print_json
from memory_mcp.progress_bars import progress_bar


@click.command()
@click.option("--change-dimensions", is_flag=True, help="Allow vectors of another length: rewrites the columns.")
@click.option("--batch-size", type=click.IntRange(1, 10_000), default=256, show_default=True, help="Texts at a time.")
@json_option
@click.pass_obj
def reembed(invocation: Invocation, change_dimensions: bool, batch_size: int, as_json: bool) -> None:
    """Embed everything anew with the configured model.

    Configure the new model first. All tenants' memories are embedded, while searches go on. Interrupted, it goes on
    where it stopped when it is run again.
    """
    done = asyncio.run(_reembed(invocation, change_dimensions, batch_size))
    if as_json:
        before = done.before and done.before._asdict()
        print_json({"before": before, "after": done.after._asdict(), "memories": done.memories})
    elif done.before == done.after:
        click.echo(f"all vectors are of {done.after}, nothing to do")
    else:
        click.echo(f"{done.memories:,} memories moved from {done.before or 'no model'} to {done.after}")


async def _reembed(invocation: Invocation, change_dimensions: bool, batch_size: int) -> Reembedding:
    async with invocation.memory() as memory:
        with progress_bar() as bar:
            return await move_vectors(
                memory.pool,
                memory.embedder,
                change_dimensions=change_dimensions,
                batch_size=batch_size,
                progress=lambda done, total: bar.show("embedding", done, total),
            )
