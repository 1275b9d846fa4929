"""Examines a database: its server, its extensions, its schema, its vectors, its workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memory_core.cron_lines import latest_moment
from memory_core.database import MINIMUM_PGVECTOR, MINIMUM_SERVER, transaction
from memory_core.errors import MigrationError
from memory_core.generations import Generation, active_generation
from memory_core.index_maintenance import VectorIndexes, vector_indexes
from memory_core.migration_plans import ChainPlan, plan_migration
from memory_core.plugin_selection import migration_chains
from memory_core.queries import load_queries
from memory_core.scheduling import cron_line
from memory_core.stats import memory_stats
from memory_core.worker_runs import WorkerRun, latest_worker_runs
from memory_core.workers import Worker, collect_workers

from memory_mcp.findings import Finding, fail, ok, warn

if TYPE_CHECKING:
    from memory_core.config import MemoryModuleConfig
    from memory_core.database import Pool
    from memory_core.plugins import Plugins

SQL = load_queries("doctor", "memory_mcp")


async def check_server(pool: Pool, location: str) -> AsyncIterator[Finding]:
    """Yield which server it is, and whether it and its extensions are new enough."""
    async with transaction(pool) as connection:
        version = connection.get_server_version()
        rows = await connection.fetch(SQL["extensions"])
    # Since version 10 a release is 18.6: the driver calls the second number micro.
    told = f"PostgreSQL {version.major}.{version.micro} at {location}"
    if (version.major, version.minor) < MINIMUM_SERVER:
        yield fail("server", told, "upgrade it to version 14 or newer")
    else:
        yield ok("server", told)
    extensions = {row["name"]: dict(row) for row in rows}
    yield judge_pgvector(extensions.get("vector"))
    yield judge_trigrams(extensions.get("pg_trgm"))


def judge_pgvector(extension: Mapping[str, Any] | None) -> Finding:
    """Return whether the server has a pgvector that is new enough."""
    if extension is None:
        return fail("extensions", "pgvector is not installed", "install its package (Debian: postgresql-NN-pgvector)")
    version = extension["installed_version"] or extension["default_version"]
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_PGVECTOR:
        return fail(
            "extensions", f"pgvector {version} is too old", "install 0.7 or newer, then ALTER EXTENSION vector UPDATE"
        )
    return ok("extensions", f"pgvector {version}" + ("" if extension["installed_version"] else ", not created yet"))


def judge_trigrams(extension: Mapping[str, Any] | None) -> Finding:
    """Return whether names of entities can be found by their likeness."""
    if extension is None:
        remedy = "install PostgreSQL's contrib package, then CREATE EXTENSION pg_trgm"
        return warn("extensions", "pg_trgm is missing: misspelt names of entities are not found", remedy)
    version = extension["installed_version"]
    return ok("extensions", f"pg_trgm {version or extension['default_version'] + ', not created yet'}")


async def check_schema(pool: Pool, plugins: Plugins, schema: str | None) -> AsyncIterator[Finding]:
    """Yield how far each chain of migrations is applied."""
    try:
        plans = await plan_migration(pool, schema=schema, chains=migration_chains(plugins))
    except MigrationError as error:
        yield fail("schema", str(error), "install the newer version of the package, or restore a backup")
        return
    for plan in plans:
        yield _judge_chain(plan)


def _judge_chain(plan: ChainPlan) -> Finding:
    name, newest = plan.chain.name, plan.chain.head
    if plan.before == newest:
        return ok("schema", f"{name} is at {newest}, the newest revision")
    before = plan.before or "not made yet"
    return warn("schema", f"{name} is {before}, the newest is {newest}", "the next start migrates, or `memory migrate`")


async def check_vectors(pool: Pool, mine: Generation | None) -> AsyncIterator[Finding]:
    """Yield whether the stored vectors are of the configured model, and their indexes in order."""
    async with transaction(pool) as connection:
        stored = await active_generation(connection)
    if stored is None:
        yield ok("vectors", "none stored yet")
    elif mine is not None and stored != mine:
        yield fail("vectors", f"stored by {stored}, configured is {mine}", "configure that model, or `memory reembed`")
    else:
        yield ok("vectors", f"stored by {stored}")
    for indexes in await vector_indexes(pool):
        if told := _what_indexes_lack(indexes):
            yield warn("vectors", f"{indexes.table} {told}", "`memory worker run index_maintenance`")


def _what_indexes_lack(indexes: VectorIndexes) -> str | None:
    if indexes.is_building:
        return None
    if indexes.unfinished:
        return "has an index that was never finished"
    return "has grown large and has no HNSW index yet" if indexes.is_large and not indexes.hnsw else None


async def check_workers(pool: Pool, plugins: Plugins, config: MemoryModuleConfig) -> AsyncIterator[Finding]:
    """Yield how each worker's last run went."""
    last = {run.worker: run for run in await latest_worker_runs(pool)}
    for worker in collect_workers(plugins).values():
        yield judge_worker(worker, cron_line(worker, config.schedule), last.get(worker.name), datetime.now(UTC))


def judge_worker(worker: Worker, line: str, last: WorkerRun | None, now: datetime) -> Finding:
    """Return whether a worker runs when it should and as it should."""
    by_hand = f"`memory worker run {worker.name}`"
    if not line:
        return ok("workers", f"{worker.name} is turned off")
    if last is None:
        return warn("workers", f"{worker.name} has never run", f"a running server runs it; at once: {by_hand}")
    told = f"{worker.name} {last.status} at {last.started_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if last.status in ("failed", "abandoned"):
        return warn("workers", f"{told}: {last.error}", f"mend the cause, then {by_hand}")
    # One missed moment is made up for at the next start; two mean that nobody is there to run it.
    if last.started_at < latest_moment(line, latest_moment(line, now) - timedelta(seconds=1)):
        return warn("workers", f"{told}, and has missed its moments since", f"keep a server running, or {by_hand}")
    return ok("workers", told)


async def check_consolidation(pool: Pool, config: MemoryModuleConfig) -> AsyncIterator[Finding]:
    """Yield whether episodes become facts and rules."""
    episodes = (await memory_stats(pool, tenant_id=config.tenant_id))["episodes"]
    for finding in judge_consolidation(config.consolidation.spawner, episodes):
        yield finding


def judge_consolidation(spawner: str | None, episodes: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what keeps episodes from becoming facts and rules."""
    waiting = episodes["unconsolidated"] + episodes["failed"]
    if spawner is None:
        remedy = "set consolidation.spawner to a language model, see docs/spawners.md"
        yield warn("consolidation", f"no model is configured, {waiting} episodes wait and expire unread", remedy)
    else:
        yield ok("consolidation", f"by {spawner}, {waiting} episodes wait")
    if episodes["dead_letter"]:
        told = f"{episodes['dead_letter']} episodes were given up on"
        yield warn("consolidation", told, "mend the cause (last_consolidation_error), then `memory requeue`")
