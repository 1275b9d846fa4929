"""What the global options of one command line say, and the runtime that follows from them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from memory_core import Memory, MemoryModuleConfig, load_config
from memory_core.server_choice import ReachedServer, reach_server

from memory_mcp.output import say_where


@dataclass(frozen=True)
class Invocation:
    """The global options of one command line."""

    config_file: Path | None = None
    dsn: str | None = None
    data_dir: Path | None = None
    schema: str | None = None
    tenant: str | None = None

    def config(self) -> MemoryModuleConfig:
        """Read the configuration under these options.

        Raises:
            ConfigError: it is wrong; the message names the key.
        """
        return load_config(self.config_file, overrides={"schema": self.schema, "tenant_id": self.tenant})

    @asynccontextmanager
    async def memory(self) -> AsyncIterator[Memory]:
        """Open the runtime and say on stderr which server it uses."""
        async with Memory.open(self.dsn, self.data_dir, config=self.config()) as memory:
            say_where(memory.location)
            yield memory

    @asynccontextmanager
    async def server(self, config: MemoryModuleConfig) -> AsyncIterator[ReachedServer]:
        """Reach the server only, without migrating it, and say on stderr which one it is."""
        async with reach_server(config, dsn=self.dsn, data_dir=self.data_dir) as server:
            say_where(server.location)
            yield server
