"""`memory cleanup`: delete episodes that have served their time, now."""

import asyncio

import click
from memory_core.cleanup import run_episode_cleanup

from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, print_json


@click.command()
@click.option(
    "--max-entries",
    type=click.IntRange(0),
    help="How many episodes to keep; only consolidated ones are deleted above it.",
    show_default="episodes.max_entries of the configuration",
)
@json_option
@click.pass_obj
def cleanup(invocation: Invocation, max_entries: int | None, as_json: bool) -> None:
    """Delete episodes that have expired or are too many.

    First the tenant's expired ones, then the oldest consolidated ones above --max-entries. It runs by itself every day
    under `memory serve`. For all tenants: `memory worker run episode_cleanup`.
    """
    counts = asyncio.run(_cleanup(invocation, max_entries))
    if as_json:
        print_json(counts)
    else:
        expired, surplus, remaining = (counts[name] for name in ("expired_deleted", "capacity_deleted", "remaining"))
        click.echo(f"{expired:,} expired and {surplus:,} surplus episodes deleted, {remaining:,} remain")


async def _cleanup(invocation: Invocation, max_entries: int | None) -> dict[str, int]:
    async with invocation.memory() as memory:
        limits = memory.config.episodes
        kept = limits.max_entries if max_entries is None else max_entries
        return await run_episode_cleanup(memory.pool, kept, grace_days=limits.grace_days, tenant_id=memory.tenant_id)
