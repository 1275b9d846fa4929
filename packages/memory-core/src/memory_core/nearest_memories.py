"""Finds memories by their vectors: exactly where that is cheap, from an index where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.candidates import Candidate, SearchSpace
from memory_core.queries import load_queries
from memory_core.search_setup import SearchSetup, set_sizes
from memory_core.vocabulary import MemoryType

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("search")

# Comparing this many vectors one by one takes some milliseconds; an HNSW index misses most of so small a part of it.
EXACT_UP_TO = 10_000


async def nearest_memories(
    connection: Connection, vector: Sequence[float], space: SearchSpace, setup: SearchSetup, depth: int
) -> list[Candidate]:
    """Return the memories nearest to a vector, nearest first; as many as asked for where there are as many."""
    approximate = await _worth_approximating(connection, space, setup)
    exact = [kind for kind in space.types if kind in setup.approximate and kind not in approximate]
    indexed = [kind for kind in space.types if kind not in exact]
    found = await _fetch(connection, "nearest_exactly", vector, space.only(exact), depth) if exact else []
    if indexed:
        reached = await _fetch(connection, "nearest", vector, space.only(indexed), depth)
        if approximate and len(reached) < depth:
            # An approximate scan gives up before it has seen all of a set that the filters thin out.
            reached = await _fetch(connection, "nearest_exactly", vector, space.only(indexed), depth)
        found += reached
    return sorted(found, key=_nearest_first)[:depth]


async def _worth_approximating(connection: Connection, space: SearchSpace, setup: SearchSetup) -> set[MemoryType]:
    """Return the types whose HNSW index is worth using: those with more memories than are compared one by one."""
    indexed = [kind for kind in space.types if kind in setup.approximate]
    if not indexed:
        return set()
    sizes = await set_sizes(connection, space, indexed, EXACT_UP_TO + 1)
    return {kind for kind, size in sizes.items() if size > EXACT_UP_TO}


async def _fetch(
    connection: Connection, statement: str, vector: Sequence[float], space: SearchSpace, depth: int
) -> list[Candidate]:
    rows = await connection.fetch(
        SQL[statement],
        space.tenant_id,
        vector,
        list(space.types),
        space.scope,
        space.min_confidence,
        space.now,
        depth,
    )
    return [Candidate.of(row, "similarity") for row in rows]


def _nearest_first(candidate: Candidate) -> tuple[float, float, bytes]:
    return (-candidate.score, -candidate.created_at.timestamp(), candidate.id.bytes)
