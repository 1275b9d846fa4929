"""Fuses two rankings into one by reciprocal ranks: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memory_core.candidates import Candidate

RRF_K = 60


@dataclass(frozen=True)
class Hit:
    """A candidate as a search ranks it; `relevance` is the score of the mode that found it."""

    candidate: Candidate
    relevance: float
    similarity: float | None = None
    rank: float | None = None
    semantic_rank: int | None = None
    keyword_rank: int | None = None
    rrf_score: float | None = None

    @property
    def scores(self) -> dict[str, Any]:
        """What a result says about how it was found."""
        named = {
            "similarity": self.similarity,
            "rank": self.rank,
            "semantic_rank": self.semantic_rank,
            "keyword_rank": self.keyword_rank,
            "rrf_score": self.rrf_score,
        }
        return {name: value for name, value in named.items() if value is not None}


def rrf_score(semantic_rank: int, keyword_rank: int) -> float:
    """Return the reciprocal rank fusion of two ranks that count from 1."""
    return 1 / (RRF_K + semantic_rank) + 1 / (RRF_K + keyword_rank)


def fuse(semantic: Sequence[Candidate], keyword: Sequence[Candidate], limit: int) -> list[Hit]:
    """Fuse two rankings, best first: by score, then semantic rank, then newest, then id.

    A memory that a list lacks ranks right behind it: at `limit + 1`, or behind the last of a list that is longer.
    """
    semantic_ranks = {candidate.id: rank for rank, candidate in enumerate(semantic, start=1)}
    keyword_ranks = {candidate.id: rank for rank, candidate in enumerate(keyword, start=1)}
    similarities = {candidate.id: candidate.score for candidate in semantic}
    ranks = {candidate.id: candidate.score for candidate in keyword}
    behind_semantic, behind_keyword = max(limit, len(semantic)) + 1, max(limit, len(keyword)) + 1
    found: dict[UUID, Candidate] = {candidate.id: candidate for candidate in (*keyword, *semantic)}
    hits = []
    for id_, candidate in found.items():
        semantic_rank = semantic_ranks.get(id_, behind_semantic)
        keyword_rank = keyword_ranks.get(id_, behind_keyword)
        score = rrf_score(semantic_rank, keyword_rank)
        hits.append(Hit(candidate, score, similarities.get(id_), ranks.get(id_), semantic_rank, keyword_rank, score))
    return sorted(hits, key=_best_first)


def scale_relevance(hits: Sequence[Hit]) -> list[float]:
    """Return relevances from 0 to 1 over a pool of candidates: the best is 1, and the worst of several 0.

    Divided by the maximum alone, fused ranks would all lie near 1, and importance and recency would decide everything.
    """
    if not hits:
        return []
    values = [hit.relevance for hit in hits]
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


def _best_first(hit: Hit) -> tuple[float, int, float, bytes]:
    candidate = hit.candidate
    return (-hit.relevance, hit.semantic_rank or 0, -candidate.created_at.timestamp(), candidate.id.bytes)
