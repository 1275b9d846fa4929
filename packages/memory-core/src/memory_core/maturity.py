"""How feedback moves a rule: pure functions of its standing, so that every step can be tested without a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_core.config import RulesConfig
from memory_core.vocabulary import Maturity

# One harmful outcome weighs as much as four helpful ones.
HARM_WEIGHT = 4
# Keeps the effectiveness of a rule that only ever harmed defined, and at zero.
HARM_SMOOTHING = 0.01


@dataclass(frozen=True)
class Standing:
    """What feedback has made of a rule so far."""

    maturity: Maturity
    applied: int
    successes: int
    harms: int
    effectiveness: float
    inversion_due: bool = False


def after_helpful(standing: Standing, age_days: float, policy: RulesConfig) -> Standing:
    """Return the standing after a helpful outcome: it can rise one step, and an inversion can become undue."""
    applied, successes = standing.applied + 1, standing.successes + 1
    marked = replace(standing, applied=applied, successes=successes, effectiveness=successes / applied)
    return replace(
        marked,
        maturity=promoted(marked, age_days, policy),
        inversion_due=standing.inversion_due and deserves_inversion(marked, policy),
    )


def after_harmful(standing: Standing, policy: RulesConfig) -> Standing:
    """Return the standing after a harmful outcome: it can fall one step, and an inversion can become due."""
    harms = standing.harms + 1
    marked = replace(
        standing,
        applied=standing.applied + 1,
        harms=harms,
        effectiveness=standing.successes / (standing.successes + HARM_WEIGHT * harms + HARM_SMOOTHING),
    )
    return replace(
        marked,
        maturity=demoted(marked, policy),
        inversion_due=standing.inversion_due or deserves_inversion(marked, policy),
    )


def promoted(standing: Standing, age_days: float, policy: RulesConfig) -> Maturity:
    """Return the maturity that a rule's successes earn it, at most one step up."""
    established, proven = policy.promote_to_established, policy.promote_to_proven
    if (
        standing.maturity is Maturity.CANDIDATE
        and standing.successes >= established.min_successes
        and standing.effectiveness >= established.min_effectiveness
    ):
        return Maturity.ESTABLISHED
    if (
        standing.maturity is Maturity.ESTABLISHED
        and standing.successes >= proven.min_successes
        and standing.effectiveness >= proven.min_effectiveness
        and age_days >= proven.min_age_days
    ):
        return Maturity.PROVEN
    return standing.maturity


def demoted(standing: Standing, policy: RulesConfig) -> Maturity:
    """Return the maturity that a rule keeps after harm, at most one step down."""
    if standing.maturity is Maturity.PROVEN and standing.effectiveness < policy.promote_to_proven.min_effectiveness:
        return Maturity.ESTABLISHED
    if (
        standing.maturity is Maturity.ESTABLISHED
        and standing.effectiveness < policy.promote_to_established.min_effectiveness
    ):
        return Maturity.CANDIDATE
    return standing.maturity


def deserves_inversion(standing: Standing, policy: RulesConfig) -> bool:
    """Tell whether a rule has harmed so often that it is better kept as a warning."""
    limits = policy.harmful_to_antipattern
    return (
        standing.maturity is not Maturity.ANTI_PATTERN
        and standing.harms >= limits.min_harmful
        and standing.effectiveness < limits.max_effectiveness
    )


def anti_pattern_text(content: str, reasons: Sequence[str]) -> str:
    """Return a rule's content as the warning that it becomes."""
    told = "; ".join(dict.fromkeys(reasons)) or "it was marked harmful repeatedly, without a reason"
    return f"ANTI-PATTERN: Do NOT {content}. This caused problems because: {told}"
