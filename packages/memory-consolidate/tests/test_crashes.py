"""A process that dies anywhere and a second one that takes over end where one undisturbed process would have."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import asyncpg
from memory_consolidate import run_consolidation
from memory_core import store_fact
from memory_core.config import ConsolidationConfig

SETTINGS = ConsolidationConfig(batch_size=3, lease_seconds=60)


class Killed(BaseException):
    """The process is gone: nothing in the code can catch this and go on."""


class Fate:
    """Kills a process at its n-th step: before each statement, and after each commit that the server has done."""

    def __init__(self, step: int | None) -> None:
        self.step = step
        self.taken = 0
        self.dead = False

    def next_step(self) -> None:
        if self.dead or self.taken == self.step:
            self.dead = True
            raise Killed
        self.taken += 1


def mortal_connection(fate: Fate) -> type[asyncpg.Connection]:
    class MortalConnection(asyncpg.Connection):
        async def _run(self, method, query, *args, **options):
            fate.next_step()
            result = await getattr(super(), method)(query, *args, **options)
            if query.strip().upper().startswith("COMMIT"):
                fate.next_step()
            return result

        async def execute(self, query, *args, **options):
            return await self._run("execute", query, *args, **options)

        async def fetch(self, query, *args, **options):
            return await self._run("fetch", query, *args, **options)

        async def fetchrow(self, query, *args, **options):
            return await self._run("fetchrow", query, *args, **options)

        async def fetchval(self, query, *args, **options):
            return await self._run("fetchval", query, *args, **options)

    return MortalConnection


async def run_until_death(dsn, pool, fate, embedder, model, tenant, now) -> bool:
    """Run as a process of its own would, and tell whether it came to its end; death cuts its connection."""
    connection = await asyncpg.connect(dsn, connection_class=mortal_connection(fate))
    server_process = connection.get_server_pid()
    try:
        await run_consolidation(connection, embedder, model, settings=SETTINGS, tenant_id=tenant, now=now)
    except Killed:
        return False
    finally:
        connection.terminate()
        # Until the server has noticed, what the dead one held is locked, and a second run would pass it by.
        async with asyncio.timeout(10):
            while await pool.fetchval("SELECT true FROM pg_stat_activity WHERE pid = $1", server_process):
                await asyncio.sleep(0.001)
    return True


async def outcome(pool, tenant):
    """Everything that a run leaves, with ids replaced by what they stand for."""
    queries = (
        "SELECT content, consolidation_status, consolidation_attempts, last_consolidation_error, lease_owner,"
        " leased_until FROM episodes WHERE tenant_id = $1 ORDER BY 1",
        "SELECT fact.subject, fact.predicate, fact.content, fact.validity, old.content, fact.source_butler"
        " FROM facts AS fact LEFT JOIN facts AS old ON old.id = fact.supersedes_id"
        " WHERE fact.tenant_id = $1 ORDER BY 1, 2, 3",
        "SELECT content, maturity FROM rules WHERE tenant_id = $1 ORDER BY 1",
        "SELECT COALESCE(fact.content, rule.content, one.content), relation, COALESCE(other.content, target.content)"
        " FROM memory_links AS link"
        " LEFT JOIN facts AS fact ON fact.id = link.source_id"
        " LEFT JOIN rules AS rule ON rule.id = link.source_id"
        " LEFT JOIN episodes AS one ON one.id = link.source_id"
        " LEFT JOIN episodes AS other ON other.id = link.target_id"
        " LEFT JOIN facts AS target ON target.id = link.target_id"
        " WHERE link.tenant_id = $1 ORDER BY 1, 2, 3",
        "SELECT action, count(*) FROM consolidation_actions WHERE tenant_id = $1 GROUP BY 1 ORDER BY 1",
        "SELECT event_type, count(*) FROM memory_events WHERE tenant_id = $1 GROUP BY 1 ORDER BY 1",
    )
    return [[tuple(row) for row in await pool.fetch(query, tenant)] for query in queries]


async def lay_out(pool, embedder, tell, tenant, now):
    await store_fact(pool, "user", "pet", "cat", embedder, tenant_id=tenant, now=now)
    await tell("FACT user | city | Paris", "RULE Greet in French.", tenant_id=tenant)
    await tell("UPDATE user | city | Oslo", "CONFIRM user | pet", butler="work", tenant_id=tenant)


async def test_killed_at_every_step_and_run_again_the_result_is_that_of_one_undisturbed_run(
    dsn, pool, embedder, scripted, tell, now
):
    await lay_out(pool, embedder, tell, "undisturbed", now)
    steps = Fate(None)
    assert await run_until_death(dsn, pool, steps, embedder, scripted(), "undisturbed", now)
    expected = await outcome(pool, "undisturbed")
    assert expected[4] == [("confirmation", 1), ("new_fact", 1), ("new_rule", 1), ("updated_fact", 1)]
    assert steps.taken > 80
    for step in range(steps.taken):
        tenant = f"killed-{step}-{uuid4()}"
        await lay_out(pool, embedder, tell, tenant, now)
        assert not await run_until_death(dsn, pool, Fate(step), embedder, scripted(), tenant, now), step
        later = now + timedelta(seconds=SETTINGS.lease_seconds + 1)
        await run_consolidation(pool, embedder, scripted(), settings=SETTINGS, tenant_id=tenant, now=later)
        assert await outcome(pool, tenant) == expected, f"killed at step {step} of {steps.taken}"


async def test_a_batch_of_a_dead_process_is_taken_when_its_lease_has_run_out(
    dsn, pool, embedder, scripted, tell, rows, now
):
    await tell("FACT a | b | c")

    class Dying:
        async def trigger(self, **_asked):
            fate.dead = True
            raise Killed

    fate = Fate(None)
    assert not await run_until_death(dsn, pool, fate, embedder, Dying(), "default", now)
    before = await run_consolidation(
        pool, embedder, scripted(), settings=SETTINGS, now=now + timedelta(seconds=SETTINGS.lease_seconds - 1)
    )
    assert before.batches == []
    after = await run_consolidation(
        pool, embedder, scripted(), settings=SETTINGS, now=now + timedelta(seconds=SETTINGS.lease_seconds)
    )
    assert after.counts()["facts_created"] == 1
