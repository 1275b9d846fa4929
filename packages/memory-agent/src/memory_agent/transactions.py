"""One transaction per save, also inside a caller's own."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def write_transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit all that is written inside, or nothing; inside a caller's transaction the caller commits."""
    nested = db.in_transaction
    # IMMEDIATE: a deferred transaction that reads first cannot wait for another writer, it fails at once.
    db.execute("SAVEPOINT memory_agent" if nested else "BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        _undo(db, nested)
        raise
    db.execute("RELEASE memory_agent" if nested else "COMMIT")


def _undo(db: sqlite3.Connection, nested: bool) -> None:
    if nested:
        db.execute("ROLLBACK TO memory_agent")
        db.execute("RELEASE memory_agent")
    elif db.in_transaction:  # a full disk or a damaged file has rolled back already
        db.execute("ROLLBACK")


@contextmanager
def missing_table_tolerated() -> Iterator[None]:
    """Skip the rest of the block when an extension table does not exist; every other error is raised."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
