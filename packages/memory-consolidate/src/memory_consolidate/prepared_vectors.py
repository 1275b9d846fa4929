"""Embeds the texts of an answer before the transaction that stores them begins: no lock waits for a model."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from memory_core import Embedder
from memory_core import NewFact as StoredFact
from memory_core.embedding import embed_texts

from memory_consolidate.actions import Action, NewFact, NewRule, UpdatedFact

logger = logging.getLogger(__name__)


class PreparedVectors:
    """An embedder that knows some vectors already and asks the real one for the rest."""

    def __init__(self, embedder: Embedder, vectors: dict[str, list[float]]) -> None:
        self.model = embedder.model
        self.version = embedder.version
        self.dimensions = embedder.dimensions
        self._embedder = embedder
        self._vectors = vectors

    @classmethod
    async def of(cls, embedder: Embedder, actions: Sequence[Action]) -> PreparedVectors:
        """Embed in one batch what the actions will store."""
        texts = list(dict.fromkeys(text for action in actions if (text := _document(action))))
        try:
            vectors = await embed_texts(embedder, texts)
        except Exception:
            # One text may spoil the batch: each action then embeds its own, and fails or succeeds by itself.
            logger.exception("the texts of an answer could not be embedded together; each is embedded by itself")
            return cls(embedder, {})
        return cls(embedder, dict(zip(texts, vectors, strict=True)))

    def embed(self, text: str | None) -> list[float]:
        """Return the vector of a text."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return one vector per text."""
        missing = [text for text in texts if text not in self._vectors]
        found = dict(zip(missing, self._embedder.embed_batch(missing), strict=True)) if missing else {}
        return [found[text] if text in found else self._vectors[text or ""] for text in texts]


def _document(action: Action) -> str | None:
    if isinstance(action, NewFact | UpdatedFact):
        return StoredFact(action.subject, action.predicate, action.content).document
    return action.content if isinstance(action, NewRule) else None
