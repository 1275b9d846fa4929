"""Keeps the planner informed: after a batch that dwarfs its table, every lookup is a guess until autovacuum comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("statistics")

# Below this many rows a wrong plan costs nothing that can be noticed.
LARGE_BATCH = 1_000


async def refresh_statistics(connection: Connection, table: str, rows: int) -> None:
    """Analyse a table after a batch that is larger than all that its statistics know of."""
    if rows >= LARGE_BATCH and await connection.fetchval(SQL["known_rows"], table) < rows:
        await connection.execute(SQL[f"analyze_{table}"])
