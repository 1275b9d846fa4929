"""The runtime: one way in for programs, the command line, the server and hosts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.callers import DEFAULT_TENANT
from memory_core.config import MemoryModuleConfig
from memory_core.config_sources import disabled_plugins, load_config
from memory_core.database import masked_dsn, open_pool
from memory_core.embedding import Embedder
from memory_core.errors import InvalidInputError, PluginError, TenantMismatchError
from memory_core.migrate import migrate
from memory_core.migration_chains import CORE_CHAIN, MigrationChain
from memory_core.plugins import Plugins
from memory_core.text import clean_name
from memory_core.tools import Tool

if TYPE_CHECKING:
    from memory_core.database import Pool

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Memory:
    """A tenant's view of one memory database, with everything that its tools need."""

    pool: Pool
    embedder: Embedder
    config: MemoryModuleConfig
    plugins: Plugins
    tools: Mapping[str, Tool]
    tenant_id: str = DEFAULT_TENANT
    location: str = ""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        dsn: str | None = None,
        data_dir: str | Path | None = None,
        tenant_id: str | None = None,
        config: MemoryModuleConfig | None = None,
    ) -> AsyncIterator[Memory]:
        """Start or reach the server, migrate it, load the plugins, and give a runtime until the block ends.

        Without `config` it is read from `butler.toml` and the environment; without a DSN the embedded server is used.

        Raises:
            ServerError: the server cannot be started or reached; a DSN is never replaced by the embedded server.
            ConfigError: the configuration is wrong.
            PluginError: a plugin that the configuration names is missing.
        """
        settings = config or load_config()
        plugins = load_plugins(settings)
        tools = collect_tools(plugins, settings)
        async with AsyncExitStack() as stack:
            location = dsn or settings.dsn or await _start_embedded(stack, data_dir or settings.data_dir)
            logger.info("memory is in %s", masked_dsn(location))
            pool = await open_pool(
                location, schema=settings.schema_name, pooler=settings.pooler, max_size=settings.pool_max_size
            )
            stack.push_async_callback(_close_pool, pool)
            await migrate(pool, schema=settings.schema_name, chains=migration_chains(plugins))
            embedder = plugins.create("memory_embedding_backends", settings.embedding_backend)
            stack.push_async_callback(_close_embedder, embedder)
            tenant = clean_name(tenant_id or settings.tenant_id, "tenant_id")
            yield cls(pool, embedder, settings, plugins, tools, tenant, masked_dsn(location))

    def for_tenant(self, tenant_id: str) -> Memory:
        """Return the same runtime as another tenant sees it."""
        return replace(self, tenant_id=clean_name(tenant_id, "tenant_id"))

    def require_tenant(self, tenant_id: str | None) -> str:
        """Return the runtime's tenant, which an argument may repeat but not change.

        Raises:
            TenantMismatchError: the argument names another tenant.
        """
        if tenant_id is not None and tenant_id != self.tenant_id:
            raise TenantMismatchError(
                f"tenant_id {tenant_id!r} is not the caller's tenant {self.tenant_id!r}; "
                "leave it out, or authenticate as that tenant"
            )
        return self.tenant_id

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """Run a tool by name and return what an MCP client would get, as Python data.

        Raises:
            InvalidInputError: there is no such tool, or an argument is wrong.
        """
        if tool not in self.tools:
            raise InvalidInputError(f"tool {tool!r} is not one of: {', '.join(self.tools)}")
        return await self.tools[tool].call(self, arguments)


def load_plugins(config: MemoryModuleConfig) -> Plugins:
    """Load the installed plugins with the options that a configuration gives them."""
    return Plugins.from_entry_points(config.plugins, disabled_plugins())


def collect_tools(plugins: Plugins, config: MemoryModuleConfig) -> dict[str, Tool]:
    """Return the tools of the configured sets, by name.

    Raises:
        PluginError: a set is missing, two sets have a tool of one name, or a tool to leave out does not exist.
    """
    tools: dict[str, Tool] = {}
    for name in config.tools.sets:
        offered: Sequence[Tool] = plugins.create("memory_tools", name)
        for tool in offered:
            if tool.name in tools:
                raise PluginError(f"tool {tool.name!r} is in two sets; leave one of them out of tools.sets")
            tools[tool.name] = tool
    for name in config.tools.exclude:
        if tools.pop(name, None) is None:
            raise PluginError(f"tools.exclude names {name!r}, which no set of tools.sets has")
    return tools


def migration_chains(plugins: Plugins) -> list[MigrationChain]:
    """Return the core's chain and then those that plugins bring."""
    brought = [plugins.create("memory_migrations", name) for name in plugins.providers("memory_migrations")]
    return [CORE_CHAIN, *brought]


async def _start_embedded(stack: AsyncExitStack, data_dir: str | Path | None) -> str:
    # Imported here because a host with its own PostgreSQL may run without the embedded binaries.
    from memory_core.embedded import EmbeddedServer

    server = EmbeddedServer(Path(data_dir) if data_dir else None)
    stack.push_async_callback(asyncio.to_thread, server.stop)
    return await asyncio.to_thread(server.start)


async def _close_pool(pool: Pool) -> None:
    try:
        await asyncio.wait_for(pool.close(), timeout=10)
    except TimeoutError:
        logger.warning("connections were still busy after 10 seconds and are cut")
        pool.terminate()


async def _close_embedder(embedder: Embedder) -> None:
    close = getattr(embedder, "close", None)
    if close is not None:
        await asyncio.to_thread(close)
