"""A year of daily sweeps with confirmations, compared day by day with code that shares nothing with ours."""

import json
from datetime import UTC, datetime, timedelta
from math import e
from random import Random

from memory_core import confirm_memory, run_decay_sweep, store_fact, store_rule

START = datetime(2026, 1, 1, 3, tzinfo=UTC)
DAYS = 365
RATES = {"permanent": 0.0, "stable": 0.002, "standard": 0.008, "volatile": 0.03, "ephemeral": 0.1}
CONFIRMED_EVERY = (None, 400, 90, 30, 7)


class Reference:
    """One memory, as the specification's text has it."""

    def __init__(self, confidence, rate, stored_on):
        self.confidence, self.rate = confidence, rate
        self.confirmed_on = stored_on
        self.state = "active"

    def confirm(self, day):
        if self.state != "ended":
            self.confirmed_on, self.state = day, "active"

    def sweep(self, day):
        if self.rate == 0 or self.state == "ended":
            return
        left = self.confidence * e ** (-self.rate * (day - self.confirmed_on))
        self.state = "ended" if left < 0.05 else "fading" if left < 0.2 else "active"


def fact_state(row):
    if row["validity"] == "expired":
        return "ended"
    return json.loads(row["metadata"]).get("status", "active")


def rule_state(row):
    metadata = json.loads(row["metadata"])
    return "ended" if metadata.get("forgotten") else metadata.get("status", "active")


async def store_population(pool, embedder, random):
    """Store a fact and a rule for each permanence and rhythm, half a day apart from any sweep, and their references."""
    told = {}
    for kind, rate in RATES.items():
        for rhythm in CONFIRMED_EVERY:
            at = START + timedelta(hours=random.randint(1, 20))
            day = (at - START) / timedelta(days=1)
            confidence = random.choice([1.0, 0.9, 0.35])
            key = f"{kind}-{rhythm}"
            fact_id = await store_fact(
                pool, "user", key, "so it is", embedder, permanence=kind, confidence=confidence, now=at
            )
            rule_id = await store_rule(pool, key, embedder, permanence=kind, now=at)
            told["fact", fact_id] = (Reference(confidence, rate, day), rhythm)
            told["rule", rule_id] = (Reference(0.5, rate, day), rhythm)
    return told


async def states(pool):
    facts = await pool.fetch("SELECT id, validity, metadata FROM facts")
    rules = await pool.fetch("SELECT id, metadata FROM rules")
    return {
        **{("fact", row["id"]): fact_state(row) for row in facts},
        **{("rule", row["id"]): rule_state(row) for row in rules},
    }


async def test_every_day_of_a_year_each_memory_is_where_the_specification_puts_it(pool, embedder):
    random = Random(7)
    told = await store_population(pool, embedder, random)
    seen = set()
    for day in range(1, DAYS + 1):
        now = START + timedelta(days=day)
        for (kind, memory_id), (reference, rhythm) in told.items():
            if rhythm and day % rhythm == 0 and reference.state != "ended":
                await confirm_memory(pool, kind, memory_id, now=now)
                reference.confirm(day)
        await run_decay_sweep(pool, now=now)
        for reference, _ in told.values():
            reference.sweep(day)
        found = await states(pool)
        assert found == {key: reference.state for key, (reference, _) in told.items()}, f"day {day}"
        seen |= set(found.values())
    assert seen == {"active", "fading", "ended"}
    transitions = await pool.fetchval(
        "SELECT count(*) FROM memory_events WHERE event_type ~ '_(fading|expired|forgotten|recovered)$'"
    )
    assert transitions > 20
