"""What a manager adds to a memory: a category, an embedding, cross-references."""

import json
import sqlite3

from memory_agent.categories import categorize
from memory_agent.crossrefs import Scores, replace_cross_refs
from memory_agent.documents import Terms, agent_number, load_corpus
from memory_agent.queries import fetch, load_queries
from memory_agent.records import AgentMemory, CategoryResult, EnrichedMemory
from memory_agent.store import memory_from_row
from memory_agent.transactions import missing_table_tolerated

VOCABULARY_TERMS = 50
CATEGORY_LIMIT = 20

_SQL = load_queries("enrichment.sql")


def enrich(db: sqlite3.Connection, memory: AgentMemory, terms: Terms, neighbours: Scores) -> EnrichedMemory:
    """Store all three inside the caller's transaction; one whose table does not exist is left out."""
    category = categorize(memory.key, memory.content)
    with missing_table_tolerated():
        _store_category(db, memory, category)
    with missing_table_tolerated():
        _store_embedding(db, memory, terms)
    with missing_table_tolerated():
        replace_cross_refs(db, memory.id, terms, neighbours, now=memory.updated_at)
    return with_category(memory, category)


def with_category(memory: AgentMemory, category: CategoryResult | None) -> EnrichedMemory:
    """Return the memory together with its category."""
    fields = {name: getattr(memory, name) for name in AgentMemory.__slots__}
    if category is None:
        return EnrichedMemory(**fields)
    return EnrichedMemory(**fields, category=category.category, category_confidence=category.confidence)


def _store_category(db: sqlite3.Connection, memory: AgentMemory, category: CategoryResult) -> None:
    values = {
        "memory_id": memory.id,
        "category": category.category,
        "confidence": category.confidence,
        "now": memory.updated_at,
    }
    fetch(db, _SQL["store_category"], values)


def _store_embedding(db: sqlite3.Connection, memory: AgentMemory, terms: Terms) -> None:
    agent = agent_number(db, memory.agent_id)
    assert agent is not None
    length = sum(terms.values())
    frequencies = {term: count / length for term, count in terms.items()}
    weights = load_corpus(db, agent, terms).weigh(frequencies)
    heaviest = sorted(weights, key=lambda term: (-weights[term], term))[:VOCABULARY_TERMS]
    values = {
        "memory_id": memory.id,
        "vector": json.dumps({term: round(weight, 6) for term, weight in weights.items()}),
        "vocabulary": ",".join(heaviest),
        "now": memory.updated_at,
    }
    fetch(db, _SQL["store_embedding"], values)


def stored_category(db: sqlite3.Connection, memory_id: str) -> CategoryResult | None:
    """Return the category that was stored with a memory, if one was."""
    with missing_table_tolerated():
        rows = fetch(db, _SQL["stored_category"], {"memory_id": memory_id})
        return CategoryResult(*rows[0]) if rows else None
    return None


def memories_of_category(db: sqlite3.Connection, agent_id: str, category: str) -> list[AgentMemory]:
    """Return an agent's newest memories of a category; none without the table of categories."""
    params = {"agent_id": agent_id, "category": category, "limit": CATEGORY_LIMIT}
    with missing_table_tolerated():
        return [memory_from_row(row) for row in fetch(db, _SQL["memories_of_category"], params)]
    return []
