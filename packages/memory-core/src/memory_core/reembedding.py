"""Moves every stored vector to another model while searches go on.

The new vectors are written beside the old ones, in batches that a killed run resumes; they are indexed, and then the
columns change places in one short transaction. At no moment does a search see vectors of both.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from memory_core.callers import Caller
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
from memory_core.errors import EmbeddingError
from memory_core.generations import GENERATION_LOCK_CLASS, Generation, active_generation
from memory_core.generations import SQL as GENERATIONS
from memory_core.queries import load_queries
from memory_core.session_context import index_facts_with_source, index_turns
from memory_core.validation import parse_moment
from memory_core.vectors import execute_with_vectors

if TYPE_CHECKING:
    from memory_core.database import Connection, Pool

logger = logging.getLogger(__name__)

SQL = load_queries("reembedding")

EMBEDDED_TABLES = ("episodes", "facts", "rules")
VECTOR_TABLES = (*EMBEDDED_TABLES, "session_turns")
FIRST_ID = UUID(int=0)
# Few enough that embedding them while everybody waits is not noticed.
LAST_ROWS = 200

Progress = Callable[[int, int], None]
ContextIndex = Callable[..., Awaitable[None]]


@dataclass(frozen=True)
class Reembedding:
    """What a run did."""

    before: Generation | None
    after: Generation
    memories: int


async def reembed(
    pool: Pool,
    embedder: Embedder,
    *,
    change_dimensions: bool = False,
    batch_size: int = 256,
    progress: Progress | None = None,
    now: datetime | None = None,
) -> Reembedding:
    """Make the embedder's generation the active one; `progress` is told how many memories of how many are done.

    Raises:
        EmbeddingError: the vectors have another length and `change_dimensions` was not asked for.
    """
    moment = parse_moment(now)
    target = Generation.of(embedder)
    async with _only_run(pool):
        async with transaction(pool) as connection:
            before = await active_generation(connection)
            await _require_permission(connection, before, target, change_dimensions)
        written = 0
        if before != target:
            await _begin(pool, target, moment)
            written = await _embed_all(pool, embedder, batch_size, progress or _silent)
            await _build_indexes(pool)
            written += await _swap(pool, embedder, batch_size, moment)
            logger.info("reembedded %d memories from %s to %s", written, before, target)
        await _add_context(pool, batch_size)
    return Reembedding(before, target, written)


@asynccontextmanager
async def _only_run(pool: Pool) -> AsyncIterator[None]:
    async with transaction(pool) as guard:
        if not await guard.fetchval(SQL["try_to_be_the_only_run"], GENERATION_LOCK_CLASS):
            raise EmbeddingError("another process is reembedding this database; wait until it is done")
        # asyncpg leaves the portal of a query open, and CREATE INDEX CONCURRENTLY would wait for its snapshot for ever;
        # a statement in the simple protocol closes it.
        await guard.execute("SAVEPOINT reembedding")
        yield


async def _require_permission(
    connection: Connection, before: Generation | None, target: Generation, change_dimensions: bool
) -> None:
    columns = await connection.fetchval(GENERATIONS["column_dimensions"])
    if columns != target.dimensions and not change_dimensions:
        raise EmbeddingError(
            f"the stored vectors have {columns} dimensions ({before}), the embedder is {target}; "
            "changing the length rewrites the columns: ask for it with --change-dimensions"
        )


async def _begin(pool: Pool, target: Generation, now: datetime) -> None:
    async with transaction(pool) as connection:
        row = await connection.fetchrow(SQL["migrating_generation"])
        if row is not None and Generation(*row) == target:
            return
        await connection.execute(SQL["abandon_generations"], now)
        await connection.execute(SQL["begin_generation"], *target, now)
        for table in VECTOR_TABLES:
            # A column of an abandoned run holds vectors of another model.
            await connection.execute(f"ALTER TABLE {table} DROP COLUMN IF EXISTS next_embedding")
        for table in EMBEDDED_TABLES:
            # DDL takes no parameters; the table is ours and the length is a number.
            await connection.execute(f"ALTER TABLE {table} ADD COLUMN next_embedding vector({target.dimensions:d})")
            await connection.execute(f"ALTER TABLE {table} ALTER COLUMN next_embedding SET STORAGE MAIN")
        await connection.execute("ALTER TABLE session_turns ADD COLUMN next_embedding vector")


async def _embed_all(pool: Pool, embedder: Embedder, batch_size: int, progress: Progress) -> int:
    total, done = await _count_left(pool), 0
    progress(0, total)
    for table in EMBEDDED_TABLES:
        position: UUID | None = FIRST_ID
        while position is not None:
            async with transaction(pool) as connection:
                position, count = await _embed_batch(connection, table, embedder, position, batch_size)
            done += count
            progress(done, max(total, done))
    return done


async def _count_left(pool: Pool) -> int:
    async with transaction(pool) as connection:
        return sum([await connection.fetchval(SQL[f"count_{table}"]) for table in EMBEDDED_TABLES])


async def _embed_batch(
    connection: Connection, table: str, embedder: Embedder, after: UUID, batch_size: int
) -> tuple[UUID | None, int]:
    rows = await connection.fetch(SQL[f"next_{table}"], after, batch_size)
    if not rows:
        return None, 0
    vectors = await embed_texts(embedder, [row["document"] for row in rows])
    ids = [row["id"] for row in rows]
    await execute_with_vectors(connection, SQL[f"write_{table}"], vectors, ids)
    return ids[-1], len(ids)


async def _build_indexes(pool: Pool) -> None:
    """Index the new vectors as the old ones are, without keeping anybody from writing."""
    for table in EMBEDDED_TABLES:
        name = f"{table}_next_embedding_idx"
        async with transaction(pool) as connection:
            half_built = await connection.fetchval(SQL["half_built_index"], name)
            statement = await connection.fetchval(SQL["vector_index"], table, name)
        # Outside a transaction, as CONCURRENTLY demands; both statements name the schema.
        if half_built is not None:
            await pool.execute(f"DROP INDEX CONCURRENTLY {half_built}")
        if statement is not None:
            await pool.execute(statement)


async def _swap(pool: Pool, embedder: Embedder, batch_size: int, now: datetime) -> int:
    """Let the columns change places; what was written meanwhile is embedded first, at last while writers wait."""
    written = 0
    while await _count_left(pool) > LAST_ROWS:
        written += await _embed_all(pool, embedder, batch_size, _silent)
    async with transaction(pool) as connection:
        await connection.execute(GENERATIONS["replace_generation"], GENERATION_LOCK_CLASS)
        await connection.execute(SQL["forget_rewritten_rules"])
        for table in EMBEDDED_TABLES:
            position: UUID | None = FIRST_ID
            while position is not None:
                position, count = await _embed_batch(connection, table, embedder, position, batch_size)
                written += count
        for table in VECTOR_TABLES:
            await _swap_columns(connection, table)
        await connection.execute(SQL["retire_generation"], now)
        await connection.execute(SQL["activate_generation"], now)
    return written


async def _swap_columns(connection: Connection, table: str) -> None:
    index = await connection.fetchval(SQL["vector_index_name"], table)
    await connection.execute(f"ALTER TABLE {table} DROP COLUMN embedding")
    await connection.execute(f"ALTER TABLE {table} RENAME COLUMN next_embedding TO embedding")
    if index is not None:
        await connection.execute(f"ALTER INDEX {table}_next_embedding_idx RENAME TO {index}")


async def _add_context(pool: Pool, batch_size: int) -> None:
    """Index turns with their neighbours and facts with their sources again: their new vectors are their own only."""
    if not await _context_pending(pool):
        return
    for query, index in (("next_turns", index_turns), ("next_sourced_facts", index_facts_with_source)):
        position: UUID | None = FIRST_ID
        while position is not None:
            async with transaction(pool) as connection:
                position = await _add_context_to_batch(connection, SQL[query], index, position, batch_size)
    async with transaction(pool) as connection:
        await connection.execute(SQL["context_added"])


async def _context_pending(pool: Pool) -> bool:
    async with transaction(pool) as connection:
        return bool(await connection.fetchval(SQL["context_pending"]))


async def _add_context_to_batch(
    connection: Connection, query: str, index: ContextIndex, after: UUID, batch_size: int
) -> UUID | None:
    rows = await connection.fetch(query, after, batch_size)
    for tenant_id in sorted({row["tenant_id"] for row in rows}):
        ids = [row["id"] for row in rows if row["tenant_id"] == tenant_id]
        await index(connection, ids, Caller(tenant_id))
    return rows[-1]["id"] if rows else None


def _silent(_done: int, _total: int) -> None:
    """Tell nobody."""
