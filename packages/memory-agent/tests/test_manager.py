import json
import logging
import sqlite3

import pytest
from memory_agent import (
    InvalidInputError,
    LRUCacheOptions,
    MemoryManager,
    MemoryManagerOptions,
    SearchOptions,
    fast_search,
    list_memories,
    open_database,
    recall_memory,
    save_memory,
    search_memories,
)


def statements_of(db, action):
    """Return what SQLite was asked to run during an action."""
    seen = []
    db.set_trace_callback(seen.append)
    try:
        action()
    finally:
        db.set_trace_callback(None)
    return seen


@pytest.mark.scenario("Save with auto-enrichment")
def test_a_saved_api_key_is_a_credential_with_category_and_embedding(db, manager):
    saved = manager.save(agent_id="a", key="api-key", content="secret token for GitHub")
    assert saved.category == "credential"
    assert saved.category_confidence > 0
    categories = db.execute("SELECT memory_id, category, confidence FROM memory_categories").fetchall()
    assert categories == [(saved.id, "credential", saved.category_confidence)]
    assert db.execute("SELECT memory_id FROM memory_embeddings").fetchall() == [(saved.id,)]


@pytest.mark.scenario("Invariant 8: Auto-categorization on save")
def test_every_save_categorizes_anew(db, manager):
    manager.save("a", "note1", "the password is secret")
    assert manager.recall("a", "note1").category == "credential"
    manager.save("a", "note1", "the deadline of a task, need to hurry")
    assert manager.recall("a", "note1").category == "task"
    assert db.execute("SELECT category FROM memory_categories").fetchall() == [("task",)]


@pytest.mark.scenario("Invariant 9: Embedding update on save")
def test_every_save_stores_its_tfidf_vector(db, manager):
    manager.save("a", "one", "apple cake")
    manager.save("a", "two", "apple apple pie")
    saved = manager.save("a", "two", "apple apple tart")
    embedding = db.execute("SELECT vector, vocabulary FROM memory_embeddings WHERE memory_id = ?", (saved.id,))
    vector, vocabulary = embedding.fetchone()
    weights = json.loads(vector)
    assert set(weights) == {"two", "apple", "tart"}
    assert weights["apple"] == 0.0
    assert weights["tart"] == pytest.approx(0.25 * 0.405465, abs=1e-5)
    assert vocabulary == "tart,two,apple"


def test_the_vocabulary_of_an_embedding_is_at_most_fifty_terms(db, manager):
    manager.save("a", "long", " ".join(f"word{number}" for number in range(80)))
    [vocabulary] = db.execute("SELECT vocabulary FROM memory_embeddings").fetchone()
    assert len(vocabulary.split(",")) == 50


def test_a_save_is_one_transaction(manager, db):
    seen = statements_of(db, lambda: manager.save("a", "one", "apple cake"))
    assert [statement for statement in seen if statement.startswith(("BEGIN", "COMMIT"))] == [
        "BEGIN IMMEDIATE",
        "COMMIT",
    ]


def test_a_save_that_fails_half_way_leaves_nothing(db, manager):
    db.execute("CREATE TRIGGER no_more BEFORE INSERT ON memory_embeddings BEGIN SELECT RAISE(ABORT, 'no more'); END")
    with pytest.raises(sqlite3.IntegrityError, match="no more"):
        manager.save("a", "one", "apple cake")
    for table in ("agent_memories", "memory_documents", "memory_terms", "memory_categories"):
        assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.scenario("Invariant 4: Backward compatibility")
def test_what_a_manager_saves_the_core_sees_and_the_other_way_round(db, manager):
    manager.save("a", "by-manager", "apple cake")
    save_memory(db, "a", "by-core", "apple pie")
    assert recall_memory(db, "a", "by-manager").content == "apple cake"
    assert {memory.key for memory in search_memories(db, "a", "apple")} == {"by-manager", "by-core"}
    assert manager.recall("a", "by-core").content == "apple pie"
    assert {hit.memory.key for hit in manager.search_fast("a", "apple")} == {"by-manager", "by-core"}
    assert [memory.key for memory in manager.list("a")] == [memory.key for memory in list_memories(db, "a")]


