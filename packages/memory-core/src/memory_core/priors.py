"""Reorders each list of candidates by what the query says about people and time, before the lists are fused: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_core.candidates import Candidate
from memory_core.named_people import name_phrases
from memory_core.time_cues import NO_TIME_CUES, TimeCues, speaks_of_time, time_cues

# In the semantic list a cue is worth this part of the distance between its first and its last similarity,
PERSON_SIMILARITY = 0.15
TIME_SIMILARITY = 0.25
# and in the keyword list this part of the rank itself.
PERSON_RANK = 0.1
TIME_RANK = 0.5


@dataclass(frozen=True)
class QueryCues:
    """Whom a query is about, and when."""

    person: str | None = None
    time: TimeCues = NO_TIME_CUES

    def __bool__(self) -> bool:
        return self.person is not None or self.time != NO_TIME_CUES


def query_cues(query: str, names: Sequence[str], now: datetime) -> QueryCues:
    """Return what a query says; of two people that it names neither is preferred."""
    first_names = {name.partition(" ")[0] for name in names if name in name_phrases(query)}
    return QueryCues(first_names.pop() if len(first_names) == 1 else None, time_cues(query, now))


def prefer_similar(candidates: Sequence[Candidate], cues: QueryCues, depth: int) -> list[Candidate]:
    """Return a semantic list, nearest first, in the order that the cues suggest.

    Similarities of one model lie far apart and of another close together: a cue counts in parts of the distance
    between the first and the `depth`-th.
    """
    if not cues or not candidates:
        return list(candidates)
    spread = candidates[0].score - candidates[:depth][-1].score

    def preferred(candidate: Candidate) -> float:
        return candidate.score + spread * _bonus(candidate, cues, PERSON_SIMILARITY, TIME_SIMILARITY)

    return sorted(candidates, key=preferred, reverse=True)


def prefer_matching(candidates: Sequence[Candidate], cues: QueryCues) -> list[Candidate]:
    """Return a keyword list, best first, in the order that the cues suggest."""
    if not cues or not candidates:
        return list(candidates)

    def preferred(candidate: Candidate) -> float:
        return candidate.score * (1 + _bonus(candidate, cues, PERSON_RANK, TIME_RANK))

    return sorted(candidates, key=preferred, reverse=True)


def _bonus(candidate: Candidate, cues: QueryCues, person: float, time: float) -> float:
    is_about = cues.person is not None and candidate.about == cues.person
    answers_when = cues.time.asks_when and speaks_of_time(candidate.opening)
    return person * is_about + time * cues.time.fits(candidate.created_at) + time * answers_when
