"""The formulas behind a recalled memory's score: pure functions of values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

HALF_LIFE_DAYS = 7.0
SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class ScoreWeights:
    """How much each component counts."""

    relevance: float = 0.4
    importance: float = 0.3
    recency: float = 0.2
    confidence: float = 0.1


@dataclass(frozen=True)
class ScoreComponents:
    """What is known of a memory when it is scored; importance from 0 to 10, everything else from 0 to 1."""

    relevance: float
    importance: float
    recency: float
    confidence: float


class Scorer(Protocol):
    """Turns components into one number; a larger one is recalled first."""

    def score(self, components: ScoreComponents, weights: ScoreWeights) -> float:
        """Return the score of one memory."""


class CompositeScorer:
    """The default: the weighted sum of the specification."""

    def score(self, components: ScoreComponents, weights: ScoreWeights) -> float:
        """Return the weighted sum of the four components."""
        return compute_composite_score(
            components.relevance, components.importance, components.recency, components.confidence, weights
        )


def effective_confidence(
    confidence: float, decay_rate: float, last_confirmed_at: datetime | None, now: datetime | None = None
) -> float:
    """Return what is left of a confidence since it was last confirmed; without decay all of it."""
    if decay_rate == 0.0:
        return confidence
    if last_confirmed_at is None:
        return 0.0
    return confidence * math.exp(-decay_rate * days_between(last_confirmed_at, now))


def compute_recency_score(last_referenced_at: datetime | None, now: datetime | None = None) -> float:
    """Return how fresh the last reference is: 1 now, half after seven days, 0 if there was none."""
    if last_referenced_at is None:
        return 0.0
    return min(1.0, max(0.0, math.exp(-math.log(2) / HALF_LIFE_DAYS * days_between(last_referenced_at, now))))


def compute_composite_score(
    relevance: float,
    importance: float,
    recency: float,
    effective_confidence: float,
    weights: ScoreWeights | Mapping[str, float] | None = None,
) -> float:
    """Return the weighted sum; importance is scaled from 0..10 to 0..1 and relevance capped at 1."""
    chosen = weights if isinstance(weights, ScoreWeights) else ScoreWeights(**dict(weights or {}))
    return (
        chosen.relevance * min(relevance, 1.0)
        + chosen.importance * (importance / 10.0)
        + chosen.recency * recency
        + chosen.confidence * effective_confidence
    )


def days_between(earlier: datetime, now: datetime | None = None) -> float:
    """Return the days that have passed, never less than none."""
    moment = now or datetime.now(UTC)
    return max(0.0, (moment - earlier).total_seconds() / SECONDS_PER_DAY)
