"""The runtime: one way in for programs, the command line, the server and hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.callers import DEFAULT_TENANT, parse_tenant
from memory_core.config import MemoryModuleConfig
from memory_core.config_sources import load_config
from memory_core.embedding import Embedder, close_embedder
from memory_core.errors import ConfigError, InvalidInputError, TenantMismatchError
from memory_core.migrating import migrate
from memory_core.plugin_selection import collect_tools, load_plugins, migration_chains, require_named_plugins
from memory_core.plugins import Plugins
from memory_core.server_choice import reach_server
from memory_core.tools import Tool

if TYPE_CHECKING:
    from memory_core.database import Pool


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
        plugins: Plugins | None = None,
    ) -> AsyncIterator[Memory]:
        """Start or reach the server, migrate it, load the plugins, and give a runtime until the block ends.

        Without `config` it is read from `butler.toml` and the environment; without a DSN the embedded server is used;
        without `plugins` the installed ones are loaded. An argument wins over the configuration.

        Raises:
            ServerError: the server cannot be started or reached; a DSN is never replaced by the embedded server.
            ConfigError: the configuration is wrong.
            PluginError: a plugin that the configuration names is missing, or two have one name.
        """
        settings = config or load_config()
        tenant = parse_tenant(settings.tenant_id if tenant_id is None else tenant_id)
        loaded = plugins or load_plugins(settings)
        require_named_plugins(loaded, settings)
        tools = collect_tools(loaded, settings)
        chains = migration_chains(loaded)
        async with AsyncExitStack() as stack:
            embedder = loaded.create("memory_embedding_backends", settings.embedding_backend)
            stack.push_async_callback(close_embedder, embedder)
            _require_expected_model(embedder, settings)
            server = await stack.enter_async_context(reach_server(settings, dsn=dsn, data_dir=data_dir))
            await migrate(server.pool, schema=settings.schema_name, chains=chains)
            yield cls(server.pool, embedder, settings, loaded, tools, tenant, server.location)

    def for_tenant(self, tenant_id: str) -> Memory:
        """Return the same runtime as another tenant sees it."""
        return replace(self, tenant_id=parse_tenant(tenant_id))

    def require_tenant(self, tenant_id: str | None) -> str:
        """Return the runtime's tenant, which an argument may repeat but not change.

        Raises:
            TenantMismatchError: the argument names another tenant.
        """
        if tenant_id is not None and tenant_id != self.tenant_id:
            raise TenantMismatchError(
                f"tenant_id {tenant_id!r} is not the caller's tenant {self.tenant_id!r}; "
                f"pass {self.tenant_id!r}, leave it out where you may, or authenticate as that tenant"
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


def _require_expected_model(embedder: Embedder, config: MemoryModuleConfig) -> None:
    """Refuse a backend whose model is another than the one that the configuration spells out."""
    for key, property_name in (("embedding_model", "model"), ("embedding_dimensions", "dimensions")):
        # Only asked when it matters: some backends load their model to know its dimensions.
        if key in config.model_fields_set and getattr(config, key) != getattr(embedder, property_name):
            raise ConfigError(
                f"bad value for modules.memory.{key}: {getattr(config, key)!r}, but the embedding backend "
                f"{config.embedding_backend!r} has {getattr(embedder, property_name)!r}; "
                "leave it out, or choose the backend and options that have it"
            )
