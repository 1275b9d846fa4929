"""Deep search: a model ranks the candidates of the fast search; when it cannot, the fast search stands."""

import logging
import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from memory_agent.decay import apply_decay
from memory_agent.errors import DeepSearchError
from memory_agent.fast import RankedSearch, ranked_search
from memory_agent.records import AgentMemory, DeepSearchFn, ScoredMemory, SearchOptions
from memory_agent.validation import require_limit

# A model reads every candidate: more of them cost tokens and blur its judgement.
MAX_DEEP_CANDIDATES = 60
DEEP_CANDIDATES_PER_RESULT = 3

logger = logging.getLogger(__name__)


async def search(
    db: sqlite3.Connection,
    agent_id: str,
    query: str,
    opts: SearchOptions | None = None,
    deep_search_fn: DeepSearchFn | None = None,
    *,
    now: datetime | None = None,
) -> list[ScoredMemory]:
    """Search fast or deep, as the options' mode says.

    Raises:
        InvalidInputError: the agent is blank or an option breaks its rule.
    """
    found = await dispatched_search(db, agent_id, query, opts or SearchOptions(), deep_search_fn, now=now)
    return found.results


async def deep_search(
    db: sqlite3.Connection,
    agent_id: str,
    query: str,
    opts: SearchOptions | None = None,
    deep_search_fn: DeepSearchFn | None = None,
    *,
    now: datetime | None = None,
) -> list[ScoredMemory]:
    """Have a model rank the candidates of a fast search; without a model, or when it fails, the fast results.

    Raises:
        InvalidInputError: the agent is blank or an option breaks its rule.
    """
    options = replace(opts or SearchOptions(), mode="deep")
    return (await dispatched_search(db, agent_id, query, options, deep_search_fn, now=now)).results


async def dispatched_search(
    db: sqlite3.Connection,
    agent_id: str,
    query: str,
    opts: SearchOptions,
    deep_search_fn: DeepSearchFn | None,
    *,
    now: datetime | None = None,
) -> RankedSearch:
    """Search like `search` and also count the candidates."""
    if opts.mode == "deep" and deep_search_fn is not None:
        wider = replace(opts, limit=min(DEEP_CANDIDATES_PER_RESULT * require_limit(opts.limit), MAX_DEEP_CANDIDATES))
        candidates = [hit.memory for hit in ranked_search(db, agent_id, query, wider, now=now).results]
        ranking = await _rerank(deep_search_fn, query, candidates, opts.limit) if candidates else None
        if ranking is not None:
            return RankedSearch(apply_decay(ranking, now)[: opts.limit], len(candidates))
    return ranked_search(db, agent_id, query, opts, now=now)


async def _rerank(
    deep_search_fn: DeepSearchFn, query: str, candidates: Sequence[AgentMemory], limit: int
) -> list[ScoredMemory] | None:
    try:
        return validated_ranking(await deep_search_fn(query, candidates, limit), candidates)
    except Exception:
        # An isolation point: whatever a model's client raises, the search still has an answer.
        logger.warning("deep search failed, the fast results stand", exc_info=True)
        return None


def validated_ranking(answer: Iterable[ScoredMemory], candidates: Sequence[AgentMemory]) -> list[ScoredMemory]:
    """Return what of a model's answer can be trusted: known memories, each once, finite scores, our own text.

    Raises:
        DeepSearchError: it said something, and nothing of it was usable.
    """
    offered = {memory.id: memory for memory in candidates}
    hits = list(answer)
    scores: dict[str, float] = {}
    for hit in hits:
        if hit.memory.id in offered and math.isfinite(hit.score):
            scores[hit.memory.id] = max(hit.score, scores.get(hit.memory.id, hit.score))
    if hits and not scores:
        raise DeepSearchError(f"none of the {len(hits)} results names a candidate with a finite score")
    return [ScoredMemory(offered[memory_id], score, "llm") for memory_id, score in scores.items()]
