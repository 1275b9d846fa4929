"""Brings a database to the schema that this package needs.

Alembic plans (which revisions, which statements), asyncpg runs: so the chain is applied over any pool, in one
transaction, without a second driver.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

import asyncpg

from memory_core.database import MINIMUM_PGVECTOR, MINIMUM_SERVER, search_path, transaction
from memory_core.errors import MigrationError, ServerError
from memory_core.migration_chains import CORE_CHAIN, MigrationChain
from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

logger = logging.getLogger(__name__)

SQL = load_queries("migrations")


async def migrate(
    db: Database,
    target: str = "head",
    *,
    schema: str | None = None,
    chains: Sequence[MigrationChain] = (CORE_CHAIN,),
) -> dict[str, tuple[str | None, str | None]]:
    """Bring each chain to `target` (`head`, `base` or a revision of the core); return its revisions before and after.

    Any number of processes may call this at once: one migrates, the others wait and find nothing to do.

    Raises:
        MigrationError: the database is newer than this package, or a statement failed; nothing was changed.
        ServerError: the server or its pgvector is too old.
    """
    changes: dict[str, tuple[str | None, str | None]] = {}
    async with transaction(db) as connection:
        await enter_schema(connection, schema)
        # A chain is undone in the opposite order: what came later may rest on what came first.
        for chain in chains if target != "base" else reversed(chains):
            before = await current_revision(connection, chain)
            if before != (chain.head if target == "head" else target):
                await _lock(connection, schema)
                before = await current_revision(connection, chain)
                await _apply(connection, chain, before, target)
            changes[chain.name] = (before, await current_revision(connection, chain))
    return changes


async def current_revision(connection: Connection, chain: MigrationChain = CORE_CHAIN) -> str | None:
    """Return the revision that a chain is at in the current schema, `None` before the first."""
    # Not to_regclass: within one transaction its cache can miss a table that another process has just made.
    if not await connection.fetchval(SQL["version_table_exists"], chain.version_table):
        return None
    revision: str | None = await connection.fetchval(f"SELECT version_num FROM {chain.version_table}")
    return revision


async def enter_schema(connection: Connection, schema: str | None) -> None:
    """Have the transaction's statements find tables in a schema, which is made if it is missing.

    Raises:
        ServerError: the role may not use the schema.
    """
    if schema is not None:
        path = search_path(schema)
        # Asked first: PostgreSQL wants the right to create schemas even for one that is there, which a role that only
        # uses the tables need not have.
        if not await connection.fetchval(SQL["schema_exists"], schema):
            await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        await connection.execute(f"SET LOCAL search_path TO {path}")
        # A schema that the role may not use is passed over in silence, and the next one's tables would be used.
        if await connection.fetchval(SQL["schema_in_use"]) != schema:
            raise ServerError(
                f"the database role may not use the schema {schema!r}; as its owner: GRANT USAGE ON SCHEMA {schema}, "
                "and what docs/hosting.md lists, or choose another schema"
            )


async def _lock(connection: Connection, schema: str | None) -> None:
    await connection.execute(SQL["lock_migrations"], f"butler-memory migrations {schema or ''}")


async def _apply(connection: Connection, chain: MigrationChain, before: str | None, target: str) -> None:
    if chain is CORE_CHAIN:
        await _check_server(connection)
    statements = await asyncio.to_thread(plan, chain, before, target)
    for statement in statements:
        try:
            await connection.execute(statement)
        except asyncpg.PostgresError as error:
            refused = isinstance(error, asyncpg.InsufficientPrivilegeError)
            remedy = "; let an administrator run that statement in this database once" if refused else ""
            raise MigrationError(
                f"migrating {chain.name!r} from {before or 'base'} to {target} failed and was rolled back: {error} "
                f"(in: {' '.join(statement.split())[:200]}){remedy}"
            ) from error
    if target == "base":
        await connection.execute(f"DROP TABLE IF EXISTS {chain.version_table}")
    if statements:
        logger.info("migrated %r from %s to %s", chain.name, before or "base", target)


def plan(chain: MigrationChain, before: str | None, target: str) -> list[str]:
    """Return the statements that lead a chain from one revision to another.

    Raises:
        MigrationError: one of the revisions is not in the chain.
    """
    # Imported here because an up-to-date database needs no plan, and Alembic takes a third of a second to import.
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory
    from alembic.script.revision import RevisionError
    from alembic.util import CommandError

    script = ScriptDirectory(str(chain.location))
    try:
        downward = target == "base" or (before is not None and target in _below(script, before))
        steps = script._downgrade_revs if downward else script._upgrade_revs
        output = _Statements()
        with EnvironmentContext(
            Config(),
            script,
            fn=lambda _revision, _context: steps(target, before),  # type: ignore[arg-type]
            as_sql=True,
            starting_rev=before,
            destination_rev=target,
        ) as environment:
            environment.configure(dialect_name="postgresql", output_buffer=output, version_table=chain.version_table)
            environment.run_migrations()
    except (CommandError, RevisionError) as error:
        raise MigrationError(
            f"the database's {chain.name!r} schema is at {before or 'base'} and cannot be brought to {target!r}: "
            f"{error}. A newer version of the package may have written it: install that version"
        ) from error
    return output.statements


def _below(script: object, revision: str) -> set[str]:
    walk = script.iterate_revisions(revision, "base")  # type: ignore[attr-defined]
    return {step.revision for step in walk if step.revision != revision}


class _Statements(StringIO):
    """Collects what Alembic writes in SQL mode: one statement a write."""

    def __init__(self) -> None:
        super().__init__()
        self.statements: list[str] = []

    def write(self, text: str) -> int:
        statement = text.strip().rstrip(";")
        if statement and not statement.startswith("--"):
            self.statements.append(statement)
        return len(text)


async def _check_server(connection: Connection) -> None:
    version = connection.get_server_version()
    if (version.major, version.minor) < MINIMUM_SERVER:
        raise ServerError(f"PostgreSQL {version.major}.{version.minor} is too old; version 14 or newer is needed")
    encoding = connection.get_settings().server_encoding
    if encoding != "UTF8":
        raise ServerError(
            f"the database's encoding is {encoding}, which cannot hold every text; "
            "make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
    vector = await connection.fetchval(SQL["available_pgvector"])
    if vector is None:
        raise ServerError(
            "this PostgreSQL has no pgvector; install the `vector` extension's package on the server "
            "(Debian: postgresql-NN-pgvector), or use the embedded server"
        )
    if tuple(int(part) for part in vector.split(".")[:2]) < MINIMUM_PGVECTOR:
        raise ServerError(f"pgvector {vector} is too old; version 0.7 or newer is needed")
