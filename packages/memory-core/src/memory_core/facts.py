"""Stores facts: what is true. A new fact supersedes the active one that holds its key."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import asyncpg

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
from memory_core.errors import InvalidInputError
from memory_core.events import Event, record_events
from memory_core.fact_planning import ActiveFact, FactKey, FactPlan, NewFact, PlannedFact, plan_fact_writes
from memory_core.generations import require_generation
from memory_core.links import insert_links
from memory_core.queries import load_queries
from memory_core.rows import row_to_dict
from memory_core.session_context import index_facts_with_source
from memory_core.statistics import refresh_statistics
from memory_core.text import preprocess_text
from memory_core.validation import parse_id, parse_moment
from memory_core.vectors import execute_with_vectors
from memory_core.vocabulary import MemoryType, Permanence, Relation

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("facts")

# Keys share a fixed number of locks: one lock per key of a large batch would exhaust the server's lock table.
KEY_LOCK_CLASS = 0x6D656D  # "mem"
KEY_LOCK_STRIPES = 256
WRITE_ATTEMPTS = 3


async def store_fact(
    pool: Database,
    subject: str,
    predicate: str,
    content: str,
    embedding_engine: Embedder,
    *,
    importance: float = 5.0,
    permanence: str = Permanence.STANDARD,
    scope: str = "global",
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    confidence: float = 1.0,
    entity_id: UUID | str | None = None,
    source_butler: str | None = None,
    source_episode_id: UUID | str | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> UUID:
    """Store what is true and return its id; an active fact with the same key is superseded, an equal one confirmed.

    Raises:
        InvalidInputError: a value breaks its rule, or an entity or episode does not exist; nothing was stored.
    """
    fact = NewFact(
        subject=subject,
        predicate=predicate,
        content=content,
        importance=importance,
        permanence=permanence,
        scope=scope,
        tags=tags,
        metadata=metadata,
        confidence=confidence,
        entity_id=entity_id,
        source_butler=source_butler,
        source_episode_id=source_episode_id,
    )
    stored = await store_facts(
        pool, [fact], embedding_engine, tenant_id=tenant_id, request_context=request_context, now=now
    )
    return stored[0]


async def store_facts(
    pool: Database,
    facts: Sequence[NewFact],
    embedding_engine: Embedder,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> list[UUID]:
    """Store many facts in one transaction, as if one after another, and return their ids in order.

    Raises:
        InvalidInputError: a value of any of them breaks its rule; none was stored.
    """
    caller = Caller.of(tenant_id, request_context)
    moment = parse_moment(now)
    checked = [fact.checked() for fact in facts]
    if not checked:
        return []
    documents = [fact.document for fact in checked]
    vectors = dict(zip(documents, await embed_texts(embedding_engine, documents), strict=True))
    attempts = 1
    while True:
        try:
            async with transaction(pool) as connection:
                await require_generation(connection, embedding_engine, moment)
                return await _store(connection, checked, vectors, caller, moment)
        except asyncpg.UniqueViolationError:
            # Somebody wrote a key without its lock, as an import does. Now it can be seen, and superseded.
            if attempts == WRITE_ATTEMPTS:
                raise
            attempts += 1


async def _store(
    connection: Connection,
    facts: Sequence[NewFact],
    vectors: Mapping[str, Sequence[float]],
    caller: Caller,
    now: datetime,
) -> list[UUID]:
    resolved = await _resolve_references(connection, facts, caller)
    await _lock_keys(connection, resolved, caller)
    plan = plan_fact_writes(await _active_facts(connection, resolved, caller), resolved, uuid4)
    await _write(connection, plan, vectors, caller, now)
    await refresh_statistics(connection, "facts", len(plan.inserts))
    return plan.ids


async def _resolve_references(connection: Connection, facts: Sequence[NewFact], caller: Caller) -> list[NewFact]:
    episodes = {parse_id(fact.source_episode_id) for fact in facts if fact.source_episode_id}
    await require_episodes(connection, episodes, caller)
    # In the order of their ids, as everybody who locks several entities does.
    entities = sorted({key.entity_id for key in (fact.key for fact in facts) if key.entity_id})
    survivors = {entity: await surviving_entity(connection, entity, caller) for entity in entities}
    return [replace(fact, entity_id=survivors[key]) if (key := fact.key.entity_id) else fact for fact in facts]


async def surviving_entity(connection: Connection, entity_id: UUID, caller: Caller) -> UUID:
    """Follow merges from an entity to the one that survives, and lock it against further ones.

    Raises:
        InvalidInputError: the tenant has no such entity.
    """
    current = entity_id
    while True:
        row = await connection.fetchrow(SQL["lock_entities"], caller.tenant_id, [current])
        if row is None:
            raise InvalidInputError(
                f"entity_id '{entity_id}' does not exist; create the entity first, or leave entity_id out"
            )
        if row["merged_into"] is None:
            return current
        current = UUID(row["merged_into"])


async def require_episodes(connection: Connection, episode_ids: Collection[UUID], caller: Caller) -> None:
    """Check that a memory's source episodes are there, and keep them until the transaction ends.

    Raises:
        InvalidInputError: the tenant has no such episode.
    """
    if episode_ids:
        rows = await connection.fetch(SQL["existing_episodes"], caller.tenant_id, list(episode_ids))
        for missing in set(episode_ids) - {row["id"] for row in rows}:
            raise InvalidInputError(
                f"source_episode_id '{missing}' does not exist; pass the id of a stored episode, or leave it out"
            )


async def _lock_keys(connection: Connection, facts: Sequence[NewFact], caller: Caller) -> None:
    stripes = sorted({key_stripe(caller.tenant_id, fact.key) for fact in facts})
    await connection.execute(SQL["lock_fact_keys"], KEY_LOCK_CLASS, stripes)


def key_stripe(tenant_id: str, key: FactKey) -> int:
    """Return the lock that a key shares with others; the same in every process."""
    text = "\x00".join((tenant_id, key.scope, str(key.entity_id or key.subject), key.predicate))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) % KEY_LOCK_STRIPES


async def _active_facts(connection: Connection, facts: Sequence[NewFact], caller: Caller) -> dict[FactKey, ActiveFact]:
    keys = {fact.key for fact in facts}
    by_subject = [key for key in keys if key.entity_id is None]
    by_entity = [key for key in keys if key.entity_id is not None]
    rows = await connection.fetch(
        SQL["active_facts"],
        caller.tenant_id,
        [key.scope for key in by_subject],
        [key.subject for key in by_subject],
        [key.predicate for key in by_subject],
        [key.scope for key in by_entity],
        [key.entity_id for key in by_entity],
        [key.predicate for key in by_entity],
    )
    holders = (_active_fact(row_to_dict(row)) for row in rows)
    return {holder.fact.key: holder for holder in holders}


def _active_fact(row: Mapping[str, Any]) -> ActiveFact:
    told = {key: value for key, value in row.items() if key != "id"}
    return ActiveFact(parse_id(row["id"]), NewFact(**told))


async def _write(
    connection: Connection,
    plan: FactPlan,
    vectors: Mapping[str, Sequence[float]],
    caller: Caller,
    now: datetime,
) -> None:
    if plan.confirmed:
        await connection.execute(SQL["confirm_facts"], caller.tenant_id, plan.confirmed, now)
    # The old holders step down first: the unique index admits one active row per key at any moment.
    if plan.superseded:
        await connection.execute(SQL["supersede_facts"], caller.tenant_id, list(plan.superseded))
    if plan.inserts:
        await _insert(connection, plan.inserts, vectors, caller, now)
    await insert_links(
        connection,
        MemoryType.FACT,
        MemoryType.FACT,
        Relation.SUPERSEDES,
        [(new, old) for old, new in plan.superseded.items()],
        caller=caller,
        now=now,
    )
    await record_events(connection, _events(plan), caller=caller, now=now)


async def _insert(
    connection: Connection,
    rows: Sequence[PlannedFact],
    vectors: Mapping[str, Sequence[float]],
    caller: Caller,
    now: datetime,
) -> None:
    facts = [row.fact for row in rows]
    await execute_with_vectors(
        connection,
        SQL["insert_facts"],
        [vectors[fact.document] for fact in facts],
        caller.tenant_id,
        now,
        [row.id for row in rows],
        [fact.subject for fact in facts],
        [fact.predicate for fact in facts],
        [fact.content for fact in facts],
        [preprocess_text(fact.document) for fact in facts],
        [fact.importance for fact in facts],
        [fact.confidence for fact in facts],
        [Permanence(fact.permanence).decay_rate for fact in facts],
        [fact.permanence for fact in facts],
        [fact.scope for fact in facts],
        [row.validity for row in rows],
        [row.supersedes_id for row in rows],
        [fact.entity_id for fact in facts],
        [fact.source_butler for fact in facts],
        [fact.source_episode_id for fact in facts],
        [json.dumps(fact.tags) for fact in facts],
        [json.dumps(fact.metadata) for fact in facts],
    )
    sourced = [row.id for row in rows if row.fact.source_episode_id is not None]
    await index_facts_with_source(connection, sourced, caller)


def _events(plan: FactPlan) -> list[Event]:
    created = [
        Event("fact_created", "fact", row.id, {"supersedes_id": str(row.supersedes_id)} if row.supersedes_id else {})
        for row in plan.inserts
    ]
    superseded = [
        Event("fact_superseded", "fact", old, {"superseded_by": str(new)}) for old, new in plan.superseded.items()
    ]
    confirmed = [Event("fact_confirmed", "fact", id_) for id_ in plan.confirmed]
    return created + superseded + confirmed
