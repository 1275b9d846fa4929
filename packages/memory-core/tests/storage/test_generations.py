"""Vectors of two models never meet in one database."""

import asyncio

import pytest
from memory_core import EmbeddingError, store_episode, store_fact
from memory_core.testing import WordHashEmbedder


@pytest.mark.scenario("Embedding model version recorded")
async def test_the_model_of_the_first_vector_is_recorded_once(pool, embedder):
    await asyncio.gather(*(store_episode(pool, f"episode {n}", "b", embedder) for n in range(8)))
    [row] = await pool.fetch("SELECT model, version, dimensions, status FROM embedding_versions")
    assert tuple(row) == ("word-hash", "1", 384, "active")


@pytest.mark.parametrize("other", [{"model": "another"}, {"version": "2"}])
async def test_another_model_or_version_is_refused_with_the_remedy(pool, embedder, other):
    await store_fact(pool, "s", "p", "c", embedder)
    with pytest.raises(EmbeddingError, match=r"made by word-hash .* or run `memory reembed`"):
        await store_fact(pool, "s", "q", "c", WordHashEmbedder(**other))
    assert await pool.fetchval("SELECT count(*) FROM facts") == 1


async def test_an_embedder_that_breaks_its_word_is_refused(pool, embedder):
    embedder.embed_batch = lambda texts: [[0.0] * 3 for _ in texts]
    with pytest.raises(EmbeddingError, match="it must return one vector of 384 numbers per text"):
        await store_episode(pool, "x", "b", embedder)
    assert await pool.fetchval("SELECT count(*) FROM episodes") == 0
