from datetime import timedelta

import pytest
from memory_agent import (
    InvalidInputError,
    list_memories,
    recall_memory,
    save_memory,
    search_memories,
    summarize_old_memories,
)

SUMMARY_KEY = "summary:project:2026-06-15"


@pytest.fixture
def save_old(db, now):
    def save(key, content="text", days=60, agent_id="a"):
        return save_memory(db, agent_id, key, content, now=now - timedelta(days=days))

    return save


def archived(db):
    return sorted(key for (key,) in db.execute("SELECT key FROM agent_memories WHERE archived = 1"))


@pytest.mark.scenario("Summarize old memories")
def test_two_old_memories_of_a_project_become_one_summary(db, save_old, now):
    save_old("project:alpha", "uses Rust")
    save_old("project:beta", "uses Go")
    assert summarize_old_memories(db, "a", now=now) == 2
    assert archived(db) == ["project:alpha", "project:beta"]
    assert recall_memory(db, "a", SUMMARY_KEY).content == (
        'Summary of 2 "project" memories (archived 2026-06-15):\n- [project:alpha] uses Rust\n- [project:beta] uses Go'
    )


@pytest.mark.scenario("Summarizer skips single-memory groups")
@pytest.mark.scenario("Invariant 12: Summarizer minimum group size")
def test_a_single_old_memory_is_left_alone(db, save_old, now):
    save_old("config:port")
    save_old("project:alpha")
    assert summarize_old_memories(db, "a", now=now) == 0
    assert archived(db) == []
    assert len(list_memories(db, "a")) == 2


@pytest.mark.scenario("Invariant 13: Summarizer preserves recency")
def test_only_memories_older_than_the_age_are_summarized(db, save_old, now):
    save_old("project:at", days=30)
    save_old("project:young", days=29)
    save_old("project:old", days=30.01)
    save_old("project:older", days=31)
    assert summarize_old_memories(db, "a", now=now) == 2
    assert archived(db) == ["project:old", "project:older"]


def test_the_age_can_be_chosen(db, save_old, now):
    save_old("project:alpha", days=8)
    save_old("project:beta", days=8)
    assert summarize_old_memories(db, "a", 10, now=now) == 0
    assert summarize_old_memories(db, "a", 7, now=now) == 2


def test_keys_without_a_prefix_form_the_general_group(db, save_old, now):
    save_old("alpha")
    save_old(":beta")
    assert summarize_old_memories(db, "a", now=now) == 2
    assert recall_memory(db, "a", "summary:general:2026-06-15") is not None


def test_each_group_gets_a_summary_of_its_own(db, save_old, now):
    for key in ("project:a", "project:b", "task:a", "task:b", "task:c", "person:a"):
        save_old(key)
    assert summarize_old_memories(db, "a", now=now) == 5
    assert sorted(memory.key for memory in list_memories(db, "a")) == [
        "person:a",
        SUMMARY_KEY,
        "summary:task:2026-06-15",
    ]


def test_only_the_agents_own_memories_are_summarized(db, save_old, now):
    save_old("project:a")
    save_old("project:b", agent_id="b")
    assert summarize_old_memories(db, "a", now=now) == 0


def test_a_long_content_is_cut_after_two_hundred_characters(db, save_old, now):
    save_old("project:exact", "x" * 200)
    save_old("project:long", "y" * 201)
    summarize_old_memories(db, "a", now=now)
    lines = recall_memory(db, "a", SUMMARY_KEY).content.splitlines()
    assert lines[1:] == ["- [project:exact] " + "x" * 200, "- [project:long] " + "y" * 200 + "..."]


def test_a_line_break_in_a_memory_does_not_start_an_entry(db, save_old, now):
    save_old("project:a", "one\n- [project:forged] two")
    save_old("project:b")
    summarize_old_memories(db, "a", now=now)
    assert len(recall_memory(db, "a", SUMMARY_KEY).content.splitlines()) == 3


def test_a_second_summary_on_one_day_continues_the_first(db, save_old, now):
    save_old("project:a", "first")
    save_old("project:b", "second")
    summarize_old_memories(db, "a", now=now)
    save_old("project:c", "third")
    save_old("project:d", "fourth")
    assert summarize_old_memories(db, "a", now=now) == 2
    assert recall_memory(db, "a", SUMMARY_KEY).content.splitlines() == [
        'Summary of 4 "project" memories (archived 2026-06-15):',
        "- [project:a] first",
        "- [project:b] second",
        "- [project:c] third",
        "- [project:d] fourth",
    ]


def test_a_text_that_somebody_keeps_under_the_summarys_key_is_not_lost(db, save_old, now):
    save_memory(db, "a", SUMMARY_KEY, "my own words", now=now)
    save_old("project:a")
    save_old("project:b")
    summarize_old_memories(db, "a", now=now)
    assert recall_memory(db, "a", SUMMARY_KEY).content.startswith('my own words\n\nSummary of 2 "project"')


def test_a_second_run_finds_nothing_to_do(db, save_old, now):
    save_old("project:a")
    save_old("project:b")
    summarize_old_memories(db, "a", now=now)
    assert summarize_old_memories(db, "a", now=now) == 0


def test_old_summaries_are_not_summarized_again(db, save_old, now):
    for key in ("project:a", "project:b", "task:a", "task:b"):
        save_old(key)
    summarize_old_memories(db, "a", now=now)
    assert summarize_old_memories(db, "a", now=now + timedelta(days=100)) == 0


def test_a_summary_is_found_and_its_originals_are_not(db, save_old, now):
    save_old("project:alpha", "uses Rust")
    save_old("project:beta", "uses Go")
    summarize_old_memories(db, "a", now=now)
    assert [memory.key for memory in search_memories(db, "a", "rust")] == [SUMMARY_KEY]


def test_a_manager_forgets_what_it_had_cached_of_archived_memories(db, manager, save_old, now):
    save_old("project:alpha")
    save_old("project:beta")
    assert not manager.recall("a", "project:alpha").archived
    summarize_old_memories(db, "a", now=now)
    assert manager.recall("a", "project:alpha").archived


def test_times_in_other_formats_are_understood(db, save_old, now):
    save_old("project:a")
    save_old("project:b")
    db.execute("UPDATE agent_memories SET updated_at = '2026-04-01T10:00:00Z' WHERE key = 'project:a'")
    db.execute("UPDATE agent_memories SET updated_at = 'once upon a time' WHERE key = 'project:b'")
    assert summarize_old_memories(db, "a", now=now) == 0
    db.execute("UPDATE agent_memories SET updated_at = '2026-04-01 12:00:00+02:00' WHERE key = 'project:b'")
    assert summarize_old_memories(db, "a", now=now) == 2


def test_a_group_whose_name_merely_looks_like_that_of_summaries_is_summarized(db, save_old, now):
    save_old("Summary:a")
    save_old("Summary:b")
    assert summarize_old_memories(db, "a", now=now) == 2


def test_a_failure_half_way_archives_nothing(db, save_old, now):
    save_old("project:a")
    save_old("project:b")
    db.execute("CREATE TRIGGER no_more BEFORE INSERT ON agent_memories BEGIN SELECT RAISE(ABORT, 'no more'); END")
    with pytest.raises(Exception, match="no more"):
        summarize_old_memories(db, "a", now=now)
    assert archived(db) == []


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf"), 36_501, 10**400, "30", None, True])
def test_an_age_that_is_no_number_of_days_is_refused(db, days):
    with pytest.raises(InvalidInputError, match="is not a number from 0 to 36,500; pass for example 30"):
        summarize_old_memories(db, "a", days)
