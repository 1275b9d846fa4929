"""`memory worker`: what runs by itself, when it last did, and running it now."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click
from memory_core.cron_lines import next_moment
from memory_core.progress import listening
from memory_core.rows import to_json
from memory_core.runtime import Memory
from memory_core.scheduling import cron_line
from memory_core.worker_runs import WorkerRun, latest_worker_runs, run_worker
from memory_core.workers import Worker, collect_workers
from rich.markup import escape
from rich.table import Table

from memory_mcp.failures import Failed
from memory_mcp.invocation import Invocation
from memory_mcp.memory_tables import counted
from memory_mcp.output import json_option, people, print_json
from memory_mcp.progress_bars import progress_bar

STYLES = {"succeeded": "green", "running": "cyan", "failed": "red", "stopped": "yellow", "abandoned": "red"}


@click.group()
def worker() -> None:
    """List the workers, or run one now. A worker works for all tenants of the database."""


@worker.command("list")
@json_option
@click.pass_obj
def list_workers(invocation: Invocation, as_json: bool) -> None:
    """List the workers with their cron lines (UTC) and their last runs.

    `memory serve` and hosts run them; a moment that was missed is made up for at the next start.
    """
    rows = asyncio.run(_workers(invocation))
    if as_json:
        print_json(to_json(rows))
    else:
        _show(rows)


@worker.command()
@click.argument("name")
@json_option
@click.pass_obj
def run(invocation: Invocation, name: str, as_json: bool) -> None:
    """Run a worker once, for all tenants, whatever its cron line says; the run is recorded."""
    done = asyncio.run(_run(invocation, name))
    if as_json:
        print_json(to_json(asdict(done)))
    elif done.error is None:
        click.echo(f"{done.worker}: {counted(done.counts)}")
    if done.error is not None:
        raise Failed(f"worker {done.worker!r} failed: {done.error}")


async def _run(invocation: Invocation, name: str) -> WorkerRun:
    async with invocation.memory() as memory:
        with progress_bar() as bar, listening(bar.show):
            return await run_worker(memory, name)


async def _workers(invocation: Invocation) -> list[dict[str, Any]]:
    async with invocation.memory() as memory:
        last = {run.worker: run for run in await latest_worker_runs(memory.pool)}
        return [_row(memory, found, last) for found in collect_workers(memory.plugins).values()]


def _row(memory: Memory, found: Worker, last: Mapping[str, WorkerRun]) -> dict[str, Any]:
    line = cron_line(found, memory.config.schedule)
    due = next_moment(line, datetime.now(UTC)) if line else None
    ran = last.get(found.name)
    return {"name": found.name, "cron": line, "next": due, "last_run": asdict(ran) if ran else None}


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("worker", "cron (UTC)", "next", "last run", "what it did"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        due = f"{row['next']:%Y-%m-%d %H:%M}" if row["next"] else "-"
        table.add_row(row["name"], row["cron"] or "turned off", due, *_last_run(row["last_run"]))
    people().print(table)


def _last_run(ran: Mapping[str, Any] | None) -> tuple[str, str]:
    if ran is None:
        return "never", ""
    told = ran["error"] or counted(ran["counts"])
    return f"[{STYLES[ran['status']]}]{ran['status']}[/] {ran['started_at']:%Y-%m-%d %H:%M}", escape(told)
