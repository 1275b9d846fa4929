import sqlite3
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from memory_agent import (
    InvalidInputError,
    MemoryManager,
    delete_memory,
    fast_search,
    list_memories,
    open_database,
    recall_memory,
    save_memory,
    search_memories,
)
from memory_agent.tokens import index_words


def keys(memories):
    return [memory.key for memory in memories]


def test_a_saved_memory_is_recalled_by_its_key(db, now):
    saved = save_memory(db, "a", "color", "blue", now=now)
    assert recall_memory(db, "a", "color") == saved
    assert (saved.content, saved.status, saved.txid, saved.archived) == ("blue", "pending", None, False)
    assert saved.created_at == saved.updated_at == "2026-06-15 12:00:00.000"


def test_saving_a_key_again_replaces_its_content_and_keeps_its_id(db, now):
    first = save_memory(db, "a", "color", "blue", now=now)
    second = save_memory(db, "a", "color", "green", now=now + timedelta(days=1))
    assert (second.id, second.created_at, second.content) == (first.id, first.created_at, "green")
    assert second.updated_at > first.updated_at


def test_a_transaction_id_is_kept_for_the_content_it_confirmed_and_for_no_other(db):
    save_memory(db, "a", "color", "blue")
    db.execute("UPDATE agent_memories SET txid = 'TX1', status = 'confirmed'")
    same = save_memory(db, "a", "color", "blue")
    other = save_memory(db, "a", "color", "green")
    assert (same.txid, same.status) == ("TX1", "confirmed")
    assert (other.txid, other.status) == (None, "pending")


@pytest.mark.scenario("Error case: Recall nonexistent key")
def test_recalling_an_unknown_key_gives_none(db, manager):
    assert recall_memory(db, "a", "nothing") is None
    assert manager.recall("a", "nothing") is None


def test_an_archived_memory_can_still_be_recalled_by_its_key(db):
    save_memory(db, "a", "color", "blue")
    db.execute("UPDATE agent_memories SET archived = 1")
    recalled = recall_memory(db, "a", "color")
    assert recalled is not None
    assert recalled.archived


def test_saving_an_archived_key_brings_it_back(db):
    save_memory(db, "a", "color", "blue")
    db.execute("UPDATE agent_memories SET archived = 1")
    assert list_memories(db, "a") == search_memories(db, "a", "blue") == []
    save_memory(db, "a", "color", "blue")
    assert keys(list_memories(db, "a")) == keys(search_memories(db, "a", "blue")) == ["color"]


def test_lists_are_newest_first_and_at_most_twenty(db, now):
    for number in range(25):
        save_memory(db, "a", f"k{number}", "text", now=now + timedelta(seconds=number))
    assert keys(list_memories(db, "a")) == [f"k{number}" for number in range(24, 4, -1)]


@pytest.mark.scenario("Invariant 1: Agent isolation")
def test_an_agent_never_sees_what_another_saved(db, manager):
    manager.save("a", "shared-key", "kubernetes of a")
    manager.save("b", "shared-key", "kubernetes of b")
    manager.save("b", "only-b", "kubernetes only of b")
    assert [memory.content for memory in list_memories(db, "a")] == ["kubernetes of a"]
    assert [memory.content for memory in search_memories(db, "a", "kubernetes")] == ["kubernetes of a"]
    assert [hit.memory.content for hit in manager.search_fast("a", "kubernetes")] == ["kubernetes of a"]
    assert manager.recall("a", "shared-key").content == "kubernetes of a"
    assert manager.recall("a", "only-b") is None
    assert search_memories(db, "a", "only-b") == []
    assert search_memories(db, "nobody", "kubernetes") == []


@pytest.mark.parametrize("stranger", ["1", "1x", "a%", "A", "a' OR '1'='1", "a:b"])
def test_no_agent_name_reaches_into_another_agents_memories(db, stranger):
    save_memory(db, "a", "b:secret", "kubernetes")
    save_memory(db, stranger, "own", "unrelated")
    assert search_memories(db, stranger, "kubernetes") == []
    assert recall_memory(db, stranger, "secret") is None


def test_all_words_must_match(db):
    save_memory(db, "a", "one", "red apple")
    save_memory(db, "a", "two", "red car")
    assert keys(search_memories(db, "a", "apple red")) == ["one"]


def test_a_word_may_be_the_beginning_of_one(db):
    save_memory(db, "a", "one", "kubernetes cluster")
    assert keys(search_memories(db, "a", "kube")) == ["one"]


def test_keys_are_searched_as_well(db):
    save_memory(db, "a", "database-url", "somewhere")
    assert keys(search_memories(db, "a", "database")) == ["database-url"]


def test_the_best_match_comes_first(db):
    save_memory(db, "a", "passing", "a long text about many things, and among them one apple in a basket of fruit")
    save_memory(db, "a", "about", "apple apple")
    assert keys(search_memories(db, "a", "apple")) == ["about", "passing"]


def test_search_gives_at_most_twenty(db):
    for number in range(25):
        save_memory(db, "a", f"k{number}", "apple")
    assert len(search_memories(db, "a", "apple")) == 20


def test_without_a_matching_word_a_substring_is_found_newest_first(db, now):
    save_memory(db, "a", "old", "submarine", now=now)
    save_memory(db, "a", "new", "ultramarine", now=now + timedelta(days=1))
    assert keys(search_memories(db, "a", "MARINE")) == ["new", "old"]


@pytest.mark.parametrize(("wildcard", "found"), [("%", ["percent"]), ("_", ["underscore"]), ("\\", ["backslash"])])
def test_wildcards_of_a_substring_search_are_plain_characters(db, wildcard, found):
    save_memory(db, "a", "percent", "100% sure")
    save_memory(db, "a", "underscore", "snake_case")
    save_memory(db, "a", "backslash", "C:\\temp")
    assert keys(search_memories(db, "a", wildcard)) == found


