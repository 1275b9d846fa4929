"""Decides which PostgreSQL a runtime uses, and reaches it: yours by DSN, else the embedded one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.config import MemoryModuleConfig
from memory_core.database import masked_dsn, open_pool

if TYPE_CHECKING:
    from memory_core.database import Pool

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReachedServer:
    """A server in use: a pool on it, and where it is, in words that can be shown."""

    pool: Pool
    location: str


@asynccontextmanager
async def reach_server(
    config: MemoryModuleConfig, *, dsn: str | None = None, data_dir: str | Path | None = None
) -> AsyncIterator[ReachedServer]:
    """Open a pool on the caller's DSN, else on the embedded server of their `data_dir`, else on what is configured.

    Raises:
        ServerError: the server cannot be started or reached; a DSN is never replaced by the embedded server.
    """
    chosen = dsn or (None if data_dir else config.dsn)
    async with AsyncExitStack() as stack:
        if chosen:
            location = masked_dsn(chosen)
        else:
            chosen, location = await _start_embedded(stack, data_dir or config.data_dir)
        logger.info("memory is in %s", location)
        pool = await open_pool(chosen, schema=config.schema_name, pooler=config.pooler, max_size=config.pool_max_size)
        stack.push_async_callback(_close_pool, pool)
        yield ReachedServer(pool, location)


async def _start_embedded(stack: AsyncExitStack, data_dir: str | Path | None) -> tuple[str, str]:
    # Imported here because a host with its own PostgreSQL may run without the embedded binaries.
    from memory_core.embedded import EmbeddedServer

    server = EmbeddedServer(Path(data_dir) if data_dir else None)
    stack.push_async_callback(asyncio.to_thread, server.stop)
    return await asyncio.to_thread(server.start), f"the embedded server in {server.data_dir}"


async def _close_pool(pool: Pool) -> None:
    try:
        await asyncio.wait_for(pool.close(), timeout=10)
    except TimeoutError:
        logger.warning("connections were still busy after 10 seconds and are cut")
        pool.terminate()
