"""Older memories weigh less, in steps, and never nothing."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from memory_agent.clock import as_utc, parse_stamp, utc_now
from memory_agent.records import ScoredMemory

# Half-open: exactly 7 days old is in the second step.
DECAY_STEPS = (
    (timedelta(days=7), 1.0),
    (timedelta(days=30), 0.8),
    (timedelta(days=90), 0.6),
)
DECAY_FLOOR = 0.4


def compute_decay_multiplier(updated_at: str, now: datetime | None = None) -> float:
    """Return the weight of a memory of this age; a future time gives 1.0, an unparsable one the floor."""
    updated = parse_stamp(updated_at)
    if updated is None:
        return DECAY_FLOOR
    age = as_utc(now or utc_now()) - updated
    return next((multiplier for bound, multiplier in DECAY_STEPS if age < bound), DECAY_FLOOR)


def apply_decay(results: Iterable[ScoredMemory], now: datetime | None = None) -> list[ScoredMemory]:
    """Return the results with decayed scores, best first; equal scores keep their order."""
    moment = now or utc_now()
    decayed = [
        ScoredMemory(hit.memory, hit.score * compute_decay_multiplier(hit.memory.updated_at, moment), hit.source)
        for hit in results
    ]
    return sorted(decayed, key=lambda hit: hit.score, reverse=True)
