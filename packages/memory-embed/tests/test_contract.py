"""The shared contract, on the default backend in both precisions and through the engine."""

import pytest
from memory_embed import EmbeddingEngine, OnnxEmbedder
from memory_embed.testing import EmbedderContract


class TestOnnxInFullPrecision(EmbedderContract):
    @pytest.fixture
    def embedder(self, fp32_embedder: OnnxEmbedder) -> OnnxEmbedder:
        return fp32_embedder


class TestOnnxInEightBits(EmbedderContract):
    # The sums of a matrix product round differently for one row than for many; here that can move a number over the
    # edge between two eight-bit steps, where full precision moves it by the last bit.
    batch_tolerance = 1e-3

    @pytest.fixture
    def embedder(self, int8_embedder: OnnxEmbedder) -> OnnxEmbedder:
        return int8_embedder


class TestEngine(EmbedderContract):
    @pytest.fixture
    def embedder(self, engine: EmbeddingEngine) -> EmbeddingEngine:
        return engine
