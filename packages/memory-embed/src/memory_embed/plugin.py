"""Offers the embedding backends to Butler Memory through its own plugin hook."""

import inspect
from collections.abc import Callable
from typing import Any

from memory_core.embedding import Embedder
from memory_core.providers import Options, Provider, hookimpl

from memory_embed.engine import EmbeddingEngine
from memory_embed.onnx_backend import OnnxEmbedder
from memory_embed.options import known_option
from memory_embed.sentence_transformers_backend import SentenceTransformersEmbedder

ENGINE_OPTIONS = ("max_waiting", "cache_size")


@hookimpl
def memory_embedding_backends() -> list[Provider[Embedder]]:
    """Offer `onnx` and `sentence-transformers`; creating one loads nothing."""
    return [
        Provider("onnx", lambda options: create_engine("onnx", OnnxEmbedder, options)),
        Provider(
            "sentence-transformers",
            lambda options: create_engine("sentence-transformers", SentenceTransformersEmbedder, options),
        ),
    ]


def create_engine(backend: str, embedder_class: Callable[..., Embedder], options: Options) -> EmbeddingEngine:
    """Wrap a backend, built from its own options, in an engine built from the rest.

    Raises:
        ConfigError: an option is unknown or has a bad value.
    """
    embedder_options = list(inspect.signature(embedder_class).parameters)
    for key in options:
        known_option(backend, key, [*embedder_options, *ENGINE_OPTIONS])
    for_embedder: dict[str, Any] = {key: value for key, value in options.items() if key in embedder_options}
    for_engine: dict[str, Any] = {key: value for key, value in options.items() if key in ENGINE_OPTIONS}
    return EmbeddingEngine(embedder_class(**for_embedder), **for_engine)
