"""`memory purge`: erase for good."""

import asyncio
from uuid import UUID

import click
from memory_core.purge import purge_memory, purge_tenant
from memory_core.vocabulary import MemoryType

from memory_mcp.failures import Failed
from memory_mcp.invocation import Invocation
from memory_mcp.memory_tables import counted
from memory_mcp.output import json_option, print_json

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group()
def purge() -> None:
    """Erase a memory, or all that a tenant has, for good.

    Content, vectors and links are deleted; an event with ids and counts remains. `memory forget` only takes out of use.
    """


@purge.command("memory")
@click.argument("memory_type", type=click.Choice([kind.value for kind in MemoryType]))
@click.argument("memory_id", type=click.UUID)
@yes_option
@json_option
@click.pass_obj
def one_memory(invocation: Invocation, memory_type: str, memory_id: UUID, yes: bool, as_json: bool) -> None:
    """Erase one memory of the tenant."""
    if not yes:
        click.confirm(f"Erase the {memory_type} {memory_id} for good?", abort=True, err=True)
    found = asyncio.run(_purge_memory(invocation, memory_type, memory_id))
    if as_json:
        print_json({"id": str(memory_id), "memory_type": memory_type, "found": found})
    elif found:
        click.echo(f"{memory_type} {memory_id} is erased")
    if not found:
        raise Failed("the tenant has no such memory; nothing was erased")


@purge.command("tenant")
@click.argument("tenant_id")
@yes_option
@json_option
@click.pass_obj
def whole_tenant(invocation: Invocation, tenant_id: str, yes: bool, as_json: bool) -> None:
    """Erase everything that TENANT_ID has; its events, which hold no content, stay."""
    if not yes:
        click.confirm(f"Erase every memory of the tenant {tenant_id!r} for good?", abort=True, err=True)
    counts = asyncio.run(_purge_tenant(invocation, tenant_id))
    if as_json:
        print_json(counts)
    else:
        click.echo(f"erased: {counted(counts)}" if any(counts.values()) else f"tenant {tenant_id!r} had nothing")


async def _purge_memory(invocation: Invocation, memory_type: str, memory_id: UUID) -> bool:
    async with invocation.memory() as memory:
        return await purge_memory(memory.pool, memory_type, memory_id, memory.embedder, tenant_id=memory.tenant_id)


async def _purge_tenant(invocation: Invocation, tenant_id: str) -> dict[str, int]:
    async with invocation.memory() as memory:
        return await purge_tenant(memory.pool, tenant_id)
