import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_agent import all_categories, categorize


def test_the_taxonomy_has_ten_categories():
    assert all_categories() == [
        "config",
        "code",
        "person",
        "project",
        "credential",
        "preference",
        "fact",
        "conversation",
        "task",
        "general",
    ]


def test_a_caller_cannot_change_the_taxonomy():
    all_categories().clear()
    assert len(all_categories()) == 10


@pytest.mark.parametrize(
    ("key", "content", "category"),
    [
        ("config:server", "port 8080, timeout of 30 seconds", "config"),
        ("parser", "the function is in the module; refactor the class", "code"),
        ("contact-anna", "a colleague, her birthday is in May", "person"),
        ("project:alpha", "the milestone of the next release", "project"),
        ("api-key", "secret token for GitHub", "credential"),
        ("editor", "I prefer dark backgrounds, my favourite font is serif", "preference"),
        ("fact:berlin", "located in Germany", "fact"),
        ("meeting_2026", "we discussed the budget, Tom said no", "conversation"),
        ("todo-list", "need to buy milk, the deadline is Friday", "task"),
        ("lunch", "noodles with mushrooms", "general"),
    ],
)
def test_each_category_is_recognised(key, content, category):
    assert categorize(key, content).category == category


def test_a_key_outweighs_a_word_of_the_content():
    assert categorize("password", "of the project").category == "credential"


@pytest.mark.parametrize("key", ["apiKey", "api_key", "api-key", "GITHUB:API-KEY", "api.key"])
def test_a_key_is_read_however_its_words_are_joined(key):
    assert categorize(key, "x").category == "credential"


def test_only_whole_words_count():
    assert categorize("entry", "authored by a tokenizer, secretly").category == "general"
    assert categorize("author", "wrote a book").category == "person"


def test_ties_go_to_the_earlier_category():
    assert categorize("config-task", "x").category == "config"


def test_confidence_is_a_fifth_per_point():
    assert categorize("password", "x").confidence == 0.6
    assert categorize("note-paper", "x").confidence == 0.6
    assert categorize("x", "a password").confidence == 0.2


def test_a_repeated_word_counts_once():
    assert categorize("x", "token token token").confidence == 0.2


@pytest.mark.scenario("Invariant 11: Category confidence bounds")
@given(st.text(), st.text() | st.sampled_from(["password secret token login oauth bearer certificate"]))
def test_confidence_is_zero_for_general_and_else_from_a_tenth_to_one(key, content):
    result = categorize(key, content)
    if result.confidence == 0.0:
        assert result.category == "general"
    else:
        assert 0.1 <= result.confidence <= 1.0


def test_no_keyword_at_all_falls_back_to_general_with_zero():
    result = categorize("xyz", "qwertz")
    assert (result.category, result.confidence) == ("general", 0.0)
