"""How feedback moves a rule's standing, without a database."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_core.config import RulesConfig
from memory_core.maturity import Standing, after_harmful, after_helpful, anti_pattern_text
from memory_core.vocabulary import Maturity

POLICY = RulesConfig()
NEW = Standing(Maturity.CANDIDATE, 0, 0, 0, 0.0)


def helped(standing, times, age_days=0.0):
    for _ in range(times):
        standing = after_helpful(standing, age_days, POLICY)
    return standing


def harmed(standing, times):
    for _ in range(times):
        standing = after_harmful(standing, POLICY)
    return standing


@pytest.mark.scenario("Rule promotion from candidate to established")
def test_the_fifth_success_establishes_a_candidate():
    assert helped(NEW, 4).maturity is Maturity.CANDIDATE
    assert helped(NEW, 5).maturity is Maturity.ESTABLISHED


def test_five_successes_that_are_outweighed_establish_nothing():
    often_useless = replace(NEW, applied=20, successes=4)
    assert after_helpful(often_useless, 0, POLICY).maturity is Maturity.CANDIDATE


@pytest.mark.scenario("Rule promotion from established to proven")
def test_fifteen_successes_prove_a_rule_only_once_it_is_thirty_days_old():
    established = helped(NEW, 14, age_days=29.9)
    assert after_helpful(established, 29.9, POLICY).maturity is Maturity.ESTABLISHED
    assert after_helpful(established, 30.0, POLICY).maturity is Maturity.PROVEN


def test_a_rule_rises_one_step_at_a_time():
    demoted = Standing(Maturity.CANDIDATE, 30, 29, 1, 0.5)
    assert after_helpful(demoted, 90, POLICY).maturity is Maturity.ESTABLISHED


@pytest.mark.scenario("Rule demotion from established to candidate")
def test_harm_that_leaves_an_established_rule_below_its_bar_makes_it_a_candidate():
    established = helped(NEW, 5)
    assert after_harmful(established, POLICY).effectiveness == pytest.approx(5 / 9.01)
    assert after_harmful(established, POLICY).maturity is Maturity.CANDIDATE


def test_harm_that_leaves_an_established_rule_above_its_bar_changes_nothing():
    assert after_harmful(helped(NEW, 7), POLICY).maturity is Maturity.ESTABLISHED


@pytest.mark.scenario("Rule demotion from proven to established")
def test_harm_that_leaves_a_proven_rule_below_its_bar_makes_it_established_and_no_less():
    proven = helped(NEW, 15, age_days=40)
    assert proven.maturity is Maturity.PROVEN
    assert after_harmful(proven, POLICY).maturity is Maturity.ESTABLISHED
    assert after_harmful(replace(proven, successes=1), POLICY).maturity is Maturity.ESTABLISHED


def test_harm_never_promotes_and_help_never_demotes():
    promising = Standing(Maturity.CANDIDATE, 40, 40, 0, 1.0)
    poor = Standing(Maturity.PROVEN, 40, 1, 0, 0.1)
    assert after_harmful(promising, POLICY).maturity is Maturity.CANDIDATE
    assert after_helpful(poor, 0, POLICY).maturity is Maturity.PROVEN


@pytest.mark.scenario("Anti-pattern inversion trigger")
def test_the_third_harm_makes_an_ineffective_rule_due_for_inversion():
    assert not harmed(NEW, 2).inversion_due
    assert harmed(NEW, 3).inversion_due
    assert not harmed(helped(NEW, 10), 3).inversion_due


def test_help_can_make_an_inversion_undue_again():
    due = harmed(NEW, 3)
    assert after_helpful(due, 0, POLICY).inversion_due  # 1 of 4 is still below 0.3
    assert not helped(due, 2).inversion_due


def test_the_two_formulas_are_applied_as_they_stand_so_help_after_harm_jumps():
    standing = harmed(helped(NEW, 5), 1)
    assert standing.effectiveness == pytest.approx(0.555, abs=0.001)
    assert after_helpful(standing, 0, POLICY).effectiveness == pytest.approx(6 / 7)


def test_an_anti_pattern_keeps_its_maturity_and_is_not_inverted_again():
    warning = Standing(Maturity.ANTI_PATTERN, 5, 0, 5, 0.0)
    assert helped(warning, 50, age_days=365).maturity is Maturity.ANTI_PATTERN
    after = harmed(warning, 5)
    assert (after.maturity, after.inversion_due) == (Maturity.ANTI_PATTERN, False)


@given(st.lists(st.booleans(), max_size=60), st.floats(0, 400))
def test_any_sequence_of_marks_counts_each_and_moves_at_most_one_step(marks, age_days):
    standing = NEW
    order = list(Maturity)
    for helpful in marks:
        after = after_helpful(standing, age_days, POLICY) if helpful else after_harmful(standing, POLICY)
        step = order.index(after.maturity) - order.index(standing.maturity)
        assert step in ((0, 1) if helpful else (-1, 0))
        assert 0 <= after.effectiveness <= 1
        standing = after
    assert (standing.applied, standing.successes, standing.harms) == (len(marks), sum(marks), len(marks) - sum(marks))


def test_a_warning_gives_each_reason_once_and_says_so_where_there_is_none():
    assert anti_pattern_text("Reply at once", ["woke them", "too hasty", "woke them"]) == (
        "ANTI-PATTERN: Do NOT Reply at once. This caused problems because: woke them; too hasty"
    )
    assert anti_pattern_text("Reply at once", []).endswith(
        "because: it was marked harmful repeatedly, without a reason"
    )
