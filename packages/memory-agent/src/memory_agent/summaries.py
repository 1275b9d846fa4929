"""Old memories fold into one summary per group and leave the search."""

import json
import re
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby

from memory_agent.clock import as_utc, format_stamp, utc_now
from memory_agent.documents import document_terms
from memory_agent.enrichment import enrich
from memory_agent.freshness import announce_write
from memory_agent.queries import fetch, load_queries
from memory_agent.records import AgentMemory
from memory_agent.store import memory_from_row, recall_memory, write_memory
from memory_agent.transactions import write_transaction
from memory_agent.validation import require_days, require_text

DEFAULT_AGE_DAYS = 30
MIN_GROUP_SIZE = 2
MAX_LINE_CONTENT = 200
DEFAULT_GROUP = "general"

_HEADER = re.compile(r'Summary of (\d+) "')
_SQL = load_queries("summaries.sql")


def summarize_old_memories(
    db: sqlite3.Connection, agent_id: str, older_than_days: float = DEFAULT_AGE_DAYS, *, now: datetime | None = None
) -> int:
    """Archive an agent's old memories, group by group, leaving one summary for each; return how many were archived.

    A group is what stands before the first colon of a key; one with a single memory is left alone.

    Raises:
        InvalidInputError: the agent is blank or the age is no number of days from 0 to 36,500.
    """
    moment = as_utc(now or utc_now())
    cutoff = format_stamp(moment - timedelta(days=require_days(older_than_days)))
    with write_transaction(db):
        old = _old_memories(db, require_text("agent_id", agent_id), cutoff)
        groups = [group for group in _grouped(old) if len(group) >= MIN_GROUP_SIZE]
        summaries = [_summarize_group(db, group, moment) for group in groups]
    archived = [memory for group in groups for memory in group]
    for memory in (*archived, *summaries):
        announce_write(agent_id, memory.key)
    return len(archived)


def _old_memories(db: sqlite3.Connection, agent_id: str, cutoff: str) -> list[AgentMemory]:
    rows = fetch(db, _SQL["old_memories"], {"agent_id": agent_id, "cutoff": cutoff})
    return [memory_from_row(row) for row in rows]


def _grouped(memories: Sequence[AgentMemory]) -> list[list[AgentMemory]]:
    # Sorting is stable: within a group the oldest stays first.
    ordered = sorted(memories, key=group_of)
    return [list(group) for _name, group in groupby(ordered, key=group_of)]


def group_of(memory: AgentMemory) -> str:
    """Return what stands before the first colon of the key, or `general`."""
    prefix, colon, _rest = memory.key.partition(":")
    return prefix.strip() or DEFAULT_GROUP if colon else DEFAULT_GROUP


def _summarize_group(db: sqlite3.Connection, group: Sequence[AgentMemory], moment: datetime) -> AgentMemory:
    name, agent_id = group_of(group[0]), group[0].agent_id
    date = moment.date().isoformat()
    key = f"summary:{name}:{date}"
    earlier = recall_memory(db, agent_id, key)
    content = summary_content(name, date, group, earlier.content if earlier else "")
    fetch(db, _SQL["archive_memories"], {"ids": json.dumps([memory.id for memory in group])})
    summary = write_memory(db, agent_id, key, content, now=moment).memory
    # References are left out: a summary shares words with all that it sums up, and those are archived.
    return enrich(db, summary, document_terms(key, content), {})


def summary_content(name: str, date: str, memories: Sequence[AgentMemory], earlier: str = "") -> str:
    """Return the text of a summary; with an earlier one of the same day, that one continued."""
    lines = [f"- [{_one_line(memory.key)}] {_shortened(_one_line(memory.content))}" for memory in memories]
    counted = _HEADER.match(earlier)
    if counted:
        _header, *earlier_lines = earlier.splitlines()
        return "\n".join([_header_line(name, date, int(counted[1]) + len(lines)), *earlier_lines, *lines])
    summary = "\n".join([_header_line(name, date, len(lines)), *lines])
    # Somebody keeps a text of their own under this key: it stays.
    return f"{earlier}\n\n{summary}" if earlier else summary


def _header_line(name: str, date: str, count: int) -> str:
    return f'Summary of {count} "{name}" memories (archived {date}):'


def _one_line(text: str) -> str:
    # One line each: a line break in a memory must not look like the next entry.
    return " ".join(text.splitlines())


def _shortened(content: str) -> str:
    return f"{content[:MAX_LINE_CONTENT]}..." if len(content) > MAX_LINE_CONTENT else content