def test_a_memory_of_the_core_has_no_category_yet(db, manager):
    save_memory(db, "a", "api-key", "secret token")
    recalled = manager.recall("a", "api-key")
    assert (recalled.category, recalled.category_confidence) == (None, None)


def test_new_content_by_the_core_drops_what_described_the_old(db, manager):
    manager.save("a", "note1", "the password is secret")
    save_memory(db, "a", "note1", "noodles")
    assert manager.recall("a", "note1").category is None
    assert db.execute("SELECT count(*) FROM memory_embeddings").fetchone() == (0,)


def test_the_same_content_by_the_core_keeps_its_category(db, manager):
    manager.save("a", "note1", "the password is secret")
    save_memory(db, "a", "note1", "the password is secret")
    assert manager.recall("a", "note1").category == "credential"


@pytest.mark.scenario("Cache-accelerated recall")
def test_the_second_recall_asks_the_database_nothing(db, manager):
    manager.save("a", "test", "apple")
    first = statements_of(db, lambda: manager.recall("a", "test"))
    second = statements_of(db, lambda: manager.recall("a", "test"))
    assert first
    assert second == []
    assert manager.recall("a", "test").content == "apple"


@pytest.mark.scenario("Invariant 7: Cache key format")
def test_a_memory_is_cached_under_agent_and_key(manager):
    manager.save("agent", "topic:one", "apple")
    manager.recall("agent", "topic:one")
    assert manager._cache.get("agent:topic:one").content == "apple"


@pytest.mark.scenario("Invariant 7: Cache key format")
def test_agents_whose_cache_keys_coincide_still_get_their_own(manager):
    manager.save("a", "b:c", "of a")
    manager.save("a:b", "c", "of a:b")
    for _ in range(2):
        assert manager.recall("a", "b:c").content == "of a"
        assert manager.recall("a:b", "c").content == "of a:b"


def test_a_cached_memory_expires(db, manager, clock):
    manager.save("a", "k", "apple")
    manager.recall("a", "k")
    clock.advance(301)
    assert statements_of(db, lambda: manager.recall("a", "k"))[-1].startswith("SELECT")


@pytest.mark.parametrize("write", ["core", "manager", "other manager", "delete"])
def test_any_write_of_this_process_is_seen_at_once(db, manager, write):
    manager.save("a", "k", "old")
    manager.recall("a", "k")
    match write:
        case "core":
            save_memory(db, "a", "k", "new")
        case "manager":
            manager.save("a", "k", "new")
        case "other manager":
            MemoryManager(db).save("a", "k", "new")
        case "delete":
            manager.delete("a", "k")
    recalled = manager.recall("a", "k")
    assert (recalled and recalled.content) == (None if write == "delete" else "new")


def test_a_write_of_another_connection_is_seen_after_a_second(memory_file, clock):
    here, elsewhere = open_database(memory_file), open_database(memory_file)
    manager = MemoryManager(here, cache_clock=clock)
    manager.save("a", "k", "old")
    manager.recall("a", "k")
    # As another process would: not through this package, so nobody here is told.
    elsewhere.execute("UPDATE agent_memories SET content = 'new'")
    assert manager.recall("a", "k").content == "old"
    clock.advance(1)
    assert manager.recall("a", "k").content == "new"
    here.close()
    elsewhere.close()


def test_own_writes_do_not_empty_the_cache(db, manager, clock):
    manager.save("a", "k", "apple")
    manager.recall("a", "k")
    manager.save("a", "other", "pear")
    clock.advance(2)
    manager.recall("a", "k")
    assert manager.get_cache_stats() == {"size": 1}


def test_what_is_rolled_back_was_never_cached(db, manager):
    manager.save("a", "k", "old")
    db.execute("BEGIN")
    manager.save("a", "k", "new")
    assert manager.recall("a", "k").content == "new"
    db.execute("ROLLBACK")
    assert manager.recall("a", "k").content == "old"


