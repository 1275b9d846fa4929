"""What a query says about people and time."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_core.candidates import Candidate
from memory_core.keyword_terms import KeywordTerms, Lexeme
from memory_core.named_people import mask_names, name_phrases
from memory_core.priors import QueryCues, prefer_matching, prefer_similar, query_cues
from memory_core.time_cues import TimeCues, speaks_of_time, time_cues
from memory_core.vocabulary import MemoryType

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ("What did Ada research?", ["ada"]),
        ("Did Ada Lovelace meet Mary's son?", ["ada", "lovelace", "ada lovelace", "mary"]),
        ("what did ada say", ["ada", "say", "ada say"]),
        ("When is it?", []),
        ("", []),
    ],
)
def test_capitalised_words_may_be_names(query, phrases):
    assert name_phrases(query) == phrases


@pytest.mark.parametrize(
    ("query", "masked"),
    [
        ("What did Ada research?", "What did someone research?"),
        ("What is Ada's plan?", "What is someone's plan?"),
        ("Where did Ada Lovelace live?", "Where did someone live?"),
        ("where did ada live", "where did someone live"),
        ("Who is Ada?", "Who is Ada?"),
        ("Ada", "Ada"),
        ("Canada is large", "Canada is large"),
    ],
)
def test_known_names_are_masked_unless_nothing_else_is_said(query, masked):
    assert mask_names(query, ["ada"]) == masked


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=5))
def test_any_text_can_be_asked_and_masked(query, names):
    name_phrases(query)
    time_cues(query, NOW)
    assert isinstance(mask_names(query, [name for name in names if name.strip()]), str)


@pytest.mark.parametrize(
    ("query", "inside", "outside"),
    [
        ("What happened in June?", (2025, 6, 20), (2025, 8, 20)),
        ("What happened in June 2024?", (2024, 6, 20), (2025, 6, 20)),
        ("Where were we on 5 May 2025?", (2025, 5, 6), (2025, 6, 1)),
        ("Where were we on May 5th?", (2024, 5, 8), (2024, 5, 20)),
        ("In December?", (2025, 1, 3), (2025, 2, 3)),
        ("On February 29?", (2025, 3, 1), (2025, 4, 1)),
        ("What did we do in 2023?", (2023, 11, 1), (2025, 11, 1)),
        ("The meeting of 2025-07-14", (2025, 7, 14), (2025, 9, 1)),
        ("What did I do yesterday?", (2026, 3, 17), (2026, 3, 1)),
        ("What was it three weeks ago?", (2026, 2, 25), (2025, 12, 1)),
    ],
)
def test_a_query_names_a_period(query, inside, outside):
    cues = time_cues(query, NOW)
    assert cues.fits(datetime(*inside, 12, tzinfo=UTC))
    assert not cues.fits(datetime(*outside, 12, tzinfo=UTC))


@pytest.mark.parametrize("query", ["May I march on?", "What may come?", "on 31 February 2025", "version 2.0", ""])
def test_what_is_no_date_is_no_period(query):
    assert [p for p in time_cues(query, NOW).periods if p.start.month not in (5,)] == []


def test_questions_for_a_time_prefer_texts_that_speak_of_one():
    assert time_cues("When did we leave?", NOW).asks_when
    assert time_cues("How long was it?", NOW).asks_when
    assert not time_cues("Who was there?", NOW).asks_when
    assert speaks_of_time("We left last Tuesday")
    assert not speaks_of_time("We left in a hurry")


def candidate(number, score, about=None, created_at=NOW, opening=""):
    return Candidate(
        MemoryType.EPISODE, UUID(int=number), created_at, 5.0, None, None, None, None, about, opening, score
    )


def order(candidates):
    return [each.id.int for each in candidates]


def test_the_person_asked_about_comes_up_a_little():
    cues = query_cues("What did Ada say?", ["ada"], NOW)
    nearest = [candidate(1, 0.50, "mary"), candidate(2, 0.49, "ada"), candidate(3, 0.30, "ada")]
    assert order(prefer_similar(nearest, cues, 10)) == [2, 1, 3]
    matching = [candidate(1, 0.10, "mary"), candidate(2, 0.095, "ada"), candidate(3, 0.05, "ada")]
    assert order(prefer_matching(matching, cues)) == [2, 1, 3]


def test_of_two_people_neither_is_preferred():
    assert query_cues("What did Ada tell Mary?", ["ada", "mary"], NOW).person is None


def test_memories_of_the_named_time_come_up():
    cues = QueryCues(time=time_cues("What happened in June 2025?", NOW))
    june = datetime(2025, 6, 10, tzinfo=UTC)
    nearest = [candidate(1, 0.5), candidate(2, 0.46, created_at=june), candidate(3, 0.3, created_at=june)]
    assert order(prefer_similar(nearest, cues, 10)) == [2, 1, 3]


def test_without_cues_nothing_moves():
    nearest = [candidate(1, 0.5), candidate(2, 0.4)]
    assert not QueryCues()
    assert order(prefer_similar(nearest, QueryCues(), 10)) == [1, 2]
    assert TimeCues().fits(NOW - timedelta(days=1)) is False


def test_common_words_rank_but_do_not_select():
    terms = KeywordTerms.of("'custard' & 'say'", [Lexeme("custard", 0.001, 10), Lexeme("say", 0.4, 4_000)])
    assert terms.selecting == "'custard'"
    assert terms.ranking == "'custard' | 'say'"


def test_a_query_of_common_words_selects_by_the_least_common():
    assert KeywordTerms.of("'a' & 'b'", [Lexeme("a", 0.2, 9_000), Lexeme("b", 0.4, 18_000)]).selecting == "'a'"


def test_words_are_taken_rarest_first_while_few_rows_are_expected():
    lexemes = [Lexeme("a"), Lexeme("b", 0.01, 1_000), Lexeme("c", 0.02, 2_500), Lexeme("d", 0.03, 3_000)]
    assert KeywordTerms.of("x", lexemes).selecting == "'a' | 'b' | 'c'"


def test_a_long_query_keeps_its_rarest_words():
    assert KeywordTerms.of("x", [Lexeme(f"word{n}") for n in range(500)]).ranking.count("|") == 31
