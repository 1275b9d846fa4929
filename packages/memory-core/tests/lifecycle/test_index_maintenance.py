"""Large tables are given the index that suits them, beside running work."""

import pytest
from memory_core import migrate, run_worker
from memory_core.database import open_pool
from memory_core.index_maintenance import maintain_indexes, vector_indexes

NOTHING = {"hnsw_built": 0, "ivfflat_dropped": 0, "unfinished_dropped": 0}


COLUMNS = {
    "episodes": "butler, last_consolidation_error",
    "facts": "subject, predicate",
    "rules": "scope, source_butler",
}


async def fill(pool, table, count):
    await pool.execute(
        f"INSERT INTO {table} (content, {COLUMNS[table]}, embedding)"
        " SELECT 'text', 'name ' || n, 'other',"
        "     (SELECT array_agg(sin(n * d))::real[]::vector FROM generate_series(1, 384) AS d)"
        " FROM generate_series(1, $1::int) AS n",
        count,
    )


async def methods(pool, table):
    rows = await pool.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = $1 AND indexdef ~ '(hnsw|ivfflat)'", table
    )
    return {row["indexname"]: row["indexdef"].partition("USING ")[2] for row in rows}


async def test_a_table_that_has_grown_large_gets_hnsw_in_place_of_ivfflat(pool):
    await fill(pool, "facts", 31)
    await fill(pool, "rules", 30)
    counts = await maintain_indexes(pool, large_table_rows=30)
    assert counts == {**NOTHING, "hnsw_built": 1, "ivfflat_dropped": 1}
    assert await methods(pool, "facts") == {
        "facts_embedding_hnsw_idx": "hnsw (embedding vector_cosine_ops) WITH (m='16', ef_construction='64')"
    }
    assert list(await methods(pool, "rules")) == ["rules_embedding_idx"]
    assert await maintain_indexes(pool, large_table_rows=30) == NOTHING


async def test_every_table_is_looked_after(pool):
    for table in ("episodes", "facts", "rules"):
        await fill(pool, table, 2)
    assert await maintain_indexes(pool, large_table_rows=1) == {**NOTHING, "hnsw_built": 3, "ivfflat_dropped": 3}
    assert await pool.fetchval("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0


async def test_small_tables_keep_what_they_have(memory, pool):
    await fill(pool, "facts", 10)
    assert (await run_worker(memory, "index_maintenance")).counts == NOTHING
    assert list(await methods(pool, "facts")) == ["facts_embedding_idx"]


async def test_what_an_interrupted_build_left_behind_is_cleared_away_and_built_again(pool):
    await fill(pool, "facts", 3)
    await pool.execute("CREATE INDEX facts_embedding_hnsw_idx ON facts USING hnsw (embedding vector_cosine_ops)")
    await pool.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'facts_embedding_hnsw_idx'::regclass")
    state = {indexes.table: indexes for indexes in await vector_indexes(pool, large_table_rows=1)}
    assert state["facts"].unfinished == ("facts_embedding_hnsw_idx",)
    counts = await maintain_indexes(pool, large_table_rows=1)
    assert counts == {"hnsw_built": 1, "ivfflat_dropped": 1, "unfinished_dropped": 1}
    assert await pool.fetchval(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = 'facts_embedding_hnsw_idx'::regclass"
    )


async def test_an_index_on_another_column_is_left_alone_and_not_mistaken_for_ours(pool):
    await pool.execute("ALTER TABLE facts ADD COLUMN other vector(3)")
    await pool.execute("CREATE INDEX facts_other_idx ON facts USING hnsw (other vector_cosine_ops)")
    await fill(pool, "facts", 2)
    assert (await maintain_indexes(pool, large_table_rows=1))["hnsw_built"] == 1
    assert set(await methods(pool, "facts")) == {"facts_other_idx", "facts_embedding_hnsw_idx"}


@pytest.mark.parametrize("pooler", [False, True])
async def test_the_tables_of_the_configured_schema_are_the_ones_indexed(dsn, pool, pooler):
    await migrate(pool, schema="jeeves")
    in_schema = await open_pool(dsn, schema="jeeves", pooler=pooler)
    try:
        async with in_schema.acquire() as connection, connection.transaction():
            await fill(connection, "facts", 2)
        assert (await maintain_indexes(in_schema, large_table_rows=1))["hnsw_built"] == 1
    finally:
        await in_schema.close()
    rows = await pool.fetch("SELECT schemaname FROM pg_indexes WHERE indexdef ~ 'hnsw'")
    assert [row["schemaname"] for row in rows] == ["jeeves"]
