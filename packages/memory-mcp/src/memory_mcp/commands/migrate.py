"""`memory migrate`: bring the database's schema to a revision, or show the SQL that would."""

import asyncio

import click
from memory_core import migrate as apply_migration
from memory_core.database import search_path
from memory_core.migration_plans import ChainPlan, chains_with, plan_migration
from memory_core.plugin_selection import load_plugins, migration_chains

from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, print_json


@click.command()
@click.option("--to", "target", default="head", show_default=True, metavar="REV", help="A revision, 'head' or 'base'.")
@click.option("--dry-run", is_flag=True, help="Print the SQL and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before going back to an earlier revision, which loses data.")
@json_option
@click.pass_obj
def migrate(invocation: Invocation, target: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Bring the schema to the newest revision, of the core and of every plugin.

    Every start does this by itself; the command is for those who migrate in a step of its own, look at the SQL first,
    or go back. One transaction: it is done whole or not at all.
    """
    asyncio.run(_migrate(invocation, target, dry_run, yes, as_json))


async def _migrate(invocation: Invocation, target: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    config = invocation.config()
    chains = migration_chains(load_plugins(config))
    async with invocation.server(config) as server:
        plans = await plan_migration(server.pool, target, schema=config.schema_name, chains=chains)
        if dry_run:
            _show_plans(plans, config.schema_name, as_json)
            return
        if any(plan.undoes for plan in plans) and not yes:
            click.confirm(f"Going back to {target} deletes what later revisions hold. Continue?", abort=True, err=True)
        changes = await apply_migration(
            server.pool, target, schema=config.schema_name, chains=chains_with(target, chains)
        )
    if as_json:
        print_json({name: {"before": before, "after": after} for name, (before, after) in changes.items()})
    else:
        for name, (before, after) in changes.items():
            click.echo(f"{name}: {_step(before, after)}")


def _step(before: str | None, after: str | None) -> str:
    reached = after or "base"
    return f"{reached}, nothing to do" if before == after else f"{before or 'base'} -> {reached}"


def _show_plans(plans: list[ChainPlan], schema: str | None, as_json: bool) -> None:
    if as_json:
        print_json({plan.chain.name: {"before": plan.before, "statements": plan.statements} for plan in plans})
        return
    click.echo("BEGIN;")
    if schema is not None:
        click.echo(f'CREATE SCHEMA IF NOT EXISTS "{schema}";\nSET LOCAL search_path TO {search_path(schema)};')
    for plan in plans:
        click.echo(f"\n-- {plan.chain.name}: {plan.before or 'base'} -> {plan.target}")
        for statement in plan.statements:
            click.echo(f"{statement};")
    click.echo("\nCOMMIT;")
