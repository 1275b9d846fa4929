"""Errors can be stored and shown: no tokens, no paths, bounded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_consolidate.sanitising import MAX_ERROR_CHARS, describe_error, sanitise_error
from memory_core import InvalidInputError


@pytest.mark.parametrize(
    ("text", "kept", "gone"),
    [
        ("401 for key sk-ant-api03-abcdefgh", "401 for key", "abcdefgh"),
        ("Authorization: Bearer abc.def-ghi", "Authorization", "abc.def"),
        ('{"api_key": "hunter2"}', "api_key", "hunter2"),
        ("OPENAI_API_KEY=hunter2 is wrong", "is wrong", "hunter2"),
        ("password='a b c' refused", "refused", "a b c"),
        ("postgresql://me:hunter2@db/x is away", "is away", "hunter2"),
        ("cannot open /home/me/.ssh/id_rsa now", "cannot open", "id_rsa"),
        ("cannot open ~/notes/secret.txt", "cannot open", "secret.txt"),
        (r"cannot open C:\Users\me\key.pem now", "now", "key.pem"),
        ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc refused", "refused", "eyJ"),
        ("session 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b failed", "failed", "9f86d081"),
        ("two\nlines\x00and\x1b[31m colour", "two lines", "\x1b"),
    ],
)
def test_secrets_and_paths_are_taken_out(text, kept, gone):
    sanitised = sanitise_error(text)
    assert kept in sanitised
    assert gone not in sanitised


def test_ids_ratios_and_web_addresses_stay():
    text = "fact '6f1f64e0-8f0c-4b4f-9d7c-3a9c5e0d9d10' failed 3/4 times at http://127.0.0.1:11434/v1"
    assert sanitise_error(text) == text


def test_an_error_is_bounded_and_names_its_type_unless_it_is_ours():
    assert len(sanitise_error("x " * 100_000)) == MAX_ERROR_CHARS == 500
    assert describe_error(KeyError("x")) == "KeyError: 'x'"
    assert describe_error(InvalidInputError("importance 11 is too high")) == "importance 11 is too high"


@settings(deadline=None)
@given(st.text())
def test_any_text_becomes_one_line_that_postgresql_can_store(text):
    sanitised = sanitise_error(text)
    assert len(sanitised) <= MAX_ERROR_CHARS
    assert sanitised.isprintable()
    sanitised.encode("utf-8")
