"""Pools and transactions: the one place that knows how to reach PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from asyncpg.transaction import Transaction

from memory_core.errors import ConfigError, ServerError

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]
    Database = Pool | Connection

MINIMUM_SERVER = (14, 0)
MINIMUM_PGVECTOR = (0, 7)

_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")

# What asyncpg raises when the server is away, as opposed to a statement that is wrong.
UNAVAILABLE: tuple[type[Exception], ...] = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    # What asyncpg makes of a connection that broke between two messages of one statement.
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
)
_CANNOT_OPEN: tuple[type[Exception], ...] = (*UNAVAILABLE, asyncpg.PostgresError, ValueError)


@asynccontextmanager
async def transaction(db: Database) -> AsyncIterator[Connection]:
    """Run a block in one transaction, on a connection of the pool or inside the caller's own transaction."""
    if isinstance(db, asyncpg.Pool):
        async with db.acquire() as connection, connection.transaction():
            yield connection
    else:
        async with db.transaction():
            yield db


async def open_pool(
    dsn: str, *, schema: str | None = None, pooler: bool = False, min_size: int = 1, max_size: int = 10
) -> Pool:
    """Open a pool whose statements find the memory tables in `schema`.

    Behind a transaction pooler no session state survives, so the schema is set in each transaction instead.

    Raises:
        ServerError: the server does not answer, refuses the login, or the DSN cannot be read.
    """
    options: dict[str, Any] = {"server_settings": {"application_name": "butler-memory"}}
    if pooler:
        options = {"statement_cache_size": 0, "connection_class": _connection_class(schema)}
    elif schema:
        options["server_settings"]["search_path"] = search_path(schema)
    try:
        return await asyncpg.create_pool(dsn, min_size=min_size, max_size=max_size, timeout=10, **options)
    except _CANNOT_OPEN as error:
        raise ServerError(
            f"no usable PostgreSQL at {masked_dsn(dsn)}: {error or type(error).__name__}. "
            "Check that the server runs and that the DSN is right; "
            "without `dsn` and MEMORY_DSN the embedded server is used"
        ) from error


def search_path(schema: str | None) -> str:
    """Return the search path under which a schema's memory tables and the extensions are found.

    Raises:
        ConfigError: the name is not a plain lower-case identifier.
    """
    if schema is None:
        return '"$user", public'
    if not _IDENTIFIER.fullmatch(schema):
        raise ConfigError(
            f"schema {schema!r} is not a plain identifier; use lower-case letters, digits and underscores, "
            "beginning with a letter, at most 63"
        )
    # Quoted, because a plain identifier may still be a word of SQL, such as user.
    return f'"{schema}", public'


def masked_dsn(dsn: str) -> str:
    """Return a DSN that can be shown: without its password."""
    parts = urlsplit(dsn)
    if "://" not in dsn:
        return re.sub(r"(password\s*=\s*)('[^']*'|\S+)", r"\1***", dsn)
    query = re.sub(r"(^|&)(password|sslpassword)=[^&]*", r"\1\2=***", parts.query)
    user, separator, host = parts.netloc.rpartition("@")
    if ":" in user:
        user = user.partition(":")[0] + ":***"
    return urlunsplit(parts._replace(netloc=user + separator + host, query=query))


def _connection_class(schema: str | None) -> type[asyncpg.Connection[asyncpg.Record]]:
    path = search_path(schema)

    class SchemaTransaction(Transaction):
        async def start(self) -> None:
            await super().start()
            await self._connection.execute(f"SET LOCAL search_path TO {path}")  # type: ignore[attr-defined]

    class PooledConnection(asyncpg.Connection):
        def transaction(self, *, isolation: Any = None, readonly: bool = False, deferrable: bool = False) -> Any:
            return SchemaTransaction(self, isolation, readonly, deferrable)

    return PooledConnection
