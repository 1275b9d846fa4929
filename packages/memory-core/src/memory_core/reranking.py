"""What a reranker plugin is asked to do."""

from collections.abc import Sequence
from typing import Any, Protocol


class Reranker(Protocol):
    """A last look at the memories that recall is about to return."""

    async def rerank(self, query: str, memories: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Return the same memories in a better order; leaving some out is allowed, adding is not."""
