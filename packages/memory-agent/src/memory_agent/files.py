"""Opens a memory file, and refuses every other file without touching it."""

import sqlite3
import time
from pathlib import Path

from memory_agent.errors import UnusableFileError
from memory_agent.queries import fetch
from memory_agent.schema import APPLICATION_ID, ensure_memory_schema, schema_version

BUSY_TIMEOUT_SECONDS = 30.0
PAGE_CACHE_KIB = 32_768
# A check reads the whole file: some 30 ms at this size. Beyond it, damage shows when the damaged page is read.
MAX_CHECKED_BYTES = 32 * 1024 * 1024
MEMORY_COLUMNS = frozenset(
    ("id", "agent_id", "key", "content", "txid", "status", "archived", "created_at", "updated_at")
)

# Not ours to read, to write or to create; the low byte tells, whatever the extended code adds.
_NO_ACCESS = frozenset((sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN))
_SQLITE_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100


def open_database(
    path: str | Path, *, busy_timeout: float = BUSY_TIMEOUT_SECONDS, check_same_thread: bool = True
) -> sqlite3.Connection:
    """Open or create a memory file that several processes may share: WAL mode, a busy time-out, foreign keys.

    Raises:
        UnusableFileError: the file is no memory file, is damaged, was written by a newer version, or may not be
            written by this user; it is untouched.
        UnsupportedSqliteError: SQLite is too old or has no FTS5.
    """
    try:
        if str(path) != ":memory:":
            inspect_file(Path(path))
        return _connect(path, busy_timeout, check_same_thread)
    except OSError as error:
        raise UnusableFileError(
            f"{path} cannot be read ({error.strerror}); name a file that this user may use"
        ) from error
    except sqlite3.OperationalError as error:
        if not _lacks_access(error):
            raise
        raise UnusableFileError(
            f"{path} cannot be written ({error}); let this user write it and its directory, or name another file"
        ) from error


def _connect(path: str | Path, busy_timeout: float, check_same_thread: bool) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None, check_same_thread=check_same_thread)
    try:
        _configure(db, busy_timeout)
        ensure_memory_schema(db)
    except BaseException:
        db.close()
        raise
    return db


def _lacks_access(error: sqlite3.DatabaseError) -> bool:
    return error.sqlite_errorcode & 0xFF in _NO_ACCESS


def _configure(db: sqlite3.Connection, busy_timeout: float) -> None:
    _enter_wal_mode(db, busy_timeout)
    # With a WAL, NORMAL survives the crash of any process; only a power cut may take the last commits.
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")


def _enter_wal_mode(db: sqlite3.Connection, busy_timeout: float) -> None:
    # Of two processes that switch a new file at once one is refused without waiting, whatever the time-out says.
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def inspect_file(path: Path) -> None:
    """Check that a path holds a sound memory file, or nothing yet, by reading alone.

    Raises:
        UnusableFileError: it holds something else.
    """
    if not path.parent.is_dir():
        raise UnusableFileError(f"{path} lies in no existing directory; create {path.parent} first")
    if not path.exists():
        return
    if not path.is_file():
        raise UnusableFileError(f"{path} is not a file; name a file to keep memories in")
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if header:
        _inspect_header(path, header)
        _inspect_schema(path)


def _inspect_header(path: Path, header: bytes) -> None:
    if len(header) < _HEADER_BYTES or not header.startswith(_SQLITE_MAGIC):
        raise UnusableFileError(f"{path} is not an SQLite file; name another file, this one was left as it is")
    page_size = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65_536 if page_size == 1 else page_size)
    # While a WAL is there a checkpoint may be growing the file this very moment.
    if not _wal(path).exists() and path.stat().st_size < expected:
        raise UnusableFileError(
            f"{path} has {path.stat().st_size} of {expected} bytes, it is truncated; restore it from a backup"
        )


def _inspect_schema(path: Path) -> None:
    # `immutable` reads without creating side files; a WAL, where there is one, has to be read too.
    mode = "mode=ro" if _wal(path).exists() else "mode=ro&immutable=1"
    db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=BUSY_TIMEOUT_SECONDS)
    try:
        _require_memory_tables(path, db)
        schema_version(db)
        _require_sound(path, db)
    except sqlite3.DatabaseError as error:
        if _lacks_access(error):
            raise
        raise UnusableFileError(f"{path} is damaged ({error}); restore it from a backup") from error
    finally:
        db.close()


def _require_memory_tables(path: Path, db: sqlite3.Connection) -> None:
    application = int(fetch(db, "PRAGMA application_id")[0][0])
    tables = [name for (name,) in fetch(db, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
    if application not in (0, APPLICATION_ID) or (tables and "agent_memories" not in tables):
        raise UnusableFileError(f"{path} belongs to another program; name another file, this one was left as it is")
    if tables:
        columns = {row[1] for row in fetch(db, "PRAGMA table_info(agent_memories)")}
        missing = sorted(MEMORY_COLUMNS - columns)
        if missing:
            raise UnusableFileError(
                f"{path} has a table agent_memories without {', '.join(missing)}; name another file, "
                "this one was left as it is"
            )


def _require_sound(path: Path, db: sqlite3.Connection) -> None:
    if path.stat().st_size > MAX_CHECKED_BYTES:
        return
    verdict = fetch(db, "PRAGMA quick_check(1)")[0][0]
    if verdict != "ok":
        raise UnusableFileError(f"{path} is damaged ({' '.join(verdict.split())}); restore it from a backup")


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
