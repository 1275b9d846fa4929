"""Vector search is exact where that is cheap, and returns as many rows as there are."""

import random

import pytest
from memory_core import NewFact, hybrid_search, nearest_memories, semantic_search, store_facts
from memory_core.matching_memories import MAX_RANKED
from memory_core.testing import WordHashEmbedder

WORDS = [f"word{n}" for n in range(60)]


def sentence(seed):
    return " ".join(random.Random(seed).sample(WORDS, 8))


async def store_corpus(pool, embedder, rows, tenant_id):
    facts = [NewFact(f"s{n}", "p", sentence(f"{tenant_id} {n}")) for n in range(rows)]
    await store_facts(pool, facts, embedder, tenant_id=tenant_id)


async def recall_at_10(pool, embedder, tenant_id):
    """Return which part of the true ten nearest facts a search finds, over some queries."""
    found = 0
    for query in range(10):
        vector = embedder.embed(sentence(f"query {query}"))
        truth = await pool.fetch(
            "SELECT id FROM facts WHERE tenant_id = $1 ORDER BY (embedding <=> $2::real[]::vector) + 0 LIMIT 10",
            tenant_id,
            vector,
        )
        results = await semantic_search(pool, vector, "facts", limit=10, tenant_id=tenant_id)
        assert len(results) == 10
        found += len({row["id"] for row in truth} & {result["id"] for result in results})
    return found / 100


@pytest.fixture
def small_embedder():
    return WordHashEmbedder()


@pytest.mark.scenario("Vector similarity search uses index")
@pytest.mark.parametrize("table", ["episodes", "facts", "rules"])
async def test_a_cosine_query_on_a_new_table_uses_the_ivfflat_index(pool, embedder, table):
    plan = await pool.fetch(
        f"EXPLAIN SELECT id FROM {table} ORDER BY embedding <=> '{embedder.embed('tea')}'::vector LIMIT 10"
    )
    assert f"Index Scan using {table}_embedding_idx" in "\n".join(row[0] for row in plan)


async def test_a_table_with_its_first_index_is_searched_exactly(pool, small_embedder):
    await store_corpus(pool, small_embedder, 600, "large")
    await store_corpus(pool, small_embedder, 20, "small")
    assert await recall_at_10(pool, small_embedder, "large") == 1.0
    assert await recall_at_10(pool, small_embedder, "small") == 1.0


async def test_an_hnsw_index_costs_neither_a_large_nor_a_small_tenant_its_neighbours(pool, small_embedder, monkeypatch):
    monkeypatch.setattr(nearest_memories, "EXACT_UP_TO", 100)
    await store_corpus(pool, small_embedder, 1200, "large")
    await store_corpus(pool, small_embedder, 15, "small")
    await pool.execute("CREATE INDEX facts_hnsw ON facts USING hnsw (embedding vector_cosine_ops)")
    await pool.execute("DROP INDEX facts_embedding_idx")
    assert await recall_at_10(pool, small_embedder, "large") >= 0.95
    assert await recall_at_10(pool, small_embedder, "small") == 1.0


async def test_a_thinned_out_set_still_gives_all_rows_that_are_asked_for(pool, small_embedder, monkeypatch):
    monkeypatch.setattr(nearest_memories, "EXACT_UP_TO", 0)
    await store_corpus(pool, small_embedder, 1000, "large")
    await store_corpus(pool, small_embedder, 12, "small")
    await pool.execute("CREATE INDEX facts_hnsw ON facts USING hnsw (embedding vector_cosine_ops)")
    await pool.execute("DROP INDEX facts_embedding_idx")
    # As an index of an old pgvector that gives up after its first candidates.
    await pool.execute(
        "ALTER DATABASE " + await pool.fetchval("SELECT current_database()") + " SET hnsw.max_scan_tuples = 1"
    )
    await pool.expire_connections()
    assert await recall_at_10(pool, small_embedder, "small") == 1.0


async def test_a_query_of_common_words_ranks_a_bounded_number_of_rows(pool, embedder, monkeypatch):
    facts = [NewFact(f"s{n}", "p", "tea and more tea") for n in range(300)]
    await store_facts(pool, [*facts, NewFact("x", "p", "tea with custard")], embedder)
    monkeypatch.setattr("memory_core.matching_memories.MAX_RANKED", 50)
    assert MAX_RANKED == 10_000
    results = await hybrid_search(pool, "tea custard", embedder.embed("tea custard"), "facts")
    assert results[0]["subject"] == "x"
    assert len(results) == 10


async def test_words_that_most_rows_carry_do_not_select(pool, embedder):
    facts = [NewFact(f"s{n}", "p", f"tea number {n}") for n in range(1500)]
    await store_facts(pool, [*facts, NewFact("x", "p", "a custard")], embedder)
    await pool.execute("ANALYZE facts")
    results = await hybrid_search(pool, "tea custard", embedder.embed("plums"), "facts", limit=200)
    matched = [result for result in results if "rank" in result]
    assert [result["subject"] for result in matched] == ["x"]
