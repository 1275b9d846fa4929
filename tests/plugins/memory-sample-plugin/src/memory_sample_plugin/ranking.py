"""A scorer and a reranker."""

from collections.abc import Sequence
from typing import Any

from memory_core.scoring import ScoreComponents, ScoreWeights


class ImportanceScorer:
    """What is important comes first, whatever was asked."""

    def score(self, components: ScoreComponents, weights: ScoreWeights) -> float:
        """Return the importance, scaled to 0..1."""
        return components.importance / 10


class ShortestFirst:
    """Puts short memories before long ones."""

    async def rerank(self, query: str, memories: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Return the memories by length."""
        return sorted(memories, key=lambda memory: len(memory["content"]))
