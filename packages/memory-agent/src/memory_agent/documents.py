"""The search documents of memories: their indexed words, their terms, and the counts that idf needs."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable

from memory_agent.queries import fetch, load_queries
from memory_agent.tfidf import IDFCorpus
from memory_agent.tokens import index_words, tokenize
from memory_agent.transactions import write_transaction

_SQL = load_queries("documents.sql")

Terms = dict[str, int]


def document_terms(key: str, content: str) -> Terms:
    """Return how often each term occurs in a memory's key and content together."""
    return dict(Counter(tokenize(f"{key} {content}")))


def load_terms(stored: str) -> Terms:
    """Return the terms that a document keeps as JSON."""
    terms: Terms = json.loads(stored)
    return terms


def agent_number(db: sqlite3.Connection, agent_id: str) -> int | None:
    """Return the number that prefixes an agent's words, or None when nothing of it was ever indexed."""
    rows = fetch(db, _SQL["agent_number"], {"agent_id": agent_id})
    return int(rows[0][0]) if rows else None


def scoped_word(agent: int, word: str) -> str:
    """Return a word as it stands in the index: the agent's number makes it that agent's own."""
    return f"{agent}x{word}"


def index_memory(db: sqlite3.Connection, memory_id: str, agent_id: str, key: str, content: str) -> bool:
    """Make a memory findable; False when a document stands for it already, and so nothing in it has changed."""
    if fetch(db, _SQL["document_exists"], {"memory_id": memory_id}):
        return False
    fetch(db, _SQL["add_agent"], {"agent_id": agent_id})
    agent = agent_number(db, agent_id)
    assert agent is not None
    document = {
        "memory_id": memory_id,
        "agent": agent,
        "key_words": _scoped_text(agent, key),
        "content_words": _scoped_text(agent, content),
        "terms": json.dumps(document_terms(key, content)),
    }
    fetch(db, _SQL["add_document"], document)
    return True


def _scoped_text(agent: int, text: str) -> str:
    return " ".join(scoped_word(agent, word) for word in index_words(text))


def index_missing_memories(db: sqlite3.Connection) -> None:
    """Index what another program wrote; two counts tell whether there is anything to do."""
    if _is_complete(db):
        return
    with write_transaction(db):
        for memory_id, agent_id, key, content in fetch(db, _SQL["unindexed_memories"]):
            index_memory(db, memory_id, agent_id, key, content)


def _is_complete(db: sqlite3.Connection) -> bool:
    memories, documents = fetch(db, _SQL["count_memories_and_documents"])[0]
    return bool(memories == documents)


def load_corpus(db: sqlite3.Connection, agent: int, terms: Iterable[str]) -> IDFCorpus:
    """Return the agent's corpus as far as these terms need it."""
    frequencies = dict(fetch(db, _SQL["document_frequencies"], {"agent": agent, "terms": json.dumps(list(terms))}))
    return IDFCorpus(frequencies.pop(None), frequencies)
