"""Gives large tables an index that finds near vectors quickly, in place of the one they were created with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.database import transaction
from memory_core.queries import load_queries

if TYPE_CHECKING:
    import asyncpg

    from memory_core.database import Pool

SQL = load_queries("index_maintenance")

# Up to here an exact scan is as quick as an index, and never misses a neighbour.
LARGE_TABLE_ROWS = 10_000


@dataclass(frozen=True)
class VectorIndexes:
    """The vector indexes of one table."""

    schema: str
    table: str
    is_large: bool
    is_building: bool
    hnsw: tuple[str, ...]
    ivfflat: tuple[str, ...]
    unfinished: tuple[str, ...]

    @property
    def new_index(self) -> str:
        """The name of the index that a large table is given."""
        return f"{self.table}_embedding_hnsw_idx"


async def maintain_indexes(pool: Pool, *, large_table_rows: int = LARGE_TABLE_ROWS) -> dict[str, int]:
    """Build an HNSW index for each table that has grown large, drop the IVFFlat one, and return what was done.

    Nothing is locked against reading or writing. What an interrupted build left behind is cleared away first.
    """
    counts = {"hnsw_built": 0, "ivfflat_dropped": 0, "unfinished_dropped": 0}
    for indexes in await vector_indexes(pool, large_table_rows=large_table_rows):
        if indexes.is_building:
            continue  # somebody builds one by hand: an index that is not valid yet is theirs
        for name in indexes.unfinished:
            await _drop(pool, indexes, name)
            counts["unfinished_dropped"] += 1
        if not indexes.is_large:
            continue
        if not indexes.hnsw:
            await _build(pool, indexes)
            counts["hnsw_built"] += 1
        for name in indexes.ivfflat:
            await _drop(pool, indexes, name)
            counts["ivfflat_dropped"] += 1
    return counts


async def vector_indexes(pool: Pool, *, large_table_rows: int = LARGE_TABLE_ROWS) -> list[VectorIndexes]:
    """Return the state of each table's vector indexes."""
    async with transaction(pool) as connection:
        rows = await connection.fetch(SQL["vector_index_state"], large_table_rows)
    return [_indexes(row) for row in rows]


async def _build(pool: Pool, indexes: VectorIndexes) -> None:
    async with transaction(pool) as connection:
        statement = await connection.fetchval(SQL["build_statement"], indexes.schema, indexes.table, indexes.new_index)
    await _run_outside_transactions(pool, statement)


async def _drop(pool: Pool, indexes: VectorIndexes, name: str) -> None:
    async with transaction(pool) as connection:
        statement = await connection.fetchval(SQL["drop_statement"], indexes.schema, name)
    await _run_outside_transactions(pool, statement)


async def _run_outside_transactions(pool: Pool, statement: str) -> None:
    # PostgreSQL refuses CONCURRENTLY inside a transaction. No search path is needed: every name carries its schema.
    async with pool.acquire() as connection:
        await connection.execute(statement)


def _indexes(row: asyncpg.Record) -> VectorIndexes:
    return VectorIndexes(
        schema=row["schema_name"],
        table=row["table_name"],
        is_large=row["is_large"],
        is_building=row["is_building"],
        hnsw=tuple(row["hnsw"] or ()),
        ivfflat=tuple(row["ivfflat"] or ()),
        unfinished=tuple(row["unfinished"] or ()),
    )
