"""The tools that store, read and forget memories. Their docstrings are what a model reads before it calls one."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired
from uuid import UUID

from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from memory_core.episodes import store_episode
from memory_core.facts import store_fact
from memory_core.memories import confirm_memory, forget_memory, get_memory
from memory_core.rules import store_rule
from memory_core.runtime import Memory
from memory_core.tools import RequestContext, Tool, tool
from memory_core.vocabulary import MemoryType, Permanence

Content = Annotated[str, Field(description="The text to remember, in full sentences that will make sense later.")]
Importance = Annotated[float, Field(description="From 0 (trivial) to 10 (vital); 5 is usual.", ge=0, le=10)]
Scope = Annotated[str, Field(description="'global' for all butlers, or the name of one butler's own scope.")]
Tags = Annotated[list[str] | None, Field(description="Labels to find it by later.")]
Kind = Annotated[Literal["episode", "fact", "rule"], Field(description="Which kind of memory the id names.")]
MemoryId = Annotated[UUID, Field(description="The memory's id, as a store or search call returned it.")]


class Stored(TypedDict):
    """The answer to a store call."""

    id: str
    memory_type: str


class StoredEpisode(Stored):
    """The answer to an episode's store call."""

    spooled: NotRequired[Annotated[bool, Field(description="True: kept on disk until the database is back.")]]


class Changed(TypedDict):
    """The answer to a call that changes one memory."""

    id: str
    memory_type: str
    found: bool


class Found(TypedDict):
    """The answer to a get call."""

    found: bool
    memory: dict[str, Any] | None


@tool(title="Store an episode")
async def memory_store_episode(
    memory: Memory,
    content: Content,
    butler: Annotated[str, Field(description="The name of the butler that observed it.")],
    session_id: Annotated[UUID | None, Field(description="The session that it belongs to.")] = None,
    importance: Importance = 5.0,
    request_context: RequestContext = None,
) -> StoredEpisode:
    """Remember what happened in a session: an observation, a conversation turn, a result.

    Episodes are kept for a week and distilled into facts and rules. Store lasting truths with memory_store_fact.
    """
    stored = await store_episode(
        memory.pool,
        content,
        butler,
        memory.embedder,
        session_id=session_id,
        importance=importance,
        ttl_days=memory.config.episodes.default_ttl_days,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )
    return {"id": str(stored), "memory_type": MemoryType.EPISODE.value}


@tool(title="Store a fact", idempotent=True)
async def memory_store_fact(
    memory: Memory,
    subject: Annotated[str, Field(description="Who or what it is about, for example 'user'.")],
    predicate: Annotated[str, Field(description="Which property, for example 'favorite_color'.")],
    content: Content,
    importance: Importance = 5.0,
    permanence: Annotated[
        Permanence, Field(description="How long it holds: permanent, stable, standard, volatile or ephemeral.")
    ] = Permanence.STANDARD,
    scope: Scope = "global",
    tags: Tags = None,
    entity_id: Annotated[UUID | None, Field(description="The entity it is about, if entity_resolve found one.")] = None,
    request_context: RequestContext = None,
) -> Stored:
    """Remember what is true. A fact with the same subject, predicate and scope replaces the one stored before.

    Storing the very same fact again confirms it.
    """
    stored = await store_fact(
        memory.pool,
        subject,
        predicate,
        content,
        memory.embedder,
        importance=importance,
        permanence=permanence,
        scope=scope,
        tags=tags,
        entity_id=entity_id,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )
    return {"id": str(stored), "memory_type": MemoryType.FACT.value}


@tool(title="Store a rule")
async def memory_store_rule(
    memory: Memory,
    content: Annotated[str, Field(description="How to behave, as an instruction: 'Confirm the time zone before …'.")],
    scope: Scope = "global",
    tags: Tags = None,
    request_context: RequestContext = None,
) -> Stored:
    """Remember how to behave. A new rule is a candidate; feedback on it makes it established, then proven.

    Report how it worked with memory_mark_helpful and memory_mark_harmful.
    """
    stored = await store_rule(
        memory.pool,
        content,
        memory.embedder,
        scope=scope,
        tags=tags,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )
    return {"id": str(stored), "memory_type": MemoryType.RULE.value}


@tool(title="Get a memory", read_only=True)
async def memory_get(
    memory: Memory, memory_type: Kind, memory_id: MemoryId, request_context: RequestContext = None
) -> Found:
    """Read one memory in full by its id, with its state; found is false if there is none."""
    found = await get_memory(
        memory.pool, memory_type, memory_id, tenant_id=memory.tenant_id, request_context=request_context
    )
    return {"found": found is not None, "memory": found}


@tool(title="Confirm a memory", idempotent=True)
async def memory_confirm(
    memory: Memory, memory_type: Kind, memory_id: MemoryId, request_context: RequestContext = None
) -> Changed:
    """Say that a fact or rule still holds, so that it stops fading. Episodes cannot be confirmed."""
    found = await confirm_memory(
        memory.pool, memory_type, memory_id, tenant_id=memory.tenant_id, request_context=request_context
    )
    return {"id": str(memory_id), "memory_type": memory_type, "found": found}


@tool(title="Forget a memory", destructive=True, idempotent=True)
async def memory_forget(
    memory: Memory, memory_type: Kind, memory_id: MemoryId, request_context: RequestContext = None
) -> Changed:
    """Take a memory out of use: it is no longer found or recalled. The audit keeps that it was there."""
    found = await forget_memory(
        memory.pool, memory_type, memory_id, tenant_id=memory.tenant_id, request_context=request_context
    )
    return {"id": str(memory_id), "memory_type": memory_type, "found": found}


TOOLS: tuple[Tool, ...] = (
    memory_store_episode,
    memory_store_fact,
    memory_store_rule,
    memory_get,
    memory_confirm,
    memory_forget,
)
