"""Carries a memory over into the main system as an episode; needs memory-core, asks for it only when called."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_agent.errors import AgentMemoryError
from memory_agent.records import AgentMemory, EnrichedMemory

if TYPE_CHECKING:
    from memory_core.database import Database
    from memory_core.embedding import Embedder


async def promote(
    memory: AgentMemory,
    pool: Database,
    embedding_engine: Embedder,
    *,
    butler: str,
    tenant_id: str = "default",
    session_id: UUID | str | None = None,
    importance: float = 5.0,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> UUID:
    """Store a memory as an episode of a butler and return the episode's id; the memory itself stays.

    Where it came from is kept in the episode's metadata, under `agent_memory`.

    Raises:
        AgentMemoryError: memory-core is not installed.
        InvalidInputError: memory-core's, when a value breaks one of its rules.
    """
    try:
        from memory_core import store_episode
    except ImportError as error:
        raise AgentMemoryError("promoting a memory needs memory-core; install it: pip install memory-core") from error
    return await store_episode(
        pool,
        episode_content(memory),
        butler,
        embedding_engine,
        session_id=session_id,
        importance=importance,
        metadata={"agent_memory": origin_of(memory)},
        tenant_id=tenant_id,
        request_context=request_context,
        now=now,
    )


def episode_content(memory: AgentMemory) -> str:
    """Return the text of the episode: the key says what the content is about."""
    return f"{memory.key}: {memory.content}"


def origin_of(memory: AgentMemory) -> dict[str, Any]:
    """Return what leads from an episode back to the memory."""
    origin: dict[str, Any] = {
        "id": memory.id,
        "agent_id": memory.agent_id,
        "key": memory.key,
        "updated_at": memory.updated_at,
    }
    if isinstance(memory, EnrichedMemory) and memory.category is not None:
        origin["category"] = memory.category
    return origin
