"""Loaded models are shared by the whole run; their receipts go to a directory of the run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_embed import EmbeddingEngine, OnnxEmbedder


@pytest.fixture(scope="session")
def receipts_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embed-cache")


@pytest.fixture(scope="session")
def fp32_embedder(receipts_dir: Path) -> OnnxEmbedder:
    return OnnxEmbedder(cache_dir=receipts_dir, download=False)


@pytest.fixture(scope="session")
def int8_embedder(receipts_dir: Path) -> OnnxEmbedder:
    return OnnxEmbedder(cache_dir=receipts_dir, download=False, precision="int8")


@pytest.fixture(scope="session")
def engine(fp32_embedder: OnnxEmbedder) -> Iterator[EmbeddingEngine]:
    with EmbeddingEngine(fp32_embedder) as engine:
        yield engine
