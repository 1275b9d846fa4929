"""Turns rules that keep doing harm into warnings against themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
from memory_core.errors import InvalidTransitionError
from memory_core.generations import require_generation
from memory_core.maturity import anti_pattern_text
from memory_core.queries import load_queries
from memory_core.text import preprocess_text
from memory_core.validation import parse_id, parse_moment
from memory_core.vectors import flatten
from memory_core.vocabulary import Maturity

if TYPE_CHECKING:
    import asyncpg

    from memory_core.database import Database

SQL = load_queries("anti_patterns")

# How many rules are embedded and rewritten in one go.
BATCH_SIZE = 100


@dataclass(frozen=True)
class HarmfulRule:
    """A rule as it was read before its inversion."""

    tenant_id: str
    id: UUID
    content: str
    reasons: tuple[str, ...]

    @property
    def warning(self) -> str:
        """The content that the rule is given."""
        return anti_pattern_text(self.content, self.reasons)


async def invert_to_anti_pattern(
    pool: Database,
    rule_id: UUID | str,
    embedding_engine: Embedder,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> bool:
    """Turn a rule into a warning and tell whether the tenant has it; one that is a warning already stays as it is.

    Raises:
        InvalidInputError: the id is not valid.
        InvalidTransitionError: the rule is forgotten.
    """
    caller = Caller.of(tenant_id, request_context)
    asked, moment = parse_id(rule_id, "rule_id"), parse_moment(now)
    async with transaction(pool) as connection:
        row = await connection.fetchrow(SQL["rule_to_invert"], caller.tenant_id, asked)
    if row is None or row["maturity"] == Maturity.ANTI_PATTERN:
        return row is not None
    if row["forgotten"]:
        raise InvalidTransitionError(
            f"rule '{asked}' is forgotten and cannot become an anti-pattern; only active rules can: store it again"
        )
    await _invert(pool, [_harmful_rule(row)], embedding_engine, moment, caller.actor, caller.request_id)
    return True


async def invert_due_rules(
    pool: Database, embedding_engine: Embedder, *, tenant_id: str | None = DEFAULT_TENANT, now: datetime | None = None
) -> int:
    """Turn every rule whose inversion is due into a warning and return how many; `tenant_id=None` means all tenants.

    All tenants are for the worker alone: no tool passes `None`.
    """
    bound = None if tenant_id is None else Caller.of(tenant_id).tenant_id
    moment = parse_moment(now)
    inverted = 0
    while True:
        async with transaction(pool) as connection:
            rows = await connection.fetch(SQL["rules_to_invert"], bound, BATCH_SIZE)
        due = [_harmful_rule(row) for row in rows]
        changed = await _invert(pool, due, embedding_engine, moment, "worker", None, only_due=True)
        inverted += changed
        # Rules that changed between reading and writing are left for the next run rather than chased.
        if changed < BATCH_SIZE:
            return inverted


async def _invert(
    pool: Database,
    rules: Sequence[HarmfulRule],
    embedder: Embedder,
    now: datetime,
    actor: str | None,
    request_id: str | None,
    *,
    only_due: bool = False,
) -> int:
    if not rules:
        return 0
    # Embedded before the transaction: a model may take seconds, and nobody should wait for the rows meanwhile.
    vectors = await embed_texts(embedder, [rule.warning for rule in rules])
    async with transaction(pool) as connection:
        await require_generation(connection, embedder, now)
        changed = await connection.fetch(
            SQL["invert_rules"],
            embedder.dimensions,
            flatten(vectors),
            [rule.tenant_id for rule in rules],
            [rule.id for rule in rules],
            [rule.content for rule in rules],
            [rule.warning for rule in rules],
            [preprocess_text(rule.warning) for rule in rules],
            now,
            actor,
            request_id,
            only_due,
        )
    return len(changed)


def _harmful_rule(row: asyncpg.Record) -> HarmfulRule:
    reasons = tuple(str(reason) for reason in json.loads(row["reasons"]))
    return HarmfulRule(row["tenant_id"], parse_id(row["id"]), row["content"], reasons)
