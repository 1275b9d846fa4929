"""Searching across memory types, scopes and tenants."""

from datetime import UTC, datetime, timedelta

import pytest
from memory_core import (
    EmbeddingError,
    InvalidInputError,
    NewFact,
    search,
    store_episode,
    store_fact,
    store_facts,
    store_rule,
)
from memory_core.testing import WordHashEmbedder

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
async def tea(pool, embedder):
    await store_episode(pool, "we had tea", "jeeves", embedder)
    await store_episode(pool, "they had tea", "alfred", embedder)
    await store_fact(pool, "user", "drink", "likes tea", embedder)
    await store_fact(pool, "user", "drink", "likes green tea", embedder, scope="jeeves")
    await store_fact(pool, "user", "drink", "likes cold tea", embedder, scope="alfred")
    await store_rule(pool, "offer tea first", embedder)
    await store_rule(pool, "offer tea at five", embedder, scope="alfred")


def found(results):
    return sorted(result["content"] for result in results)


@pytest.mark.scenario("General search across multiple memory types")
async def test_all_types_are_searched_and_each_result_names_its_own(pool, embedder, tea):
    results = await search(pool, "tea", embedder)
    assert {result["memory_type"] for result in results} == {"episode", "fact", "rule"}
    assert len(results) == 7
    assert all("state" in result for result in results)


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_every_mode_finds_by_types(pool, embedder, tea, mode):
    assert found(await search(pool, "tea", embedder, types=["rule"], mode=mode)) == [
        "offer tea at five",
        "offer tea first",
    ]


@pytest.mark.scenario("Scope filter on facts and rules")
@pytest.mark.scenario("Scope filter on episodes")
async def test_a_scope_sees_its_own_and_the_global_memories(pool, embedder, tea):
    assert found(await search(pool, "tea", embedder, scope="jeeves")) == [
        "likes green tea",
        "likes tea",
        "offer tea first",
        "we had tea",
    ]


@pytest.mark.scenario("No scope filter returns all")
async def test_without_a_scope_all_are_seen(pool, embedder, tea):
    assert len(await search(pool, "tea", embedder, scope=None)) == 7


@pytest.mark.scenario("Cross-tenant access prevention")
@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_no_other_tenants_memory_is_ever_found(pool, embedder, tea, mode):
    assert await search(pool, "tea", embedder, mode=mode, tenant_id="other") == []


async def test_faded_memories_are_left_out_by_their_effective_confidence(pool, embedder):
    await store_fact(pool, "user", "a", "tea now", embedder, now=NOW)
    await store_fact(pool, "user", "b", "tea then", embedder, now=NOW - timedelta(days=300))
    await store_fact(pool, "user", "c", "tea always", embedder, permanence="permanent", now=NOW - timedelta(days=300))
    await store_fact(pool, "user", "d", "tea maybe", embedder, confidence=0.1, now=NOW)
    await store_episode(pool, "tea was served", "jeeves", embedder, now=NOW)
    kept = ["tea always", "tea now", "tea was served"]
    assert found(await search(pool, "tea", embedder, now=NOW)) == kept
    assert len(await search(pool, "tea", embedder, now=NOW, min_confidence=0)) == 5


async def test_enough_results_come_even_where_the_nearest_have_faded(pool, embedder):
    old = [NewFact("user", f"old {n}", "tea") for n in range(300)]
    await store_facts(pool, old, embedder, now=NOW - timedelta(days=900))
    await store_facts(pool, [NewFact("user", f"new {n}", "some tea with milk") for n in range(12)], embedder, now=NOW)
    for mode in ("semantic", "keyword", "hybrid"):
        assert len(await search(pool, "tea", embedder, mode=mode, limit=10, now=NOW)) == 10


async def test_equal_scores_put_the_newest_first_then_the_lowest_id(pool, embedder):
    same = [NewFact(f"s{n}", "p", "tea") for n in range(3)]
    await store_facts(pool, same, embedder, now=NOW)
    await store_fact(pool, "s9", "p", "tea", embedder, now=NOW + timedelta(hours=1))
    results = await search(pool, "tea", embedder, mode="keyword", now=NOW + timedelta(hours=2))
    assert results[0]["subject"] == "s9"
    ids = [str(result["id"]) for result in results[1:]]
    assert ids == sorted(ids)


async def test_the_limit_holds_across_types(pool, embedder, tea):
    assert len(await search(pool, "tea", embedder, limit=3)) == 3


@pytest.mark.parametrize("query", ["", "  \x00 ", None])
async def test_an_empty_query_finds_nothing_without_asking_the_database(embedder, query):
    assert await search(None, query, embedder) == []


async def test_a_search_changes_nothing(pool, embedder, tea):
    await search(pool, "tea", embedder)
    assert await pool.fetchval("SELECT sum(reference_count) FROM facts") == 0
    assert await pool.fetchval("SELECT count(*) FROM embedding_versions") == 1


async def test_searching_an_empty_database_records_no_model(pool, embedder):
    assert await search(pool, "tea", embedder) == []
    assert await pool.fetchval("SELECT count(*) FROM embedding_versions") == 0


async def test_a_query_of_another_model_is_refused(pool, embedder, tea):
    with pytest.raises(EmbeddingError, match="the stored vectors were made by word-hash"):
        await search(pool, "tea", WordHashEmbedder(model="other"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"types": ["entity"]}, "type 'entity' is not one of: episode, fact, rule"),
        ({"types": "fact"}, "types 'fact' is one text; pass a list, for example ['fact']"),
        ({"mode": "fuzzy"}, "mode 'fuzzy' is not one of: semantic, keyword, hybrid"),
        ({"limit": 1001}, "limit 1001 is not a whole number from 1 to 1,000"),
    ],
)
async def test_bad_arguments_say_what_is_wrong(embedder, arguments, message):
    with pytest.raises(InvalidInputError) as error:
        await search(None, "x", embedder, **arguments)
    assert message in str(error.value)
