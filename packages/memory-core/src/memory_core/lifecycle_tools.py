"""The tools for feedback on rules and for the upkeep of episodes. Their docstrings are what a model reads."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from memory_core.cleanup import DEFAULT_MAX_ENTRIES, run_episode_cleanup
from memory_core.feedback import mark_harmful, mark_helpful
from memory_core.runtime import Memory
from memory_core.tools import RequestContext, Tool, tool

RuleId = Annotated[UUID, Field(description="The rule's id, as a store, search or recall call returned it.")]


class Marked(TypedDict):
    """The answer to a mark: where the rule stands now; the standing is null where no rule was found."""

    id: str
    found: bool
    maturity: str | None
    effectiveness_score: float | None
    applied_count: int | None
    success_count: int | None
    harmful_count: int | None
    needs_inversion: bool


class Cleaned(TypedDict):
    """The answer to a cleanup."""

    expired_deleted: int
    capacity_deleted: int
    remaining: int


@tool(title="Mark a rule helpful")
async def memory_mark_helpful(memory: Memory, rule_id: RuleId, request_context: RequestContext = None) -> Marked:
    """Report that following a rule worked out well. Rules that keep helping become established, then proven."""
    standing = await mark_helpful(
        memory.pool,
        rule_id,
        policy=memory.config.rules,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )
    return _marked(rule_id, standing)


@tool(title="Mark a rule harmful")
async def memory_mark_harmful(
    memory: Memory,
    rule_id: RuleId,
    reason: Annotated[str | None, Field(description="What went wrong, in one sentence; kept with the rule.")] = None,
    request_context: RequestContext = None,
) -> Marked:
    """Report that following a rule did harm. It weighs four times as much as a helpful mark.

    A rule that keeps doing harm is turned into a warning against itself: needs_inversion says that this is due.
    """
    standing = await mark_harmful(
        memory.pool,
        rule_id,
        reason,
        policy=memory.config.rules,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )
    return _marked(rule_id, standing)


@tool(title="Clean up episodes", destructive=True, idempotent=True)
async def memory_run_episode_cleanup(
    memory: Memory,
    max_entries: Annotated[
        int, Field(description="How many episodes to keep; only consolidated ones are removed above it.", ge=0)
    ] = DEFAULT_MAX_ENTRIES,
    request_context: RequestContext = None,
) -> Cleaned:
    """Delete episodes that have expired, then the oldest consolidated ones above max_entries.

    This runs by itself every day; call it only to free space at once.
    """
    counts = await run_episode_cleanup(
        memory.pool,
        max_entries,
        grace_days=memory.config.episodes.grace_days,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )
    return Cleaned(
        expired_deleted=counts["expired_deleted"],
        capacity_deleted=counts["capacity_deleted"],
        remaining=counts["remaining"],
    )


def _marked(rule_id: UUID, standing: dict[str, Any] | None) -> Marked:
    told = standing or {}
    return Marked(
        id=str(rule_id),
        found=standing is not None,
        maturity=told.get("maturity"),
        effectiveness_score=told.get("effectiveness_score"),
        applied_count=told.get("applied_count"),
        success_count=told.get("success_count"),
        harmful_count=told.get("harmful_count"),
        needs_inversion=told.get("needs_inversion", False),
    )


TOOLS: tuple[Tool, ...] = (memory_mark_helpful, memory_mark_harmful, memory_run_episode_cleanup)
