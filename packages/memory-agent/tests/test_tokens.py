import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_agent import term_frequency, tokenize
from memory_agent.tokens import STOP_WORDS, index_words


def test_tokens_are_lower_case_without_punctuation():
    assert tokenize("Hello, World! (Deploy)") == ["hello", "world", "deploy"]


def test_dashes_and_underscores_stay_inside_a_token():
    assert tokenize("api-key snake_case") == ["api-key", "snake_case"]


def test_stop_words_and_single_characters_are_removed():
    assert tokenize("the cat is on a mat x 7") == ["cat", "mat"]


def test_repeated_words_stay_so_that_frequency_can_be_counted():
    assert tokenize("cat cat dog") == ["cat", "cat", "dog"]


def test_a_rule_of_dashes_is_punctuation():
    assert tokenize("-- ___ ---") == []


@pytest.mark.scenario("Error case: Empty input to `tokenize`")
def test_an_empty_text_has_no_tokens():
    assert tokenize("") == []


@given(st.text())
def test_every_token_keeps_the_rules_whatever_the_text(text):
    for token in tokenize(text):
        assert re.fullmatch(r"[a-z0-9_-]{2,}", token)
        assert token not in STOP_WORDS


@given(st.text())
def test_tokenizing_the_tokens_again_changes_nothing(text):
    tokens = tokenize(text)
    assert tokenize(" ".join(tokens)) == tokens


def test_term_frequency_is_divided_by_the_length_of_the_document():
    assert term_frequency(["cat", "dog", "cat", "owl"]) == {"cat": 0.5, "dog": 0.25, "owl": 0.25}


def test_term_frequency_of_nothing_is_empty():
    assert term_frequency([]) == {}


@given(st.lists(st.sampled_from(["cat", "dog", "owl"]), min_size=1))
def test_term_frequencies_of_a_document_sum_to_one(tokens):
    assert sum(term_frequency(tokens).values()) == pytest.approx(1.0)


def test_index_words_fold_case_and_latin_accents():
    assert index_words("Crème BRÛLÉE straße") == ["creme", "brulee", "strasse"]


def test_index_words_keep_other_scripts():
    assert index_words("Привет мир") == ["привет", "мир"]


def test_index_words_split_unspaced_scripts_by_character():
    assert index_words("東京タワー") == ["東", "京", "タ", "ワ", "ー"]


@given(st.text())
def test_index_words_are_letters_and_digits_alone(text):
    assert all(word.isalnum() or word == "ー" for word in index_words(text))
