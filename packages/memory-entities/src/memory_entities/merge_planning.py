"""Decides what becomes of two entities' facts and names when one is merged into the other: pure, no database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memory_entities.names import unseen_names


@dataclass(frozen=True)
class ClaimedKey:
    """An active fact and the key, within its entity, that it holds."""

    id: UUID
    scope: str
    predicate: str
    confidence: float


@dataclass(frozen=True)
class FactMerge:
    """Which of the source's active facts stay active, and which fact gives way to which."""

    repointed: list[UUID]
    superseded: dict[UUID, UUID]  # the one that gives way -> the one that stays


def plan_fact_merge(source: Iterable[ClaimedKey], target: Iterable[ClaimedKey]) -> FactMerge:
    """Decide key by key: the fact of higher confidence stays active, the target's where both are equally sure."""
    held = {(fact.scope, fact.predicate): fact for fact in target}
    repointed = []
    superseded = {}
    for fact in source:
        rival = held.get((fact.scope, fact.predicate))
        if rival is not None and fact.confidence <= rival.confidence:
            superseded[fact.id] = rival.id
            continue
        repointed.append(fact.id)
        if rival is not None:
            superseded[rival.id] = fact.id
    return FactMerge(repointed, superseded)


def added_aliases(source: Mapping[str, Any], target: Mapping[str, Any]) -> list[str]:
    """Return the names of the source that the target does not have yet, whatever their case."""
    names: Sequence[str] = [source["canonical_name"], *source["aliases"]]
    return unseen_names(names, seen=[target["canonical_name"], *target["aliases"]])
