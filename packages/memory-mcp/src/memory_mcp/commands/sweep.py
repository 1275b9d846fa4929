"""`memory sweep`: let what nobody confirms fade and end, now."""

import asyncio

import click
from memory_core.anti_patterns import invert_due_rules
from memory_core.decay import run_decay_sweep

from memory_mcp.invocation import Invocation
from memory_mcp.memory_tables import counted
from memory_mcp.output import json_option, print_json


@click.command()
@json_option
@click.pass_obj
def sweep(invocation: Invocation, as_json: bool) -> None:
    """Let unconfirmed memories fade and end; invert harmful rules.

    It works for the tenant, and by itself every day under `memory serve`. For all tenants:
    `memory worker run decay_sweep`.
    """
    counts = asyncio.run(_sweep(invocation))
    if as_json:
        print_json(counts)
    else:
        click.echo(counted(counts))


async def _sweep(invocation: Invocation) -> dict[str, int]:
    async with invocation.memory() as memory:
        counts = await run_decay_sweep(memory.pool, thresholds=memory.config.facts, tenant_id=memory.tenant_id)
        inverted = await invert_due_rules(memory.pool, memory.embedder, tenant_id=memory.tenant_id)
    return {**counts, "rules_inverted": inverted}
