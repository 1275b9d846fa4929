"""The decay sweep: what nobody confirms fades, then ends."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.config import FactsConfig
from memory_core.database import transaction
from memory_core.queries import load_queries
from memory_core.validation import parse_moment

if TYPE_CHECKING:
    from memory_core.database import Database

SQL = load_queries("decay")

# What each count of a sweep is called, and the statement behind it. Ends come first, so that nothing fades and ends.
TRANSITIONS = {
    "facts_expired": "expire_facts",
    "facts_fading": "fade_facts",
    "facts_recovered": "recover_facts",
    "rules_forgotten": "forget_rules",
    "rules_fading": "fade_rules",
    "rules_recovered": "recover_rules",
}


async def run_decay_sweep(
    pool: Database,
    *,
    thresholds: FactsConfig | None = None,
    tenant_id: str | None = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, int]:
    """Let unconfirmed facts and rules fade and end, and return how many made each transition.

    `tenant_id=None` means all tenants; it is for the worker alone: no tool passes it.
    """
    caller = Caller.of(DEFAULT_TENANT if tenant_id is None else tenant_id, request_context)
    bound = None if tenant_id is None else caller.tenant_id
    limits, moment = thresholds or FactsConfig(), parse_moment(now)
    counts = {}
    for count, statement in TRANSITIONS.items():
        # A transaction each: its events commit with it, and rows are not held until the whole sweep is done.
        async with transaction(pool) as connection:
            counts[count] = await connection.fetchval(
                SQL[statement],
                bound,
                moment,
                caller.actor or "decay_sweep",
                caller.request_id,
                *_bounds(statement, limits),
            )
    return counts


def _bounds(statement: str, limits: FactsConfig) -> tuple[float, ...]:
    if statement.startswith("fade_"):
        return limits.expiry_confidence_threshold, limits.retrieval_confidence_threshold
    if statement.startswith("recover_"):
        return (limits.retrieval_confidence_threshold,)
    return (limits.expiry_confidence_threshold,)
