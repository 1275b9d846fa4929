"""Takes feedback on rules: each mark is counted, recorded as an application, and can change the rule's maturity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.config import RulesConfig
from memory_core.database import transaction
from memory_core.errors import InvalidTransitionError
from memory_core.events import Event, record_events
from memory_core.maturity import Standing, after_harmful, after_helpful
from memory_core.queries import load_queries
from memory_core.scoring import days_between
from memory_core.text import clean_content
from memory_core.validation import parse_id, parse_metadata, parse_moment
from memory_core.vocabulary import Maturity

if TYPE_CHECKING:
    import asyncpg

    from memory_core.database import Connection, Database

SQL = load_queries("feedback")

Outcome = Literal["helpful", "harmful"]

MAX_REASON_BYTES = 4_096
# The row keeps the newest reasons, so that it cannot grow without bound; rule_applications keeps all.
MAX_REASONS_ON_RULE = 100

_MATURITY_ORDER = (Maturity.CANDIDATE, Maturity.ESTABLISHED, Maturity.PROVEN)


async def mark_helpful(
    pool: Database,
    rule_id: UUID | str,
    *,
    policy: RulesConfig | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, Any] | None:
    """Count that applying a rule helped and return its standing; `None` where the tenant has no such rule.

    Raises:
        InvalidInputError: the id is not valid.
        InvalidTransitionError: the rule is forgotten.
    """
    return await _mark(pool, rule_id, "helpful", None, policy, tenant_id, request_context, now)


async def mark_harmful(
    pool: Database,
    rule_id: UUID | str,
    reason: str | None = None,
    *,
    policy: RulesConfig | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, Any] | None:
    """Count that applying a rule did harm and return its standing; `None` where the tenant has no such rule.

    Raises:
        InvalidInputError: the id or the reason is not valid.
        InvalidTransitionError: the rule is forgotten.
    """
    return await _mark(pool, rule_id, "harmful", reason, policy, tenant_id, request_context, now)


async def _mark(
    pool: Database,
    rule_id: UUID | str,
    outcome: Outcome,
    reason: str | None,
    policy: RulesConfig | None,
    tenant_id: str,
    request_context: Mapping[str, Any] | None,
    now: datetime | None,
) -> dict[str, Any] | None:
    caller = Caller.of(tenant_id, request_context)
    asked, moment, told = parse_id(rule_id, "rule_id"), parse_moment(now), parse_reason(reason)
    context = json.dumps(parse_metadata(request_context, "request_context"))
    async with transaction(pool) as connection:
        row = await connection.fetchrow(SQL["lock_rule_standing"], caller.tenant_id, asked)
        if row is None:
            return None
        if row["forgotten"]:
            raise InvalidTransitionError(
                f"rule '{asked}' is forgotten and takes no feedback; only active rules do: store it again"
            )
        before = _standing(row)
        after = _judge(before, outcome, days_between(row["created_at"], moment), policy or RulesConfig())
        await _write(connection, asked, after, told, caller, moment)
        await connection.execute(
            SQL["insert_rule_application"],
            caller.tenant_id,
            asked,
            outcome,
            told,
            caller.request_id,
            context,
            moment,
        )
        events = _events(asked, outcome, before, after)
        await record_events(connection, events, caller=caller, now=moment)
    return _told(asked, after)


def parse_reason(reason: str | None) -> str | None:
    """Return why a rule did harm, on one line; `None` where nothing was said.

    Raises:
        InvalidInputError: it is too long or not valid Unicode.
    """
    if reason is None or (isinstance(reason, str) and not reason.strip("\x00 \t\r\n")):
        return None
    return " ".join(clean_content(reason, "reason", MAX_REASON_BYTES).split())


def _judge(before: Standing, outcome: Outcome, age_days: float, policy: RulesConfig) -> Standing:
    return after_helpful(before, age_days, policy) if outcome == "helpful" else after_harmful(before, policy)


def _standing(row: asyncpg.Record) -> Standing:
    return Standing(
        maturity=Maturity(row["maturity"]),
        applied=row["applied_count"],
        successes=row["success_count"],
        harms=row["harmful_count"],
        effectiveness=row["effectiveness_score"],
        inversion_due=bool(row["inversion_due"]),
    )


async def _write(
    connection: Connection, rule_id: UUID, standing: Standing, reason: str | None, caller: Caller, now: datetime
) -> None:
    await connection.execute(
        SQL["update_rule_standing"],
        caller.tenant_id,
        rule_id,
        standing.maturity,
        standing.applied,
        standing.successes,
        standing.harms,
        standing.effectiveness,
        standing.inversion_due,
        reason,
        now,
        MAX_REASONS_ON_RULE,
    )


def _events(rule_id: UUID, outcome: Outcome, before: Standing, after: Standing) -> list[Event]:
    marked = {"applied_count": after.applied, "effectiveness_score": after.effectiveness}
    events = [Event(f"rule_marked_{outcome}", "rule", rule_id, marked)]
    if after.maturity is not before.maturity:
        rose = _MATURITY_ORDER.index(after.maturity) > _MATURITY_ORDER.index(before.maturity)
        step = {"from": before.maturity.value, "to": after.maturity.value}
        events.append(Event("rule_promoted" if rose else "rule_demoted", "rule", rule_id, step))
    if after.inversion_due and not before.inversion_due:
        events.append(Event("rule_inversion_due", "rule", rule_id, {"harmful_count": after.harms}))
    return events


def _told(rule_id: UUID, standing: Standing) -> dict[str, Any]:
    return {
        "id": rule_id,
        "maturity": standing.maturity.value,
        "effectiveness_score": standing.effectiveness,
        "applied_count": standing.applied,
        "success_count": standing.successes,
        "harmful_count": standing.harms,
        "needs_inversion": standing.inversion_due,
    }
