"""Stores episodes: what happened, kept for a while."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import asyncpg

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
from memory_core.errors import InvalidInputError
from memory_core.events import Event, record_events
from memory_core.generations import require_generation
from memory_core.queries import load_queries
from memory_core.session_context import Turn, add_turns, lock_sessions, takes_context
from memory_core.statistics import refresh_statistics
from memory_core.text import clean_content, clean_name, preprocess_text
from memory_core.validation import (
    parse_days,
    parse_id,
    parse_importance,
    parse_metadata,
    parse_moment,
    parse_optional_id,
)
from memory_core.vectors import execute_with_vectors

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("episodes")
DEFAULT_TTL_DAYS = 7


@dataclass(frozen=True)
class NewEpisode:
    """An episode to be stored."""

    content: str
    butler: str
    session_id: UUID | str | None = None
    importance: float = 5.0
    ttl_days: float = DEFAULT_TTL_DAYS
    metadata: Mapping[str, Any] | None = None
    created_at: datetime | None = None
    episode_id: UUID | str | None = None
    """The caller's own id: storing it a second time changes nothing, so a store of unknown outcome can be repeated."""

    def checked(self) -> NewEpisode:
        """Return the same episode with every value in its stored form.

        Raises:
            InvalidInputError: a value breaks its rule.
        """
        return NewEpisode(
            content=clean_content(self.content),
            butler=clean_name(self.butler, "butler"),
            session_id=parse_optional_id(self.session_id, "session_id"),
            importance=parse_importance(self.importance),
            ttl_days=parse_days(self.ttl_days, "ttl_days"),
            metadata=parse_metadata(self.metadata),
            created_at=None if self.created_at is None else parse_moment(self.created_at),
            episode_id=parse_optional_id(self.episode_id, "episode_id"),
        )


async def store_episode(
    pool: Database,
    content: str,
    butler: str,
    embedding_engine: Embedder,
    *,
    session_id: UUID | str | None = None,
    importance: float = 5.0,
    ttl_days: float = DEFAULT_TTL_DAYS,
    metadata: Mapping[str, Any] | None = None,
    episode_id: UUID | str | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> UUID:
    """Store what happened and return its id; an `episode_id` of the caller's own is stored only once.

    Raises:
        InvalidInputError: a value breaks its rule; nothing was stored.
    """
    episode = NewEpisode(content, butler, session_id, importance, ttl_days, metadata, episode_id=episode_id)
    stored = await store_episodes(
        pool, [episode], embedding_engine, tenant_id=tenant_id, request_context=request_context, now=now
    )
    return stored[0]


async def store_episodes(
    pool: Database,
    episodes: Sequence[NewEpisode],
    embedding_engine: Embedder,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> list[UUID]:
    """Store many episodes in one transaction and return their ids, in order.

    Raises:
        InvalidInputError: a value of any of them breaks its rule; none was stored.
    """
    caller = Caller.of(tenant_id, request_context)
    moment = parse_moment(now)
    checked = [episode.checked() for episode in episodes]
    vectors = await embed_texts(embedding_engine, [episode.content for episode in checked])
    ids = [uuid4() if episode.episode_id is None else parse_id(episode.episode_id) for episode in checked]
    if checked:
        async with transaction(pool) as connection:
            await require_generation(connection, embedding_engine, moment)
            known = await _stored_before(connection, checked, caller)
            incoming = {id_: place for place, id_ in enumerate(ids) if id_ not in known}
            await _store_new(
                connection,
                list(incoming),
                [checked[place] for place in incoming.values()],
                [vectors[place] for place in incoming.values()],
                caller,
                moment,
            )
    return ids


async def _store_new(
    connection: Connection,
    ids: Sequence[UUID],
    episodes: Sequence[NewEpisode],
    vectors: Sequence[Sequence[float]],
    caller: Caller,
    now: datetime,
) -> None:
    if not ids:
        return
    turns = _turns(ids, episodes, vectors, now)
    await lock_sessions(connection, {turn.session_id for turn in turns}, caller)
    try:
        await _insert(connection, ids, episodes, vectors, caller, now)
    except asyncpg.UniqueViolationError as error:
        # An id that this tenant has stored before is known by now: this one is somebody else's.
        raise InvalidInputError(f"episode_id is taken ({error.detail}); choose a new random UUID") from None
    await add_turns(connection, turns, caller)
    events = [Event("episode_created", "episode", id_) for id_ in ids]
    await record_events(connection, events, caller=caller, now=now)
    await refresh_statistics(connection, "episodes", len(ids))


async def _stored_before(connection: Connection, episodes: Sequence[NewEpisode], caller: Caller) -> set[UUID]:
    """Return which of the ids that callers chose were stored before, even if the episode is gone since."""
    chosen = [parse_id(episode.episode_id) for episode in episodes if episode.episode_id is not None]
    if not chosen:
        return set()
    # Whoever stores one of them at this moment is waited for: their outcome decides.
    await connection.execute(SQL["lock_chosen_ids"], [str(id_) for id_ in chosen])
    rows = await connection.fetch(SQL["created_before"], caller.tenant_id, chosen)
    return {row["entity_id"] for row in rows}


async def _insert(
    connection: Connection,
    ids: Sequence[UUID],
    episodes: Sequence[NewEpisode],
    vectors: Sequence[Sequence[float]],
    caller: Caller,
    now: datetime,
) -> None:
    created = [episode.created_at or now for episode in episodes]
    await execute_with_vectors(
        connection,
        SQL["insert_episodes"],
        vectors,
        caller.tenant_id,
        ids,
        [episode.butler for episode in episodes],
        [episode.session_id for episode in episodes],
        [episode.content for episode in episodes],
        [_document(episode) for episode in episodes],
        [episode.importance for episode in episodes],
        created,
        [at + timedelta(days=episode.ttl_days) for at, episode in zip(created, episodes, strict=True)],
        [json.dumps(episode.metadata) for episode in episodes],
    )


def _document(episode: NewEpisode) -> str | None:
    return None if takes_context(episode.content, episode.session_id) else preprocess_text(episode.content)


def _turns(
    ids: Sequence[UUID], episodes: Sequence[NewEpisode], vectors: Sequence[Sequence[float]], now: datetime
) -> list[Turn]:
    return [
        Turn(id_, parse_id(episode.session_id), episode.created_at or now, episode.content, vector)
        for id_, episode, vector in zip(ids, episodes, vectors, strict=True)
        if episode.session_id is not None
    ]
