"""Recalls what matters about a topic: relevance, importance, recency and confidence in one score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.candidates import (
    Candidate,
    SearchMode,
    SearchSpace,
    parse_limit,
    parse_mode,
    parse_query,
    search_space,
)
from memory_core.database import transaction
from memory_core.embedding import Embedder
from memory_core.found_memories import read_found, recall_found
from memory_core.fusion import Hit, scale_relevance
from memory_core.generations import require_comparable
from memory_core.ranking import prepare_query, rank_memories
from memory_core.reranking import Reranker
from memory_core.scoring import (
    CompositeScorer,
    ScoreComponents,
    Scorer,
    ScoreWeights,
    compute_recency_score,
    effective_confidence,
)
from memory_core.validation import parse_moment

if TYPE_CHECKING:
    from memory_core.database import Database

DEFAULT_LIMIT = 10
DEFAULT_MIN_CONFIDENCE = 0.2

# Nothing decays in an episode: it is what happened.
EPISODE_CONFIDENCE = 1.0


@dataclass(frozen=True)
class Recalled:
    """A hit with its score and what the score is made of."""

    hit: Hit
    components: ScoreComponents
    score: float

    @property
    def best_first(self) -> tuple[float, float, bytes]:
        """The order of recall: score, then newest, then id."""
        candidate = self.hit.candidate
        return (-self.score, -candidate.created_at.timestamp(), candidate.id.bytes)


async def recall(
    pool: Database,
    topic: str,
    embedding_engine: Embedder,
    *,
    types: Sequence[str] | None = None,
    scope: str | None = None,
    mode: str = "hybrid",
    limit: int = DEFAULT_LIMIT,
    min_confidence: float = DEFAULT_MIN_CONFIDENCE,
    weights: ScoreWeights | Mapping[str, float] | None = None,
    scorer: Scorer | None = None,
    reranker: Reranker | None = None,
    explain: bool = False,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> list[dict[str, Any]]:
    """Return what is remembered about a topic, best first by `composite_score`, and count a reference to each.

    Raises:
        InvalidInputError: a type, the mode, the limit, the scope or the confidence is not valid.
        EmbeddingError: the stored vectors were made by another model.
    """
    caller = Caller.of(tenant_id, request_context)
    space = search_space(caller.tenant_id, types, scope, min_confidence, parse_moment(now))
    chosen = weights if isinstance(weights, ScoreWeights) else ScoreWeights(**dict(weights or {}))
    text, asked = parse_query(topic), parse_limit(limit)
    ranked = await rank_for_recall(pool, text, embedding_engine, space, parse_mode(mode), asked, chosen, scorer)
    if reranker is not None:
        ranked = await _rerank(pool, text, ranked, reranker, space)
    async with transaction(pool) as connection:
        hits = [recalled.hit for recalled in ranked[:asked]]
        memories = await recall_found(connection, hits, space.tenant_id, space.now)
    return _with_scores(memories, ranked, chosen, explain)


async def rank_for_recall(
    pool: Database,
    topic: str,
    embedder: Embedder,
    space: SearchSpace,
    mode: SearchMode,
    limit: int,
    weights: ScoreWeights,
    scorer: Scorer | None = None,
) -> list[Recalled]:
    """Return every memory that was considered for a topic with its score, best first."""
    if not topic:
        return []
    vector, cues = await prepare_query(pool, topic, embedder, space, mode)
    async with transaction(pool) as connection:
        if vector is not None:
            await require_comparable(connection, embedder)
        hits = await rank_memories(connection, topic, vector, space, mode=mode, limit=limit, cues=cues)
    return score_hits(hits, weights, space.now, scorer or CompositeScorer())


def score_hits(hits: Sequence[Hit], weights: ScoreWeights, now: datetime, scorer: Scorer) -> list[Recalled]:
    """Score a pool of hits, best first: by score, then newest, then id."""
    scored = []
    for hit, relevance in zip(hits, scale_relevance(hits), strict=True):
        components = _components(hit.candidate, relevance, now)
        scored.append(Recalled(hit, components, scorer.score(components, weights)))
    return sorted(scored, key=lambda recalled: recalled.best_first)


def _components(candidate: Candidate, relevance: float, now: datetime) -> ScoreComponents:
    confidence = EPISODE_CONFIDENCE
    if candidate.confidence is not None and candidate.decay_rate is not None:
        confidence = effective_confidence(candidate.confidence, candidate.decay_rate, candidate.last_confirmed_at, now)
    recency = compute_recency_score(candidate.last_referenced_at, now)
    return ScoreComponents(relevance, candidate.importance, recency, confidence)


async def _rerank(
    pool: Database, topic: str, ranked: Sequence[Recalled], reranker: Reranker, space: SearchSpace
) -> list[Recalled]:
    """Let a plugin reorder the pool; what it adds or repeats is ignored."""
    async with transaction(pool) as connection:
        memories = await read_found(connection, [recalled.hit for recalled in ranked], space.tenant_id)
    known = {recalled.hit.candidate.id: recalled for recalled in ranked}
    reordered = await reranker.rerank(topic, memories)
    chosen = dict.fromkeys(memory["id"] for memory in reordered if memory["id"] in known)
    return [known[id_] for id_ in chosen]


def _with_scores(
    memories: Sequence[dict[str, Any]], ranked: Sequence[Recalled], weights: ScoreWeights, explain: bool
) -> list[dict[str, Any]]:
    by_id = {recalled.hit.candidate.id: recalled for recalled in ranked}
    scored = []
    for memory in memories:
        recalled = by_id[memory["id"]]
        told = {"explanation": explain_score(recalled, weights)} if explain else {}
        scored.append({**memory, "composite_score": recalled.score, **told})
    return scored


def explain_score(recalled: Recalled, weights: ScoreWeights) -> dict[str, Any]:
    """Return what a score is made of: the four components, the weights, and the ranks in both lists."""
    return {
        "components": vars(recalled.components),
        "weights": vars(weights),
        "score": recalled.score,
        **recalled.hit.scores,
    }
