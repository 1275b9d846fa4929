"""The sentence-transformers backend, on the library itself."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memory_core.errors import EmbeddingError
from memory_embed import EmbeddingEngine, OnnxEmbedder
from memory_embed.sentence_transformers_backend import SentenceTransformersEmbedder
from memory_embed.testing import SHORT_AND_LONG, EmbedderContract


@pytest.fixture(scope="session")
def transformer() -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(threads=1)


class TestSentenceTransformers(EmbedderContract):
    @pytest.fixture
    def embedder(self, transformer: SentenceTransformersEmbedder) -> SentenceTransformersEmbedder:
        return transformer


class TestSentenceTransformersInTheEngine(EmbedderContract):
    @pytest.fixture
    def embedder(self, transformer: SentenceTransformersEmbedder) -> Iterator[EmbeddingEngine]:
        with EmbeddingEngine(transformer) as engine:
            yield engine


def test_both_backends_agree(transformer: SentenceTransformersEmbedder, tmp_path: Path) -> None:
    ours = np.array(OnnxEmbedder(cache_dir=tmp_path, download=False).embed_batch(SHORT_AND_LONG))
    theirs = np.array(transformer.embed_batch(SHORT_AND_LONG))
    assert (ours * theirs).sum(axis=1).min() >= 0.99999


def test_a_directory_that_holds_no_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="could not be loaded by sentence-transformers"):
        SentenceTransformersEmbedder(model_path=tmp_path).load()


def test_a_directory_of_ones_own_is_its_own_generation(
    transformer: SentenceTransformersEmbedder, tmp_path: Path
) -> None:
    transformer.load().save(str(tmp_path))
    mine = SentenceTransformersEmbedder(model="mine", model_path=tmp_path)
    assert (mine.model, mine.version, mine.dimensions) == ("mine", "local", 384)
