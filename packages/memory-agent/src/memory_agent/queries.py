"""SQL lives in `sql/*.sql`; this reads it and runs it."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

_SQL = resources.files("memory_agent") / "sql"
_BLOCK_HEAD = re.compile(r"^-- (\w+) --$", re.MULTILINE)
_PURPOSE = re.compile(r"^--.*\n", re.MULTILINE)


def read_sql(name: str) -> str:
    """Return the text of one file of the `sql` directory."""
    return (_SQL / name).read_text(encoding="utf-8")


def load_queries(name: str) -> dict[str, str]:
    """Return the blocks of a file that are headed by `-- name --`, without their purpose lines."""
    _preamble, *parts = _BLOCK_HEAD.split(read_sql(name))
    return {head: _PURPOSE.sub("", body).strip() for head, body in zip(parts[::2], parts[1::2], strict=True)}


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script one by one: `executescript` would commit the transaction around it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def fetch(db: sqlite3.Connection, sql: str, params: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
    """Run a statement to its end and return its rows as plain tuples, whatever row factory the caller has set."""
    cursor = db.cursor()
    cursor.row_factory = None
    return cursor.execute(sql, params or {}).fetchall()
