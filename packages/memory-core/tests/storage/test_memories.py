"""Reading, confirming and forgetting one memory."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from memory_core import (
    InvalidTransitionError,
    confirm_memory,
    forget_memory,
    get_memory,
    store_episode,
    store_fact,
    store_rule,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=10)


@pytest.fixture
async def stored(pool, embedder):
    return {
        "episode": await store_episode(pool, "The user drank tea", "jeeves", embedder, now=NOW),
        "fact": await store_fact(pool, "user", "drinks", "tea", embedder, now=NOW),
        "rule": await store_rule(pool, "Offer tea", embedder, now=NOW),
    }


@pytest.mark.scenario("Get memory with reference bump")
@pytest.mark.parametrize("kind", ["episode", "fact", "rule"])
async def test_reading_a_memory_counts_the_reference(pool, stored, kind):
    await get_memory(pool, kind, stored[kind], now=NOW)
    memory = await get_memory(pool, kind, str(stored[kind]), now=LATER)
    assert memory["reference_count"] == 2
    assert memory["last_referenced_at"] == LATER
    assert memory["memory_type"] == kind
    assert not {"embedding", "search_vector"} & set(memory)
    assert await get_memory(pool, kind, uuid4()) is None


async def test_concurrent_reads_lose_no_count(pool, stored):
    await asyncio.gather(*(get_memory(pool, "fact", stored["fact"]) for _ in range(30)))
    assert (await get_memory(pool, "fact", stored["fact"]))["reference_count"] == 31


@pytest.mark.scenario("Confirm memory resets decay timer")
@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_confirming_resets_the_decay_timer_and_the_fading_mark(pool, stored, kind):
    await pool.execute(f"""UPDATE {kind}s SET metadata = '{{"status": "fading", "a": 1}}'""")
    assert await confirm_memory(pool, kind, stored[kind], now=LATER)
    memory = await get_memory(pool, kind, stored[kind])
    assert memory["last_confirmed_at"] == LATER
    assert memory["metadata"] == {"a": 1}


async def test_an_episode_cannot_be_confirmed(pool, stored):
    with pytest.raises(ValueError, match="'episode' cannot be confirmed"):
        await confirm_memory(pool, "episode", stored["episode"])


async def test_confirming_an_older_moment_does_not_turn_the_clock_back(pool, stored):
    await confirm_memory(pool, "fact", stored["fact"], now=LATER)
    await confirm_memory(pool, "fact", stored["fact"], now=NOW)
    assert (await get_memory(pool, "fact", stored["fact"]))["last_confirmed_at"] == LATER


async def test_a_retracted_fact_cannot_be_confirmed(pool, stored):
    await forget_memory(pool, "fact", stored["fact"])
    with pytest.raises(InvalidTransitionError, match="is retracted and cannot be confirmed; only active ones can"):
        await confirm_memory(pool, "fact", stored["fact"])


async def test_a_forgotten_rule_cannot_be_confirmed(pool, stored):
    await forget_memory(pool, "rule", stored["rule"])
    with pytest.raises(InvalidTransitionError, match="is forgotten"):
        await confirm_memory(pool, "rule", stored["rule"])


@pytest.mark.scenario("Fact transitions to retracted via forget")
async def test_a_forgotten_fact_is_retracted(pool, stored):
    assert await forget_memory(pool, "fact", stored["fact"])
    assert (await get_memory(pool, "fact", stored["fact"]))["validity"] == "retracted"


@pytest.mark.scenario("Forget episode sets immediate expiry")
async def test_a_forgotten_episode_expires_now(pool, stored):
    assert await forget_memory(pool, "episode", stored["episode"], now=LATER - timedelta(days=9))
    assert (await get_memory(pool, "episode", stored["episode"]))["expires_at"] == LATER - timedelta(days=9)


async def test_an_episode_that_time_ended_can_still_be_forgotten_once(pool, stored):
    """What somebody asked to forget is never consolidated, though it had expired before; the event says so."""
    expired_at = (await get_memory(pool, "episode", stored["episode"]))["expires_at"]
    for hours in (1, 2):
        later = expired_at + timedelta(hours=hours)
        assert await forget_memory(pool, "episode", stored["episode"], now=later)
    assert (await get_memory(pool, "episode", stored["episode"]))["expires_at"] == expired_at
    events = await pool.fetch("SELECT payload FROM memory_events WHERE event_type = 'episode_expired'")
    assert [json.loads(event["payload"]) for event in events] == [{"from": "expired", "reason": "forget"}]


@pytest.mark.scenario("Forget rule sets metadata flag")
async def test_a_forgotten_rule_is_flagged(pool, stored):
    assert await forget_memory(pool, "rule", stored["rule"])
    rule = await get_memory(pool, "rule", stored["rule"])
    assert rule["metadata"]["forgotten"] is True
    assert rule["state"] == "forgotten"


@pytest.mark.parametrize("kind", ["episode", "fact", "rule"])
async def test_what_is_missing_is_reported_and_not_invented(pool, kind):
    assert not await forget_memory(pool, kind, uuid4())
    if kind != "episode":
        assert not await confirm_memory(pool, kind, uuid4())
    assert await pool.fetchval("SELECT count(*) FROM memory_events") == 0


@pytest.mark.parametrize("kind", ["episode", "fact", "rule"])
async def test_forgetting_twice_changes_nothing_more(pool, stored, kind):
    for _ in range(2):
        assert await forget_memory(pool, kind, stored[kind], now=NOW)
    events = await pool.fetch("SELECT event_type FROM memory_events WHERE entity_id = $1", stored[kind])
    assert len(events) == 2


async def test_a_pool_with_a_jsonb_codec_reads_and_writes_the_same(dsn, embedder):
    import json

    import asyncpg

    async def decode_jsonb(connection):
        await connection.set_type_codec(
            "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog", format="text"
        )

    async with asyncpg.create_pool(dsn, init=decode_jsonb, min_size=1, max_size=2) as pool:
        fact_id = await store_fact(pool, "s", "p", "c", embedder, tags=["x"], metadata={"a": [1]})
        fact = await get_memory(pool, "fact", fact_id)
        assert (fact["tags"], fact["metadata"]) == (["x"], {"a": [1]})
        assert await store_fact(pool, "s", "p", "c", embedder, tags=["x"], metadata={"a": [1]}) == fact_id
