"""Brings a database to the schema this version needs."""

import sqlite3

from memory_agent.documents import index_missing_memories
from memory_agent.errors import UnsupportedSqliteError, UnusableFileError
from memory_agent.queries import fetch, read_sql, statements
from memory_agent.transactions import write_transaction

# "BMem" in ASCII: tells a memory file from any other SQLite file.
APPLICATION_ID = 0x424D656D
# In order; the position is the `user_version` a file has afterwards. A released one is never edited.
MIGRATIONS = ("001_memories.sql",)
SCHEMA_VERSION = len(MIGRATIONS)
# RETURNING came with 3.35.
MINIMUM_SQLITE = (3, 35, 0)


def ensure_memory_schema(db: sqlite3.Connection) -> None:
    """Create what is missing: memories and their index, categories, embeddings, cross-references; idempotent."""
    migrate(db)
    with write_transaction(db):
        for statement in statements(read_sql("extensions.sql")):
            db.execute(statement)


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables that hold and find memories to this version, and index what was written without it.

    Raises:
        UnsupportedSqliteError: SQLite is too old or has no FTS5.
        UnusableFileError: a newer version wrote the file.
    """
    require_sqlite(db)
    if schema_version(db) < SCHEMA_VERSION:
        with write_transaction(db):
            _apply_pending(db)
    index_missing_memories(db)


def _apply_pending(db: sqlite3.Connection) -> None:
    # Read again under the lock: another process may have migrated since.
    for migration in MIGRATIONS[schema_version(db) :]:
        for statement in statements(read_sql(migration)):
            db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def schema_version(db: sqlite3.Connection) -> int:
    """Return how many migrations a database has had.

    Raises:
        UnusableFileError: more than this version knows, or another program counts its own.
    """
    version = int(fetch(db, "PRAGMA user_version")[0][0])
    if version and int(fetch(db, "PRAGMA application_id")[0][0]) != APPLICATION_ID:
        raise UnusableFileError(
            f"the database has user_version {version} of another program; give memory-agent a file of its own"
        )
    if version > SCHEMA_VERSION:
        raise UnusableFileError(
            f"the memory file has schema version {version}, this memory-agent knows {SCHEMA_VERSION}; "
            "upgrade memory-agent to open it"
        )
    return version


def require_sqlite(db: sqlite3.Connection) -> None:
    """Check that SQLite can do what the schema asks.

    Raises:
        UnsupportedSqliteError: it is too old, or built without FTS5.
    """
    if sqlite3.sqlite_version_info < MINIMUM_SQLITE:
        raise UnsupportedSqliteError(f"SQLite {sqlite3.sqlite_version} is older than 3.35; use a newer Python build")
    try:
        # Asked of SQLite itself: a build may carry FTS5 without listing it, and list it without carrying it.
        db.execute("CREATE VIRTUAL TABLE temp.memory_agent_probe USING fts5 (word)")
        db.execute("DROP TABLE temp.memory_agent_probe")
    except sqlite3.DatabaseError as error:
        raise UnsupportedSqliteError(
            f"SQLite {sqlite3.sqlite_version} cannot create an FTS5 table ({error}); "
            "use a Python whose sqlite3 module is built with FTS5, as the ones from python.org and uv are"
        ) from error
