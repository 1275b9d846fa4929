"""The memory as a module of a host: a daemon that brings its own server, its own pool and its own configuration."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from memory_core import ConfigError, Embedder, Memory, MemoryModuleConfig, MigrationError, PluginError, WorkerSchedule
from memory_core.config_sources import parse_config
from memory_core.plugin_selection import collect_tools, load_plugins, migration_chains, require_named_plugins
from memory_core.plugins import Plugins

from memory_mcp.episode_keeping import EpisodeKeeper
from memory_mcp.host_schema import database_identity, prepare_schema
from memory_mcp.lazy_runtime import LazyRuntime
from memory_mcp.registration import ToolServer, register_tools
from memory_mcp.state_files import spool_of
from memory_mcp.tool_calls import ToolCalls
from memory_mcp.tool_errors import AWAY, NotReadyError

if TYPE_CHECKING:
    from memory_core.database import Pool

logger = logging.getLogger(__name__)

# What does not mend itself while the host runs; everything else is tried again in the background.
_FATAL = (ConfigError, MigrationError, PluginError)


class MemoryModule:
    """Loads in a host that starts it with a configuration and a database, and registers its tools on a server.

    Its methods are those that hosts call; a host's abstract base class can be mixed in.
    """

    name = "memory"
    dependencies: list[str] = []  # noqa: RUF012 (hosts read it as a plain attribute)
    config_schema = MemoryModuleConfig

    def __init__(self) -> None:
        self._config = MemoryModuleConfig()
        self._db: Any = None
        self._embedding_engine: Embedder | None = None
        self._plugins: Plugins | None = None
        self._runtime: LazyRuntime | None = None
        self._calls: ToolCalls | None = None
        self._keeper: EpisodeKeeper | None = None

    def migration_revisions(self) -> str:
        """Return the branch label of the Alembic chain, which is in memory_core's `migrations` directory."""
        return "memory"

    async def on_startup(self, config: Any, db: Any, credential_store: Any = None, blob_store: Any = None) -> None:
        """Take the database, bring it to the needed schema unless the host has, and start the workers.

        A database that is away is tried again in the background, and does not keep the host from starting.

        Raises:
            ConfigError: the configuration is wrong.
            PluginError: a plugin that the configuration names is missing.
            MigrationError: the schema cannot be brought to the needed version.
        """
        await self.on_shutdown()
        self._adopt(config, db)
        self._runtime = LazyRuntime(
            self._opened,
            wait_seconds=self._config.serve.start_wait_seconds,
            preload=False,
            beside=[WorkerSchedule] if self._config.serve.workers else [],
            when_available=self._replay,
        )
        await self._runtime.__aenter__()
        try:
            await self._runtime.memory()
        except NotReadyError as error:
            if isinstance(error.__cause__, _FATAL):
                await self.on_shutdown()
                raise error.__cause__ from None
            logger.warning("the memory starts without its database, which is tried again: %s", error.__cause__ or error)

    async def register_tools(self, mcp: ToolServer, config: Any, db: Any, butler_name: str | None = None) -> None:
        """Register the configured tools on the host's server; they may be called as soon as the module is started.

        Raises:
            ConfigError: the configuration is wrong.
            PluginError: a plugin that the configuration names is missing.
        """
        if self._runtime is None:
            self._adopt(config, db)
        tools = collect_tools(self._loaded_plugins(), self._config)
        self._calls = ToolCalls(tools, self, self._config, self._keeper)
        register_tools(mcp, self._calls, self._config.tenant_id)
        logger.info("%d memory tools are registered for %s", len(tools), butler_name or "the host")

    async def on_shutdown(self) -> None:
        """Stop the workers, let go of the database and the embedding engine; the module can be started again."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.__aexit__()
        engine, self._embedding_engine = self._embedding_engine, None
        close = getattr(engine, "close", None)
        if close is not None:
            await asyncio.to_thread(close)
        self._db = None
        self._keep_episodes_with(None)

    async def memory(self) -> Memory:
        """Return the runtime that the registered tools use.

        Raises:
            NotReadyError: the module is not started, or its database is away.
        """
        if self._runtime is None:
            raise NotReadyError(f"the memory module is not started; {AWAY.message}")
        return await self._runtime.memory()

    def suspect(self) -> None:
        """Have the database looked at now, because a call could not reach it."""
        if self._runtime is not None:
            self._runtime.suspect()

    def _adopt(self, config: Any, db: Any) -> None:
        self._config = _read_config(config)
        self._db = db
        self._plugins = None

    def _loaded_plugins(self) -> Plugins:
        if self._plugins is None:
            plugins = load_plugins(self._config)
            require_named_plugins(plugins, self._config)
            self._plugins = plugins
        return self._plugins

    def _get_embedding_engine(self) -> Embedder:
        """Return the engine, made on first use and shared from then on; its model loads with the first text."""
        if self._embedding_engine is None:
            self._embedding_engine = self._loaded_plugins().create(
                "memory_embedding_backends", self._config.embedding_backend
            )
        return self._embedding_engine

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Memory]:
        pool: Pool = getattr(self._db, "pool", self._db)
        plugins = self._loaded_plugins()
        await prepare_schema(pool, migration_chains(plugins), self._config.schema_name)
        yield Memory(
            pool,
            self._get_embedding_engine(),
            self._config,
            plugins,
            collect_tools(plugins, self._config),
            self._config.tenant_id,
            "the host's database",
        )

    async def _replay(self, memory: Memory) -> None:
        if self._config.spool.max_bytes == 0:
            return
        if self._keeper is None:
            # Only the database itself can tell which one it is: a host hands over no DSN.
            spool = spool_of(self._config, await database_identity(memory.pool))
            self._keep_episodes_with(EpisodeKeeper(self, self._config, spool))
        if self._keeper is not None:
            await self._keeper.replay(memory)

    def _keep_episodes_with(self, keeper: EpisodeKeeper | None) -> None:
        self._keeper = keeper
        if self._calls is not None:
            self._calls.keeper = keeper


def _read_config(config: Any) -> MemoryModuleConfig:
    if isinstance(config, MemoryModuleConfig):
        return config
    if config is None or isinstance(config, Mapping):
        return parse_config(config or {})
    raise ConfigError(
        f"the module's configuration is of type {type(config).__name__}; "
        "pass a MemoryModuleConfig or the [modules.memory] table"
    )
