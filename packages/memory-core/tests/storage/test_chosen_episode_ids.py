"""Episodes whose id the caller chose: a store of unknown outcome can be repeated."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from memory_core import InvalidInputError, NewEpisode, run_episode_cleanup, store_episode, store_episodes

THEN = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def counts(pool):
    return tuple(
        await pool.fetchrow(
            "SELECT (SELECT count(*) FROM episodes), (SELECT count(*) FROM session_turns),"
            " (SELECT count(*) FROM memory_events)"
        )
    )


async def test_storing_a_chosen_id_again_changes_nothing_and_returns_it(pool, embedder):
    chosen, session = uuid4(), uuid4()
    for content in ("The user asked for tea", "something else entirely"):
        stored = await store_episode(pool, content, "jeeves", embedder, session_id=session, episode_id=chosen)
        assert stored == chosen
    assert await counts(pool) == (1, 1, 1)
    assert await pool.fetchval("SELECT content FROM episodes") == "The user asked for tea"


async def test_an_id_is_known_even_when_its_episode_is_gone(pool, embedder):
    chosen = uuid4()
    long_ago = datetime.now(UTC) - timedelta(days=30)
    await store_episode(pool, "over", "jeeves", embedder, episode_id=chosen, now=long_ago)
    await run_episode_cleanup(pool)
    await store_episode(pool, "over", "jeeves", embedder, episode_id=chosen)
    assert await pool.fetchval("SELECT count(*) FROM episodes") == 0


async def test_one_id_stored_many_times_at_once_is_stored_once(pool, embedder):
    chosen = uuid4()
    await asyncio.gather(*(store_episode(pool, "tea", "jeeves", embedder, episode_id=chosen) for _ in range(8)))
    assert await counts(pool) == (1, 0, 1)


async def test_a_batch_stores_what_is_new_in_it_with_its_own_time(pool, embedder):
    first, second = uuid4(), uuid4()
    await store_episodes(pool, [NewEpisode("one", "jeeves", created_at=THEN, episode_id=first)], embedder)
    batch = [
        NewEpisode("one", "jeeves", created_at=THEN, episode_id=first),
        NewEpisode("two", "jeeves", created_at=THEN, episode_id=second),
        NewEpisode("two", "jeeves", created_at=THEN, episode_id=second),
        NewEpisode("three", "jeeves"),
    ]
    stored = await store_episodes(pool, batch, embedder)
    assert stored[:3] == [first, second, second]
    assert await counts(pool) == (3, 0, 3)
    assert await pool.fetchval("SELECT created_at FROM episodes WHERE id = $1", second) == THEN


async def test_a_malformed_chosen_id_is_refused(pool, embedder):
    with pytest.raises(InvalidInputError, match="episode_id 'seven' is not"):
        await store_episode(pool, "tea", "jeeves", embedder, episode_id="seven")


async def test_an_id_that_another_tenant_has_is_refused_and_changes_nothing(pool, embedder):
    chosen = await store_episode(pool, "tea", "jeeves", embedder, tenant_id="acme")
    before = await counts(pool)
    with pytest.raises(InvalidInputError, match=rf"episode_id is taken .*{chosen}.*; choose a new random UUID"):
        await store_episode(pool, "tea", "jeeves", embedder, episode_id=chosen)
    assert await counts(pool) == before
