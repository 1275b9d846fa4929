"""Decides what storing facts means for the active ones: pure, so that every case can be tested without a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID

from memory_core.text import clean_content, clean_name
from memory_core.validation import (
    parse_confidence,
    parse_importance,
    parse_metadata,
    parse_optional_id,
    parse_tags,
)
from memory_core.vocabulary import Permanence, Validity, parse_word


class FactKey(NamedTuple):
    """What an active fact is unique by, within its tenant: the entity stands in for the subject where there is one."""

    scope: str
    entity_id: UUID | None
    subject: str | None
    predicate: str


@dataclass(frozen=True)
class NewFact:
    """A fact to be stored."""

    subject: str
    predicate: str
    content: str
    importance: float = 5.0
    permanence: str = Permanence.STANDARD
    scope: str = "global"
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    confidence: float = 1.0
    entity_id: UUID | str | None = None
    source_butler: str | None = None
    source_episode_id: UUID | str | None = None

    def checked(self) -> NewFact:
        """Return the same fact with every value in its stored form.

        Raises:
            InvalidInputError: a value breaks its rule.
        """
        return NewFact(
            subject=clean_name(self.subject, "subject"),
            predicate=clean_name(self.predicate, "predicate"),
            content=clean_content(self.content),
            importance=parse_importance(self.importance),
            permanence=parse_word(Permanence, self.permanence, "permanence"),
            scope=clean_name(self.scope, "scope"),
            tags=parse_tags(self.tags),
            metadata=parse_metadata(self.metadata),
            confidence=parse_confidence(self.confidence),
            entity_id=parse_optional_id(self.entity_id, "entity_id"),
            source_butler=None if self.source_butler is None else clean_name(self.source_butler, "source_butler"),
            source_episode_id=parse_optional_id(self.source_episode_id, "source_episode_id"),
        )

    @property
    def key(self) -> FactKey:
        """The key that this fact will hold."""
        entity_id = parse_optional_id(self.entity_id, "entity_id")
        return FactKey(self.scope, entity_id, None if entity_id else self.subject, self.predicate)

    @property
    def document(self) -> str:
        """The text that stands for the whole fact in both kinds of search."""
        return f"{self.subject} {self.predicate} {self.content}"

    def says_the_same_as(self, other: NewFact) -> bool:
        """Tell whether storing this fact over the other would change nothing that was asked for."""
        return _told(self) == _told(other)


@dataclass(frozen=True)
class ActiveFact:
    """The fact that now holds a key."""

    id: UUID
    fact: NewFact


@dataclass(frozen=True)
class PlannedFact:
    """A row to insert."""

    id: UUID
    fact: NewFact
    supersedes_id: UUID | None
    validity: Validity = Validity.ACTIVE


@dataclass
class FactPlan:
    """What to write: ids as the caller will see them, rows to insert, rows that change."""

    ids: list[UUID] = field(default_factory=list)
    inserts: list[PlannedFact] = field(default_factory=list)
    superseded: dict[UUID, UUID] = field(default_factory=dict)  # old id -> new id
    confirmed: list[UUID] = field(default_factory=list)


def plan_fact_writes(
    active: Mapping[FactKey, ActiveFact], facts: Sequence[NewFact], new_id: Callable[[], UUID]
) -> FactPlan:
    """Decide, fact by fact in the given order, what confirms, what supersedes and what is new."""
    plan = FactPlan()
    holders = dict(active)
    for fact in facts:
        holder = holders.get(fact.key)
        if holder is not None and fact.says_the_same_as(holder.fact):
            plan.ids.append(holder.id)
            plan.confirmed.append(holder.id)
            continue
        planned = PlannedFact(new_id(), fact, holder.id if holder else None)
        if holder is not None:
            plan.superseded[holder.id] = planned.id
        plan.ids.append(planned.id)
        plan.inserts.append(planned)
        holders[fact.key] = ActiveFact(planned.id, fact)
    plan.inserts = [
        replace(row, validity=Validity.SUPERSEDED) if row.id in plan.superseded else row for row in plan.inserts
    ]
    return plan


def _told(fact: NewFact) -> tuple[Any, ...]:
    # `status` is the decay sweep's own mark, not something a caller told.
    metadata = {key: value for key, value in (fact.metadata or {}).items() if key != "status"}
    return (fact.content, fact.importance, fact.permanence, list(fact.tags or ()), metadata)