def test_an_agents_cache_can_be_forgotten(manager):
    for agent in ("a", "b"):
        manager.save(agent, "k", "apple")
        manager.recall(agent, "k")
    manager.invalidate_agent("a")
    assert manager.get_cache_stats() == {"size": 1}
    manager.clear_cache()
    assert manager.get_cache_stats() == {"size": 0}


def test_after_clearing_the_cache_searches_score_as_before(db, manager):
    manager.save("a", "one", "apple cake")
    manager.save("a", "two", "pear pie")
    before = manager.search_fast("a", "apple")
    manager.clear_cache()
    assert manager.search_fast("a", "apple") == before


def test_the_size_of_the_cache_can_be_chosen(db):
    manager = MemoryManager(db, MemoryManagerOptions(cache=LRUCacheOptions(max_size=2)))
    for number in range(5):
        manager.save("a", f"k{number}", "apple")
        manager.recall("a", f"k{number}")
    assert manager.get_cache_stats() == {"size": 2}


def test_memories_are_listed_by_category_newest_first(manager):
    manager.save("a", "password", "apple")
    manager.save("a", "lunch", "noodles")
    manager.save("a", "api-token", "pear")
    manager.save("b", "password", "of b")
    assert [memory.key for memory in manager.list_by_category("a", "credential")] == ["api-token", "password"]


def test_a_category_lists_at_most_twenty_and_no_archived_memory(db, manager):
    for number in range(25):
        manager.save("a", f"password {number}", "apple")
    assert len(manager.list_by_category("a", "credential")) == 20
    db.execute("UPDATE agent_memories SET archived = 1")
    assert manager.list_by_category("a", "credential") == []


def test_an_unknown_category_is_refused(manager):
    with pytest.raises(InvalidInputError, match="category 'colour' is not one of: config, code"):
        manager.list_by_category("a", "colour")


@pytest.mark.scenario("Error case: Category table doesn't exist")
def test_without_the_table_no_category_lists_anything_and_saving_goes_on(db, manager):
    manager.save("a", "password", "apple")
    db.execute("DROP TABLE memory_categories")
    assert manager.list_by_category("a", "credential") == []
    assert manager.recall("a", "password").category is None
    assert manager.save("a", "token", "pear").category == "credential"


@pytest.mark.scenario("Error case: `ensureMemorySchema` fails")
def test_a_manager_goes_on_without_extension_tables_that_cannot_be_created(db, caplog, clock):
    for table in ("memory_categories", "memory_embeddings", "memory_cross_refs"):
        db.execute(f"DROP TABLE {table}")
    # An index of that name is in the way of the table.
    db.execute("CREATE INDEX memory_categories ON agent_memories (status)")
    with caplog.at_level(logging.WARNING, logger="memory_agent"):
        manager = MemoryManager(db, cache_clock=clock)
    assert "extension tables could not be created" in caplog.text
    saved = manager.save("a", "password", "apple")
    assert saved.category == "credential"
    assert manager.recall("a", "password").content == "apple"
    assert [hit.memory.key for hit in manager.search_fast("a", "apple")] == ["password"]
    assert manager.list_by_category("a", "credential") == manager.get_related(saved.id) == []


async def test_a_search_tells_its_mode_and_its_candidates(manager):
    for number in range(12):
        manager.save("a", f"k{number}", f"apple {number}")
    result = await manager.search("a", "apple", SearchOptions(limit=5))
    assert (len(result.memories), result.mode, result.total_candidates) == (5, "fast", 12)


def test_a_fast_search_needs_no_event_loop(manager, db, now):
    manager.save("a", "k", "apple")
    hits = manager.search_fast("a", "apple", SearchOptions(mode="deep"))
    assert hits == fast_search(db, "a", "apple", now=now)


def test_a_manager_opens_and_closes_its_file(memory_file):
    with MemoryManager.open(memory_file) as manager:
        manager.save("a", "k", "apple")
    with MemoryManager.open(memory_file) as manager:
        assert manager.recall("a", "k").content == "apple"
    with pytest.raises(sqlite3.ProgrammingError):
        manager.list("a")
