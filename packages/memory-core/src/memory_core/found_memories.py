"""Reads the memories that a search found, in the order in which it ranked them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_core.fusion import Hit
from memory_core.queries import load_queries
from memory_core.rows import memory_state, row_to_dict
from memory_core.vocabulary import MemoryType

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("found_memories")


async def read_found(connection: Connection, hits: Sequence[Hit], tenant_id: str) -> list[dict[str, Any]]:
    """Return the memories of hits with their scores; reading them counts as no reference."""
    return await _collect(connection, hits, "read", tenant_id)


async def recall_found(
    connection: Connection, hits: Sequence[Hit], tenant_id: str, now: datetime
) -> list[dict[str, Any]]:
    """Return the memories of hits with their scores, and count a reference to each."""
    return await _collect(connection, hits, "recall", tenant_id, now)


async def _collect(
    connection: Connection, hits: Sequence[Hit], action: str, tenant_id: str, *clock: datetime
) -> list[dict[str, Any]]:
    memories: dict[UUID, dict[str, Any]] = {}
    for kind in MemoryType:
        ids = [hit.candidate.id for hit in hits if hit.candidate.memory_type is kind]
        if ids:
            rows = await connection.fetch(SQL[f"{action}_{kind}"], tenant_id, ids, *clock)
            memories |= {row["id"]: _memory(kind, row_to_dict(row)) for row in rows}
    # A memory that was deleted in between is left out.
    return [{**memories[hit.candidate.id], **hit.scores} for hit in hits if hit.candidate.id in memories]


def _memory(kind: MemoryType, row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "memory_type": kind.value, "state": memory_state(kind, row)}
