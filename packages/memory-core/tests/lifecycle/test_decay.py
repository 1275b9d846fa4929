"""What nobody confirms fades, then ends."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from memory_core import (
    confirm_memory,
    effective_confidence,
    forget_memory,
    run_decay_sweep,
    store_fact,
    store_facts,
    store_rule,
)
from memory_core.config import FactsConfig
from memory_core.fact_planning import NewFact

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOTHING = {
    "facts_expired": 0,
    "facts_fading": 0,
    "facts_recovered": 0,
    "rules_forgotten": 0,
    "rules_fading": 0,
    "rules_recovered": 0,
}


def after(days):
    return NOW + timedelta(days=days)


async def fact(pool, fact_id):
    row = await pool.fetchrow("SELECT validity, metadata FROM facts WHERE id = $1", fact_id)
    return row["validity"], json.loads(row["metadata"])


async def rule(pool, rule_id):
    return json.loads(await pool.fetchval("SELECT metadata FROM rules WHERE id = $1", rule_id))


async def events(pool, memory_id):
    rows = await pool.fetch(
        "SELECT event_type, payload FROM memory_events WHERE entity_id = $1 ORDER BY occurred_at, ctid", memory_id
    )
    return [(row["event_type"], json.loads(row["payload"])) for row in rows[1:]]


@pytest.mark.scenario("Fact transitions to fading via decay sweep")
@pytest.mark.scenario("Lifecycle transition event")
async def test_a_fact_below_the_retrieval_threshold_fades_and_stays_active(pool, embedder):
    fact_id = await store_fact(pool, "user", "mood", "cheerful", embedder, metadata={"a": 1}, now=NOW)
    assert await run_decay_sweep(pool, now=after(201)) == NOTHING  # exp(-0.008 * 201) is just above 0.2
    assert await run_decay_sweep(pool, now=after(202)) == {**NOTHING, "facts_fading": 1}
    assert await fact(pool, fact_id) == ("active", {"a": 1, "status": "fading"})
    assert await events(pool, fact_id) == [("fact_fading", {"from": "active", "reason": "decay"})]


@pytest.mark.scenario("Fact transitions to expired via decay sweep")
async def test_a_fact_below_the_expiry_threshold_expires(pool, embedder):
    fact_id = await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    await run_decay_sweep(pool, now=after(374))
    assert (await fact(pool, fact_id))[0] == "active"
    assert await run_decay_sweep(pool, now=after(375)) == {**NOTHING, "facts_expired": 1}
    assert (await fact(pool, fact_id))[0] == "expired"
    assert await events(pool, fact_id) == [
        ("fact_fading", {"from": "active", "reason": "decay"}),
        ("fact_expired", {"from": "fading", "reason": "decay"}),
    ]


@pytest.mark.scenario("Decay sweep threshold transitions")
@pytest.mark.scenario("Daily decay sweep")
async def test_one_sweep_makes_every_transition_and_a_second_one_none(pool, embedder):
    kinds = ("ephemeral", "volatile", "standard", "stable", "permanent")
    facts = {
        kind: await store_fact(pool, "user", kind, "so it is", embedder, permanence=kind, now=NOW) for kind in kinds
    }
    rules = {kind: await store_rule(pool, kind, embedder, permanence=kind, now=NOW) for kind in kinds}
    counts = await run_decay_sweep(pool, now=after(60))
    assert counts == {**NOTHING, "facts_expired": 1, "facts_fading": 1, "rules_forgotten": 1, "rules_fading": 1}
    assert await fact(pool, facts["ephemeral"]) == ("expired", {})
    assert await fact(pool, facts["volatile"]) == ("active", {"status": "fading"})
    assert await fact(pool, facts["standard"]) == ("active", {})
    assert await rule(pool, rules["ephemeral"]) == {"forgotten": True}
    assert await rule(pool, rules["volatile"]) == {"status": "fading"}
    assert await rule(pool, rules["stable"]) == {}
    assert await run_decay_sweep(pool, now=after(60)) == NOTHING
    ages_later = await run_decay_sweep(pool, now=after(2_000_000))
    assert (ages_later["facts_expired"], ages_later["rules_forgotten"]) == (3, 3)
    assert await fact(pool, facts["permanent"]) == ("active", {})
    assert await rule(pool, rules["permanent"]) == {}


async def test_a_fading_memory_that_is_confirmed_is_trusted_again(pool, embedder):
    fact_id = await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    await run_decay_sweep(pool, now=after(210))
    for memory_type, memory_id in (("fact", fact_id), ("rule", rule_id)):
        await confirm_memory(pool, memory_type, memory_id, now=after(210))
    assert await run_decay_sweep(pool, now=after(211)) == NOTHING
    assert (await fact(pool, fact_id), await rule(pool, rule_id)) == (("active", {}), {})


async def test_a_fading_memory_whose_anchor_moved_by_other_means_recovers_in_the_sweep(pool, embedder):
    fact_id = await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    await run_decay_sweep(pool, now=after(210))
    await pool.execute("UPDATE facts SET last_confirmed_at = $1", after(210))
    await pool.execute("UPDATE rules SET last_confirmed_at = $1", after(210))
    assert await run_decay_sweep(pool, now=after(211)) == {**NOTHING, "facts_recovered": 1, "rules_recovered": 1}
    assert (await fact(pool, fact_id), await rule(pool, rule_id)) == (("active", {}), {})
    assert (await events(pool, fact_id))[-1] == ("fact_recovered", {"from": "fading", "reason": "decay"})


@pytest.mark.parametrize(
    ("confidence", "state"),
    [(0.2, "active"), (0.1999, "fading"), (0.0501, "fading"), (0.05, "fading"), (0.0499, "ended")],
)
async def test_each_threshold_belongs_to_the_better_side(pool, embedder, confidence, state):
    fact_id = await store_fact(pool, "user", "mood", "cheerful", embedder, confidence=confidence, now=NOW)
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    await pool.execute("UPDATE rules SET confidence = $1", confidence)
    await run_decay_sweep(pool, now=NOW)
    status = {"status": "fading"} if state == "fading" else {}
    assert await fact(pool, fact_id) == ("expired" if state == "ended" else "active", status)
    assert await rule(pool, rule_id) == ({"forgotten": True} if state == "ended" else status)


@pytest.mark.parametrize(("confidence", "recovers"), [(0.2, True), (0.1999, False)])
async def test_a_fading_memory_recovers_from_the_threshold_on(pool, embedder, confidence, recovers):
    fact_id = await store_fact(
        pool, "user", "mood", "cheerful", embedder, confidence=confidence, metadata={"status": "fading"}, now=NOW
    )
    assert (await run_decay_sweep(pool, now=NOW))["facts_recovered"] == int(recovers)
    assert (await fact(pool, fact_id))[1] == ({} if recovers else {"status": "fading"})


async def test_a_memory_never_confirmed_decays_from_the_day_it_was_stored(pool, embedder):
    fact_id = await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    await pool.execute("UPDATE facts SET last_confirmed_at = NULL")
    assert await run_decay_sweep(pool, now=after(10)) == NOTHING
    await run_decay_sweep(pool, now=after(210))
    assert (await fact(pool, fact_id))[1] == {"status": "fading"}


async def test_what_is_superseded_retracted_or_forgotten_is_left_alone(pool, embedder):
    await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    newer = await store_fact(pool, "user", "mood", "calm", embedder, permanence="permanent", now=NOW)
    retracted = await store_fact(pool, "user", "size", "tall", embedder, now=NOW)
    await forget_memory(pool, "fact", retracted, now=NOW)
    rule_id = await store_rule(pool, "Greet politely", embedder, now=NOW)
    await forget_memory(pool, "rule", rule_id, now=NOW)
    assert await run_decay_sweep(pool, now=after(1000)) == NOTHING
    assert (await fact(pool, newer))[0] == "active"
    assert (await fact(pool, retracted))[0] == "retracted"


async def test_an_expired_fact_frees_its_key(pool, embedder):
    old = await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    await run_decay_sweep(pool, now=after(1000))
    new = await store_fact(pool, "user", "mood", "cheerful", embedder, now=after(1001))
    assert new != old
    assert await pool.fetchval("SELECT supersedes_id FROM facts WHERE id = $1", new) is None


async def test_a_tenants_sweep_leaves_others_alone_and_the_workers_covers_all(pool, embedder):
    ids = {
        tenant: await store_fact(pool, "user", "mood", "cheerful", embedder, tenant_id=tenant, now=NOW)
        for tenant in ("one", "two", "three")
    }
    await run_decay_sweep(pool, tenant_id="one", now=after(1000))
    assert [(await fact(pool, ids[tenant]))[0] for tenant in ids] == ["expired", "active", "active"]
    assert (await run_decay_sweep(pool, tenant_id=None, now=after(1000)))["facts_expired"] == 2
    rows = await pool.fetch("SELECT tenant_id, entity_id FROM memory_events WHERE event_type = 'fact_expired'")
    assert {tuple(row) for row in rows} == set(ids.items())


async def test_thresholds_come_from_the_configuration(pool, embedder):
    fact_id = await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    strict = FactsConfig(retrieval_confidence_threshold=0.95, expiry_confidence_threshold=0.9)
    assert (await run_decay_sweep(pool, thresholds=strict, now=after(10)))["facts_fading"] == 1
    assert (await run_decay_sweep(pool, thresholds=strict, now=after(20)))["facts_expired"] == 1
    assert (await fact(pool, fact_id))[0] == "expired"


async def test_the_sweep_says_who_asked_for_it(pool, embedder):
    await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    context = {"request_id": "r-3", "actor": "jeeves"}
    await run_decay_sweep(pool, request_context=context, now=after(1000))
    event = await pool.fetchrow("SELECT actor, request_id FROM memory_events WHERE event_type = 'fact_expired'")
    assert tuple(event) == ("jeeves", "r-3")


@pytest.mark.parametrize(
    ("confidence", "decay_rate", "days"),
    [(1e-300, 0.1, 30_000), (0.0, 0.1, 1), (1.0, 1e308, 30_000), (1.0, float("inf"), 1), (1.0, 0.1, 2_000_000)],
)
async def test_no_extreme_row_can_stop_the_sweep_of_the_others(pool, embedder, confidence, decay_rate, days):
    await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    await store_fact(pool, "user", "size", "tall", embedder, now=NOW)
    await pool.execute(
        "UPDATE facts SET confidence = $1, decay_rate = $2 WHERE predicate = 'size'", confidence, decay_rate
    )
    counts = await run_decay_sweep(pool, now=after(max(days, 1000)))
    assert counts == {**NOTHING, "facts_expired": 2}


async def test_the_servers_formula_agrees_with_pythons(pool):
    cases = [(0.5, 0.008, 0), (1.0, 0.002, 365.25), (0.7, 0.1, 9.5), (1.0, 0.03, -5), (0.3, 0.0, 9999)]
    for confidence, decay_rate, days in cases:
        computed = await pool.fetchval(
            "SELECT memory_effective_confidence($1, $2, $3, $4)", confidence, decay_rate, NOW, after(days)
        )
        assert computed == pytest.approx(effective_confidence(confidence, decay_rate, NOW, after(days)), rel=1e-12)


async def test_a_sweep_neither_waits_for_a_row_that_is_held_nor_loses_it(pool, embedder):
    facts = [NewFact("user", f"predicate {number}", "so it is") for number in range(3)]
    held, *_ = await store_facts(pool, facts, embedder, now=NOW)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT FROM facts WHERE id = $1 FOR UPDATE", held)
        counts = await asyncio.wait_for(run_decay_sweep(pool, now=after(1000)), timeout=30)
        assert counts["facts_expired"] == 2
    assert (await run_decay_sweep(pool, now=after(1000)))["facts_expired"] == 1


async def test_nothing_of_a_transition_remains_when_its_events_cannot_be_written(pool, embedder):
    fact_id = await store_fact(pool, "user", "mood", "cheerful", embedder, now=NOW)
    await pool.execute("ALTER TABLE memory_events ADD CONSTRAINT no_expiry CHECK (event_type <> 'fact_expired')")
    with pytest.raises(Exception, match="no_expiry"):
        await run_decay_sweep(pool, now=after(1000))
    assert (await fact(pool, fact_id))[0] == "active"
