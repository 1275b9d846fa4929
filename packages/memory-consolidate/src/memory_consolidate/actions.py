"""What a language model may ask for: models that let nothing malformed past the boundary.

A missing or empty text refuses an action; a value that merely qualifies it (permanence, importance, tags, scope)
falls back to its default, because a fact is worth more than its label.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any, ClassVar
from uuid import UUID

from memory_core import InvalidInputError, MemoryType, Permanence
from memory_core.text import clean_content, clean_name
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

DEFAULT_IMPORTANCE = 5.0
MIN_IMPORTANCE, MAX_IMPORTANCE = 1.0, 10.0
MAX_TAGS = 20


def _canonical_id(value: Any) -> str:
    try:
        return str(value if isinstance(value, UUID) else UUID(value.strip()))
    except (AttributeError, ValueError):
        raise InvalidInputError(f"{str(value)[:60]!r} is not a UUID string") from None


def _known_permanence(value: Any) -> Permanence | None:
    word = value.strip().lower() if isinstance(value, str) else ""
    return Permanence(word) if word in set(Permanence) else None


def _clamped_importance(value: Any) -> float | None:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else min(max(number, MIN_IMPORTANCE), MAX_IMPORTANCE)


def _clean_tags(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    tags = (_clean_or_none(tag) for tag in value)
    return tuple(dict.fromkeys(tag for tag in tags if tag))[:MAX_TAGS]


def _clean_or_none(value: Any) -> str | None:
    try:
        return clean_name(value, "tag")
    except InvalidInputError:
        return None


def _valid_ids(value: Any) -> tuple[UUID, ...]:
    found: dict[UUID, None] = {}
    for item in value if isinstance(value, list | tuple) else ():
        try:
            found[UUID(_canonical_id(item))] = None
        except InvalidInputError:
            continue
    return tuple(found)


UuidText = Annotated[str, BeforeValidator(_canonical_id)]
Name = Annotated[str, AfterValidator(lambda text, info: clean_name(text, info.field_name))]
Content = Annotated[str, AfterValidator(lambda text, info: clean_content(text, info.field_name))]
Scope = Annotated[str | None, BeforeValidator(_clean_or_none)]
ChosenPermanence = Annotated[Permanence, BeforeValidator(lambda word: _known_permanence(word) or Permanence.STANDARD)]
ChosenImportance = Annotated[float, BeforeValidator(lambda value: _clamped_importance(value) or DEFAULT_IMPORTANCE)]
ChosenTags = Annotated[tuple[str, ...], BeforeValidator(lambda value: _clean_tags(value) or ())]
Evidence = Annotated[tuple[UUID, ...], BeforeValidator(_valid_ids)]


class Action(BaseModel):
    """One thing to do; keys that it does not know are ignored, because models like to comment."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    kind: ClassVar[str]
    memory_type: ClassVar[MemoryType] = MemoryType.FACT

    evidence_episode_ids: Evidence = ()

    def idempotency_key(self, butler: str, episode_ids: Sequence[UUID]) -> str:
        """Return what names this action on this group of episodes: the same for whoever repeats it."""
        group = [butler, *sorted(str(id_) for id_ in episode_ids)]
        return sha256(json.dumps([self.kind, group, self.model_dump(mode="json")]).encode()).hexdigest()


class NewFact(Action):
    """A fact that the episodes tell and that is not known yet."""

    kind: ClassVar[str] = "new_fact"

    subject: Name
    predicate: Name
    content: Content
    permanence: ChosenPermanence = Permanence.STANDARD
    importance: ChosenImportance = DEFAULT_IMPORTANCE
    tags: ChosenTags = ()
    scope: Scope = None


class UpdatedFact(Action):
    """A known fact that the episodes correct; what it leaves out is kept from the fact that it replaces."""

    kind: ClassVar[str] = "updated_fact"

    target_id: UuidText
    subject: Name
    predicate: Name
    content: Content
    permanence: Annotated[Permanence | None, BeforeValidator(_known_permanence)] = None
    importance: Annotated[float | None, BeforeValidator(_clamped_importance)] = None
    tags: Annotated[tuple[str, ...] | None, BeforeValidator(_clean_tags)] = None
    scope: Scope = None


class NewRule(Action):
    """A way to behave that the episodes teach."""

    kind: ClassVar[str] = "new_rule"
    memory_type: ClassVar[MemoryType] = MemoryType.RULE

    content: Content
    tags: ChosenTags = ()
    scope: Scope = None


class Confirmation(Action):
    """A known fact or rule that the episodes bear out: its id alone, or an object that also names the evidence."""

    kind: ClassVar[str] = "confirmation"

    target_id: UuidText

    @model_validator(mode="before")
    @classmethod
    def _from_plain_id(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return value if "target_id" in value else {**value, "target_id": value.get("id")}
        return {"target_id": value}


@dataclass
class ConsolidationResult:
    """What a model's answer asks for, and what of it could not be read."""

    new_facts: list[NewFact] = field(default_factory=list)
    updated_facts: list[UpdatedFact] = field(default_factory=list)
    new_rules: list[NewRule] = field(default_factory=list)
    confirmations: list[str] = field(default_factory=list)
    parse_errors: list[str] = field(default_factory=list)
    confirmation_evidence: dict[str, tuple[UUID, ...]] = field(default_factory=dict)

    @property
    def actions(self) -> list[Action]:
        """Everything to do, in the order in which it is done.

        Confirmations come first: an older episode may bear out what a younger one of the same batch replaces. They are
        sorted, so that two answers lock the rows that both confirm in one order.
        """
        confirmed = [
            Confirmation(target_id=id_, evidence_episode_ids=self.confirmation_evidence.get(id_, ()))
            for id_ in sorted(self.confirmations)
        ]
        return [*confirmed, *self.new_facts, *self.updated_facts, *self.new_rules]

    @property
    def answered(self) -> bool:
        """Whether the model answered at all: an answer without any readable action is none, unless it says so."""
        return bool(self.actions) or not self.parse_errors
