"""The runtime in the background: waited for, told about, opened again."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import asyncpg
import pytest
from memory_core import Memory, MemoryModuleConfig, PluginError, ServerError
from memory_core.plugins import Plugins
from memory_mcp import lazy_runtime
from memory_mcp.lazy_runtime import LazyRuntime
from memory_mcp.tool_errors import NotReadyError


@pytest.fixture(autouse=True)
def _impatience(monkeypatch):
    monkeypatch.setattr(lazy_runtime, "FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture
def memory(pool, embedder):
    return Memory(pool, embedder, MemoryModuleConfig(), Plugins(), {})


class Attempts:
    """Opens the runtime as told: an error is raised, anything else is opened."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.made = 0
        self.closed = 0

    @asynccontextmanager
    async def __call__(self):
        self.made += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        try:
            yield outcome
        finally:
            self.closed += 1


async def eventually(check):
    async with asyncio.timeout(10):
        while not await check():
            await asyncio.sleep(0.01)


async def test_calls_wait_for_the_first_start(memory):
    release = asyncio.Event()

    @asynccontextmanager
    async def slowly():
        await release.wait()
        yield memory

    async with LazyRuntime(slowly, wait_seconds=10) as runtime:
        waiting = [asyncio.create_task(runtime.memory()) for _ in range(3)]
        await asyncio.sleep(0)
        assert runtime.state == "starting"
        release.set()
        assert await asyncio.gather(*waiting) == [memory] * 3
        assert runtime.state == "ready"


async def test_a_wait_is_bounded_and_says_what_is_waited_for():
    @asynccontextmanager
    async def never():
        await asyncio.Event().wait()
        yield None

    async with LazyRuntime(never, wait_seconds=0.01) as runtime:
        with pytest.raises(NotReadyError, match=r"still starting after 0\.01 seconds"):
            await runtime.memory()


async def test_after_a_failure_calls_are_answered_at_once_while_it_is_tried_again(memory):
    gate = asyncio.Event()

    class Gated(Attempts):
        @asynccontextmanager
        async def __call__(self):
            if self.made == 1:
                await gate.wait()
            async with super().__call__() as opened:
                yield opened

    attempts = Gated(ServerError("no route to db.internal"), memory)
    async with LazyRuntime(attempts, wait_seconds=10) as runtime:
        with pytest.raises(NotReadyError) as told:
            await runtime.memory()
        assert "db.internal" not in str(told.value)
        assert runtime.state == "unavailable"
        gate.set()

        async def is_back():
            return runtime.state == "ready"

        await eventually(is_back)
        assert await runtime.memory() is memory
    assert attempts.closed == 1


async def test_a_mistake_that_does_not_mend_itself_is_not_tried_again(caplog):
    attempts = Attempts(PluginError("no installed plugin provides 'absent'"))
    async with LazyRuntime(attempts, wait_seconds=10) as runtime:
        with pytest.raises(NotReadyError):
            await runtime.memory()
        await asyncio.sleep(0.05)
        assert attempts.made == 1
    assert "no installed plugin provides 'absent'" in caplog.text


async def test_an_unforeseen_error_is_logged_and_does_not_end_the_attempts(memory, caplog):
    attempts = Attempts(RuntimeError("odd"), memory)
    async with LazyRuntime(attempts, wait_seconds=10) as runtime:

        async def is_back():
            return runtime.state == "ready"

        await eventually(is_back)
    assert "RuntimeError: odd" in caplog.text


async def test_a_lost_database_is_opened_again_with_what_runs_beside_it(memory, dsn):
    lost = await asyncpg.create_pool(dsn, min_size=0)
    attempts = Attempts(replace(memory, pool=lost), memory)
    entered, left, available = [], [], []

    @asynccontextmanager
    async def beside(opened):
        entered.append(opened)
        try:
            yield
        finally:
            left.append(opened)

    async def when_available(opened):
        available.append(opened)

    async with LazyRuntime(attempts, wait_seconds=10, beside=[beside], when_available=when_available) as runtime:
        assert (await runtime.memory()).pool is lost
        lost.terminate()
        runtime.suspect()

        async def is_new():
            return (await runtime.memory()).pool is memory.pool

        await eventually(is_new)
        assert [opened.pool for opened in entered] == [lost, memory.pool]
        assert [opened.pool for opened in left] == [lost]
        await eventually(lambda: _is(len(available) == 2))
    assert len(left) == 2


async def test_a_false_alarm_changes_nothing_but_is_a_moment_to_replay(memory):
    attempts = Attempts(memory)
    available = []

    async def when_available(opened):
        available.append(opened)

    async with LazyRuntime(attempts, wait_seconds=10, when_available=when_available) as runtime:
        await runtime.memory()
        await eventually(lambda: _is(len(available) == 1))
        runtime.suspect()
        await eventually(lambda: _is(len(available) == 2))
        assert runtime.state == "ready"
    assert attempts.made == 1


async def _is(value: bool) -> bool:
    return value
