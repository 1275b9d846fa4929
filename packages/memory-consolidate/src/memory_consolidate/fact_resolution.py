"""Decides which stored fact an action means: pure, so that every case can be tested without a database."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from memory_core import NewFact as StoredFact
from memory_core import Permanence

from memory_consolidate.actions import DEFAULT_IMPORTANCE, NewFact, UpdatedFact

GLOBAL_SCOPE = "global"


def fact_to_store(
    action: NewFact | UpdatedFact,
    target: Mapping[str, Any] | None,
    *,
    butler: str,
    scope: str,
    evidence: Sequence[UUID],
) -> StoredFact:
    """Return the fact that an action stores; `target` is the active fact that an update names, if the butler sees it.

    An update takes over the key of its target, so that it replaces it, and whatever it does not say itself.
    """
    known: Mapping[str, Any] = target if target and names_same_fact(action, target) else {}
    return StoredFact(
        subject=known.get("subject", action.subject),
        predicate=known.get("predicate", action.predicate),
        content=action.content,
        importance=_first(action.importance, known.get("importance"), DEFAULT_IMPORTANCE),
        permanence=_first(action.permanence, known.get("permanence"), Permanence.STANDARD),
        scope=known.get("scope") or allowed_scope(action.scope, butler, scope),
        tags=_first(action.tags, known.get("tags"), ()),
        metadata={key: value for key, value in known.get("metadata", {}).items() if key != "status"},
        entity_id=known.get("entity_id"),
        source_butler=butler,
        source_episode_id=evidence[0] if evidence else None,
    )


def names_same_fact(action: NewFact | UpdatedFact, target: Mapping[str, Any]) -> bool:
    """Tell whether an update speaks of its target: an id that belongs to another fact must not overwrite that one.

    Models respell keys, so case, spaces, hyphens and underscores do not count; an entity may be called by any name.
    """
    if _folded(action.predicate) != _folded(target["predicate"]):
        return False
    return target["entity_id"] is not None or _folded(action.subject) == _folded(target["subject"])


def allowed_scope(asked: str | None, butler: str, default: str) -> str:
    """Return the scope that a model asked for if it is everybody's or the butler's own, else the default."""
    return asked if asked in (GLOBAL_SCOPE, butler) and asked is not None else default


def same_text(one: str, other: str) -> bool:
    """Tell whether two contents differ in nothing but white space."""
    return one.split() == other.split()


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)
