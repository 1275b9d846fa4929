"""Finds memories by their words: those that carry all of a query's first, then those that carry some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_core.candidates import Candidate, SearchSpace, TermMatch
from memory_core.keyword_terms import KeywordTerms
from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("search")

# Ranking reads the row of every match: this many of each type at most.
MAX_RANKED = 10_000

# What ts_rank gives a word: plain words (D) as it always does, the words of a turn's neighbours (C) a little less.
WEIGHTS = (0.1, 0.06, 0.4, 1.0)


async def matching_memories(
    connection: Connection, terms: KeywordTerms, space: SearchSpace, depth: int, match: TermMatch
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the memories that carry every term and, with `any`, those that carry some: two tiers, each best first."""
    if not terms:
        return [], []
    every = await _fetch(connection, "matching_every", terms.every, space, depth)
    if match == "all" or len(every) >= depth:
        return every, []
    some = await _fetch(connection, "matching_some", terms.selecting, space, depth, terms.ranking)
    best = {candidate.id for candidate in every}
    return every, [candidate for candidate in some if candidate.id not in best][: depth - len(every)]


async def _fetch(
    connection: Connection, statement: str, terms: str, space: SearchSpace, depth: int, *more: Any
) -> list[Candidate]:
    rows = await connection.fetch(
        SQL[statement],
        space.tenant_id,
        terms,
        list(space.types),
        space.scope,
        space.min_confidence,
        space.now,
        depth,
        MAX_RANKED,
        WEIGHTS,
        *more,
    )
    return [Candidate.of(row, "rank") for row in rows]
