"""Tokens as the reference counts them, and runs that hold little padding."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_embed.token_runs import MAX_TOKENS, TextTokenizer, pad_run, plan_runs
from memory_embed.weights import TOKENIZER_FILE, data_package_directory


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    directory = data_package_directory()
    assert directory is not None
    return TextTokenizer(directory / TOKENIZER_FILE)


def test_a_text_is_framed_and_cut_at_256_tokens(tokenizer: TextTokenizer) -> None:
    assert tokenizer.encode("hello") == [101, 7592, 102]
    cut = tokenizer.encode("hello " * 300)
    assert len(cut) == MAX_TOKENS
    assert cut[-1] == 102


@pytest.mark.parametrize(
    "text",
    [
        "the river was high that spring, " * 3000,
        "  " * 9000 + "words after a desert of white space",
        "x" * 20_000,
        ("y" * 500 + " ") * 40,
        "語" * 9000,
        "\u00a0".join(["naïve"] * 4000),
        "a" + "\u0301" * 9000 + " b",
    ],
    ids=["prose", "white space", "one word", "unknown words", "no spaces", "other spaces", "combining marks"],
)
def test_a_long_text_gives_the_tokens_of_the_whole_text(tokenizer: TextTokenizer, text: str) -> None:
    assert tokenizer.encode(text) == tokenizer._ids(text)


@given(st.lists(st.integers(1, MAX_TOKENS), max_size=60))
def test_runs_hold_every_text_once_within_the_budget(lengths: list[int]) -> None:
    runs = list(plan_runs(lengths, tokens_per_run=512))
    assert sorted(position for run in runs for position in run) == list(range(len(lengths)))
    assert all(max(lengths[position] for position in run) * len(run) <= 512 for run in runs)


def test_texts_of_like_length_run_together() -> None:
    assert list(plan_runs([200, 3, 200, 4, 3], tokens_per_run=512)) == [[1, 4, 3], [0, 2]]


def test_padding_is_masked() -> None:
    ids, mask = pad_run([[101, 102], [101, 7592, 102]])
    assert ids.tolist() == [[101, 102, 0], [101, 7592, 102]]
    assert np.array_equal(mask, [[1, 1, 0], [1, 1, 1]])


def test_the_padding_of_the_file_is_not_used(tokenizer: TextTokenizer) -> None:
    assert len(tokenizer.encode("short")) == 3


def test_the_tokenizer_file_is_the_one_that_would_pad() -> None:
    # The reason for overriding it; should a new file not ask for 128, the override can go.
    directory = data_package_directory()
    assert directory is not None
    assert '"Fixed":128' in Path(directory / TOKENIZER_FILE).read_text().replace(" ", "")
