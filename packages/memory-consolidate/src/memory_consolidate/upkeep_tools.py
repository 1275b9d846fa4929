"""The tool that mends what consolidation gave up on: not served by default; `memory requeue` runs it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from memory_core.runtime import Memory
from memory_core.tools import RequestContext, Tool, tool
from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from memory_consolidate.claims import requeue


class Requeued(TypedDict):
    """The answer to a requeue call."""

    requeued: int


@tool(title="Requeue dead letters", idempotent=True)
async def memory_requeue_episodes(
    memory: Memory,
    butler: Annotated[str | None, Field(description="Only this butler's episodes; all butlers without it.")] = None,
    episode_ids: Annotated[list[UUID] | None, Field(description="Only these episodes; all without it.")] = None,
    request_context: RequestContext = None,
) -> Requeued:
    """Give episodes that consolidation has given up on (dead letters) a new start, once their cause is mended."""
    requeued = await requeue(
        memory.pool,
        butler=butler,
        episode_ids=episode_ids,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )
    return {"requeued": requeued}


TOOLS: tuple[Tool, ...] = (memory_requeue_episodes,)
