"""Ranks the memories of a search space by a query: the one path under search, recall and context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.candidates import Candidate, SearchMode, SearchSpace, TermMatch
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
from memory_core.fusion import Hit, fuse
from memory_core.matching_memories import matching_memories
from memory_core.named_people import mask_names, name_phrases
from memory_core.nearest_memories import nearest_memories
from memory_core.priors import QueryCues, prefer_matching, prefer_similar, query_cues
from memory_core.queries import load_queries
from memory_core.search_setup import begin_search

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("search_setup")

# How deep each list goes before the two are fused: what is cut off too early can never come back.
POOL_DEPTH = 100
# Where the query's cues reorder the lists, they may bring up what lies this many times deeper.
CUED_DEPTH = 2


async def known_names(pool: Database, query: str, tenant_id: str) -> list[str]:
    """Return the speakers and entities of a tenant that a query names, in lower case."""
    phrases = name_phrases(query)
    if not phrases:
        return []
    async with transaction(pool) as connection:
        rows = await connection.fetch(SQL["known_names"], tenant_id, phrases)
    return [row["phrase"] for row in rows]


async def embed_query(query: str, names: Sequence[str], embedder: Embedder) -> list[float]:
    """Return the vector of a query in which names count as `someone`."""
    [vector] = await embed_texts(embedder, [mask_names(query, names)])
    return vector


async def rank_memories(
    connection: Connection,
    query: str,
    vector: Sequence[float] | None,
    space: SearchSpace,
    *,
    mode: SearchMode,
    limit: int,
    match: TermMatch = "any",
    cues: QueryCues | None = None,
) -> list[Hit]:
    """Return all memories that were considered, best first; more than `limit`, from which a caller cuts its page."""
    told = cues or QueryCues()
    depth = max(limit, POOL_DEPTH)
    fetched = depth * CUED_DEPTH if told else depth
    setup = await begin_search(connection, query, space, fetched)
    nearest, matching = [], []
    if mode != "keyword":
        assert vector is not None  # the two modes that compare vectors come with the query's
        found = await nearest_memories(connection, vector, space, setup, fetched)
        nearest = prefer_similar(found, told, depth)[:depth]
    if mode != "semantic":
        tiers = await matching_memories(connection, setup.terms, space, fetched, match)
        matching = [candidate for tier in tiers for candidate in prefer_matching(tier, told)][:depth]
    if mode == "hybrid":
        return fuse(nearest, matching, limit)
    return [_semantic_hit(each) for each in nearest] or [_keyword_hit(each) for each in matching]


async def prepare_query(
    pool: Database, query: str, embedder: Embedder, space: SearchSpace, mode: SearchMode
) -> tuple[list[float] | None, QueryCues]:
    """Return the vector and the cues of a query; a keyword search needs no vector."""
    names = await known_names(pool, query, space.tenant_id)
    cues = query_cues(query, names, space.now)
    return (None if mode == "keyword" else await embed_query(query, names, embedder)), cues


def _semantic_hit(candidate: Candidate) -> Hit:
    return Hit(candidate, candidate.score, similarity=candidate.score)


def _keyword_hit(candidate: Candidate) -> Hit:
    return Hit(candidate, candidate.score, rank=candidate.score)
