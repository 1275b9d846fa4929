"""What goes wrong between a text and its vector, under the core's `EmbeddingError`."""

from memory_core.errors import ConfigError, EmbeddingError

__all__ = ["EmbeddingError", "EngineClosedError", "QueueFullError", "WeightsError", "unknown_option"]


class WeightsError(EmbeddingError):
    """The model's files are missing or are not the published ones; the message names file, hashes and remedy."""


class QueueFullError(EmbeddingError):
    """More texts wait than the engine may hold; nothing was queued."""


class EngineClosedError(EmbeddingError):
    """The engine was closed before this text could be embedded."""


def unknown_option(backend: str, key: str, known: list[str]) -> ConfigError:
    """Return the error for an option that the backend does not have."""
    return ConfigError(f"embedding backend {backend!r} has no option {key!r}; its options are: {', '.join(known)}")
