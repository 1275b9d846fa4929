"""Runs a worker in one process of many at a time, and records each run.

A running worker holds a lease, which is a row: it needs no connection kept open for hours, so it works through a
transaction pooler, with a pool of one, and under a server's idle-transaction limit. Its row also says for which moment
of the cron line it ran, so that the second of two processes finds the moment done, not merely unlocked again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import asyncpg

from memory_core.database import UNAVAILABLE, transaction
from memory_core.errors import MemoryModuleError
from memory_core.queries import load_queries
from memory_core.validation import parse_id, parse_positive
from memory_core.workers import Worker, find_worker

if TYPE_CHECKING:
    from memory_core.database import Database, Pool
    from memory_core.runtime import Memory

SQL = load_queries("worker_runs")
logger = logging.getLogger(__name__)

LEASE_SECONDS = 300.0
RENEWAL_SECONDS = 60.0
# A run that is cut short has this long to say so; its lease ends by itself otherwise.
STOP_SECONDS = 2.0
KEPT_DAYS = 90
MAX_ERROR_CHARS = 500

SERVER_TROUBLE: tuple[type[Exception], ...] = (*UNAVAILABLE, asyncpg.PostgresError)


class WorkerBusyError(MemoryModuleError):
    """The worker is running already, here or in another process."""


@dataclass(frozen=True)
class WorkerRun:
    """One run of a worker."""

    id: UUID
    worker: str
    status: str  # running, succeeded, failed, stopped, abandoned
    scheduled_for: datetime | None
    started_at: datetime
    finished_at: datetime | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


async def run_worker(memory: Memory, name: str) -> WorkerRun:
    """Run a worker now, whatever its cron line says, and return the recorded run; a failure is in its `error`.

    Raises:
        InvalidInputError: there is no such worker.
        WorkerBusyError: it is running already.
    """
    worker = find_worker(memory.plugins, name)
    claimed = await claim_run(memory.pool, worker.name, None)
    if claimed is None:
        since = await running_since(memory.pool, worker.name)
        raise WorkerBusyError(
            f"worker {worker.name!r} has been running since {since or 'a moment ago'}; wait until it has finished"
        )
    return await perform_run(memory, worker, claimed)


async def latest_worker_runs(db: Database, worker: str | None = None, *, limit: int = 1) -> list[WorkerRun]:
    """Return the newest runs of one worker or of each, newest first.

    A run covers every tenant of the database, so this is for its operator, not for a tenant.
    """
    newest = parse_positive(limit, "limit", 1000)
    async with transaction(db) as connection:
        rows = await connection.fetch(SQL["latest_runs"], worker, newest)
    return [_run(row) for row in rows]


async def claim_run(db: Database, worker: str, scheduled_for: datetime | None) -> WorkerRun | None:
    """Begin a run, or return `None` where one is running or the scheduled moment has had its run."""
    started = datetime.now(UTC)
    async with transaction(db) as connection:
        await connection.execute(SQL["abandon_stale_runs"], worker)
        run_id = await connection.fetchval(SQL["claim_run"], uuid4(), worker, scheduled_for, started, LEASE_SECONDS)
    return None if run_id is None else WorkerRun(parse_id(run_id), worker, "running", scheduled_for, started)


async def running_since(db: Database, worker: str) -> datetime | None:
    """Return when the run began that is going on, `None` where none is."""
    async with transaction(db) as connection:
        since: datetime | None = await connection.fetchval(SQL["running_since"], worker)
    return since


async def perform_run(memory: Memory, worker: Worker, run: WorkerRun) -> WorkerRun:
    """Do the work of a claimed run and record how it ended; an error is recorded and contained."""
    try:
        async with _lease_kept(memory.pool, run):
            counts = dict(await worker.run(memory))
        return await _finish(memory.pool, replace(run, status="succeeded", counts=counts))
    except asyncio.CancelledError:
        with suppress(*SERVER_TROUBLE):
            await asyncio.wait_for(_finish(memory.pool, replace(run, status="stopped")), STOP_SECONDS)
        raise
    except Exception as error:
        # An isolation point: a worker may be anybody's, and one that fails must not end the others.
        logger.exception("worker %r failed", worker.name)
        return await _finish(memory.pool, replace(run, status="failed", error=describe_error(error)))


def describe_error(error: Exception) -> str:
    """Return an error in one bounded line; what follows the first may quote the values of rows."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:MAX_ERROR_CHARS]


async def _finish(db: Database, run: WorkerRun) -> WorkerRun:
    finished = replace(run, finished_at=datetime.now(UTC))
    async with transaction(db) as connection:
        await connection.execute(
            SQL["finish_run"],
            finished.id,
            finished.status,
            finished.finished_at,
            json.dumps(dict(finished.counts)),
            finished.error,
        )
        await connection.execute(SQL["delete_old_runs"], run.worker, run.started_at - timedelta(days=KEPT_DAYS))
    return finished


@asynccontextmanager
async def _lease_kept(pool: Pool, run: WorkerRun) -> AsyncIterator[None]:
    renewal = asyncio.create_task(_renew(pool, run))
    try:
        yield
    finally:
        renewal.cancel()
        # Unlike `await renewal` under `suppress`, this lets a cancellation of the run itself through.
        await asyncio.gather(renewal, return_exceptions=True)


async def _renew(pool: Pool, run: WorkerRun) -> None:
    while True:
        await asyncio.sleep(RENEWAL_SECONDS)
        try:
            async with transaction(pool) as connection:
                await connection.execute(SQL["renew_lease"], run.id, LEASE_SECONDS)
        except SERVER_TROUBLE:
            # The run may yet succeed; without renewal another process takes over when the lease ends.
            logger.warning("the lease of worker %r could not be renewed", run.worker, exc_info=True)


def _run(row: Any) -> WorkerRun:
    counts = row["counts"]
    return WorkerRun(
        id=parse_id(row["id"]),
        worker=row["worker"],
        status=row["status"],
        scheduled_for=row["scheduled_for"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        counts=json.loads(counts) if isinstance(counts, str) else counts,
        error=row["error"],
    )
