"""Indexes a turn of a conversation with the turns around it, and a fact with the episode it came from.

A turn means little alone ("Yes, last May!"). What is stored and returned stays the turn itself; only what it is found
by takes in its neighbours. Appending a turn rewrites the index of two rows, however long the session is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import UUID

from memory_core.callers import Caller
from memory_core.queries import load_queries
from memory_core.text import preprocess_text
from memory_core.vectors import execute_with_vectors

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("session_context")

# About 120 words: a longer text stands for itself, and would drown its neighbours in words that are not theirs.
MAX_CONTEXT_CHARS = 800

SESSION_LOCK_CLASS = 0x6D6573  # "mes"
SESSION_LOCK_STRIPES = 256

_SPEAKER_PREFIX = re.compile(r"^(?:[^\W\d_a-z]\S{0,30} ?){1,3}: ")


@dataclass(frozen=True)
class Turn:
    """An episode as a part of its session."""

    episode_id: UUID
    session_id: UUID
    created_at: datetime
    content: str
    vector: Sequence[float]


def takes_context(content: str, session_id: UUID | str | None) -> bool:
    """Tell whether an episode is to be indexed with its neighbours."""
    return session_id is not None and len(content) <= MAX_CONTEXT_CHARS


def words_for_neighbours(content: str) -> str | None:
    """Return what a turn adds to the search vectors of its neighbours: its words, but not who says them."""
    if len(content) > MAX_CONTEXT_CHARS:
        return None
    return preprocess_text(_SPEAKER_PREFIX.sub("", content, count=1))


async def lock_sessions(connection: Connection, session_ids: Collection[UUID], caller: Caller) -> None:
    """Keep other writers out of these sessions until the transaction ends: each must see the other's turns."""
    stripes = sorted({_stripe(caller.tenant_id, session_id) for session_id in session_ids})
    if stripes:
        await connection.execute(SQL["lock_sessions"], SESSION_LOCK_CLASS, stripes)


async def add_turns(connection: Connection, turns: Sequence[Turn], caller: Caller) -> None:
    """Note turns whose episodes are stored, and index them and their neighbours with each other."""
    if turns:
        await execute_with_vectors(
            connection,
            SQL["insert_turns"],
            [turn.vector for turn in turns],
            caller.tenant_id,
            [turn.episode_id for turn in turns],
            [turn.session_id for turn in turns],
            [turn.created_at for turn in turns],
            [words_for_neighbours(turn.content) for turn in turns],
        )
        touched = await hold_with_neighbours(connection, [turn.episode_id for turn in turns], caller)
        await index_turns(connection, touched, caller)


async def index_turns(connection: Connection, episode_ids: Collection[UUID], caller: Caller) -> None:
    """Bring the index of turns, which the caller holds, to what their sessions now say."""
    await connection.execute(SQL["index_turns"], caller.tenant_id, list(episode_ids))


async def hold_with_neighbours(connection: Connection, episode_ids: Collection[UUID], caller: Caller) -> list[UUID]:
    """Return turns and the turns next to them, and keep them from other changes until the transaction ends."""
    rows = await connection.fetch(SQL["hold_with_neighbours"], caller.tenant_id, list(episode_ids))
    return [row["id"] for row in rows]


async def index_facts_with_source(connection: Connection, fact_ids: Sequence[UUID], caller: Caller) -> None:
    """Let facts be found by the words of the short episode that each came from, too."""
    if fact_ids:
        await connection.execute(SQL["index_facts_with_source"], caller.tenant_id, fact_ids, MAX_CONTEXT_CHARS)


def _stripe(tenant_id: str, session_id: UUID) -> int:
    digest = blake2b(f"{tenant_id}\x00{session_id}".encode(), digest_size=4).digest()
    return int.from_bytes(digest) % SESSION_LOCK_STRIPES
