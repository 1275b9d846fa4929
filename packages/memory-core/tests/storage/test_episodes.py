"""Storing episodes."""

from datetime import UTC, datetime, timedelta

import pytest
from memory_core import InvalidInputError, NewEpisode, store_episode, store_episodes
from memory_core.vectors import COPY_FROM

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.scenario("Store episode with embedding and search vector")
@pytest.mark.scenario("Episode embedding generated at write time")
async def test_an_episode_is_stored_with_vector_search_vector_and_seven_days_to_live(pool, embedder):
    episode_id = await store_episode(pool, "The user asked for tea", "jeeves", embedder, now=NOW)

    row = await pool.fetchrow(
        "SELECT vector_dims(embedding) AS dims, search_vector::text AS words, expires_at, created_at, butler"
        " FROM episodes WHERE id = $1",
        episode_id,
    )
    assert row["dims"] == 384
    assert "'tea'" in row["words"]
    assert row["created_at"] == NOW
    assert row["expires_at"] == NOW + timedelta(days=7)
    assert row["butler"] == "jeeves"


@pytest.mark.scenario("Episode created with defaults")
async def test_an_episode_inserted_with_only_its_required_columns_gets_the_defaults(pool):
    row = await pool.fetchrow(
        "INSERT INTO episodes (tenant_id, butler, content) VALUES ('t', 'jeeves', 'x')"
        " RETURNING importance, consolidation_status, consolidated, consolidation_attempts, reference_count,"
        " expires_at - created_at AS life"
    )
    assert row["importance"] == 5.0
    assert row["consolidation_status"] == "pending"
    assert row["consolidated"] is False
    assert row["consolidation_attempts"] == 0
    assert row["reference_count"] == 0
    assert row["life"] == timedelta(days=7)


@pytest.mark.scenario("Episode schema and defaults")
async def test_the_episodes_table_has_every_column_of_the_specification(pool):
    columns = await _columns(pool, "episodes")
    assert (
        columns.items()
        >= {
            "id": ("uuid", "NO"),
            "butler": ("text", "NO"),
            "session_id": ("uuid", "YES"),
            "content": ("text", "NO"),
            "embedding": ("vector", "YES"),
            "search_vector": ("tsvector", "YES"),
            "importance": ("float8", "NO"),
            "reference_count": ("int4", "NO"),
            "consolidated": ("bool", "NO"),
            "consolidation_status": ("varchar", "NO"),
            "retry_count": ("int4", "NO"),
            "last_error": ("text", "YES"),
            "created_at": ("timestamptz", "NO"),
            "last_referenced_at": ("timestamptz", "YES"),
            "expires_at": ("timestamptz", "YES"),
            "metadata": ("jsonb", "NO"),
            "tenant_id": ("text", "NO"),
            "consolidation_attempts": ("int4", "NO"),
            "last_consolidation_error": ("text", "YES"),
            "next_consolidation_retry_at": ("timestamptz", "YES"),
        }.items()
    )


async def test_the_older_consolidation_columns_project_the_newer_ones(pool, embedder):
    episode_id = await store_episode(pool, "x", "b", embedder)
    await pool.execute(
        "UPDATE episodes SET consolidation_status = 'consolidated', consolidation_attempts = 3,"
        " last_consolidation_error = 'boom' WHERE id = $1",
        episode_id,
    )
    row = await pool.fetchrow("SELECT consolidated, retry_count, last_error FROM episodes WHERE id = $1", episode_id)
    assert tuple(row) == (True, 3, "boom")


@pytest.mark.parametrize("count", [1, COPY_FROM - 1, COPY_FROM])
async def test_many_episodes_are_stored_in_one_call_each_with_its_own_values(pool, embedder, count):
    written = [
        NewEpisode(f"turn {n}", "jeeves", importance=n % 10, metadata={"n": n}, created_at=NOW) for n in range(count)
    ]
    ids = await store_episodes(pool, written, embedder)

    rows = await pool.fetch(
        "SELECT content, importance, metadata ->> 'n' AS n, embedding::text AS vector"
        " FROM episodes JOIN unnest($1::uuid[]) WITH ORDINALITY AS o (id, n) USING (id) ORDER BY o.n",
        ids,
    )
    assert [row["content"] for row in rows] == [f"turn {n}" for n in range(count)]
    assert [row["importance"] for row in rows] == [n % 10 for n in range(count)]
    assert [row["n"] for row in rows] == [str(n) for n in range(count)]
    # Each row carries the vector of its own text, not a neighbour's.
    for row in rows:
        expected = embedder.embed(row["content"])
        stored = [float(part) for part in row["vector"].strip("[]").split(",")]
        assert stored == pytest.approx(expected, abs=1e-6)


async def test_two_large_batches_fit_into_one_transaction_of_the_caller(pool, embedder):
    batch = [NewEpisode(f"turn {n}", "jeeves") for n in range(COPY_FROM)]
    async with pool.acquire() as connection, connection.transaction():
        await store_episodes(connection, batch, embedder)
        await store_episodes(connection, batch, embedder)
    assert await pool.fetchval("SELECT count(*) FROM episodes WHERE embedding IS NOT NULL") == 2 * COPY_FROM


async def test_storing_no_episodes_does_nothing(pool, embedder):
    assert await store_episodes(pool, [], embedder) == []
    assert await pool.fetchval("SELECT count(*) FROM memory_events") == 0


async def test_one_bad_episode_in_a_batch_stores_none(pool, embedder):
    with pytest.raises(InvalidInputError, match="content"):
        await store_episodes(pool, [NewEpisode("good", "b"), NewEpisode("  ", "b")], embedder)
    assert await pool.fetchval("SELECT count(*) FROM episodes") == 0
    assert await pool.fetchval("SELECT count(*) FROM memory_events") == 0


async def test_an_episode_can_be_given_another_time_to_live(pool, embedder):
    episode_id = await store_episode(pool, "x", "b", embedder, ttl_days=1.5, now=NOW)
    expires = await pool.fetchval("SELECT expires_at FROM episodes WHERE id = $1", episode_id)
    assert expires == NOW + timedelta(days=1.5)


async def _columns(pool, table):
    rows = await pool.fetch(
        "SELECT column_name, udt_name, is_nullable FROM information_schema.columns WHERE table_name = $1", table
    )
    return {row["column_name"]: (row["udt_name"], row["is_nullable"]) for row in rows}
