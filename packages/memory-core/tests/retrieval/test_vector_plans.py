"""Vector search is exact where that is cheap, and returns as many rows as there are."""

import random

import pytest
from memory_core import (
    NewFact,
    keyword_search,
    matching_memories,
    nearest_memories,
    semantic_search,
    store_facts,
)

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


async def configure(pool, **settings):
    """Set parameters for all new connections to the test's database, and let the pool open new ones."""
    database = await pool.fetchval("SELECT current_database()")
    for name, value in settings.items():
        await pool.execute(f"ALTER DATABASE {database} SET {name.replace('__', '.')} = {value}")
    await pool.expire_connections()


async def prefer_vector_indexes(pool):
    """Make the planner take a vector index wherever one gives the asked order, as it would in a large table."""
    await configure(pool, enable_seqscan="off", enable_sort="off", enable_bitmapscan="off")


async def replace_by_hnsw(pool):
    await pool.execute("CREATE INDEX facts_hnsw ON facts USING hnsw (embedding vector_cosine_ops)")
    await pool.execute("DROP INDEX facts_embedding_idx")


@pytest.mark.scenario("Vector similarity search uses index")
@pytest.mark.parametrize("table", ["episodes", "facts", "rules"])
async def test_a_cosine_query_on_a_new_table_uses_the_ivfflat_index(pool, embedder, table):
    plan = await pool.fetch(
        f"EXPLAIN SELECT id FROM {table} ORDER BY embedding <=> '{embedder.embed('tea')}'::vector LIMIT 10"
    )
    assert f"Index Scan using {table}_embedding_idx" in "\n".join(row[0] for row in plan)


async def test_a_table_with_its_first_index_is_searched_exactly(pool, embedder):
    await store_corpus(pool, embedder, 600, "large")
    await store_corpus(pool, embedder, 20, "small")
    await prefer_vector_indexes(pool)
    assert await recall_at_10(pool, embedder, "large") == 1.0
    assert await recall_at_10(pool, embedder, "small") == 1.0


async def test_an_hnsw_index_costs_neither_a_large_nor_a_small_tenant_its_neighbours(pool, embedder, monkeypatch):
    monkeypatch.setattr(nearest_memories, "EXACT_UP_TO", 100)
    await store_corpus(pool, embedder, 1200, "large")
    await store_corpus(pool, embedder, 15, "small")
    await replace_by_hnsw(pool)
    await prefer_vector_indexes(pool)
    assert await recall_at_10(pool, embedder, "large") >= 0.95
    assert await recall_at_10(pool, embedder, "small") == 1.0


async def test_a_thinned_out_set_still_gives_all_rows_that_are_asked_for(pool, embedder, monkeypatch):
    monkeypatch.setattr(nearest_memories, "EXACT_UP_TO", 0)
    await store_corpus(pool, embedder, 1000, "large")
    await store_corpus(pool, embedder, 12, "small")
    await replace_by_hnsw(pool)
    await prefer_vector_indexes(pool)
    # An index scan that gives up after its first candidates, as it does in a table of millions.
    await configure(pool, hnsw__max_scan_tuples=1)
    assert await recall_at_10(pool, embedder, "small") == 1.0


async def test_a_query_of_common_words_ranks_a_bounded_number_of_rows(pool, embedder, monkeypatch):
    facts = [NewFact(f"s{n}", "p", "tea and more tea") for n in range(300)]
    await store_facts(pool, [*facts, NewFact("x", "p", "tea with custard")], embedder)
    monkeypatch.setattr(matching_memories, "MAX_RANKED", 50)
    assert len(await keyword_search(pool, "tea", "facts", limit=200)) == 50
    results = await keyword_search(pool, "tea custard", "facts", limit=200, match="any")
    assert results[0]["subject"] == "x"
    assert len(results) <= 51


async def test_words_that_most_rows_carry_do_not_select(pool, embedder):
    facts = [NewFact(f"s{n}", "p", f"tea number {n}") for n in range(1500)]
    await store_facts(pool, [*facts, NewFact("x", "p", "a custard")], embedder)
    await pool.execute("ANALYZE facts")
    results = await keyword_search(pool, "tea custard", "facts", limit=200, match="any")
    assert [result["subject"] for result in results] == ["x"]
