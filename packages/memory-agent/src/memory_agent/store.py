"""The core of it: memories saved, recalled, listed and searched by agent and key."""

import logging
import sqlite3
import uuid
from datetime import datetime
from typing import Any, NamedTuple

from memory_agent.clock import format_stamp, utc_now
from memory_agent.documents import agent_number, index_memory
from memory_agent.freshness import announce_write
from memory_agent.matching import match_expression
from memory_agent.queries import fetch, load_queries
from memory_agent.records import AgentMemory
from memory_agent.transactions import missing_table_tolerated, write_transaction
from memory_agent.validation import require_encodable, require_limit, require_text

LIST_LIMIT = 20

_SQL = load_queries("memories.sql")
_FORGET_ENRICHMENT = (
    _SQL["forget_category"],
    _SQL["forget_embedding"],
    load_queries("crossrefs.sql")["forget_cross_refs"],
)

logger = logging.getLogger(__name__)


def save_memory(
    db: sqlite3.Connection, agent_id: str, key: str, content: str, *, now: datetime | None = None
) -> AgentMemory:
    """Store the content under the agent's key, replacing what was there; an archived key comes back to life.

    Raises:
        InvalidInputError: agent, key or content is blank or no text.
    """
    with write_transaction(db):
        written = write_memory(db, agent_id, key, content, now=now)
        if written.changed:
            _forget_enrichment(db, written.memory.id)
    announce_write(agent_id, key)
    return written.memory


class Written(NamedTuple):
    """A memory as stored, and whether anything that can be searched is new."""

    memory: AgentMemory
    changed: bool


def write_memory(
    db: sqlite3.Connection, agent_id: str, key: str, content: str, *, now: datetime | None = None
) -> Written:
    """Write and index a memory inside the caller's transaction; the caller announces it once that has ended."""
    values = {
        "id": str(uuid.uuid4()),
        "agent_id": require_text("agent_id", agent_id),
        "key": require_text("key", key),
        "content": require_text("content", content),
        "now": format_stamp(now or utc_now()),
    }
    memory = memory_from_row(fetch(db, _SQL["save_memory"], values)[0])
    return Written(memory, index_memory(db, memory.id, agent_id, key, content))


def _forget_enrichment(db: sqlite3.Connection, memory_id: str) -> None:
    # A category, vector or reference older than the content would describe words that are gone.
    for statement in _FORGET_ENRICHMENT:
        with missing_table_tolerated():
            fetch(db, statement, {"memory_id": memory_id})


def recall_memory(db: sqlite3.Connection, agent_id: str, key: str) -> AgentMemory | None:
    """Return the agent's memory under the key, also an archived one, or None."""
    params = {"agent_id": require_text("agent_id", agent_id), "key": require_text("key", key)}
    rows = fetch(db, _SQL["recall_memory"], params)
    return memory_from_row(rows[0]) if rows else None


def delete_memory(db: sqlite3.Connection, agent_id: str, key: str) -> bool:
    """Remove a memory and all that was derived from it; False when there was none."""
    params = {"agent_id": require_text("agent_id", agent_id), "key": require_text("key", key)}
    with write_transaction(db):
        rows = fetch(db, _SQL["recall_memory"], params)
        if rows:
            _forget_enrichment(db, rows[0][0])
            fetch(db, _SQL["delete_memory"], params)
    announce_write(agent_id, key)
    return bool(rows)


def list_memories(db: sqlite3.Connection, agent_id: str, *, limit: int = LIST_LIMIT) -> list[AgentMemory]:
    """Return the agent's memories, the most recently updated first, without archived ones."""
    params = {"agent_id": require_text("agent_id", agent_id), "limit": require_limit(limit)}
    return [memory_from_row(row) for row in fetch(db, _SQL["list_memories"], params)]


def search_memories(db: sqlite3.Connection, agent_id: str, query: str, *, limit: int = LIST_LIMIT) -> list[AgentMemory]:
    """Return memories that hold every word of the query (or a word that starts so), best first.

    Where there are none, those that hold the query as it stands, newest first. No character of a query is syntax.
    """
    require_text("agent_id", agent_id)
    require_encodable("query", query)
    params = {"agent_id": agent_id, "limit": require_limit(limit)}
    if not query.strip():
        return []
    return _search_words(db, params, query) or _search_substring(db, params, query)


def _search_words(db: sqlite3.Connection, params: dict[str, Any], query: str) -> list[AgentMemory]:
    agent = agent_number(db, params["agent_id"])
    expression = match_expression(agent, query) if agent is not None else None
    if expression is None:
        return []
    try:
        return [memory_from_row(row) for row in fetch(db, _SQL["search_words"], params | {"expression": expression})]
    except sqlite3.DatabaseError:
        # A damaged or missing index must not hide the memories themselves: the substring search needs none.
        logger.warning("the full-text index could not be searched, the memories themselves are", exc_info=True)
        return []


def _search_substring(db: sqlite3.Connection, params: dict[str, Any], query: str) -> list[AgentMemory]:
    escaped = query.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    rows = fetch(db, _SQL["search_substring"], params | {"pattern": f"%{escaped}%"})
    return [memory_from_row(row) for row in rows]


def memory_from_row(row: tuple[Any, ...]) -> AgentMemory:
    """Return the memory that the nine columns of a row stand for."""
    memory_id, agent_id, key, content, txid, status, archived, created_at, updated_at = row
    return AgentMemory(memory_id, agent_id, key, content, txid, status, bool(archived), created_at, updated_at)
