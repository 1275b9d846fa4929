"""The sentence-transformers backend where the library is missing; `sentence_transformers/` tests it where it is not."""

import importlib.util

import pytest
from memory_core.errors import EmbeddingError
from memory_embed.sentence_transformers_backend import SentenceTransformersEmbedder


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the library is installed")
def test_without_the_library_the_error_says_how_to_get_it() -> None:
    with pytest.raises(EmbeddingError, match=r"pip install 'memory-embed\[sentence-transformers\]'"):
        SentenceTransformersEmbedder().embed("text")


def test_another_model_is_another_generation() -> None:
    default, other = SentenceTransformersEmbedder(), SentenceTransformersEmbedder(model="intfloat/e5-small-v2")
    assert (default.model, default.dimensions) == ("all-MiniLM-L6-v2", 384)
    assert other.model == "intfloat/e5-small-v2"
    assert other.version == "latest"
    assert (
        SentenceTransformersEmbedder(
            model="intfloat/e5-small-v2", revision="ffb93f3bd4047442299a41ebb6fa998a38507c52"
        ).version
        == "ffb93f3bd404"
    )
