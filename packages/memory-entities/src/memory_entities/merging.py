"""Merges one entity into another: its facts, names and metadata move, and a tombstone points to the survivor."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import asyncpg
from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.errors import InvalidInputError, InvalidTransitionError
from memory_core.events import Event, record_events
from memory_core.links import insert_links
from memory_core.queries import load_queries
from memory_core.rows import row_to_dict
from memory_core.validation import parse_id, parse_moment
from memory_core.vocabulary import MemoryType, Relation

from memory_entities.merge_planning import ClaimedKey, FactMerge, added_aliases, plan_fact_merge
from memory_entities.registry import MERGE_KEYS

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("merging", package="memory_entities")

MERGE_LOCK_CLASS = 0x6D7267  # "mrg"
DEADLOCK_ATTEMPTS = 5
# A pair that is never free in so many attempts is under constant writing; then only standing in line helps.
LOCK_ATTEMPTS = 20

Entity = Mapping[str, Any]


async def entity_merge(
    pool: Database,
    source_entity_id: UUID | str,
    target_entity_id: UUID | str,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, Any]:
    """Merge the source entity into the target and return what was moved, all of it or nothing.

    Raises:
        InvalidInputError: an id is not valid or not the tenant's, or both are the same.
        InvalidTransitionError: one of the two was merged before.
    """
    caller = Caller.of(tenant_id, request_context)
    source, target = parse_id(source_entity_id, "source_entity_id"), parse_id(target_entity_id, "target_entity_id")
    if source == target:
        raise InvalidInputError(f"entity '{source}' cannot be merged into itself; pass two entities")
    moment = parse_moment(now)
    # A sweep may hold facts in another order than a merge takes them. Where the server then gives up on the merge,
    # nothing of it has happened: it starts anew.
    attempts = 1
    while True:
        try:
            async with transaction(pool) as connection:
                return await _merge(connection, source, target, caller, moment)
        except asyncpg.DeadlockDetectedError:
            if attempts == DEADLOCK_ATTEMPTS:
                raise
            attempts += 1


async def _merge(
    connection: Connection, source_id: UUID, target_id: UUID, caller: Caller, now: datetime
) -> dict[str, Any]:
    source, target = await _lock_pair(connection, source_id, target_id, caller)
    plan = await _plan_facts(connection, source_id, target_id, caller)
    history = await _move_facts(connection, plan, source_id, target_id, caller, now)
    aliases = added_aliases(source, target)
    inherited = json.dumps({key: value for key, value in source["metadata"].items() if key not in MERGE_KEYS})
    await connection.execute(SQL["enrich_target"], caller.tenant_id, target_id, aliases, inherited, now)
    await connection.execute(SQL["tombstone_source"], caller.tenant_id, source_id, target_id, now)
    counts = {
        "facts_repointed": len(plan.repointed),
        "facts_superseded": len(plan.superseded),
        "history_repointed": history,
        "aliases_added": len(aliases),
    }
    payload = {"source_entity_id": str(source_id), "target_entity_id": str(target_id), **counts}
    await record_events(connection, [Event("entity_merge", "entity", target_id, payload)], caller=caller, now=now)
    return {"source_entity_id": source_id, "target_entity_id": target_id, **counts}


async def _lock_pair(connection: Connection, source_id: UUID, target_id: UUID, caller: Caller) -> tuple[Entity, Entity]:
    # Merges queue before they lock a row, and a tombstone is refused before it is locked: a writer that follows
    # it to the survivor holds it, and would wait for us while we wait for it.
    await connection.execute(SQL["lock_merges"], MERGE_LOCK_CLASS, caller.tenant_id)
    asked = (caller.tenant_id, [source_id, target_id])
    _pair(await connection.fetch(SQL["read_pair"], *asked), source_id, target_id)
    for _ in range(LOCK_ATTEMPTS):
        try:
            async with connection.transaction():
                return _pair(await connection.fetch(SQL["try_lock_pair"], *asked), source_id, target_id)
        except asyncpg.LockNotAvailableError:
            await _wait_for_writers(connection, source_id, caller)
            await _wait_for_writers(connection, target_id, caller)
    return _pair(await connection.fetch(SQL["lock_pair"], *asked), source_id, target_id)


async def _wait_for_writers(connection: Connection, entity_id: UUID, caller: Caller) -> None:
    # One row at a time and none kept: a transaction that writes about both entities takes them in its own order.
    waiting = connection.transaction()
    await waiting.start()
    await connection.execute(SQL["lock_pair"], caller.tenant_id, [entity_id])
    await waiting.rollback()


def _pair(rows: Sequence[asyncpg.Record], source_id: UUID, target_id: UUID) -> tuple[Entity, Entity]:
    found = {row["id"]: row_to_dict(row) for row in rows}
    return _live(found, source_id, "source"), _live(found, target_id, "target")


def _live(found: Mapping[UUID, Entity], entity_id: UUID, role: str) -> Entity:
    if entity_id not in found:
        raise InvalidInputError(
            f"{role}_entity_id '{entity_id}' does not exist; pass an id as entity_resolve or entity_create returned it"
        )
    survivor = found[entity_id]["metadata"].get("merged_into")
    if survivor is not None:
        raise InvalidTransitionError(
            f"{role}_entity_id '{entity_id}' was merged into '{survivor}' before; use that one instead"
        )
    return found[entity_id]


async def _plan_facts(connection: Connection, source_id: UUID, target_id: UUID, caller: Caller) -> FactMerge:
    rows = await connection.fetch(SQL["lock_active_facts"], caller.tenant_id, [source_id, target_id])
    claims: dict[UUID, list[ClaimedKey]] = {source_id: [], target_id: []}
    for row in rows:
        claims[row["entity_id"]].append(
            ClaimedKey(parse_id(row["id"]), row["scope"], row["predicate"], row["confidence"])
        )
    return plan_fact_merge(claims[source_id], claims[target_id])


async def _move_facts(
    connection: Connection, plan: FactMerge, source_id: UUID, target_id: UUID, caller: Caller, now: datetime
) -> int:
    losers, winners = list(plan.superseded), list(plan.superseded.values())
    # Those that give way step down first: the unique index admits one active row per key at any moment.
    await connection.execute(SQL["supersede_facts"], caller.tenant_id, losers)
    await connection.execute(SQL["name_predecessors"], caller.tenant_id, winners, losers)
    rows = await connection.fetch(SQL["repoint_facts"], caller.tenant_id, source_id, target_id)
    pairs = list(zip(winners, losers, strict=True))
    await insert_links(connection, MemoryType.FACT, MemoryType.FACT, Relation.SUPERSEDES, pairs, caller=caller, now=now)
    moved = [parse_id(row["id"]) for row in rows]
    await record_events(connection, _fact_events(plan, moved, source_id, target_id), caller=caller, now=now)
    return len(moved) - len(plan.repointed)


def _fact_events(plan: FactMerge, moved: Sequence[UUID], source_id: UUID, target_id: UUID) -> list[Event]:
    superseded = [
        Event("fact_superseded", "fact", loser, {"superseded_by": str(winner), "reason": "entity_merge"})
        for loser, winner in plan.superseded.items()
    ]
    payload = {"from_entity_id": str(source_id), "to_entity_id": str(target_id)}
    return superseded + [Event("fact_repointed", "fact", fact_id, payload) for fact_id in moved]
