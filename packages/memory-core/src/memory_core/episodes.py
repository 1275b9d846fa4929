"""Stores episodes: what happened, kept for a while."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
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
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> UUID:
    """Store what happened and return its id.

    Raises:
        InvalidInputError: a value breaks its rule; nothing was stored.
    """
    episode = NewEpisode(content, butler, session_id, importance, ttl_days, metadata)
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
    ids = [uuid4() for _ in checked]
    if checked:
        async with transaction(pool) as connection:
            await require_generation(connection, embedding_engine, moment)
            turns = _turns(ids, checked, vectors, moment)
            await lock_sessions(connection, {turn.session_id for turn in turns}, caller)
            await _insert(connection, ids, checked, vectors, caller, moment)
            await add_turns(connection, turns, caller)
            events = [Event("episode_created", "episode", id_) for id_ in ids]
            await record_events(connection, events, caller=caller, now=moment)
            await refresh_statistics(connection, "episodes", len(ids))
    return ids


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
