"""Searching one table by meaning, by words and by both."""

import asyncpg
import pytest
from memory_core import (
    InvalidInputError,
    NewFact,
    forget_memory,
    hybrid_search,
    keyword_search,
    semantic_search,
    store_episode,
    store_fact,
    store_facts,
    store_rule,
)


def contents(results):
    return [result["content"] for result in results]


@pytest.mark.scenario("Semantic search returns cosine similarity")
async def test_semantic_search_orders_active_facts_by_cosine_similarity(pool, embedder):
    await store_fact(pool, "user", "drink", "likes black coffee", embedder)
    await store_fact(pool, "user", "pet", "has a grey cat", embedder)
    retracted = await store_fact(pool, "user", "meal", "likes black coffee at noon", embedder)
    await forget_memory(pool, "fact", retracted)
    query = embedder.embed("user drink likes black coffee")

    results = await semantic_search(pool, query, "facts")

    assert contents(results) == ["likes black coffee", "has a grey cat"]
    assert results[0]["similarity"] == pytest.approx(1.0, abs=1e-5)
    cosine = sum(a * b for a, b in zip(query, embedder.embed("user pet has a grey cat"), strict=True))
    assert results[1]["similarity"] == pytest.approx(cosine, abs=1e-5)


async def test_semantic_search_leaves_out_forgotten_rules(pool, embedder):
    kept = await store_rule(pool, "greet politely", embedder)
    forgotten = await store_rule(pool, "greet loudly", embedder)
    await forget_memory(pool, "rule", forgotten)
    results = await semantic_search(pool, embedder.embed("greet"), "rules")
    assert [result["id"] for result in results] == [kept]


async def test_semantic_search_leaves_out_expired_episodes(pool, embedder):
    episode = await store_episode(pool, "lunch with Ada", "jeeves", embedder)
    assert len(await semantic_search(pool, embedder.embed("lunch"), "episodes")) == 1
    await forget_memory(pool, "episode", episode)
    assert await semantic_search(pool, embedder.embed("lunch"), "episodes") == []


@pytest.mark.scenario("Keyword search uses plainto_tsquery")
async def test_keyword_search_finds_rows_with_all_words_by_rank(pool, embedder):
    await store_fact(pool, "ada", "work", "writes programs for the engine, and the engine runs programs", embedder)
    await store_fact(pool, "ada", "talk", "speaks of an engine that runs programs", embedder)
    await store_fact(pool, "ada", "home", "lives near an engine shed", embedder)

    results = await keyword_search(pool, "engines & program!", "facts")

    assert [result["predicate"] for result in results] == ["work", "talk"]
    rank = await pool.fetchval(
        "SELECT ts_rank(search_vector, plainto_tsquery('english', 'engines program'))"
        " FROM facts WHERE predicate = 'work'"
    )
    assert results[0]["rank"] == pytest.approx(rank)
    assert results[0]["rank"] > results[1]["rank"]


async def test_a_query_without_a_word_finds_nothing(pool, embedder):
    await store_fact(pool, "user", "a", "the of and", embedder)
    for query in ("", "   ", None, "the of and", "!!! ???"):
        assert await keyword_search(pool, query, "facts") == []


async def test_any_match_puts_rows_with_all_words_before_rows_with_some(pool, embedder):
    await store_fact(pool, "x", "some", "apples apples apples apples", embedder)
    await store_fact(pool, "x", "all", "a very long tale in which apples come up once, and so do pears", embedder)
    await store_fact(pool, "x", "none", "plums", embedder)
    assert [r["predicate"] for r in await keyword_search(pool, "apples pears", "facts")] == ["all"]
    results = await keyword_search(pool, "apples pears", "facts", match="any")
    assert [result["predicate"] for result in results] == ["all", "some"]


async def test_no_query_text_is_ever_syntax(pool, embedder):
    texts = ("it's", "a\\b 'c", "AT&T & http://x.de/?a=1&b=2", "x:*", "((", "foo | !bar <-> baz:A")
    for number, text in enumerate(texts):
        await store_fact(pool, "user", f"said {number}", f"{text} marker{number}", embedder)
        for match in ("all", "any"):
            assert len(await keyword_search(pool, f"{text} marker{number}", "facts", match=match)) == 1


