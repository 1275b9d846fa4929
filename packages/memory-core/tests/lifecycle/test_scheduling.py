"""Workers on their cron lines, with a clock that the test moves."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest
from memory_core import ConfigError, WorkerSchedule, latest_worker_runs, run_worker
from memory_core.config import ScheduleConfig
from memory_core.config_sources import parse_config
from memory_core.cron_lines import latest_moment, next_moment
from memory_core.lifecycle_workers import DecaySweepWorker, EpisodeCleanupWorker, IndexMaintenanceWorker
from memory_core.scheduling import RETRY_SECONDS, cron_line

from .conftest import CountingWorker, MovableClock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def day(number, hour=12):
    return NOON.replace(hour=hour) + timedelta(days=number)


def schedule(memory, clock):
    return WorkerSchedule(memory, jitter_seconds=0, clock=clock, sleep=clock.sleep)


async def test_a_worker_runs_at_each_moment_of_its_cron_line(with_workers, pool):
    worker, clock = CountingWorker(), MovableClock(NOON)
    async with schedule(with_workers(worker), clock):
        await clock.until_asleep(1)
        assert worker.runs == 1  # three in the morning had passed before anything was up
        await clock.move_to(day(1, hour=2))
        assert worker.runs == 1
        await clock.move_to(day(3))
        assert worker.runs == 4
    runs = await latest_worker_runs(pool, "counting", limit=10)
    assert [run.scheduled_for for run in runs] == [day(number, hour=3) for number in (3, 2, 1, 0)]
    assert {run.status for run in runs} == {"succeeded"}


async def test_moments_that_passed_while_nothing_was_up_are_made_up_for_once(with_workers, pool):
    worker, clock = CountingWorker(), MovableClock(NOON)
    memory = with_workers(worker)
    async with schedule(memory, clock):
        await clock.until_asleep(1)
    for _ in range(2):
        clock = MovableClock(day(9))
        async with schedule(memory, clock):
            await clock.until_asleep(1)
    assert worker.runs == 2


async def test_of_two_servers_one_runs_each_moment(with_workers):
    one, two, clock = CountingWorker(), CountingWorker(), MovableClock(NOON)
    async with schedule(with_workers(one), clock), schedule(with_workers(two), clock):
        await clock.until_asleep(2)
        await clock.move_to(day(5))
    assert one.runs + two.runs == 6


async def test_a_failing_worker_runs_again_at_its_next_moment_and_holds_up_nobody(with_workers, pool, caplog):
    failing, other, clock = CountingWorker("failing"), CountingWorker("other"), MovableClock(NOON)
    failing.error = RuntimeError("no luck")
    with caplog.at_level(logging.CRITICAL):
        async with schedule(with_workers(failing, other), clock):
            await clock.until_asleep(2)
            await clock.move_to(day(2))
    assert (failing.runs, other.runs) == (3, 3)
    assert [run.error for run in await latest_worker_runs(pool, "failing", limit=9)] == ["RuntimeError: no luck"] * 3


async def test_leaving_stops_a_running_worker_at_once_and_the_next_start_makes_up_for_it(with_workers, pool):
    worker, clock = CountingWorker(), MovableClock(NOON)
    worker.may_end.clear()
    memory = with_workers(worker)
    async with schedule(memory, clock):
        await worker.started.wait()
    assert [run.status for run in await latest_worker_runs(pool)] == ["stopped"]
    worker.may_end.set()
    async with schedule(memory, clock):
        await clock.until_asleep(1)
    assert [run.status for run in await latest_worker_runs(pool)] == ["succeeded"]
    assert worker.runs == 2


async def test_a_moment_that_is_running_elsewhere_is_looked_at_again(with_workers, pool):
    worker, clock = CountingWorker(), MovableClock(NOON)
    memory = with_workers(worker)
    worker.may_end.clear()
    by_hand = asyncio.create_task(run_worker(memory, "counting"))
    await worker.started.wait()
    async with schedule(memory, clock):
        await clock.until_asleep(1)
        assert worker.runs == 1
        worker.may_end.set()
        await by_hand
        await clock.move_to(NOON + timedelta(seconds=RETRY_SECONDS))
        assert worker.runs == 2


async def test_a_server_that_is_away_is_tried_again(with_workers, pool, caplog):
    worker, clock = CountingWorker(), MovableClock(NOON)
    with caplog.at_level(logging.CRITICAL):
        async with schedule(with_workers(worker), clock):
            await clock.until_asleep(1)
            await pool.execute("ALTER TABLE worker_runs RENAME TO away")
            await clock.move_to(day(1, hour=4))
            assert worker.runs == 1
            await pool.execute("ALTER TABLE away RENAME TO worker_runs")
            await clock.move_to(day(1, hour=5))
    assert worker.runs == 2


async def test_an_empty_line_turns_a_worker_off_and_a_configured_one_wins(with_workers):
    off, moved, clock = CountingWorker("decay_sweep"), CountingWorker("episode_cleanup"), MovableClock(NOON)
    memory = with_workers(off, moved, schedule={"decay_sweep": "", "episode_cleanup": "*/10 * * * *"})
    async with schedule(memory, clock):
        await clock.until_asleep(1)
        await clock.move_to(NOON + timedelta(hours=1))
    assert (off.runs, moved.runs) == (0, 7)


async def test_jitter_delays_a_run_and_leaving_does_not_wait_for_it(with_workers):
    worker, clock = CountingWorker(), MovableClock(NOON)
    waits = []

    async def sleep(seconds):
        waits.append(seconds)
        await clock.sleep(seconds)

    async with WorkerSchedule(with_workers(worker), jitter_seconds=300, clock=clock, sleep=sleep):
        await clock.until_asleep(1)
    assert worker.runs == 0
    assert 0 < waits[0] <= 300


@pytest.mark.parametrize("line", ["soon", "61 * * * *", "0 3 * *", "0 0 30 2 *"])
def test_a_configured_line_that_cannot_come_due_is_refused_by_name(line):
    for worker in ("decay_sweep", "of_a_plugin"):
        message = rf"modules.memory.schedule: .*{worker} '.*' is not a cron line .*'0 3 \* \* \*'"
        with pytest.raises(ConfigError, match=message):
            parse_config({"schedule": {worker: line}})


async def test_a_workers_own_line_that_cannot_come_due_fails_the_start_and_is_named(with_workers):
    worker = CountingWorker("counting")
    worker.cron = "soon"
    with pytest.raises(ConfigError, match=r"schedule.counting 'soon' is not a cron line"):
        async with WorkerSchedule(with_workers(worker)):
            pass


def test_a_moment_counts_as_due_from_its_first_second():
    three = NOON.replace(hour=3)
    assert latest_moment("0 3 * * *", three) == three
    assert latest_moment("0 3 * * *", three - timedelta(microseconds=1)) == three - timedelta(days=1)
    assert next_moment("0 3 * * *", three) == three + timedelta(days=1)


def test_the_built_in_workers_and_the_configuration_agree_on_when():
    for worker in (DecaySweepWorker(), EpisodeCleanupWorker(), IndexMaintenanceWorker()):
        assert cron_line(worker, ScheduleConfig()) == worker.cron
