"""Writes all that a tenant has as JSON Lines: a header, then a line per row.

The rows are read from one snapshot through a server-side cursor, so an export is consistent and its memory use does
not depend on how much there is.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import asyncpg

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.generations import active_generation
from memory_core.queries import load_queries
from memory_core.validation import parse_moment

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("memory_export")

FORMAT = "butler-memory"
FORMAT_VERSION = 1

# In this order a reader finds everything that a line refers to before the line itself.
KINDS = (
    "entity",
    "episode",
    "session_turn",
    "fact",
    "supersession",
    "rule",
    "rule_application",
    "link",
    "event",
)
PREFETCHED_ROWS = 500

# Called with the kind, how many of its lines are done, and how many there are.
Progress = Callable[[str, int, int], object]


async def export_memories(
    pool: Database,
    write: Callable[[str], object],
    *,
    embeddings: bool = True,
    progress: Progress | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, int]:
    """Write a tenant's memories, entities, links and events line by line, and return how many of each kind.

    Without `embeddings` the file is about a tenth as large, and importing it embeds every text anew.
    """
    caller = Caller.of(tenant_id, request_context)
    async with _snapshot(pool) as connection:
        counts = dict(await _fetchrow(connection, SQL["exported_counts"], caller.tenant_id))
        generation = await active_generation(connection)
        header = {
            "kind": "header",
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "tenant_id": caller.tenant_id,
            "exported_at": parse_moment(now).isoformat(),
            "embedding": generation._asdict() if embeddings and generation else None,
            "counts": counts,
        }
        write(json.dumps(header) + "\n")
        for kind in KINDS:
            await _write_kind(connection, kind, write, progress, counts[kind], caller.tenant_id, embeddings)
    return counts


async def _write_kind(
    connection: Connection,
    kind: str,
    write: Callable[[str], object],
    progress: Progress | None,
    total: int,
    *arguments: Any,
) -> None:
    done = 0
    async for row in connection.cursor(SQL[f"export_{kind}"], *arguments, prefetch=PREFETCHED_ROWS):
        write(row["line"] + "\n")
        done += 1
        if progress and (done % PREFETCHED_ROWS == 0 or done == total):
            progress(kind, done, total)


@asynccontextmanager
async def _snapshot(db: Database) -> AsyncIterator[Connection]:
    if isinstance(db, asyncpg.Pool):
        async with db.acquire() as connection, _snapshot(connection) as reading:
            yield reading
    elif db.is_in_transaction():
        yield db  # what it sees was settled when its transaction began
    else:
        async with db.transaction(isolation="repeatable_read", readonly=True):
            yield db


async def _fetchrow(connection: Connection, statement: str, *arguments: Any) -> asyncpg.Record:
    row = await connection.fetchrow(statement, *arguments)
    assert row is not None  # an aggregate without grouping always has a row
    return row
