"""The boost for a candidate whose facts fit the topic, without a database."""

import pytest
from memory_entities.neighbourhood import jaccard, keywords, neighbourhood_boost


def words(text):
    return frozenset(text.split())


def test_keywords_have_no_case_no_accents_no_stop_words_and_split_predicates():
    assert keywords("works_at The Café of Zürich") == words("works cafe zurich")


def test_keywords_of_other_scripts_are_kept():
    assert keywords("Пётр 東京") == words("петр 東京")


@pytest.mark.parametrize(
    ("left", "right", "share"),
    [("a b", "a b", 1.0), ("a b", "b c", 1 / 3), ("a", "b", 0.0), ("", "", 0.0), ("", "a", 0.0)],
)
def test_jaccard_is_the_share_of_common_words(left, right, share):
    assert jaccard(words(left), words(right)) == share


def test_a_fact_that_says_just_the_terms_earns_the_whole_boost():
    assert neighbourhood_boost([words("chess club")], words("chess club")) == 20.0


def test_the_best_fact_counts_so_that_knowing_more_never_lowers_the_boost():
    few = [words("plays chess")]
    many = few + [words(f"other thing {n}") for n in range(400)]
    assert neighbourhood_boost(many, words("chess")) == neighbourhood_boost(few, words("chess")) == 10.0


def test_no_facts_earn_nothing():
    assert neighbourhood_boost([], words("chess")) == 0.0
