"""Names that a tenant's memories know are learnt from what is stored."""

import pytest
from memory_core import search, store_episode
from memory_core.ranking import known_names


@pytest.fixture
async def people(pool, embedder):
    await store_episode(pool, "Ada Lovelace: good morning", "jeeves", embedder)
    await store_episode(pool, "good night", "jeeves", embedder, metadata={"speaker": "Mary"})
    await store_episode(pool, "http://example.com: a page; note: nothing", "jeeves", embedder)
    await pool.execute(
        "INSERT INTO entities (canonical_name, entity_type, aliases) VALUES"
        " ('Charles Babbage', 'person', '{Chuck}'), ('Home Depot', 'organization', '{}')"
    )


NAMED = {
    "What did Ada say?": ["ada"],
    "what did mary say": ["mary"],
    "Did Charles call Chuck?": ["charles", "chuck"],
    "Where is Charles Babbage?": ["charles", "charles babbage"],
    "Was it at Home?": [],
    "Was it at Home Depot?": ["home depot"],
    "Note that Good Page": [],
}


async def test_speakers_and_entities_are_known_by_name(pool, people):
    assert {query: sorted(await known_names(pool, query, "default")) for query in NAMED} == NAMED


async def test_another_tenants_names_are_not_known(pool, people):
    assert await known_names(pool, "What did Ada say to Charles Babbage?", "other") == []


class Listening:
    """An embedder that remembers what it was asked to embed."""

    def __init__(self, embedder):
        self.embedder, self.heard = embedder, []
        self.model, self.version, self.dimensions = embedder.model, embedder.version, embedder.dimensions

    def embed(self, text):
        return self.embed_batch([text])[0]

    def embed_batch(self, texts):
        self.heard += texts
        return self.embedder.embed_batch(texts)


async def test_a_known_name_is_masked_in_the_vector_and_kept_in_the_words(pool, embedder, people):
    listening = Listening(embedder)
    results = await search(pool, "What did Ada say?", listening)
    assert listening.heard == ["What did someone say?"]
    assert results[0]["content"] == "Ada Lovelace: good morning"