@pytest.mark.scenario("Hybrid search uses Reciprocal Rank Fusion")
async def test_hybrid_search_fuses_the_ranks_of_both_searches(pool, embedder):
    facts = [NewFact("garden", f"bed {n}", f"{'roses ' * (n % 3)}flower number {n}") for n in range(8)]
    await store_facts(pool, facts, embedder)
    query = "roses flower"
    semantic = [r["id"] for r in await semantic_search(pool, embedder.embed(query), "facts", limit=20)]
    keyword = [r["id"] for r in await keyword_search(pool, query, "facts", limit=20, match="any")]

    results = await hybrid_search(pool, query, embedder.embed(query), "facts", limit=20)

    def rank(ids, id_):
        return ids.index(id_) + 1 if id_ in ids else 21

    for result in results:
        expected = 1 / (60 + rank(semantic, result["id"])) + 1 / (60 + rank(keyword, result["id"]))
        assert result["rrf_score"] == pytest.approx(expected)
    order = [(-result["rrf_score"], result["semantic_rank"]) for result in results]
    assert order == sorted(order)
    assert {result["id"] for result in results} == set(semantic) | set(keyword)


async def test_a_row_of_one_list_only_ranks_behind_the_limit_in_the_other(pool, embedder):
    await store_fact(pool, "x", "match", "zebra", embedder)
    await store_fact(pool, "x", "other", "giraffe", embedder)
    results = await hybrid_search(pool, "zebra", embedder.embed("zebra"), "facts", limit=7)
    other = next(result for result in results if result["predicate"] == "other")
    assert other["keyword_rank"] == 8
    assert other["rrf_score"] == pytest.approx(1 / (60 + other["semantic_rank"]) + 1 / 68)


async def test_a_vector_that_cannot_be_compared_is_refused(pool, embedder):
    await store_fact(pool, "user", "drink", "coffee", embedder)
    with pytest.raises(InvalidInputError, match="has 3 numbers, the stored vectors have 384; embed the query with"):
        await semantic_search(pool, [0.1, 0.2, 0.3], "facts")
    with pytest.raises(InvalidInputError, match="has a number that is not finite"):
        await hybrid_search(pool, "coffee", [float("nan")] * 384, "facts")


async def test_a_query_with_half_a_character_is_searched_without_it(pool, embedder):
    await store_fact(pool, "user", "drink", "coffee", embedder)
    assert len(await keyword_search(pool, "coffee \ud83d", "facts")) == 1
    with pytest.raises(InvalidInputError, match="query '7' is not a text"):
        await keyword_search(pool, 7, "facts")


async def test_no_result_carries_a_vector(pool, embedder):
    await store_fact(pool, "user", "drink", "coffee", embedder)
    [result] = await hybrid_search(pool, "coffee", embedder.embed("coffee"), "facts")
    assert not {"embedding", "search_vector"} & set(result)


async def test_searching_works_inside_the_callers_own_transaction(pool, embedder):
    async with pool.acquire() as connection, connection.transaction():
        await store_fact(connection, "user", "drink", "coffee", embedder)
        assert len(await semantic_search(connection, embedder.embed("coffee"), "facts")) == 1


async def test_settings_of_a_search_do_not_outlive_its_transaction(dsn, embedder):
    pool = await asyncpg.create_pool(dsn, min_size=1, max_size=1)
    await semantic_search(pool, embedder.embed("x"), "facts")
    assert await pool.fetchval("SHOW plan_cache_mode") == "auto"
    await pool.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": "entities"}, "table 'entities' is not one of: episodes, facts, rules"),
        ({"limit": 0}, "limit 0 is not a whole number from 1 to 1,000"),
        ({"limit": True}, "limit True is not a whole number from 1 to 1,000"),
        ({"scope": " "}, "scope ' ' is empty"),
        ({"match": "most"}, "match 'most' is not one of: all, any"),
        ({"min_confidence": 1.5}, "confidence 1.5 is not a number from 0 to 1"),
    ],
)
async def test_bad_arguments_say_what_is_wrong(arguments, message):
    with pytest.raises(InvalidInputError) as error:
        await keyword_search(None, "x", **{"table": "facts", **arguments})
    assert message in str(error.value)
