"""Text made safe for storing, indexing and searching."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_core import preprocess_search_query, preprocess_text
from memory_core.text import MAX_INDEXED_BYTES

any_text = st.text(st.characters(codec=None), max_size=300)


@pytest.mark.scenario("NUL bytes removed")
def test_nul_bytes_are_removed():
    assert preprocess_text("a\x00b\x00") == "ab"


@pytest.mark.scenario("Whitespace normalization")
def test_white_space_is_collapsed():
    assert preprocess_text(" a\t\tb\n\n c  ") == "a b c"


@pytest.mark.scenario("Search query preprocessing")
def test_a_query_is_normalised_and_never_truncated():
    assert preprocess_search_query(" a\x00b \n c ") == "ab c"
    assert preprocess_search_query("") == preprocess_search_query(None) == ""
    long = "x" * (MAX_INDEXED_BYTES + 10)
    assert preprocess_search_query(long) == long


@pytest.mark.parametrize("character", ["a", "é", "茶", "🍵"])
def test_long_text_is_cut_to_a_megabyte_on_a_codepoint_boundary(character):
    cut = preprocess_text(character * MAX_INDEXED_BYTES)
    assert MAX_INDEXED_BYTES - 4 < len(cut.encode()) <= MAX_INDEXED_BYTES
    assert set(cut) == {character}


@given(any_text)
def test_preprocessed_text_is_stable_and_clean(text):
    once = preprocess_text(text)
    assert preprocess_text(once) == once
    assert "\x00" not in once
    assert once == " ".join(once.split())
