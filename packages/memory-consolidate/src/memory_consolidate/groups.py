"""Whose episodes are consolidated together, and on whose behalf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from memory_core.callers import Caller

from memory_consolidate.fact_resolution import GLOBAL_SCOPE


@dataclass(frozen=True)
class EpisodeGroup:
    """Whose episodes an answer rests on."""

    caller: Caller
    butler: str
    episode_ids: tuple[UUID, ...]
    scope: str = GLOBAL_SCOPE
    lease_owner: UUID | None = None


def consolidation_caller(tenant_id: str, request_context: Mapping[str, Any] | None) -> Caller:
    """Return the caller whose events say that a consolidation did it, unless the context names somebody else."""
    caller = Caller.of(tenant_id, request_context)
    return caller if caller.actor else replace(caller, actor="consolidation")
