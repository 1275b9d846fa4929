"""Whatever a model writes, the parser returns a result and lists what it could not read."""

import json
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_consolidate import ConsolidationResult, parse_consolidation_output
from memory_consolidate.parsing import KEYS, MAX_ACTIONS, MAX_READINGS, NO_JSON

FACT = {"subject": "user", "predicate": "city", "content": "Paris"}


def answer(**lists: object) -> str:
    return json.dumps({key: [] for key in KEYS} | lists)


def fenced(text: str, mark: str = "```json") -> str:
    return f"Sure, here it is:\n\n{mark}\n{text}\n```\n\nAnything else?"


@pytest.mark.scenario("Parse fenced JSON code block")
@pytest.mark.parametrize("mark", ["```json", "```", "```JSON", "  ```json  ", "````json"])
def test_a_fenced_block_is_read_with_prose_around_it(mark):
    text = fenced(answer(new_facts=[FACT]), mark)
    result = parse_consolidation_output(text if mark != "````json" else text.replace("\n```\n", "\n````\n"))
    assert [fact.content for fact in result.new_facts] == ["Paris"]
    assert result.parse_errors == []


@pytest.mark.scenario("Parse bare JSON object")
@pytest.mark.parametrize(
    "text",
    [
        answer(new_facts=[FACT]),
        "I found one {fact}: " + answer(new_facts=[FACT]) + " and that is {all}.",
        "{ not json } {" + answer(new_facts=[FACT]),
        json.dumps(json.loads(answer(new_facts=[FACT])), indent=2),
    ],
)
def test_a_bare_object_is_read_with_prose_and_braces_around_it(text):
    result = parse_consolidation_output(text)
    assert [fact.content for fact in result.new_facts] == ["Paris"]
    assert result.parse_errors == []


@pytest.mark.parametrize("content", ["a } b", "{", "}}}{{{", '"}', "```\n}", "```json\n{}\n```", "\\", "a\u2028b"])
def test_braces_quotes_and_fences_inside_strings_do_not_end_the_object(content):
    for text in (
        answer(new_facts=[FACT | {"content": content}]),
        fenced(answer(new_facts=[FACT | {"content": content}])),
    ):
        assert [fact.content for fact in parse_consolidation_output(text).new_facts] == [content]


def test_an_answer_in_several_blocks_adds_up():
    text = fenced(json.dumps({"new_facts": [FACT]})) + fenced(json.dumps({"new_rules": [{"content": "Be brief."}]}))
    result = parse_consolidation_output(text)
    assert (len(result.new_facts), len(result.new_rules)) == (1, 1)


def test_a_final_version_replaces_its_draft():
    text = fenced(answer(new_facts=[FACT | {"content": "draft"}])) + fenced(answer(new_facts=[FACT]))
    assert [fact.content for fact in parse_consolidation_output(text).new_facts] == ["Paris"]


def test_a_fenced_answer_wins_over_objects_in_the_prose():
    text = f"For example {answer(new_facts=[FACT | {'content': 'example'}])} would be wrong." + fenced(
        answer(new_facts=[FACT])
    )
    assert [fact.content for fact in parse_consolidation_output(text).new_facts] == ["Paris"]


def test_a_fenced_block_of_something_else_does_not_hide_the_answer():
    text = fenced('{"plan": "think first"}') + answer(new_facts=[FACT])
    assert len(parse_consolidation_output(text).new_facts) == 1


@pytest.mark.scenario("New fact validation")
@pytest.mark.parametrize("missing", ["subject", "predicate", "content"])
@pytest.mark.parametrize("value", [None, "", "  \n", 7, ["x"], "\ud800", "ABSENT"])
def test_a_fact_without_subject_predicate_or_content_is_refused_and_reported(missing, value):
    broken = {key: text for key, text in (FACT | {missing: value}).items() if text != "ABSENT"}
    result = parse_consolidation_output(answer(new_facts=[broken, FACT]))
    assert len(result.new_facts) == 1
    [error] = result.parse_errors
    assert error.startswith(f"new_facts[0]: {missing}: ")


@pytest.mark.parametrize(
    ("given_value", "read"),
    [("stable", "stable"), (" Permanent ", "permanent"), ("forever", "standard"), (None, "standard"), (3, "standard")],
)
def test_permanence_defaults_to_standard(given_value, read):
    [fact] = parse_consolidation_output(answer(new_facts=[FACT | {"permanence": given_value}])).new_facts
    assert fact.permanence == read


@pytest.mark.parametrize(
    ("given_value", "read"),
    [
        (0, 1.0),
        (-5, 1.0),
        (7.5, 7.5),
        (11, 10.0),
        (10**400, 5.0),
        ("8", 8.0),
        ("high", 5.0),
        (None, 5.0),
        (True, 5.0),
        ([], 5.0),
    ],
)
def test_importance_is_clamped(given_value, read):
    [fact] = parse_consolidation_output(answer(new_facts=[FACT | {"importance": given_value}])).new_facts
    assert fact.importance == read


@pytest.mark.parametrize(
    ("given_value", "read"),
    [(["a", "b", "a"], ("a", "b")), ("a", ()), (None, ()), ([1, "x", "", None, {}], ("x",)), ({}, ())],
)
def test_tags_default_to_an_empty_list(given_value, read):
    [fact] = parse_consolidation_output(answer(new_facts=[FACT | {"tags": given_value}])).new_facts
    assert fact.tags == read


