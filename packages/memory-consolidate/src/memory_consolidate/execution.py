"""Applies what a model asked for: all of it, the episodes' new state and the events in one transaction.

Each action runs in a savepoint of that transaction, so one that fails leaves the others alone, and a crash at any
moment leaves either everything or nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import asyncpg
from memory_core import Embedder, InvalidInputError
from memory_core.callers import DEFAULT_TENANT
from memory_core.database import UNAVAILABLE, transaction
from memory_core.events import Event, record_events
from memory_core.queries import load_queries
from memory_core.text import clean_name
from memory_core.validation import parse_id, parse_moment

from memory_consolidate.action_steps import ActionSteps
from memory_consolidate.actions import Action, ConsolidationResult
from memory_consolidate.claims import group_lock
from memory_consolidate.errors import AttemptFailedError, LeaseLostError
from memory_consolidate.fact_resolution import GLOBAL_SCOPE
from memory_consolidate.groups import EpisodeGroup, consolidation_caller
from memory_consolidate.prepared_vectors import PreparedVectors
from memory_consolidate.sanitising import describe_error

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

logger = logging.getLogger(__name__)

CLAIMS_SQL = load_queries("claims", "memory_consolidate")
SQL = load_queries("actions", "memory_consolidate")

# Errors of the moment, not of an action: the whole attempt is given up and can be made again.
TRANSIENT: tuple[type[Exception], ...] = (
    *UNAVAILABLE,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
)
MAX_TRIES = 3


@dataclass
class ExecutionReport:
    """What came of an answer."""

    facts_created: int = 0
    facts_updated: int = 0
    rules_created: int = 0
    confirmations: int = 0
    duplicates: int = 0
    links_created: int = 0
    episodes_consolidated: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def applied(self) -> int:
        """How many actions had an effect, now or before."""
        return self.facts_created + self.facts_updated + self.rules_created + self.confirmations + self.duplicates

    def counts(self) -> dict[str, int]:
        """Return the numbers, with the errors counted."""
        counted = {key: value for key, value in vars(self).items() if key != "errors"}
        return {**counted, "errors": len(self.errors)}


async def execute_consolidation(
    pool: Database,
    embedding_engine: Embedder,
    parsed: ConsolidationResult,
    source_episode_ids: Sequence[UUID | str],
    butler_name: str,
    *,
    scope: str = GLOBAL_SCOPE,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> ExecutionReport:
    """Apply an answer to the episodes that it was drawn from, and mark them as consolidated.

    An action that fails is reported in `errors`; repeating the call changes nothing.

    Raises:
        InvalidInputError: an id is not a UUID, or none of the episodes exists; nothing was changed.
    """
    caller = consolidation_caller(tenant_id, request_context)
    ids = tuple(dict.fromkeys(parse_id(id_, "source_episode_ids") for id_ in source_episode_ids))
    group = EpisodeGroup(caller, clean_name(butler_name, "butler_name"), ids, clean_name(scope, "scope"))
    return await apply_answer(pool, embedding_engine, parsed.actions, group, now=now)


async def apply_answer(
    db: Database,
    embedding_engine: Embedder,
    actions: Sequence[Action],
    group: EpisodeGroup,
    *,
    usage: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> ExecutionReport:
    """Apply actions in one transaction; a conflict with another writer is tried again.

    Raises:
        LeaseLostError: the group names a lease and no longer holds it.
        AttemptFailedError: the group names a lease and no action could be applied.
        InvalidInputError: none of the episodes exists.
    """
    vectors = await PreparedVectors.of(embedding_engine, actions)
    for tries_left in reversed(range(MAX_TRIES)):
        try:
            async with transaction(db) as connection:
                return await _apply(connection, vectors, actions, group, usage or {}, parse_moment(now))
        except asyncpg.TransactionRollbackError:
            if not tries_left:
                raise
            logger.warning("consolidation of %r met another writer and starts over", group.butler, exc_info=True)
    raise AssertionError("unreachable")


async def _apply(
    connection: Connection,
    vectors: Embedder,
    actions: Sequence[Action],
    group: EpisodeGroup,
    usage: Mapping[str, Any],
    now: datetime,
) -> ExecutionReport:
    report = ExecutionReport()
    sources = await _lock_sources(connection, group)
    keys = [action.idempotency_key(group.butler, group.episode_ids) for action in actions]
    known = await connection.fetch(SQL["applied_keys"], group.caller.tenant_id, keys)
    applied = {row["idempotency_key"] for row in known}
    steps = await ActionSteps.prepare(connection, vectors, actions, group, list(sources), now)
    for key, action in zip(keys, actions, strict=True):
        if key in applied:
            report.duplicates += 1
        elif await _apply_one(connection, steps, action, key, report):
            applied.add(key)
    if group.lease_owner and actions and not report.applied:
        raise AttemptFailedError(f"no action could be applied: {'; '.join(report.errors)}")
    report.episodes_consolidated = await _mark_consolidated(connection, sources, group, report, usage, now)
    return report


async def _lock_sources(connection: Connection, group: EpisodeGroup) -> dict[UUID, str]:
    await connection.execute(CLAIMS_SQL["lock_group"], *group_lock(group.caller.tenant_id, group.butler))
    owner = str(group.lease_owner) if group.lease_owner else None
    rows = await connection.fetch(CLAIMS_SQL["lock_sources"], group.caller.tenant_id, group.episode_ids, owner)
    if owner and len(rows) < len(group.episode_ids):
        raise LeaseLostError(f"{len(group.episode_ids) - len(rows)} episodes of {group.butler!r} were taken or deleted")
    if not rows:
        shown = ", ".join(map(str, group.episode_ids[:3])) or "an empty list"
        raise InvalidInputError(
            f"source_episode_ids {shown}: no such episode exists; pass the ids of the episodes that the answer rests on"
        )
    return {row["id"]: row["consolidation_status"] for row in rows}


async def _apply_one(
    connection: Connection, steps: ActionSteps, action: Action, key: str, report: ExecutionReport
) -> bool:
    try:
        async with transaction(connection):
            outcome = await steps.perform(action)
            await connection.execute(
                SQL["insert_action"],
                steps.group.caller.tenant_id,
                key,
                action.kind,
                outcome.memory_type,
                outcome.memory_id,
                steps.now,
            )
    except TRANSIENT:
        raise
    except Exception as error:
        # An isolation point: whatever is wrong with one action, the savepoint undoes it and the others go on.
        logger.exception("a %s of %r was left out", action.kind, steps.group.butler)
        report.errors.append(f"{action.kind}: {describe_error(error)}")
        return False
    steps.remember(outcome)
    setattr(report, outcome.counted_as, getattr(report, outcome.counted_as) + 1)
    report.links_created += outcome.links
    return True


async def _mark_consolidated(
    connection: Connection,
    sources: Mapping[UUID, str],
    group: EpisodeGroup,
    report: ExecutionReport,
    usage: Mapping[str, Any],
    now: datetime,
) -> int:
    changed = [id_ for id_, status in sources.items() if status != "consolidated"]
    attempt = group.lease_owner or uuid4()
    await connection.execute(CLAIMS_SQL["consolidate_episodes"], group.caller.tenant_id, changed)
    events = [Event("episode_consolidated", "episode", id_, {"attempt_id": str(attempt)}) for id_ in changed]
    payload = {"butler": group.butler, **report.counts(), "episodes_consolidated": len(changed), **usage}
    events.append(Event("consolidation_completed", "consolidation", attempt, payload))
    await record_events(connection, events, caller=group.caller, now=now)
    return len(changed)
