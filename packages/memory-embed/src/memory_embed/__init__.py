"""Embeddings for Butler Memory: all-MiniLM-L6-v2 on onnxruntime, offline, without torch."""

from memory_embed.engine import EmbeddingEngine, get_embedding_engine
from memory_embed.errors import EmbeddingError, EngineClosedError, QueueFullError, WeightsError
from memory_embed.onnx_backend import OnnxEmbedder

__all__ = [
    "EmbeddingEngine",
    "EmbeddingError",
    "EngineClosedError",
    "OnnxEmbedder",
    "QueueFullError",
    "WeightsError",
    "get_embedding_engine",
]
