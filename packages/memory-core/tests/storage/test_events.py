"""The audit stream: one event per mutation, with lineage, never changed."""

import asyncpg
import pytest
from memory_core import confirm_memory, forget_memory, get_memory, store_episode, store_fact, store_rule


async def _events(pool):
    rows = await pool.fetch("SELECT event_type, entity_type, entity_id FROM memory_events ORDER BY occurred_at")
    return [tuple(row) for row in rows]


@pytest.mark.scenario("Fact stored event")
async def test_storing_a_fact_writes_one_event_and_superseding_two(pool, embedder):
    old = await store_fact(pool, "user", "city", "Rome", embedder)
    assert await _events(pool) == [("fact_created", "fact", old)]
    new = await store_fact(pool, "user", "city", "Oslo", embedder)
    assert sorted((await _events(pool))[1:]) == [("fact_created", "fact", new), ("fact_superseded", "fact", old)]


@pytest.mark.scenario("Memory forgotten event")
@pytest.mark.scenario("Forget operation writes audit event")
async def test_forgetting_writes_the_event_of_its_type_and_keeps_the_earlier_ones(pool, embedder):
    episode = await store_episode(pool, "x", "b", embedder)
    fact = await store_fact(pool, "s", "p", "c", embedder)
    rule = await store_rule(pool, "x", embedder)
    for kind, memory_id in (("episode", episode), ("fact", fact), ("rule", rule)):
        await forget_memory(pool, kind, memory_id)
    assert await _events(pool) == [
        ("episode_created", "episode", episode),
        ("fact_created", "fact", fact),
        ("rule_created", "rule", rule),
        ("episode_expired", "episode", episode),
        ("fact_retracted", "fact", fact),
        ("rule_forgotten", "rule", rule),
    ]


async def test_confirming_writes_an_event_and_reading_none(pool, embedder):
    rule = await store_rule(pool, "x", embedder)
    await get_memory(pool, "rule", rule)
    await confirm_memory(pool, "rule", rule)
    assert await _events(pool) == [("rule_created", "rule", rule), ("rule_confirmed", "rule", rule)]


async def test_events_carry_the_request_and_the_actor(pool, embedder):
    context = {"request_id": "req-7", "actor": "jeeves", "tenant_id": "acme"}
    await store_fact(pool, "s", "p", "c", embedder, tenant_id="acme", request_context=context)
    row = await pool.fetchrow("SELECT tenant_id, request_id, actor FROM memory_events")
    assert tuple(row) == ("acme", "req-7", "jeeves")


async def test_no_event_carries_content(pool, embedder):
    secret = "the safe opens with 1234"
    old = await store_fact(pool, "user", "secret subject", secret, embedder)
    await store_fact(pool, "user", "secret subject", secret + "!", embedder)
    await forget_memory(pool, "fact", old)
    payloads = await pool.fetchval("SELECT string_agg(payload::text, ' ') FROM memory_events")
    assert "1234" not in payloads
    assert "secret" not in payloads


@pytest.mark.parametrize(
    "statement",
    ["UPDATE memory_events SET actor = 'x'", "DELETE FROM memory_events", "TRUNCATE memory_events"],
)
async def test_events_can_be_neither_changed_nor_removed(pool, embedder, statement):
    await store_fact(pool, "s", "p", "c", embedder)
    with pytest.raises(asyncpg.RestrictViolationError, match="append-only"):
        await pool.execute(statement)
    assert await pool.fetchval("SELECT count(*) FROM memory_events") == 1
