"""The runtime of a server: opened in the background, waited for by calls, opened again when the database went away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import asyncpg
from memory_core import Memory, MemoryModuleError
from memory_core.database import UNAVAILABLE, transaction
from memory_core.errors import ServerError
from memory_core.queries import load_queries

from memory_mcp.tool_errors import AWAY, NotReadyError

if TYPE_CHECKING:
    from memory_core.database import Pool

logger = logging.getLogger(__name__)

SQL = load_queries("servers", package="memory_mcp")

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 10.0
# How often the server is looked at when no call tells that something is wrong with it.
WATCH_SECONDS = 60.0

# What a next attempt may not meet: everything that the server is at fault for.
_PASSING: tuple[type[Exception], ...] = (ServerError, asyncpg.PostgresError, *UNAVAILABLE)

State = Literal["starting", "ready", "unavailable"]
Beside = Callable[[Memory], AbstractAsyncContextManager[Any]]


class RuntimeSource(Protocol):
    """Where calls get the runtime from."""

    async def memory(self) -> Memory:
        """Return the runtime.

        Raises:
            NotReadyError: there is none at the moment.
        """

    def suspect(self) -> None:
        """Note that the database seems to be away."""


class LazyRuntime:
    """Keeps a runtime open from entering the block until leaving it, however often the database goes away.

    `beside` runs while the runtime is open (the workers); `when_available` is called each time that the database has
    turned out to be there (the replay of the spool).
    """

    def __init__(
        self,
        open_memory: Callable[[], AbstractAsyncContextManager[Memory]],
        *,
        wait_seconds: float,
        preload: bool = True,
        beside: Sequence[Beside] = (),
        when_available: Callable[[Memory], Awaitable[None]] | None = None,
    ) -> None:
        self._open_memory = open_memory
        self._wait_seconds = wait_seconds
        self._preload = preload
        self._beside = beside
        self._when_available = when_available
        self._memory: Memory | None = None
        self._failure: Exception | None = None
        self._settled = asyncio.Event()
        self._suspected = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Begin to open the runtime, without waiting for it."""
        self._task = asyncio.create_task(self._keep_open(), name="memory runtime")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the runtime and wait until it is closed."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def state(self) -> State:
        """Whether calls can be answered now."""
        if not self._settled.is_set():
            return "starting"
        return "ready" if self._memory is not None else "unavailable"

    async def memory(self) -> Memory:
        """Return the runtime, after waiting a bounded time for it to start.

        Raises:
            NotReadyError: the database does not start in time, or cannot be reached.
        """
        try:
            await asyncio.wait_for(self._settled.wait(), self._wait_seconds)
        except TimeoutError:
            raise NotReadyError(
                f"the memory database is still starting after {self._wait_seconds:g} seconds of waiting; "
                "a first start, or one after a crash, takes longer"
            ) from None
        if self._memory is None:
            raise NotReadyError(AWAY.message) from self._failure
        return self._memory

    def suspect(self) -> None:
        """Have the database looked at now, because a call could not reach it."""
        self._suspected.set()

    async def _keep_open(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._open_until_lost()
                pause = FIRST_PAUSE_SECONDS
                logger.warning("the memory database went away; opening it again")
                continue
            except _PASSING as error:
                reason = str(error).partition("\n")[0] or type(error).__name__
                logger.warning("the memory database cannot be used, trying again in %g s: %s", pause, reason)
                logger.debug("why the memory database cannot be used", exc_info=error)
                self._settle(None, error)
            except MemoryModuleError as error:
                # A wrong configuration does not mend itself: calls are told, and nothing is tried again.
                logger.exception("the memory cannot be opened: %s", error)
                self._settle(None, error)
                return
            except Exception as error:
                # An isolation point: a background task that ended silently would leave every call waiting for ever.
                logger.exception("the memory cannot be opened, trying again in %g s", pause)
                self._settle(None, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def _open_until_lost(self) -> None:
        async with AsyncExitStack() as stack:
            memory = await stack.enter_async_context(self._open_memory())
            if self._preload:
                _preload(memory)
            for start in self._beside:
                await stack.enter_async_context(start(memory))
            self._settle(memory, None)
            # Entered last, so left first: no call gets a runtime that is being closed.
            stack.callback(self._unsettle)
            logger.info("memory is in %s", memory.location)
            await self._watch(memory)

    async def _watch(self, memory: Memory) -> None:
        """Return when the server is gone; asked to look, or after a while without being asked."""
        while await is_reachable(memory.pool):
            if self._when_available is not None:
                await self._when_available(memory)
            try:
                await asyncio.wait_for(self._suspected.wait(), WATCH_SECONDS)
            except TimeoutError:
                continue
            self._suspected.clear()

    def _settle(self, memory: Memory | None, failure: Exception | None) -> None:
        self._memory, self._failure = memory, failure
        self._settled.set()

    def _unsettle(self) -> None:
        # Calls wait for the next attempt, which usually is a matter of a second; after a failed one they do not.
        self._memory = None
        self._settled.clear()


async def is_reachable(pool: Pool) -> bool:
    """Tell whether the server answers; one that is merely busy counts as there."""
    try:
        async with asyncio.timeout(5), transaction(pool) as connection:
            await connection.fetchval(SQL["ping"])
    except TimeoutError:
        # All connections are in use, or the answer is slow: closing the pool would only make that worse.
        return True
    except UNAVAILABLE:
        return False
    return True


def _preload(memory: Memory) -> None:
    preload = getattr(memory.embedder, "preload", None)
    if preload is not None:
        # Its failure is told to the first call that needs a vector.
        preload().add_done_callback(lambda loaded: loaded.cancelled() or loaded.exception())
