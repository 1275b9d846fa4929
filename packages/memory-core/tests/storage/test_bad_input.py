"""Bad input gets a clear error and changes nothing."""

from uuid import uuid4

import pytest
from memory_core import (
    InvalidInputError,
    MemoryModuleError,
    TenantMismatchError,
    confirm_memory,
    export_memories,
    forget_memory,
    get_links,
    get_memory,
    store_episode,
    store_fact,
    store_rule,
)

TABLES = ("episodes", "facts", "rules", "memory_links", "memory_events", "embedding_versions")

BAD_CONTENT = [
    pytest.param("", "content '' is empty", id="empty"),
    pytest.param(" \t\n ", "is empty; give it at least one visible character", id="white space"),
    pytest.param("\x00\x00", "is empty", id="only NUL bytes"),
    pytest.param("x" * 5_000_000, "content is 5,000,000 bytes long .* at most 1,048,576 are allowed", id="5 MB"),
    pytest.param("a\ud800b", r"lone surrogate '\\ud800' at position 1; only valid Unicode", id="lone surrogate"),
    pytest.param(None, "content is NoneType, not text", id="not text"),
]


def _nested(levels):
    value = {}
    for _ in range(levels):
        value = {"x": value}
    return value


@pytest.fixture
def unchanged(pool):
    async def check():
        for table in TABLES:
            assert await pool.fetchval(f"SELECT count(*) FROM {table}") == 0, table

    return check


@pytest.mark.parametrize(("content", "message"), BAD_CONTENT)
async def test_bad_content_is_refused_for_every_type(pool, embedder, unchanged, content, message):
    for store in (
        lambda: store_episode(pool, content, "b", embedder),
        lambda: store_fact(pool, "s", "p", content, embedder),
        lambda: store_rule(pool, content, embedder),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            await store()
        assert isinstance(caught.value, MemoryModuleError)
    await unchanged()


@pytest.mark.parametrize("importance", [-0.1, 10.1, float("nan"), float("inf"), "high", True, None])
async def test_importance_outside_its_range_is_refused(pool, embedder, unchanged, importance):
    with pytest.raises(ValueError, match="is not a number from 0 to 10"):
        await store_fact(pool, "s", "p", "c", embedder, importance=importance)
    with pytest.raises(ValueError, match="is not a number from 0 to 10"):
        await store_episode(pool, "c", "b", embedder, importance=importance)
    await unchanged()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scope": " "}, "scope ' ' is empty"),
        ({"scope": "x" * 2000}, "scope is 2,000 bytes long"),
        ({"tags": "home"}, "tags 'home' is not a list"),
        ({"tags": ["ok", ""]}, "tag '' is empty"),
        ({"metadata": {"x": float("nan")}}, "metadata cannot be written as JSON"),
        ({"metadata": {"x": object()}}, "metadata cannot be written as JSON"),
        ({"metadata": {"x": "\ud800"}}, "metadata cannot be written as JSON"),
        ({"metadata": ["x"]}, "is not an object"),
        ({"metadata": _nested(51)}, "metadata cannot be written as JSON .* nested more than 50 levels deep"),
        ({"metadata": _nested(100_000)}, "nested more than 50 levels deep"),
        ({"now": "2026-03-01"}, "moment '2026-03-01' is str, not a datetime; pass one"),
        ({"metadata": {"x": "y" * 300_000}}, "metadata is .* bytes long, at most 262,144"),
        ({"confidence": 1.5}, "confidence 1.5 is not a number from 0 to 1"),
        ({"entity_id": "42"}, "entity_id '42' is not a UUID"),
        ({"source_episode_id": "abc"}, "source_episode_id 'abc' is not a UUID"),
        ({"tenant_id": ""}, "tenant_id '' is empty"),
        ({"tenant_id": "acme "}, "tenant_id 'acme ' has white space or NUL bytes that would not be kept; use 'acme'"),
        ({"request_context": "abc"}, "request_context 'abc' is not an object"),
    ],
)
async def test_a_bad_value_of_a_fact_is_refused(pool, embedder, unchanged, values, message):
    with pytest.raises(InvalidInputError, match=message):
        await store_fact(pool, "s", "p", "c", embedder, **values)
    await unchanged()


@pytest.mark.parametrize("call", [get_memory, confirm_memory, forget_memory])
async def test_a_malformed_id_or_type_is_refused(pool, call):
    with pytest.raises(ValueError, match="memory_id 'not-an-id' is not a UUID; pass an id as"):
        await call(pool, "fact", "not-an-id")
    with pytest.raises(ValueError, match="memory_type 'dream' is not one of: episode, fact, rule"):
        await call(pool, "dream", uuid4())


# Real NUL bytes, and an escaped one that is only text.
NUL = {"a\x00": ["\x00b", "\\u0000"]}


async def test_nul_bytes_are_removed_and_everything_else_is_kept(pool, embedder):
    text = "tea\x00 at\n five 🍵 чай 茶"
    fact = await get_memory(pool, "fact", await store_fact(pool, "s\x00", "p", text, embedder, metadata=NUL))
    assert fact["content"] == "tea at\n five 🍵 чай 茶"
    assert fact["subject"] == "s"
    assert fact["metadata"] == {"a": ["b", "\\u0000"]}


async def test_a_megabyte_of_rare_words_is_stored_and_indexed_as_far_as_it_fits(pool, embedder):
    vector = embedder.embed("x")
    embedder.embed_batch = lambda texts: [vector for _ in texts]
    text = " ".join(f"w{n:x}q" for n in range(130_000))
    episode_id = await store_episode(pool, text, "b", embedder)
    assert len((await get_memory(pool, "episode", episode_id))["content"]) == len(text)
    assert await pool.fetchval("SELECT search_vector @@ 'w0q'::tsquery FROM episodes WHERE id = $1", episode_id)


async def test_a_request_context_of_another_tenant_is_refused(pool, embedder, unchanged):
    with pytest.raises(TenantMismatchError, match="names tenant 'b', but the caller is authenticated for 'a'"):
        await store_fact(pool, "s", "p", "c", embedder, tenant_id="a", request_context={"tenant_id": "b"})
    await unchanged()


@pytest.mark.parametrize("days", [0, -1, True, "7", float("nan"), float("inf"), 1e12])
async def test_a_time_to_live_that_is_no_number_of_days_is_refused(pool, embedder, unchanged, days):
    with pytest.raises(InvalidInputError, match=r"ttl_days .* is not a number of days above 0 up to 36,500"):
        await store_episode(pool, "c", "b", embedder, ttl_days=days)
    await unchanged()


async def test_metadata_of_fifty_levels_are_kept(pool, embedder):
    fact_id = await store_fact(pool, "s", "p", "c", embedder, metadata=_nested(49))
    assert (await get_memory(pool, "fact", fact_id))["metadata"] == _nested(49)


async def test_a_read_refuses_a_request_that_names_another_tenant(pool):
    for read in (get_memory, get_links):
        with pytest.raises(TenantMismatchError, match="request_context names tenant 'acme'"):
            await read(pool, "fact", uuid4(), request_context={"tenant_id": "acme"})
    with pytest.raises(TenantMismatchError, match="request_context names tenant 'acme'"):
        await export_memories(pool, print, request_context={"tenant_id": "acme"})