@pytest.mark.scenario("Updated fact validation")
def test_an_update_needs_a_target_and_the_whole_fact():
    target = str(uuid4())
    entries = [
        FACT | {"target_id": target.upper()},
        FACT | {"target_id": "the first one"},
        FACT,
        {"target_id": target, "subject": "user", "predicate": "city"},
    ]
    result = parse_consolidation_output(answer(updated_facts=entries))
    [update] = result.updated_facts
    assert update.target_id == target
    assert (update.importance, update.permanence, update.tags) == (None, None, None)
    assert [error.partition(":")[0] for error in result.parse_errors] == [f"updated_facts[{n}]" for n in (1, 2, 3)]
    assert "'the first one' is not a UUID string" in result.parse_errors[0]


@pytest.mark.scenario("Confirmation validation")
def test_confirmations_that_are_no_ids_are_skipped_and_reported():
    good, other, episode = str(uuid4()), str(uuid4()), uuid4()
    named = {"id": other, "evidence_episode_ids": [str(episode), "nonsense"]}
    result = parse_consolidation_output(answer(confirmations=[good, "nope", 5, None, good, named, {}]))
    assert result.confirmations == [good, other]
    assert result.confirmation_evidence[other] == (episode,)
    assert [error.partition(":")[0] for error in result.parse_errors] == [f"confirmations[{n}]" for n in (1, 2, 3, 6)]


@pytest.mark.scenario("No JSON found")
@pytest.mark.parametrize("text", ["", "I cannot help with that.", "{", "{]}", "[1, 2]", "```json\n{oops}\n```", None])
def test_an_answer_without_json_says_so(text):
    assert parse_consolidation_output(text) == ConsolidationResult(parse_errors=[NO_JSON])
    assert NO_JSON == "No JSON block found in consolidation output"


@pytest.mark.parametrize("text", ["{}", '{"error": "I refuse"}', fenced('{"facts": []}')])
def test_json_without_any_of_the_keys_is_no_answer(text):
    result = parse_consolidation_output(text)
    assert result.parse_errors == ["The JSON has none of the keys new_facts, updated_facts, new_rules, confirmations"]
    assert not result.answered


def test_empty_lists_are_an_answer_and_unreadable_entries_alone_are_none():
    assert parse_consolidation_output(answer()).answered
    assert not parse_consolidation_output(answer(new_facts=[{}, {}])).answered
    assert parse_consolidation_output(answer(new_facts=[{}, FACT])).answered


def test_a_list_that_is_none_is_reported():
    result = parse_consolidation_output(answer(new_facts={"0": FACT}, new_rules=[{"content": "Be brief."}]))
    assert result.parse_errors == ["new_facts: expected a list, got dict"]
    assert len(result.new_rules) == 1


def test_more_actions_than_any_batch_needs_are_cut():
    result = parse_consolidation_output(answer(new_facts=[FACT] * (MAX_ACTIONS + 1)))
    assert len(result.new_facts) == MAX_ACTIONS
    assert result.parse_errors == ["new_facts: 1001 entries, only the first 1000 are read"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.uuids().map(str),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ENTRY = st.dictionaries(
    st.sampled_from(
        [
            "subject",
            "predicate",
            "content",
            "target_id",
            "permanence",
            "importance",
            "tags",
            "scope",
            "evidence_episode_ids",
            "id",
        ]
    ),
    JSON,
)
ANSWER = st.dictionaries(st.sampled_from(KEYS), st.lists(ENTRY | JSON, max_size=5) | JSON)


@settings(deadline=None)
@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_no_text_raises(text):
    assert isinstance(parse_consolidation_output(text), ConsolidationResult)


@settings(deadline=None)
@given(ANSWER, st.text(max_size=30), st.text(max_size=30), st.integers(0, 400))
def test_no_json_raises_whole_or_cut(value, before, after, cut):
    text = before + fenced(json.dumps(value)) + after
    for shown in (text, text[:cut], text[cut:], json.dumps(value)):
        result = parse_consolidation_output(shown)
        for fact in result.new_facts:
            assert fact.subject
            assert 1.0 <= fact.importance <= 10.0
        # Every action survives the way to its key and back.
        assert all(len(action.idempotency_key("home", [])) == 64 for action in result.actions)


@pytest.mark.parametrize("text", ['{"a":' * 100_000, "{" * 500_000, '{"new_facts":[' * 50_000, "```json\n" * 100_000])
def test_deep_nesting_ends_in_a_result(text):
    assert not parse_consolidation_output(text).answered


def test_a_number_of_absurd_length_does_not_cost_the_answer():
    text = answer(new_facts=[FACT | {"importance": 0}]).replace('"importance": 0', f'"importance": {"9" * 5000}')
    assert [fact.importance for fact in parse_consolidation_output(text).new_facts] == [5.0]


def test_a_fence_that_never_closes_does_not_hide_the_answer():
    assert len(parse_consolidation_output("```json\n" + answer(new_facts=[FACT])).new_facts) == 1
    assert len(parse_consolidation_output("`````\n" + fenced(answer(new_facts=[FACT]))).new_facts) == 1


@pytest.mark.parametrize("rest", ['"' + "x" * 100_000, "[" + "1," * 50_000, '"' + "x" * 100_000 + '"'])
def test_false_starts_that_read_far_ahead_are_bounded_together(monkeypatch, rest):
    starts = []

    class CountingDecoder(json.JSONDecoder):
        def raw_decode(self, text, position=0):
            starts.append(position)
            return super().raw_decode(text, position)

    monkeypatch.setattr("memory_consolidate.parsing._DECODER", CountingDecoder())
    assert not parse_consolidation_output('{"k":' * 300 + rest).answered
    assert len(starts) <= MAX_READINGS + 1
