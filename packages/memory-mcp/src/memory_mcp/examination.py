"""Examines everything, from the configuration to the workers' last runs, without changing anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
from memory_core.config import MemoryModuleConfig
from memory_core.errors import ConfigError, PluginError, ServerError
from memory_core.generations import Generation
from memory_core.plugin_selection import load_plugins
from memory_core.plugins import Plugins
from memory_core.server_choice import ReachedServer, reach_server

from memory_mcp.database_checks import check_consolidation, check_schema, check_server, check_vectors, check_workers
from memory_mcp.findings import Finding, fail, ok
from memory_mcp.installation_checks import check_model, check_plugins, check_spool, check_tokens
from memory_mcp.invocation import Invocation
from memory_mcp.state_files import episode_spool, token_file
from memory_mcp.tokens import TokenFile


async def examine(invocation: Invocation) -> AsyncIterator[Finding]:
    """Yield what is found, in the order in which a start would meet it; what a failure hides is not looked for."""
    try:
        config = invocation.config()
        plugins = load_plugins(config)
    except ConfigError as error:
        yield fail("configuration", str(error), "see docs/configuration.md")
        return
    except PluginError as error:
        yield fail("plugins", str(error), "see docs/plugins.md")
        return
    yield ok("configuration", "every key is known and every value is good")
    for finding in check_plugins(plugins, config):
        yield finding
    async for finding in _model_and_database(invocation, config, plugins):
        yield finding
    yield check_spool(episode_spool(config, dsn=invocation.dsn, data_dir=invocation.data_dir))
    yield check_tokens(TokenFile(token_file(config, invocation.data_dir)), config, datetime.now(UTC))


async def _model_and_database(
    invocation: Invocation, config: MemoryModuleConfig, plugins: Plugins
) -> AsyncIterator[Finding]:
    model, generation = await check_model(plugins, config.embedding_backend)
    yield model
    try:
        async with reach_server(config, dsn=invocation.dsn, data_dir=invocation.data_dir) as server:
            async for finding in _database(server, config, plugins, generation):
                yield finding
    except ServerError as error:
        yield fail("server", str(error), "nothing can be stored or found before this is mended")
    except asyncpg.PostgresError as error:
        yield fail("server", f"{type(error).__name__}: {error}", "see docs/hosting.md for what a role must be granted")


async def _database(
    server: ReachedServer, config: MemoryModuleConfig, plugins: Plugins, generation: Generation | None
) -> AsyncIterator[Finding]:
    async for finding in check_server(server.pool, server.location):
        yield finding
    is_current = True
    async for finding in check_schema(server.pool, plugins, config.schema_name):
        is_current &= finding.status == "ok"
        yield finding
    if not is_current:
        return  # the tables may be missing, or may look otherwise
    for checks in (
        check_vectors(server.pool, generation),
        check_workers(server.pool, plugins, config),
        check_consolidation(server.pool, config),
    ):
        async for finding in checks:
            yield finding
