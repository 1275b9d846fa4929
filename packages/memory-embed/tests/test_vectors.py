"""The vectors themselves: those of sentence-transformers, whatever a text is batched with."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from memory_embed import EmbeddingEngine, OnnxEmbedder

REFERENCE = Path(__file__).parent / "reference"


def load_reference_texts() -> list[str]:
    spec = importlib.util.spec_from_file_location("reference_texts", REFERENCE / "reference_texts.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.reference_texts())


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return load_reference_texts()


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    vectors = np.load(REFERENCE / "reference_vectors.npz")["vectors"].astype(np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def cosines(vectors: list[list[float]], reference: np.ndarray) -> np.ndarray:
    return (np.array(vectors) * reference).sum(axis=1)


def test_the_reference_covers_two_hundred_varied_texts(texts: list[str], reference: np.ndarray) -> None:
    assert len(texts) == len(reference) >= 200
    assert "" in texts
    assert max(len(text.split()) for text in texts) == 2000


def test_full_precision_agrees_with_sentence_transformers(
    fp32_embedder: OnnxEmbedder, texts: list[str], reference: np.ndarray
) -> None:
    assert cosines(fp32_embedder.embed_batch(texts), reference).min() >= 0.99999


def test_eight_bits_stay_close_to_sentence_transformers(
    int8_embedder: OnnxEmbedder, texts: list[str], reference: np.ndarray
) -> None:
    agreement = cosines(int8_embedder.embed_batch(texts), reference)
    assert agreement.min() >= 0.985
    assert agreement.mean() >= 0.998


def test_vectors_have_length_one(fp32_embedder: OnnxEmbedder, texts: list[str]) -> None:
    lengths = np.linalg.norm(fp32_embedder.embed_batch(texts[:40]), axis=1)
    assert np.allclose(lengths, 1, atol=1e-6)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-6), ("int8", 1e-3)])
def test_every_text_has_the_same_vector_alone_and_among_others(
    request: pytest.FixtureRequest, texts: list[str], precision: str, tolerance: float
) -> None:
    # fp32: a matrix product of one row adds in another order than one of many, which moves the last bits only.
    # int8: such a last bit can move an activation to the neighbouring eight-bit step; one scale for the
    # whole batch, the mistake this guards against, moves thousands of them by many steps.
    embedder = request.getfixturevalue(f"{precision}_embedder")
    sample = texts[::2]
    among_others = np.array(embedder.embed_batch(sample))
    alone = np.array([embedder.embed(text) for text in sample])
    assert (among_others * alone).sum(axis=1).min() >= 1 - tolerance


@pytest.mark.scenario("Single text embedding")
def test_a_single_text_gives_384_floats_and_an_empty_one_counts_as_a_space(engine: EmbeddingEngine) -> None:
    vector = engine.embed("Alice prefers tea.")
    assert len(vector) == 384
    assert all(isinstance(number, float) for number in vector)
    assert engine.embed(None) == engine.embed("") == engine.embed(" ") != vector


@pytest.mark.scenario("Batch embedding")
def test_a_batch_gives_one_vector_of_384_per_text_and_none_for_no_text(engine: EmbeddingEngine) -> None:
    vectors = engine.embed_batch(["one", "two", "", "four"])
    assert [len(vector) for vector in vectors] == [384] * 4
    assert engine.embed_batch([]) == []


def test_full_and_eight_bit_vectors_are_different_generations(
    fp32_embedder: OnnxEmbedder, int8_embedder: OnnxEmbedder
) -> None:
    assert fp32_embedder.model == int8_embedder.model
    assert fp32_embedder.version != int8_embedder.version
