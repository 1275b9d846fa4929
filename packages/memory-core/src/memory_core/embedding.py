"""What the core asks of an embedding backend, and how it waits for one without blocking the event loop."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol, runtime_checkable

from memory_core.errors import EmbeddingError


@runtime_checkable
class Embedder(Protocol):
    """A thread-safe source of vectors; `None` and empty texts count as one space."""

    @property
    def model(self) -> str:
        """The name of the model, as recorded in `embedding_versions`."""

    @property
    def version(self) -> str:
        """What tells two generations of one model apart: a revision, a precision."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, text: str | None) -> list[float]:
        """Return the vector of one text."""

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return one vector per text, in order; an empty list for an empty list."""


@runtime_checkable
class SubmittingEmbedder(Embedder, Protocol):
    """An embedder that queues work itself, so that waiting for it costs no thread."""

    def submit(self, texts: Sequence[str | None]) -> "Future[list[list[float]]]":
        """Queue the texts and return a future of their vectors."""


async def embed_texts(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """Embed texts off the event loop.

    Raises:
        EmbeddingError: the backend answered with another number of vectors or dimensions than it declares.
    """
    if not texts:
        return []
    if isinstance(embedder, SubmittingEmbedder):
        vectors = await asyncio.wrap_future(embedder.submit(texts))
    else:
        vectors = await asyncio.to_thread(embedder.embed_batch, texts)
    if len(vectors) != len(texts) or any(len(vector) != embedder.dimensions for vector in vectors):
        raise EmbeddingError(
            f"embedding backend {embedder.model!r} returned {len(vectors)} vectors for {len(texts)} texts; "
            f"it must return one vector of {embedder.dimensions} numbers per text"
        )
    return vectors


async def close_embedder(embedder: Embedder) -> None:
    """Close an embedder that can be closed; those that cannot hold nothing."""
    close = getattr(embedder, "close", None)
    if close is not None:
        await asyncio.to_thread(close)
