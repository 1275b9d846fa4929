import sqlite3

import pytest
from memory_agent import (
    MemoryManager,
    UnsupportedSqliteError,
    UnusableFileError,
    ensure_memory_schema,
    list_memories,
    open_database,
    save_memory,
    search_memories,
)
from memory_agent.schema import APPLICATION_ID, SCHEMA_VERSION

SEED_TABLES = {
    "agent_memories": {
        "id": ("TEXT", 0, None, 1),
        "agent_id": ("TEXT", 1, None, 0),
        "key": ("TEXT", 1, None, 0),
        "content": ("TEXT", 1, None, 0),
        "txid": ("TEXT", 0, "NULL", 0),
        "status": ("TEXT", 0, "'pending'", 0),
        "archived": ("INTEGER", 1, "0", 0),
        "created_at": ("TEXT", 0, "datetime('now')", 0),
        "updated_at": ("TEXT", 0, "datetime('now')", 0),
    },
    "memory_categories": {
        "memory_id": ("TEXT", 0, None, 1),
        "category": ("TEXT", 1, "'general'", 0),
        "confidence": ("REAL", 1, "1.0", 0),
        "updated_at": ("TEXT", 0, "datetime('now')", 0),
    },
    "memory_embeddings": {
        "memory_id": ("TEXT", 0, None, 1),
        "vector": ("TEXT", 1, None, 0),
        "vocabulary": ("TEXT", 1, "''", 0),
        "updated_at": ("TEXT", 0, "datetime('now')", 0),
    },
    "memory_cross_refs": {
        "source_id": ("TEXT", 1, None, 1),
        "target_id": ("TEXT", 1, None, 2),
        "score": ("REAL", 1, "0.0", 0),
        "created_at": ("TEXT", 0, "datetime('now')", 0),
    },
}
CASCADING = {
    "memory_categories": ["memory_id"],
    "memory_embeddings": ["memory_id"],
    "memory_cross_refs": ["source_id", "target_id"],
}


def schema_of(db):
    return db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


@pytest.mark.parametrize("table", SEED_TABLES)
def test_a_table_has_the_columns_of_the_specification(db, table):
    columns = {row[1]: row[2:] for row in db.execute(f"PRAGMA table_info({table})")}
    assert columns == SEED_TABLES[table]


@pytest.mark.parametrize("table", CASCADING)
def test_what_was_derived_from_a_memory_goes_with_it(db, table):
    references = [(row[2], row[3], row[4], row[6]) for row in db.execute(f"PRAGMA foreign_key_list({table})")]
    assert sorted(references) == [("agent_memories", column, "id", "CASCADE") for column in CASCADING[table]]


def test_a_key_is_unique_per_agent(db):
    save_memory(db, "a", "k", "one")
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE constraint failed"):
        db.execute("INSERT INTO agent_memories (id, agent_id, key, content) VALUES ('x', 'a', 'k', 'two')")


@pytest.mark.scenario("Invariant 14: Schema idempotency")
def test_the_schema_can_be_ensured_again_and_again(db):
    before = schema_of(db)
    save_memory(db, "a", "k", "apple")
    for _ in range(3):
        ensure_memory_schema(db)
    assert schema_of(db) == before
    assert len(list_memories(db, "a")) == 1


def test_a_plain_connection_gets_the_whole_schema():
    plain = sqlite3.connect(":memory:")
    ensure_memory_schema(plain)
    names = {name for _type, name, _sql in schema_of(plain)}
    assert set(SEED_TABLES) <= names
    assert plain.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert plain.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    plain.close()


def test_memories_of_an_earlier_system_are_adopted_and_found():
    old = sqlite3.connect(":memory:")
    old.execute(
        "CREATE TABLE agent_memories (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, key TEXT NOT NULL,"
        " content TEXT NOT NULL, txid TEXT DEFAULT NULL, status TEXT DEFAULT 'pending',"
        " archived INTEGER NOT NULL DEFAULT 0, created_at TEXT DEFAULT (datetime('now')),"
        " updated_at TEXT DEFAULT (datetime('now')))"
    )
    old.execute("INSERT INTO agent_memories (id, agent_id, key, content) VALUES ('1', 'a', 'k', 'apple cake')")
    old.execute("INSERT INTO agent_memories (id, agent_id, key, content, archived) VALUES ('2', 'a', 'x', 'apple', 1)")
    old.commit()
    manager = MemoryManager(old)
    assert [hit.memory.key for hit in manager.search_fast("a", "apple")] == ["k"]
    old.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was():
    old = sqlite3.connect(":memory:", isolation_level=None)
    old.execute("CREATE TABLE memory_terms (mine TEXT)")
    before = schema_of(old)
    with pytest.raises(sqlite3.OperationalError, match="memory_terms already exists"):
        ensure_memory_schema(old)
    assert schema_of(old) == before
    assert old.execute("PRAGMA user_version").fetchone() == (0,)
    old.close()


def test_a_newer_schema_is_refused(db):
    db.execute("PRAGMA user_version = 99")
    with pytest.raises(UnusableFileError, match="schema version 99, this memory-agent knows 1; upgrade memory-agent"):
        MemoryManager(db)


def test_a_database_whose_versions_another_program_counts_is_refused_and_untouched():
    db = sqlite3.connect(":memory:")
    db.execute("PRAGMA user_version = 1")
    with pytest.raises(
        UnusableFileError, match="user_version 1 of another program; give memory-agent a file of its own"
    ):
        MemoryManager(db)
    assert schema_of(db) == []
    db.close()


def test_what_another_program_inserted_is_indexed_on_the_next_start(memory_file):
    open_database(memory_file).close()
    other = sqlite3.connect(memory_file)
    other.execute("INSERT INTO agent_memories (id, agent_id, key, content) VALUES ('1', 'a', 'k', 'apple cake')")
    other.commit()
    other.close()
    with MemoryManager.open(memory_file) as manager:
        assert [hit.memory.key for hit in manager.search_fast("a", "apple")] == ["k"]


def test_what_another_program_deleted_is_no_longer_counted(db):
    save_memory(db, "a", "one", "apple cake")
    save_memory(db, "a", "two", "apple pie")
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("DELETE FROM agent_memories WHERE key = 'two'")
    assert dict(db.execute("SELECT term, documents FROM memory_terms")) == {"one": 1, "apple": 1, "cake": 1}
    assert db.execute("SELECT documents FROM memory_agents").fetchone() == (1,)
    db.execute("INSERT INTO memory_search (memory_search, rank) VALUES ('integrity-check', 1)")


def test_the_index_survives_a_vacuum(memory_file):
    with MemoryManager.open(memory_file) as manager:
        for number in range(20):
            manager.save("a", f"k{number}", f"apple number{number}")
        for number in range(0, 20, 2):
            manager.delete("a", f"k{number}")
        manager.db.execute("VACUUM")
        assert [memory.key for memory in search_memories(manager.db, "a", "number7")] == ["k7"]


def test_a_sqlite_without_fts5_is_named_as_the_cause():
    bare = sqlite3.connect(":memory:")

    def forbid_virtual_tables(action, *_details):
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_CREATE_VTABLE else sqlite3.SQLITE_OK

    bare.set_authorizer(forbid_virtual_tables)
    with pytest.raises(UnsupportedSqliteError, match=r"cannot create an FTS5 table .*; use a Python"):
        MemoryManager(bare)
    bare.close()


def test_an_old_sqlite_is_named_as_the_cause(db, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(UnsupportedSqliteError, match=r"is older than 3\.35; use a newer Python build"):
        MemoryManager(db)
