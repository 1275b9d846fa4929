"""The formulas behind a score."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from memory_core import compute_composite_score, compute_recency_score, effective_confidence
from memory_core.scoring import CompositeScorer, ScoreComponents, ScoreWeights

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.scenario("Composite score formula")
def test_the_composite_score_is_the_weighted_sum_of_its_parts():
    score = compute_composite_score(0.5, 8.0, 0.25, 0.9)
    assert score == pytest.approx(0.4 * 0.5 + 0.3 * 0.8 + 0.2 * 0.25 + 0.1 * 0.9)


def test_relevance_counts_up_to_one():
    assert compute_composite_score(3.0, 0, 0, 0) == pytest.approx(0.4)


def test_weights_can_be_chosen_as_an_object_or_by_name():
    weights = ScoreWeights(relevance=1.0, importance=0.0, recency=0.0, confidence=0.0)
    assert compute_composite_score(0.7, 10, 1, 1, weights) == pytest.approx(0.7)
    named = {"relevance": 0.0, "importance": 1.0, "recency": 0.0, "confidence": 0.0}
    assert compute_composite_score(0.7, 6, 1, 1, named) == pytest.approx(0.6)


def test_the_default_scorer_is_the_formula():
    components = ScoreComponents(0.5, 8.0, 0.25, 0.9)
    assert CompositeScorer().score(components, ScoreWeights()) == compute_composite_score(0.5, 8.0, 0.25, 0.9)


@pytest.mark.scenario("Recency score uses exponential decay")
@pytest.mark.parametrize(("days", "expected"), [(0, 1.0), (7, 0.5), (14, 0.25), (-3, 1.0)])
def test_recency_halves_every_seven_days_and_stays_between_0_and_1(days, expected):
    assert compute_recency_score(NOW - timedelta(days=days), NOW) == pytest.approx(expected)


def test_a_memory_that_was_never_referenced_has_no_recency():
    assert compute_recency_score(None, NOW) == 0.0


@pytest.mark.scenario("Permanent facts never decay")
@pytest.mark.parametrize("confirmed", [None, NOW - timedelta(days=10_000)])
def test_without_decay_confidence_stays(confirmed):
    assert effective_confidence(0.7, 0.0, confirmed, NOW) == 0.7


@pytest.mark.scenario("Unconfirmed memory returns zero confidence")
def test_a_memory_that_was_never_confirmed_has_no_confidence():
    assert effective_confidence(1.0, 0.008, None, NOW) == 0.0


def test_confidence_decays_from_its_last_confirmation():
    confirmed = NOW - timedelta(days=100)
    assert effective_confidence(0.9, 0.008, confirmed, NOW) == pytest.approx(0.9 * math.exp(-0.8))
