"""A runtime on the test's own database, workers of the test's own, and a clock that the test moves."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from memory_core import Memory, MemoryModuleConfig, Plugins, Provider, builtin, hookimpl
from memory_core.lifecycle_tools import TOOLS


@pytest.fixture
def memory(pool, embedder):
    """The core's plugin alone."""
    plugins = Plugins()
    plugins.register(builtin, "core")
    return Memory(pool, embedder, MemoryModuleConfig(), plugins, {tool.name: tool for tool in TOOLS})


class CountingWorker:
    """Counts its runs, and can be told to fail or to wait."""

    def __init__(self, name="counting", cron="0 3 * * *"):
        self.name = name
        self.cron = cron
        self.runs = 0
        self.started = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.error = None

    async def run(self, memory):
        self.runs += 1
        self.started.set()
        await self.may_end.wait()
        if self.error:
            raise self.error
        return {"runs": self.runs}


class WorkerPlugin:
    def __init__(self, workers):
        self.workers = workers

    @hookimpl
    def memory_workers(self):
        return [Provider(worker.name, lambda _options, worker=worker: worker) for worker in self.workers]


@pytest.fixture
def with_workers(memory):
    """A runtime whose only workers are the given ones, with the given cron lines configured."""

    def build(*workers, schedule=None):
        plugins = Plugins()
        plugins.register(WorkerPlugin(workers), "test")
        config = MemoryModuleConfig.model_validate({"schedule": schedule or {}})
        return replace(memory, plugins=plugins, config=config)

    return build


class MovableClock:
    """A clock for schedules: it stands still until the test moves it, and knows who sleeps."""

    def __init__(self, now):
        self.now = now
        self._sleepers = []
        self._changed = asyncio.Condition()

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        if seconds <= 0:
            return
        woken = asyncio.get_running_loop().create_future()
        sleeper = (self.now + timedelta(seconds=seconds), woken)
        self._sleepers.append(sleeper)
        async with self._changed:
            self._changed.notify_all()
        try:
            await woken
        finally:
            self._sleepers.remove(sleeper)

    async def until_asleep(self, count):
        """Wait until so many sleep."""
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(lambda: len(self._waiting()) == count), timeout=30)

    async def move_to(self, moment):
        """Move the clock as sleepers would see it, waking each at its own time, and wait until all sleep again."""
        count = len(self._waiting())
        while due := sorted(wake for wake, _ in self._waiting() if wake <= moment):
            self.now = due[0]
            for wake, woken in self._waiting():
                if wake <= self.now:
                    woken.set_result(None)
            await self.until_asleep(count)
        self.now = moment

    def _waiting(self):
        return [sleeper for sleeper in self._sleepers if not sleeper[1].done()]
