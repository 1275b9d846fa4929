"""Storing rules."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from memory_core import store_rule

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

COLUMNS = (
    "id, content, embedding::text, search_vector::text, scope, maturity, confidence, decay_rate, permanence,"
    " effectiveness_score, applied_count, success_count, harmful_count, source_episode_id, source_butler, created_at,"
    " last_applied_at, last_evaluated_at, last_confirmed_at, reference_count, last_referenced_at, tags, metadata,"
    " tenant_id"
)


@pytest.mark.scenario("Rule schema and defaults")
async def test_the_rules_table_has_every_column_of_the_specification_with_its_default(pool):
    row = await pool.fetchrow(f"INSERT INTO rules (content) VALUES ('be kind') RETURNING {COLUMNS}")
    assert (
        dict(row).items()
        >= {
            "scope": "global",
            "maturity": "candidate",
            "confidence": 0.5,
            "decay_rate": 0.008,
            "permanence": "standard",
            "effectiveness_score": 0.0,
            "applied_count": 0,
            "success_count": 0,
            "harmful_count": 0,
            "source_episode_id": None,
            "source_butler": None,
            "last_applied_at": None,
            "last_evaluated_at": None,
            "last_confirmed_at": None,
            "reference_count": 0,
            "last_referenced_at": None,
            "tags": "[]",
            "metadata": "{}",
            "tenant_id": "default",
        }.items()
    )


@pytest.mark.scenario("Store rule as candidate")
@pytest.mark.scenario("New rule starts as candidate")
async def test_a_new_rule_is_a_candidate_without_any_record(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    rule = dict(await pool.fetchrow(f"SELECT {COLUMNS} FROM rules WHERE id = $1", rule_id))
    assert (
        rule.items()
        >= {
            "maturity": "candidate",
            "confidence": 0.5,
            "decay_rate": 0.01,
            "permanence": "standard",
            "effectiveness_score": 0.0,
            "applied_count": 0,
            "success_count": 0,
            "harmful_count": 0,
            "last_confirmed_at": NOW,
            "created_at": NOW,
        }.items()
    )
    assert "'polit'" in rule["search_vector"]
    assert rule["embedding"] is not None


async def test_a_chosen_permanence_sets_the_decay_of_a_rule(pool, embedder):
    rule_id = await store_rule(pool, "Greet politely", embedder, permanence="stable")
    assert await pool.fetchval("SELECT decay_rate FROM rules WHERE id = $1", rule_id) == 0.002


async def test_a_rule_with_a_missing_source_episode_is_refused(pool, embedder):
    with pytest.raises(ValueError, match=r"source_episode_id .* does not exist"):
        await store_rule(pool, "x", embedder, source_episode_id=uuid4())
    assert await pool.fetchval("SELECT count(*) FROM rules") == 0
