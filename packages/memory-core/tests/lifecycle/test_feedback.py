"""Marking rules helpful and harmful."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from memory_core import (
    InvalidInputError,
    InvalidTransitionError,
    TenantMismatchError,
    forget_memory,
    mark_harmful,
    mark_helpful,
    store_rule,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def rule_row(pool, rule_id):
    row = await pool.fetchrow(
        "SELECT maturity, applied_count, success_count, harmful_count, effectiveness_score, last_applied_at,"
        " last_evaluated_at, metadata FROM rules WHERE id = $1",
        rule_id,
    )
    return {**row, "metadata": json.loads(row["metadata"])}


async def event_types(pool, rule_id):
    rows = await pool.fetch("SELECT event_type FROM memory_events WHERE entity_id = $1 ORDER BY ctid", rule_id)
    return [row["event_type"] for row in rows]


@pytest.mark.scenario("Mark helpful increments counts and recalculates effectiveness")
async def test_a_helpful_mark_counts_and_recalculates(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    later = NOW + timedelta(hours=1)
    standing = await mark_helpful(pool, rule_id, now=later)
    row = await rule_row(pool, rule_id)
    assert standing == {
        "id": rule_id,
        "maturity": "candidate",
        "effectiveness_score": 1.0,
        "applied_count": 1,
        "success_count": 1,
        "harmful_count": 0,
        "needs_inversion": False,
    }
    assert (row["applied_count"], row["success_count"], row["harmful_count"]) == (1, 1, 0)
    assert (row["effectiveness_score"], row["last_applied_at"], row["last_evaluated_at"]) == (1.0, later, later)


@pytest.mark.scenario("Mark harmful increments counts with 4x penalty formula")
async def test_a_harmful_mark_weighs_four_times_and_keeps_its_reason(pool, embedder):
    rule_id = await store_rule(pool, "Reply at once", embedder, metadata={"origin": "call"}, now=NOW)
    for _ in range(2):
        await mark_helpful(pool, rule_id, now=NOW)
    await mark_harmful(pool, rule_id, "woke\nthem up", now=NOW)
    standing = await mark_harmful(pool, rule_id, now=NOW)
    row = await rule_row(pool, rule_id)
    assert standing["effectiveness_score"] == row["effectiveness_score"] == pytest.approx(2 / (2 + 4 * 2 + 0.01))
    assert (row["applied_count"], row["success_count"], row["harmful_count"]) == (4, 2, 2)
    assert row["metadata"] == {"origin": "call", "harmful_reasons": ["woke them up"]}


async def test_maturity_is_stored_and_each_change_is_an_event(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    for _ in range(5):
        await mark_helpful(pool, rule_id, now=NOW)
    assert (await rule_row(pool, rule_id))["maturity"] == "established"
    await mark_harmful(pool, rule_id, now=NOW)
    assert (await rule_row(pool, rule_id))["maturity"] == "candidate"
    assert (await event_types(pool, rule_id))[1:] == [
        *["rule_marked_helpful"] * 5,
        "rule_promoted",
        "rule_marked_harmful",
        "rule_demoted",
    ]
    steps = await pool.fetch("SELECT payload FROM memory_events WHERE event_type ~ 'moted$' ORDER BY ctid")
    assert [json.loads(row["payload"]) for row in steps] == [
        {"from": "candidate", "to": "established"},
        {"from": "established", "to": "candidate"},
    ]


async def test_a_rule_is_proven_by_the_age_that_the_given_clock_tells(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    for _ in range(20):
        await mark_helpful(pool, rule_id, now=NOW + timedelta(days=29))
    assert (await rule_row(pool, rule_id))["maturity"] == "established"
    await mark_helpful(pool, rule_id, now=NOW + timedelta(days=30))
    assert (await rule_row(pool, rule_id))["maturity"] == "proven"


async def test_three_harms_set_needs_inversion_and_say_so_once(pool, embedder):
    rule_id = await store_rule(pool, "Reply at once", embedder, now=NOW)
    due = [(await mark_harmful(pool, rule_id, now=NOW))["needs_inversion"] for _ in range(4)]
    assert due == [False, False, True, True]
    assert (await rule_row(pool, rule_id))["metadata"]["needs_inversion"] is True
    assert (await event_types(pool, rule_id)).count("rule_inversion_due") == 1


@pytest.mark.scenario("Rule application recorded")
async def test_each_mark_is_recorded_as_an_application_with_its_request(pool, embedder):
    rule_id = await store_rule(pool, "Reply at once", embedder, now=NOW)
    context = {"request_id": "r-1", "actor": "jeeves", "session": "s-9"}
    await mark_helpful(pool, rule_id, now=NOW)
    await mark_harmful(pool, rule_id, "too hasty", request_context=context, now=NOW + timedelta(seconds=1))
    rows = await pool.fetch(
        "SELECT tenant_id, rule_id, outcome, reason, request_id, context, applied_at FROM rule_applications"
        " ORDER BY applied_at"
    )
    helpful, harmful = (dict(row) for row in rows)
    assert (helpful["rule_id"], helpful["outcome"], helpful["applied_at"]) == (rule_id, "helpful", NOW)
    assert (harmful["outcome"], harmful["reason"], harmful["request_id"]) == ("harmful", "too hasty", "r-1")
    assert json.loads(harmful["context"]) == context
    event = await pool.fetchrow("SELECT actor, request_id FROM memory_events WHERE event_type = 'rule_marked_harmful'")
    assert tuple(event) == ("jeeves", "r-1")


async def test_no_event_carries_a_reason_or_content(pool, embedder):
    rule_id = await store_rule(pool, "Reply at once", embedder, now=NOW)
    for _ in range(3):
        await mark_harmful(pool, rule_id, "secretreason", now=NOW)
    payloads = await pool.fetchval("SELECT string_agg(payload::text, ' ') FROM memory_events")
    assert "secretreason" not in payloads
    assert "Reply" not in payloads


async def test_fifty_marks_at_once_lose_none(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    marks = [
        mark_helpful(pool, rule_id, now=NOW) if number % 2 else mark_harmful(pool, rule_id, f"reason {number}", now=NOW)
        for number in range(50)
    ]
    await asyncio.gather(*marks)
    row = await rule_row(pool, rule_id)
    assert (row["applied_count"], row["success_count"], row["harmful_count"]) == (50, 25, 25)
    assert sorted(row["metadata"]["harmful_reasons"]) == sorted(f"reason {number}" for number in range(0, 50, 2))
    assert await pool.fetchval("SELECT count(*) FROM rule_applications") == 50
    assert (await event_types(pool, rule_id)).count("rule_marked_helpful") == 25


async def test_a_rule_keeps_its_newest_hundred_reasons_and_the_applications_keep_all(pool, embedder):
    rule_id = await store_rule(pool, "Reply at once", embedder, now=NOW)
    async with pool.acquire() as connection:
        for number in range(102):
            await mark_harmful(connection, rule_id, f"reason {number}", now=NOW)
    reasons = (await rule_row(pool, rule_id))["metadata"]["harmful_reasons"]
    assert (len(reasons), reasons[0], reasons[-1]) == (100, "reason 2", "reason 101")
    assert await pool.fetchval("SELECT count(*) FROM rule_applications") == 102


async def test_a_rule_that_does_not_exist_or_is_another_tenants_is_none_and_nothing_is_written(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, tenant_id="other", now=NOW)
    assert await mark_helpful(pool, uuid4()) is None
    assert await mark_harmful(pool, rule_id, "not mine") is None
    assert (await rule_row(pool, rule_id))["applied_count"] == 0
    assert await pool.fetchval("SELECT count(*) FROM rule_applications") == 0


async def test_a_forgotten_rule_takes_no_feedback(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    await forget_memory(pool, "rule", rule_id, now=NOW)
    with pytest.raises(InvalidTransitionError, match=r"is forgotten and takes no feedback; .*store it again"):
        await mark_helpful(pool, rule_id, now=NOW)


async def test_bad_marks_are_refused_with_value_and_remedy(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    with pytest.raises(InvalidInputError, match="rule_id 'nope' is not a UUID"):
        await mark_helpful(pool, "nope")
    with pytest.raises(InvalidInputError, match=r"reason is 5,000 bytes long .* at most 4,096"):
        await mark_harmful(pool, rule_id, "x" * 5000)
    with pytest.raises(TenantMismatchError, match="names tenant 'other'"):
        await mark_harmful(pool, rule_id, request_context={"tenant_id": "other"})
    assert (await rule_row(pool, rule_id))["applied_count"] == 0


async def test_an_empty_reason_counts_as_none(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    await mark_harmful(pool, rule_id, "  \n", now=NOW)
    assert "harmful_reasons" not in (await rule_row(pool, rule_id))["metadata"]
