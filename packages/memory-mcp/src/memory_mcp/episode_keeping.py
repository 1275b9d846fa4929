"""Stores episodes so that none is lost: in the database, else in the spool until the database is back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from memory_core import InvalidInputError, Memory, MemoryModuleConfig, NewEpisode, store_episodes
from memory_core.callers import Caller

from memory_mcp.episode_spool import EpisodeSpool, WaitingEpisode
from memory_mcp.lazy_runtime import RuntimeSource
from memory_mcp.tool_errors import AWAY_ERRORS

logger = logging.getLogger(__name__)


class EpisodeKeeper:
    """What stands behind memory_store_episode in a server."""

    def __init__(self, runtime: RuntimeSource, config: MemoryModuleConfig, spool: EpisodeSpool) -> None:
        self._runtime = runtime
        self._config = config
        self._spool = spool

    async def store(self, arguments: Mapping[str, Any], tenant_id: str) -> dict[str, Any]:
        """Store an episode from the tool's checked arguments and answer as the tool does; `spooled` if it waits.

        Raises:
            InvalidInputError: a value breaks its rule; nothing was stored.
            SpoolFullError: the database is away and the spool takes no more.
        """
        episode = self._waiting(arguments, tenant_id)
        answer: dict[str, Any] = {"id": episode.episode_id, "memory_type": "episode"}
        request_id = (episode.request_context or {}).get("request_id")
        if request_id is not None:
            answer["request_id"] = str(request_id)
        try:
            # A database that hangs is as good as away.
            async with asyncio.timeout(self._config.serve.call_timeout_seconds):
                memory = await self._runtime.memory()
                await _store(memory, [episode])
        except AWAY_ERRORS as error:
            # The outcome may be unknown: the replay has the same id, and so stores it once at most.
            logger.warning(
                "the memory database is away: an episode waits in the spool (%s)", error or type(error).__name__
            )
            await asyncio.to_thread(self._spool.append, episode)
            self._runtime.suspect()
            answer["spooled"] = True
        return answer

    async def replay(self, memory: Memory) -> None:
        """Store what waits in the spool; trouble is logged, and the rest waits for another time."""
        try:
            replayed = await self._spool.replay(lambda episodes: self._store_in_time(memory, episodes))
        except Exception:
            # An isolation point: whatever is wrong with the spool must not keep the server from answering.
            logger.exception("waiting episodes could not be stored; they are tried again later")
        else:
            if replayed:
                logger.warning("%d episodes that had waited in the spool are stored", replayed)

    async def _store_in_time(self, memory: Memory, episodes: Sequence[WaitingEpisode]) -> None:
        async with asyncio.timeout(self._config.serve.call_timeout_seconds):
            await _store_acceptable(memory, episodes)

    def _waiting(self, arguments: Mapping[str, Any], tenant_id: str) -> WaitingEpisode:
        """Return the episode with every value checked: what is refused must be refused now, not at the replay."""
        context = arguments["request_context"]
        Caller.of(tenant_id, context)
        episode = NewEpisode(
            content=arguments["content"],
            butler=arguments["butler"],
            session_id=arguments["session_id"],
            importance=arguments["importance"],
            ttl_days=self._config.episodes.default_ttl_days,
        ).checked()
        return WaitingEpisode(
            episode_id=str(uuid4()),
            tenant_id=tenant_id,
            content=episode.content,
            butler=episode.butler,
            session_id=None if episode.session_id is None else str(episode.session_id),
            importance=episode.importance,
            ttl_days=episode.ttl_days,
            created_at=datetime.now(UTC).isoformat(),
            request_context=context,
        )


async def _store(memory: Memory, waiting: Sequence[WaitingEpisode]) -> None:
    """Store episodes of one tenant and one request, each once however often this is called."""
    episodes = [
        NewEpisode(
            content=episode.content,
            butler=episode.butler,
            session_id=episode.session_id,
            importance=episode.importance,
            ttl_days=episode.ttl_days,
            created_at=datetime.fromisoformat(episode.created_at),
            episode_id=episode.episode_id,
        )
        for episode in waiting
    ]
    first = waiting[0]
    await store_episodes(
        memory.pool,
        episodes,
        memory.embedder,
        tenant_id=first.tenant_id,
        request_context=first.request_context,
    )


async def _store_acceptable(memory: Memory, waiting: Sequence[WaitingEpisode]) -> None:
    try:
        await _store(memory, waiting)
    except InvalidInputError:
        if len(waiting) == 1:
            logger.exception("the spooled episode %s is refused for good and dropped", waiting[0].episode_id)
            return
        # One of them is at fault; the others must not suffer for it.
        for episode in waiting:
            await _store_acceptable(memory, [episode])
