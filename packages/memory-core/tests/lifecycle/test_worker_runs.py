"""Runs of workers: one at a time, each on record."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from memory_core import (
    InvalidInputError,
    WorkerBusyError,
    latest_worker_runs,
    memory_stats,
    run_worker,
    store_episode,
    store_fact,
    store_rule,
)
from memory_core.feedback import mark_harmful
from memory_core.worker_runs import KEPT_DAYS, MAX_ERROR_CHARS, claim_run, describe_error

from .conftest import CountingWorker

LONG_AGO = datetime.now(UTC) - timedelta(days=1000)


async def test_a_run_by_hand_is_recorded_with_start_end_and_counts(with_workers, pool):
    memory = with_workers(CountingWorker())
    run = await run_worker(memory, "counting")
    assert (run.worker, run.status, run.scheduled_for, run.error) == ("counting", "succeeded", None, None)
    assert run.counts == {"runs": 1}
    assert run.started_at <= run.finished_at
    assert await latest_worker_runs(pool) == [run]


async def test_an_error_is_contained_logged_and_recorded_without_the_values_of_rows(with_workers, pool, caplog):
    worker = CountingWorker()
    worker.error = asyncpg.UniqueViolationError("duplicate key\nDETAIL: Key (subject)=(secret) already exists")
    with caplog.at_level(logging.ERROR):
        run = await run_worker(with_workers(worker), "counting")
    assert (run.status, run.error, run.counts) == ("failed", "UniqueViolationError: duplicate key", {})
    assert (await latest_worker_runs(pool))[0].error == run.error
    assert "Traceback" in caplog.text


def test_a_recorded_error_is_one_bounded_line():
    assert len(describe_error(ValueError("x" * 10_000))) == MAX_ERROR_CHARS
    assert describe_error(ValueError()) == "ValueError: no message"


async def test_a_worker_that_runs_already_is_not_started_again(with_workers, pool):
    worker = CountingWorker()
    worker.may_end.clear()
    memory = with_workers(worker)
    first = asyncio.create_task(run_worker(memory, "counting"))
    await worker.started.wait()
    with pytest.raises(WorkerBusyError, match=r"worker 'counting' has been running since 20.*; wait until it has"):
        await run_worker(memory, "counting")
    worker.may_end.set()
    assert (await first).status == "succeeded"
    assert (await run_worker(memory, "counting")).status == "succeeded"
    assert worker.runs == 2


async def test_of_many_processes_that_claim_one_moment_one_gets_it(pool):
    moment = datetime(2026, 3, 1, 3, tzinfo=UTC)
    claims = await asyncio.gather(*(claim_run(pool, "counting", moment) for _ in range(20)))
    assert sum(claim is not None for claim in claims) == 1


async def test_a_moment_is_done_once_and_an_earlier_one_with_it(with_workers, pool):
    moment = datetime(2026, 3, 1, 3, tzinfo=UTC)
    claimed = await claim_run(pool, "counting", moment)
    await pool.execute("UPDATE worker_runs SET status = 'failed' WHERE id = $1", claimed.id)
    assert await claim_run(pool, "counting", moment) is None
    assert await claim_run(pool, "counting", moment - timedelta(days=1)) is None
    assert await claim_run(pool, "other", moment) is not None
    assert await claim_run(pool, "counting", moment + timedelta(days=1)) is not None


async def test_a_process_that_died_loses_its_lease_and_another_makes_up_for_it(pool):
    moment = datetime(2026, 3, 1, 3, tzinfo=UTC)
    dead = await claim_run(pool, "counting", moment)
    await pool.execute("UPDATE worker_runs SET leased_until = now() - interval '1 second'")
    heir = await claim_run(pool, "counting", moment)
    assert heir is not None
    rows = await pool.fetch("SELECT id, status, error FROM worker_runs")
    assert {row["id"]: row["status"] for row in rows} == {dead.id: "abandoned", heir.id: "running"}
    assert "the process ended without finishing the run" in {row["error"] for row in rows}


async def test_a_cancelled_run_is_recorded_as_stopped_and_its_moment_stays_open(with_workers, pool):
    worker = CountingWorker()
    worker.may_end.clear()
    task = asyncio.create_task(run_worker(with_workers(worker), "counting"))
    await worker.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await latest_worker_runs(pool))[0].status == "stopped"


async def test_a_pool_of_one_connection_is_enough(with_workers, dsn, embedder):
    async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as small:
        memory = with_workers(CountingWorker())
        object.__setattr__(memory, "pool", small)
        assert (await asyncio.wait_for(run_worker(memory, "counting"), timeout=30)).status == "succeeded"


async def test_old_runs_are_forgotten(with_workers, pool):
    memory = with_workers(CountingWorker())
    await run_worker(memory, "counting")
    await pool.execute("UPDATE worker_runs SET started_at = started_at - make_interval(days => $1)", KEPT_DAYS + 1)
    await run_worker(memory, "counting")
    assert await pool.fetchval("SELECT count(*) FROM worker_runs") == 1


async def test_the_newest_runs_of_each_worker_are_listed(with_workers, pool):
    memory = with_workers(CountingWorker("one"), CountingWorker("two"))
    for name in ("one", "two", "one"):
        await run_worker(memory, name)
    assert [(run.worker, run.counts["runs"]) for run in await latest_worker_runs(pool)] == [("one", 2), ("two", 1)]
    assert [run.counts["runs"] for run in await latest_worker_runs(pool, "one", limit=5)] == [2, 1]


async def test_an_unknown_worker_is_refused_with_the_known_ones(memory):
    with pytest.raises(InvalidInputError, match="worker 'sweep' is not one of: decay_sweep, episode_cleanup, index_"):
        await run_worker(memory, "sweep")


async def test_the_built_in_workers_look_after_every_tenant(memory, pool, embedder):
    for tenant in ("one", "two"):
        await store_fact(pool, "user", "mood", "cheerful", embedder, tenant_id=tenant, now=LONG_AGO)
        await store_episode(pool, "long ago", "jeeves", embedder, tenant_id=tenant, now=LONG_AGO)
        rule_id = await store_rule(pool, "Reply at once", embedder, tenant_id=tenant)
        for _ in range(3):
            await mark_harmful(pool, rule_id, tenant_id=tenant)
    sweep = await run_worker(memory, "decay_sweep")
    assert (sweep.counts["facts_expired"], sweep.counts["rules_inverted"]) == (2, 2)
    cleanup = await run_worker(memory, "episode_cleanup")
    assert cleanup.counts == {"expired_deleted": 2, "capacity_deleted": 0, "remaining": 0}
    assert (await run_worker(memory, "index_maintenance")).status == "succeeded"


async def test_the_cleanup_worker_follows_the_configured_limits(memory, pool, embedder):
    config = memory.config.model_validate({"episodes": {"grace_days": 10_000}})
    object.__setattr__(memory, "config", config)
    await store_episode(pool, "long ago", "jeeves", embedder, now=LONG_AGO)
    assert (await run_worker(memory, "episode_cleanup")).counts["remaining"] == 1


async def test_a_tenants_stats_tell_when_each_worker_last_ran_and_nothing_of_other_tenants(with_workers, pool):
    memory = with_workers(CountingWorker("one"), CountingWorker("two"))
    for name in ("one", "two", "one"):
        last = await run_worker(memory, name)
    stats = await memory_stats(pool, tenant_id="anybody")
    assert set(stats["workers"]) == {"one", "two"}
    assert stats["workers"]["one"] == {
        "status": "succeeded",
        "started_at": last.started_at,
        "finished_at": last.finished_at,
    }
