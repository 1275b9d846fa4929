"""What goes wrong between a text and its vector, under the core's `EmbeddingError`."""

from memory_core.errors import EmbeddingError

__all__ = ["EmbeddingError", "EngineClosedError", "QueueFullError", "WeightsError"]


class WeightsError(EmbeddingError):
    """The model's files are missing or are not the published ones; the message names file, hashes and remedy."""


class QueueFullError(EmbeddingError):
    """More texts wait than the engine may hold; nothing was queued."""


class EngineClosedError(EmbeddingError):
    """The engine was closed before this text could be embedded."""
