"""Rules that keep doing harm become warnings."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from memory_core import (
    InvalidTransitionError,
    forget_memory,
    invert_to_anti_pattern,
    mark_harmful,
    mark_helpful,
    store_rule,
)
from memory_core.anti_patterns import invert_due_rules
from memory_core.testing import WordHashEmbedder

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=100)


async def harmful_rule(pool, embedder, content="Reply at once", reasons=("woke them", "too hasty", None), **options):
    rule_id = await store_rule(pool, content, embedder, now=NOW, **options)
    for reason in reasons:
        await mark_harmful(pool, rule_id, reason, now=NOW, tenant_id=options.get("tenant_id", "default"))
    return rule_id


async def rule_row(pool, rule_id):
    row = await pool.fetchrow(
        "SELECT content, maturity, metadata, last_confirmed_at, embedding::real[] AS embedding,"
        " search_vector @@ plainto_tsquery('english', 'problems hasty') AS is_found FROM rules WHERE id = $1",
        rule_id,
    )
    return {**row, "metadata": json.loads(row["metadata"])}


@pytest.mark.scenario("Rule inversion to anti-pattern")
async def test_an_inverted_rule_is_a_warning_with_its_original_text_kept_and_its_vectors_made_anew(pool, embedder):
    rule_id = await harmful_rule(pool, embedder)
    assert await invert_to_anti_pattern(pool, rule_id, embedder, now=LATER) is True
    row = await rule_row(pool, rule_id)
    assert row["content"] == ("ANTI-PATTERN: Do NOT Reply at once. This caused problems because: woke them; too hasty")
    assert row["maturity"] == "anti_pattern"
    assert row["metadata"]["original_content"] == "Reply at once"
    assert "needs_inversion" not in row["metadata"]
    assert row["embedding"] == pytest.approx(embedder.embed(row["content"]), abs=1e-6)
    assert row["is_found"]


async def test_an_inversion_confirms_the_warning_and_is_an_event(pool, embedder):
    rule_id = await harmful_rule(pool, embedder)
    await invert_to_anti_pattern(pool, rule_id, embedder, request_context={"request_id": "r-2"}, now=LATER)
    event = await pool.fetchrow("SELECT payload, request_id FROM memory_events WHERE event_type = 'rule_inverted'")
    assert json.loads(event["payload"]) == {"from": "candidate", "to": "anti_pattern"}
    assert event["request_id"] == "r-2"
    assert (await rule_row(pool, rule_id))["last_confirmed_at"] == LATER


async def test_inverting_twice_changes_nothing_the_second_time(pool, embedder):
    rule_id = await harmful_rule(pool, embedder)
    await invert_to_anti_pattern(pool, rule_id, embedder, now=NOW)
    before = await rule_row(pool, rule_id)
    assert await invert_to_anti_pattern(pool, rule_id, embedder, now=LATER) is True
    assert await rule_row(pool, rule_id) == before
    assert await pool.fetchval("SELECT count(*) FROM memory_events WHERE event_type = 'rule_inverted'") == 1


async def test_a_missing_rule_is_false_and_a_forgotten_one_is_refused(pool, embedder):
    rule_id = await harmful_rule(pool, embedder)
    assert await invert_to_anti_pattern(pool, uuid4(), embedder) is False
    assert await invert_to_anti_pattern(pool, rule_id, embedder, tenant_id="other") is False
    await forget_memory(pool, "rule", rule_id)
    with pytest.raises(InvalidTransitionError, match="is forgotten and cannot become an anti-pattern"):
        await invert_to_anti_pattern(pool, rule_id, embedder)


async def test_the_worker_step_inverts_what_is_due_in_every_tenant_and_nothing_else(pool, embedder):
    due = [await harmful_rule(pool, embedder, tenant_id=tenant) for tenant in ("one", "two")]
    spared = [
        await harmful_rule(pool, embedder, reasons=("once",)),
        await harmful_rule(pool, embedder, content="Forgotten", tenant_id="two"),
    ]
    await forget_memory(pool, "rule", spared[1], tenant_id="two")
    assert await invert_due_rules(pool, embedder, tenant_id=None, now=LATER) == 2
    assert await invert_due_rules(pool, embedder, tenant_id=None, now=LATER) == 0
    assert [(await rule_row(pool, rule_id))["maturity"] for rule_id in due] == ["anti_pattern"] * 2
    assert [(await rule_row(pool, rule_id))["maturity"] for rule_id in spared] == ["candidate"] * 2
    rows = await pool.fetch("SELECT tenant_id, entity_id FROM memory_events WHERE event_type = 'rule_inverted'")
    assert {tuple(row) for row in rows} == {("one", due[0]), ("two", due[1])}


async def test_a_rule_that_helped_again_before_the_worker_came_is_not_inverted(pool, embedder):
    rule_id = await harmful_rule(pool, embedder)
    for _ in range(2):
        await mark_helpful(pool, rule_id, now=NOW)
    assert await invert_due_rules(pool, embedder, tenant_id=None, now=LATER) == 0


async def test_a_rule_that_helps_while_its_warning_is_embedded_is_not_inverted(pool):
    loop = asyncio.get_running_loop()

    class HelpfulMeanwhile(WordHashEmbedder):
        def embed_batch(self, texts):
            for _ in range(2):
                asyncio.run_coroutine_threadsafe(mark_helpful(pool, rule_id, now=NOW), loop).result(timeout=30)
            return super().embed_batch(texts)

    rule_id = await harmful_rule(pool, WordHashEmbedder())
    assert await invert_due_rules(pool, HelpfulMeanwhile(), now=LATER) == 0
    assert (await rule_row(pool, rule_id))["maturity"] == "candidate"


async def test_more_rules_than_one_batch_are_all_inverted(pool, embedder):
    await pool.execute(
        "INSERT INTO rules (content, metadata)"
        """ SELECT 'rule ' || n, '{"needs_inversion": true}' FROM generate_series(1, 205) AS n"""
    )
    assert await invert_due_rules(pool, embedder, now=LATER) == 205
    assert await pool.fetchval("SELECT count(*) FROM rules WHERE maturity = 'anti_pattern'") == 205
