"""Brings a host's database to the needed schema, unless the host has done that with its own Alembic."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core import ConfigError, MigrationError, migrate
from memory_core.database import transaction
from memory_core.migrating import current_revision
from memory_core.migration_chains import CORE_CHAIN, MigrationChain
from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection, Pool

logger = logging.getLogger(__name__)

SQL = load_queries("host_schema", package="memory_mcp")


async def prepare_schema(pool: Pool, chains: Sequence[MigrationChain], schema: str | None = None) -> None:
    """Migrate each chain that the host has not migrated itself.

    Raises:
        ConfigError: the configuration names another schema than the one that the host's pool works in.
        MigrationError: the host's own migrations are behind this package, or ours fail.
        ServerError: the server or its pgvector is too old.
    """
    ours = [chain for chain in chains if not await _is_migrated_by_host(pool, chain)]
    await migrate(pool, schema=schema, chains=ours)
    if schema is not None:
        await _require_current_schema(pool, schema)


async def _require_current_schema(pool: Pool, schema: str) -> None:
    async with transaction(pool) as connection:
        current = await connection.fetchval(SQL["current_schema"])
    if current != schema:
        raise ConfigError(
            f"schema is {schema!r}, but the host's pool works in {current!r}; leave it out, or open the pool with "
            f"server_settings={{'search_path': '{schema}, public'}}"
        )


async def database_identity(pool: Pool) -> str:
    """Return what tells a database apart from every other one."""
    async with transaction(pool) as connection:
        identity: str = await connection.fetchval(SQL["database_identity"])
    return identity


async def _is_migrated_by_host(pool: Pool, chain: MigrationChain) -> bool:
    if chain is not CORE_CHAIN:
        return False
    async with transaction(pool) as connection:
        if await current_revision(connection, chain) is not None:
            return False
        revision = await _host_revision(connection, chain)
    if revision is None:
        return False
    if revision != chain.head:
        raise MigrationError(
            f"the host's Alembic has the memory schema at {revision}, and this package needs {chain.head}; "
            "run the host's migrations (alembic upgrade memory@head)"
        )
    logger.info("the memory schema is at %s by the host's own migrations", revision)
    return True


async def _host_revision(connection: Connection, chain: MigrationChain) -> str | None:
    if not await connection.fetchval(SQL["host_version_table_exists"]):
        return None
    rows = await connection.fetch(SQL["host_revisions"], chain.revisions)
    return max((row["version_num"] for row in rows), default=None, key=chain.revisions.index)