def test_a_damaged_index_falls_back_to_the_substring_search_and_says_so(db, caplog):
    save_memory(db, "a", "one", "apple pie")
    db.execute("DROP TABLE memory_search")
    assert keys(search_memories(db, "a", "apple pie")) == ["one"]
    assert "the full-text index could not be searched" in caplog.text


def test_archived_memories_are_not_found_by_word_or_substring(db):
    save_memory(db, "a", "one", "apple")
    db.execute("UPDATE agent_memories SET archived = 1")
    assert search_memories(db, "a", "apple") == search_memories(db, "a", "ppl") == []


def test_old_words_of_a_replaced_content_are_not_found(db):
    save_memory(db, "a", "fruit", "apple")
    save_memory(db, "a", "fruit", "pear")
    assert search_memories(db, "a", "apple") == []
    assert keys(search_memories(db, "a", "pear")) == ["fruit"]


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_a_blank_query_finds_nothing(db, query):
    save_memory(db, "a", "one", "apple")
    assert search_memories(db, "a", query) == []


def test_other_scripts_are_found_without_regard_to_case_and_accents(db):
    save_memory(db, "a", "ru", "Привет МИР")
    save_memory(db, "a", "fr", "crème brûlée")
    save_memory(db, "a", "ja", "明日は東京タワーへ行く")
    assert keys(search_memories(db, "a", "мир")) == ["ru"]
    assert keys(search_memories(db, "a", "creme BRULEE")) == ["fr"]
    assert keys(search_memories(db, "a", "東京")) == ["ja"]


NEEDLE = "apple pie with cinnamon and pear"


@pytest.fixture(scope="module")
def shared_db():
    connection = open_database(":memory:")
    save_memory(connection, "a", "needle", NEEDLE)
    yield connection
    connection.close()


def needle_holds(query):
    """The rule in plain Python: each word of the query is, or begins, a run of words of the key or the content."""
    parts = [words for words in map(index_words, query.split()) if words]
    return bool(parts) and all(holds(["needle"], words) or holds(NEEDLE.split(), words) for words in parts)


def holds(text, words):
    starts = range(len(text) - len(words) + 1)
    runs = [text[start : start + len(words)] for start in starts]
    return any(run[:-1] == words[:-1] and run[-1].startswith(words[-1]) for run in runs)


@given(st.text() | st.text(alphabet='apie "*^(){}:-+,.ANDORNEAT', max_size=40))
@example('apple" OR "zebra')
@example('zebra" OR "apple')
@example("key_words:apple")
@example("key_words : needle")
@example("apple NOT pie")
@example("NEAR(apple pie)")
@example("-apple ^apple apple* (apple {apple}")
@example('"""')
@example("apple AND pie")
@example("apple\x00pie")
@example("apple.pie")
@example("apple " * 5000)
def test_no_query_text_is_full_text_syntax(shared_db, query):
    found = [hit.memory.key for hit in fast_search(shared_db, "a", query)]
    assert found == (["needle"] if needle_holds(query) else [])


@given(st.text())
def test_no_query_text_breaks_the_core_search(shared_db, query):
    assert keys(search_memories(shared_db, "a", query)) in ([], ["needle"])


def test_deleting_a_memory_leaves_nothing_of_it_behind(db, manager):
    kept = manager.save("a", "kept", "apple cake recipe")
    manager.save("a", "gone", "apple cake recipe with nuts")
    assert delete_memory(db, "a", "gone")
    assert recall_memory(db, "a", "gone") is None
    assert search_memories(db, "a", "nuts") == []
    assert manager.get_related(kept.id) == []
    for table in ("memory_categories", "memory_embeddings", "memory_documents"):
        assert db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 1
    assert not delete_memory(db, "a", "gone")


@pytest.mark.parametrize(
    ("agent_id", "key", "content", "message"),
    [
        ("", "k", "c", "agent_id '' is blank; pass at least one visible character"),
        ("a", " ", "c", "key ' ' is blank"),
        ("a", "k", "\n", r"content '\\n' is blank"),
        ("a", "k", None, "content None is not a string; pass text"),
        ("a", "k", "x\ud800", "content 'x\\\\ud800' has a lone surrogate at position 1"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(db, manager, agent_id, key, content, message):
    for save in (lambda: save_memory(db, agent_id, key, content), lambda: manager.save(agent_id, key, content)):
        with pytest.raises(InvalidInputError, match=message):
            save()
    assert db.execute("SELECT count(*) FROM agent_memories").fetchone()[0] == 0
    assert not db.in_transaction


@pytest.mark.parametrize("limit", [0, -1, 2.5, "3", True, None])
def test_a_limit_that_is_no_count_is_refused(db, limit):
    with pytest.raises(InvalidInputError, match="is not a whole number from 1 to 1,000,000"):
        list_memories(db, "a", limit=limit)


def test_a_caller_whose_transaction_rolls_back_has_saved_nothing(db):
    db.execute("BEGIN")
    save_memory(db, "a", "color", "blue")
    db.execute("ROLLBACK")
    assert recall_memory(db, "a", "color") is None
    assert search_memories(db, "a", "blue") == []


def test_a_plain_connection_with_its_own_row_factory_works_too():
    plain = sqlite3.connect(":memory:")
    plain.row_factory = sqlite3.Row
    manager = MemoryManager(plain)
    manager.save("a", "color", "blue")
    assert manager.search_fast("a", "blue")[0].memory.key == "color"
    assert not plain.in_transaction
    plain.close()
