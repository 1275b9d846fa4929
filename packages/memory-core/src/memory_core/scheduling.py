"""Runs the workers on their cron lines while a server or a host is up."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from memory_core.cron_lines import latest_moment, next_moment, parse_cron_line
from memory_core.worker_runs import SERVER_TROUBLE, claim_run, perform_run, running_since
from memory_core.workers import Worker, collect_workers

if TYPE_CHECKING:
    from memory_core.config import ScheduleConfig
    from memory_core.runtime import Memory

logger = logging.getLogger(__name__)

# Each run starts up to this much later, so that many servers on one machine do not all start at once.
JITTER_SECONDS = 30.0
# Sleeps are cut to this: a laptop's clock goes on while it is suspended, a sleeping task's does not.
LONGEST_SLEEP_SECONDS = 600.0
# How soon to look again when a run is going on elsewhere, or the server is away.
RETRY_SECONDS = 60.0


class WorkerSchedule:
    """Follows every worker's cron line from entering the block until leaving it; leaving stops the work at once.

    A moment that passed while no process was up is made up for once, however many have passed.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        jitter_seconds: float = JITTER_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        self._memory = memory
        self._jitter_seconds = jitter_seconds
        self._clock = clock
        self._sleep = sleep
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Start following the cron lines.

        Raises:
            ConfigError: a cron line cannot be read; nothing was started.
        """
        followed = [
            (worker, line)
            for worker in collect_workers(self._memory.plugins).values()
            if (line := cron_line(worker, self._memory.config.schedule))
        ]
        self._tasks = [
            asyncio.create_task(self._follow(worker, line), name=f"memory worker {worker.name}")
            for worker, line in followed
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel what is running and wait until it has let go."""
        for task in self._tasks:
            task.cancel()
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                logger.error("a worker's schedule had ended early", exc_info=ended)
        self._tasks = []

    async def _follow(self, worker: Worker, line: str) -> None:
        settled: datetime | None = None
        while True:
            due = latest_moment(line, self._clock())
            if due != settled:
                await self._sleep(random.uniform(0, self._jitter_seconds))
                settled = due if await self._attempt(worker, due) else None
            await self._sleep(self._pause(line) if settled else RETRY_SECONDS)

    async def _attempt(self, worker: Worker, due: datetime) -> bool:
        """Run a worker for a moment unless it has had its run, and tell whether the moment is done with."""
        pool = self._memory.pool
        try:
            claimed = await claim_run(pool, worker.name, due)
            if claimed is None:
                return await running_since(pool, worker.name) is None
            await perform_run(self._memory, worker, claimed)
        except SERVER_TROUBLE:
            logger.warning("worker %r could not be started or recorded; trying again", worker.name, exc_info=True)
            return False
        return True

    def _pause(self, line: str) -> float:
        now = self._clock()
        return min((next_moment(line, now) - now).total_seconds(), LONGEST_SLEEP_SECONDS)


def cron_line(worker: Worker, schedule: ScheduleConfig) -> str:
    """Return a worker's cron line: the configuration's, else its own; empty where it is turned off.

    Raises:
        ConfigError: the line cannot be read.
    """
    return parse_cron_line(str(schedule.model_dump().get(worker.name, worker.cron)), f"schedule.{worker.name}")
