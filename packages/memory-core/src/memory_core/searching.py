"""Searches memories: by meaning, by words, and by both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.candidates import (
    SearchSpace,
    TermMatch,
    parse_limit,
    parse_mode,
    parse_query,
    parse_table,
    search_space,
)
from memory_core.database import transaction
from memory_core.embedding import Embedder
from memory_core.errors import InvalidInputError
from memory_core.found_memories import read_found
from memory_core.generations import active_generation, require_comparable
from memory_core.ranking import prepare_query, rank_memories
from memory_core.validation import parse_moment

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

DEFAULT_LIMIT = 10
DEFAULT_MIN_CONFIDENCE = 0.2


async def semantic_search(
    pool: Database,
    query_embedding: Sequence[float],
    table: str,
    *,
    limit: int = DEFAULT_LIMIT,
    scope: str | None = None,
    min_confidence: float | None = None,
    tenant_id: str = DEFAULT_TENANT,
    now: datetime | None = None,
) -> list[dict[str, Any]]:
    """Return the memories of one table by the `similarity` of their vectors, most similar first.

    Raises:
        InvalidInputError: the table, the limit, the scope or the vector is not valid.
    """
    space = search_space(tenant_id, [parse_table(table)], scope, min_confidence, parse_moment(now))
    return await _search(pool, "", query_embedding, space, "semantic", limit)


async def keyword_search(
    pool: Database,
    query_text: str,
    table: str,
    *,
    limit: int = DEFAULT_LIMIT,
    scope: str | None = None,
    match: TermMatch = "all",
    min_confidence: float | None = None,
    tenant_id: str = DEFAULT_TENANT,
    now: datetime | None = None,
) -> list[dict[str, Any]]:
    """Return the memories of one table that carry the query's words, by their `rank`; with `any`, some suffice.

    Raises:
        InvalidInputError: the table, the limit, the scope or `match` is not valid.
    """
    if match not in ("all", "any"):
        raise InvalidInputError(f"match {match!r} is not one of: all, any")
    space = search_space(tenant_id, [parse_table(table)], scope, min_confidence, parse_moment(now))
    return await _search(pool, query_text, None, space, "keyword", limit, match)


async def hybrid_search(
    pool: Database,
    query_text: str,
    query_embedding: Sequence[float],
    table: str,
    *,
    limit: int = DEFAULT_LIMIT,
    scope: str | None = None,
    min_confidence: float | None = None,
    tenant_id: str = DEFAULT_TENANT,
    now: datetime | None = None,
) -> list[dict[str, Any]]:
    """Return the memories of one table by meaning and words, fused by their ranks: `rrf_score`.

    Raises:
        InvalidInputError: the table, the limit, the scope or the vector is not valid.
    """
    space = search_space(tenant_id, [parse_table(table)], scope, min_confidence, parse_moment(now))
    return await _search(pool, query_text, query_embedding, space, "hybrid", limit)


async def search(
    pool: Database,
    query: str,
    embedding_engine: Embedder,
    *,
    types: Sequence[str] | None = None,
    scope: str | None = None,
    mode: str = "hybrid",
    limit: int = DEFAULT_LIMIT,
    min_confidence: float = DEFAULT_MIN_CONFIDENCE,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> list[dict[str, Any]]:
    """Return the memories of all asked types that answer a query, best first, each with its `memory_type`.

    Raises:
        InvalidInputError: a type, the mode, the limit, the scope or the confidence is not valid.
        EmbeddingError: the stored vectors were made by another model.
    """
    caller = Caller.of(tenant_id, request_context)
    space = search_space(caller.tenant_id, types, scope, min_confidence, parse_moment(now))
    chosen, text = parse_mode(mode), parse_query(query)
    parse_limit(limit)
    if not text:
        return []
    vector, cues = await prepare_query(pool, text, embedding_engine, space, chosen)
    async with transaction(pool) as connection:
        if vector is not None:
            await require_comparable(connection, embedding_engine)
        hits = await rank_memories(connection, text, vector, space, mode=chosen, limit=limit, cues=cues)
        return await read_found(connection, hits[:limit], space.tenant_id)


async def _search(
    pool: Database,
    query: str,
    vector: Sequence[float] | None,
    space: SearchSpace,
    mode: str,
    limit: int,
    match: TermMatch = "any",
) -> list[dict[str, Any]]:
    text = parse_query(query)
    parse_limit(limit)
    if mode == "keyword" and not text:
        return []
    async with transaction(pool) as connection:
        if vector is not None:
            await _require_vector(connection, vector)
        hits = await rank_memories(connection, text, vector, space, mode=parse_mode(mode), limit=limit, match=match)
        return await read_found(connection, hits[:limit], space.tenant_id)


async def _require_vector(connection: Connection, vector: Sequence[float]) -> None:
    """Check that a caller's vector can be compared with the stored ones.

    Raises:
        InvalidInputError: it has another length, or a number that is none.
    """
    active = await active_generation(connection)
    if active is not None and len(vector) != active.dimensions:
        raise InvalidInputError(
            f"query_embedding has {len(vector)} numbers, the stored vectors have {active.dimensions}; "
            f"embed the query with {active}"
        )
    if not all(math.isfinite(number) for number in vector):
        raise InvalidInputError("query_embedding has a number that is not finite; embed the query again")
