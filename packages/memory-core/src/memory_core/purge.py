"""Erases for good: content, vectors, links and reasons of one memory or of one tenant, for the law's sake.

Forgetting keeps a row; this does not. What remains is an event with ids and counts. No tool reaches this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from memory_core.callers import Caller
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
from memory_core.events import Event, record_events
from memory_core.generations import hold_generation, require_generation
from memory_core.queries import load_queries
from memory_core.session_context import hold_with_neighbours, index_turns, lock_sessions
from memory_core.text import preprocess_text
from memory_core.validation import parse_id, parse_moment
from memory_core.vectors import flatten
from memory_core.vocabulary import MemoryType, parse_word

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("purge")

# Rows that refer to others go first.
TENANT_TABLES = (
    "memory_links",
    "consolidation_actions",
    "rule_applications",
    "rules",
    "facts",
    "session_turns",
    "episodes",
    "entities",
)


async def purge_memory(
    pool: Database,
    memory_type: str,
    memory_id: UUID | str,
    embedding_engine: Embedder,
    *,
    tenant_id: str,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> bool:
    """Erase one memory for good and tell whether the tenant had it.

    What was found by an erased episode's words as well, its neighbours and the facts from it, is indexed anew.

    Raises:
        InvalidInputError: the type or the id is not valid.
    """
    caller = Caller.of(tenant_id, request_context)
    kind = parse_word(MemoryType, memory_type, "memory_type")
    asked, moment = parse_id(memory_id), parse_moment(now)
    async with transaction(pool) as connection:
        neighbours = await _free_from_episode(connection, asked, embedding_engine, caller, moment, kind)
        if await connection.fetchval(SQL[f"purge_{kind}"], caller.tenant_id, asked) is None:
            return False
        await connection.execute(SQL["purge_links"], caller.tenant_id, kind, asked)
        await connection.execute(SQL["purge_actions"], caller.tenant_id, kind, asked)
        if neighbours:
            await index_turns(connection, neighbours, caller)
        await record_events(connection, [Event(f"{kind}_purged", kind, asked)], caller=caller, now=moment)
    return True


async def purge_tenant(
    pool: Database,
    tenant_id: str,
    *,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, int]:
    """Erase everything that a tenant has and return how many rows of each table there were.

    The tenant's events stay: they hold ids and states, never content.
    """
    caller = Caller.of(tenant_id, request_context)
    async with transaction(pool) as connection:
        counts = {
            table: _deleted(await connection.execute(SQL[f"purge_tenant_{table}"], caller.tenant_id))
            for table in TENANT_TABLES
        }
        if any(counts.values()):
            event = Event("tenant_purged", "tenant", uuid4(), counts)
            await record_events(connection, [event], caller=caller, now=parse_moment(now))
    return counts


async def _free_from_episode(
    connection: Connection, episode_id: UUID, embedder: Embedder, caller: Caller, now: datetime, kind: MemoryType
) -> list[UUID]:
    """Index the facts that came from an episode by themselves alone, and return the turns next to it."""
    if kind is not MemoryType.EPISODE:
        return []
    neighbours = await _hold_episode(connection, episode_id, caller)
    facts = await connection.fetch(SQL["facts_found_by_episode"], caller.tenant_id, episode_id)
    if facts:
        await require_generation(connection, embedder, now)
        documents = [row["document"] for row in facts]
        await connection.execute(
            SQL["index_facts_alone"],
            caller.tenant_id,
            flatten(await embed_texts(embedder, documents)),
            embedder.dimensions,
            [row["id"] for row in facts],
            [preprocess_text(document) for document in documents],
        )
    return neighbours


async def _hold_episode(connection: Connection, episode_id: UUID, caller: Caller) -> list[UUID]:
    """Let nobody index anything by an episode's words from now on, and return the turns next to it."""
    # In the order in which a store takes these locks, so that neither waits for the other forever.
    await hold_generation(connection)
    session_id = await connection.fetchval(SQL["session_of_episode"], caller.tenant_id, episode_id)
    if session_id is not None:
        await lock_sessions(connection, {session_id}, caller)
    held = await hold_with_neighbours(connection, [episode_id], caller)
    await connection.execute(SQL["hold_episode"], caller.tenant_id, episode_id)
    return [turn for turn in held if turn != episode_id]


def _deleted(status: str) -> int:
    return int(status.rpartition(" ")[2])
