"""What a name may be, and when two spellings are the same one."""

import pytest
from memory_entities.names import clean_aliases, clean_entity_name, is_blank, spelling, unseen_names


@pytest.mark.parametrize("text", ["", " \t\n", "\x00", "\u200b\u200d", "\u0301", "\u2028", "\ufeff"])
def test_a_name_that_shows_nothing_is_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "李", "♥", "%", "_", " x "])
def test_a_name_with_one_visible_character_is_not_blank(text):
    assert not is_blank(text)


def test_a_decomposed_accent_is_composed_with_its_letter():
    assert clean_entity_name("Jose\u0301") == "José"


def test_spaces_are_single_and_nul_bytes_gone():
    assert clean_entity_name("  Ada\x00 \n King ") == "Ada King"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (" ", "canonical_name ' ' is empty; give it at least one visible character"),
        ("\u200b", r"canonical_name '\\u200b' has no visible character"),
        ("x" * 100_000, r"canonical_name is 100,000 bytes long .* at most 1,024 are allowed"),
        ("a\ud800", "lone surrogate"),
        (7, "canonical_name is int, not text"),
    ],
)
def test_a_bad_name_is_refused_with_the_rule(name, problem):
    with pytest.raises(ValueError, match=problem):
        clean_entity_name(name)


def test_aliases_keep_their_order_and_each_spelling_once_whatever_its_case():
    assert clean_aliases(["Bob", "Rob", "BOB", "bob "]) == ["Bob", "Rob"]


@pytest.mark.parametrize("aliases", ["Bob", 3, ["x"] * 201])
def test_aliases_that_are_no_list_are_refused(aliases):
    with pytest.raises(ValueError, match="is not a list of at most 200 names"):
        clean_aliases(aliases)


def test_only_unseen_spellings_are_new():
    assert unseen_names(["ada", "Grace", "GRACE"], seen=["Ada"]) == ["Grace"]


def test_case_is_no_part_of_a_spelling_but_accents_are():
    assert spelling("JOSÉ") == spelling("josé") == spelling("Jose\u0301")
    assert spelling("José") != spelling("Jose")
