"""Counting memories by state."""

from datetime import UTC, datetime, timedelta

import pytest
from memory_core import NewEpisode, NewFact, forget_memory, memory_stats, store_episodes, store_facts, store_rule

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.scenario("Episode stats")
async def test_episodes_are_counted_with_the_age_of_the_backlog(pool, embedder):
    ids = await store_episodes(pool, [NewEpisode(f"turn {n}", "jeeves") for n in range(5)], embedder, now=NOW)
    for id_, status in zip(ids, ("consolidated", "failed", "dead_letter"), strict=False):
        await pool.execute("UPDATE episodes SET consolidation_status = $2 WHERE id = $1", id_, status)
    await pool.execute("UPDATE episodes SET expires_at = $2 WHERE id = $1", ids[4], NOW)
    stats = await memory_stats(pool, now=NOW + timedelta(hours=6))
    assert stats["episodes"] == {
        "total": 5,
        "unconsolidated": 2,
        "consolidated": 1,
        "failed": 1,
        "dead_letter": 1,
        "expired": 1,
        "backlog_age_hours": 6.0,
    }


@pytest.mark.scenario("Fact stats")
async def test_facts_are_counted_by_validity_and_fading_ones_apart(pool, embedder):
    ids = await store_facts(pool, [NewFact("u", f"p{n}", "x") for n in range(6)], embedder, now=NOW)
    await store_facts(pool, [NewFact("u", "p0", "y")], embedder, now=NOW)
    await pool.execute("UPDATE facts SET validity = 'fading' WHERE id = $1", ids[1])
    await pool.execute("UPDATE facts SET validity = 'expired' WHERE id = $1", ids[2])
    await forget_memory(pool, "fact", ids[3])
    stats = await memory_stats(pool, now=NOW)
    assert stats["facts"] == {"total": 7, "active": 3, "fading": 1, "superseded": 1, "expired": 1, "retracted": 1}


@pytest.mark.scenario("Rule stats")
async def test_rules_are_counted_by_maturity_and_forgotten_ones_apart(pool, embedder):
    for maturity in ("candidate", "established", "proven", "anti_pattern", "proven"):
        rule = await store_rule(pool, maturity, embedder, now=NOW)
        await pool.execute("UPDATE rules SET maturity = $2 WHERE id = $1", rule, maturity)
    await forget_memory(pool, "rule", rule)
    stats = await memory_stats(pool, now=NOW)
    assert stats["rules"] == {
        "total": 5,
        "candidate": 1,
        "established": 1,
        "proven": 1,
        "anti_pattern": 1,
        "fading": 0,
        "forgotten": 1,
    }


@pytest.mark.scenario("Scope filtering on stats")
async def test_a_scope_counts_its_own_and_the_global_facts_and_rules(pool, embedder):
    scopes = ("global", "jeeves", "alfred")
    await store_facts(pool, [NewFact("u", "p", "x", scope=scope) for scope in scopes], embedder, now=NOW)
    for scope in scopes:
        await store_rule(pool, "r", embedder, scope=scope, now=NOW)
    stats = await memory_stats(pool, scope="jeeves", now=NOW)
    assert (stats["facts"]["active"], stats["rules"]["candidate"]) == (2, 2)
    assert (await memory_stats(pool, now=NOW))["facts"]["active"] == 3


async def test_an_empty_tenant_has_zeros_and_no_backlog(pool, embedder):
    await store_facts(pool, [NewFact("u", "p", "x")], embedder, now=NOW)
    stats = await memory_stats(pool, tenant_id="other", now=NOW)
    assert stats["episodes"]["backlog_age_hours"] is None
    assert set(stats["facts"].values()) == {0}
