"""`memory demo`: a guided tour on a server of its own."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import click
from memory_core import Memory
from rich.console import Console

from memory_mcp.demo_stage import Stage
from memory_mcp.demo_tour import tell
from memory_mcp.invocation import Invocation
from memory_mcp.output import people, say_where

# Kept memories are set apart from those of the user's own agents.
TENANT = "demo"


@click.command()
@click.option("--keep", is_flag=True, help="Use the configured server and leave the memories there, as tenant 'demo'.")
@click.pass_obj
def demo(invocation: Invocation, keep: bool) -> None:
    """Take a tour: store, supersede, search, recall, forget and count memories.

    It runs on an embedded PostgreSQL in a temporary directory that is deleted at the end. With --keep, or when --dsn or
    --data-dir names a place, the memories stay there.
    """
    asyncio.run(_demo(invocation, keep or bool(invocation.dsn or invocation.data_dir)))


async def _demo(invocation: Invocation, keep: bool) -> None:
    console = people()
    console.print("[bold]Butler Memory[/]: a butler's first week.")
    async with _kept(invocation) if keep else _temporary(invocation) as memory:
        await tell(Stage(memory, console))
    _say_goodbye(console, invocation, keep)


@asynccontextmanager
async def _kept(invocation: Invocation) -> AsyncIterator[Memory]:
    async with replace(invocation, tenant=invocation.tenant or TENANT).memory() as memory:
        yield memory


@asynccontextmanager
async def _temporary(invocation: Invocation) -> AsyncIterator[Memory]:
    click.secho("starting an embedded PostgreSQL, which takes a few seconds", err=True, dim=True)
    with tempfile.TemporaryDirectory(prefix="memory-demo-", ignore_cleanup_errors=True) as directory:
        async with Memory.open(data_dir=Path(directory), tenant_id=TENANT, config=invocation.config()) as memory:
            say_where(memory.location)
            yield memory


def _say_goodbye(console: Console, invocation: Invocation, keep: bool) -> None:
    console.print()
    if keep:
        tenant = invocation.tenant or TENANT
        console.print(f"The memories are kept: memory --tenant {tenant} call memory_stats")
    else:
        console.print("The server was stopped and its temporary directory deleted. `memory call` lists all tools.")
