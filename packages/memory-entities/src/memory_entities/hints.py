"""What a caller knows about an ambiguous name: the topic, who else is mentioned, scores from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memory_core.errors import InvalidInputError
from memory_core.validation import parse_id

from memory_entities.neighbourhood import keywords


@dataclass(frozen=True)
class ContextHints:
    """Hints in the form that scoring uses; keys that it does not know are somebody else's and left alone."""

    terms: frozenset[str] = frozenset()
    domain_scores: Mapping[UUID, float] = field(default_factory=dict)

    @classmethod
    def of(cls, hints: Mapping[str, Any] | None) -> ContextHints:
        """Read hints from `topic`, `mentioned_with` and `domain_scores`, each optional.

        Raises:
            InvalidInputError: one of them is of the wrong type.
        """
        if hints is None:
            return cls()
        if not isinstance(hints, Mapping):
            raise InvalidInputError(f"context_hints {str(hints)[:60]!r} is not an object; pass key-value pairs")
        texts = [*_texts(hints, "topic"), *_texts(hints, "mentioned_with")]
        return cls(frozenset().union(*map(keywords, texts)), _domain_scores(hints.get("domain_scores")))


def _texts(hints: Mapping[str, Any], key: str) -> Sequence[str]:
    value = hints.get(key)
    if value is None:
        return ()
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise InvalidInputError(f"context_hints.{key} {str(value)[:60]!r} is neither a text nor a list of texts")
    return texts


def _domain_scores(scores: Any) -> dict[UUID, float]:
    if scores is None:
        return {}
    if not isinstance(scores, Mapping):
        raise InvalidInputError(f"context_hints.domain_scores {str(scores)[:60]!r} is not an object of id to number")
    for entity_id, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise InvalidInputError(
                f"context_hints.domain_scores gives {str(score)[:60]!r} to '{entity_id}'; a score is a finite number"
            )
    return {parse_id(entity_id, "context_hints.domain_scores key"): float(score) for entity_id, score in scores.items()}
