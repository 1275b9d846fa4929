"""Which memories of an agent are about the same thing, by the Jaccard similarity of their terms."""

import json
import sqlite3
from collections.abc import Collection, Mapping
from heapq import nlargest

from memory_agent.documents import Terms, agent_number, load_corpus, load_terms
from memory_agent.matching import phrase
from memory_agent.queries import fetch, load_queries
from memory_agent.records import RelatedMemory
from memory_agent.store import memory_from_row
from memory_agent.transactions import missing_table_tolerated
from memory_agent.validation import require_limit

MIN_JACCARD = 0.05
MAX_CROSS_REFS = 10
RELATED_LIMIT = 10

# A save must cost the same in a large memory as in a small one, so not every memory is compared, only those that share
# one of the rarest terms: a pair that has just common words in common is hardly among the ten nearest.
PROBED_TERMS = 12
HITS_PER_TERM = 24
MAX_CANDIDATES = 96

_SQL = load_queries("crossrefs.sql")

Scores = dict[str, float]


def jaccard_similarity(a: Collection[str], b: Collection[str]) -> float:
    """Return the share of common terms among all terms of two documents, 0 when both are empty."""
    terms_a, terms_b = set(a), set(b)
    common = len(terms_a & terms_b)
    union = len(terms_a) + len(terms_b) - common
    return common / union if union else 0.0


def find_neighbours(db: sqlite3.Connection, agent_id: str, memory_id: str | None, terms: Terms) -> Scores:
    """Return the nearest memories of an agent and how near they are, at most ten, each above the threshold.

    To be called before the memory itself is indexed: a full-text query would first write pending entries to disk.
    """
    agent = agent_number(db, agent_id)
    if agent is None or not terms:
        return {}
    documents = _documents_sharing(db, agent, _rarest_shared_terms(db, agent, terms))
    scores = _scores(terms, _terms_of_documents(db, documents))
    scores.pop(memory_id or "", None)
    nearest = nlargest(MAX_CROSS_REFS, scores.items(), key=lambda scored: scored[1])
    return dict(nearest)


def _rarest_shared_terms(db: sqlite3.Connection, agent: int, terms: Terms) -> list[str]:
    frequencies = load_corpus(db, agent, terms).frequencies
    return sorted((term for term in terms if term in frequencies), key=lambda term: (frequencies[term], term))


def _documents_sharing(db: sqlite3.Connection, agent: int, rarest: list[str]) -> set[int]:
    documents: set[int] = set()
    for term in rarest[:PROBED_TERMS]:
        expression = phrase(agent, term)
        hits = fetch(db, _SQL["documents_with_term"], {"expression": expression, "limit": HITS_PER_TERM})
        documents.update(document for (document,) in hits)
        if len(documents) >= MAX_CANDIDATES:
            break
    return documents


def _terms_of_documents(db: sqlite3.Connection, documents: set[int]) -> dict[str, Terms]:
    rows = fetch(db, _SQL["terms_of_documents"], {"documents": json.dumps(sorted(documents))})
    return {memory_id: load_terms(terms) for memory_id, terms in rows}


def _scores(terms: Terms, others: Mapping[str, Terms]) -> Scores:
    scores = {memory_id: jaccard_similarity(terms, other) for memory_id, other in others.items()}
    return {memory_id: score for memory_id, score in scores.items() if score > MIN_JACCARD}


def replace_cross_refs(db: sqlite3.Connection, memory_id: str, terms: Terms, neighbours: Scores, *, now: str) -> None:
    """Write a memory's references anew, and score again those that other memories hold to it."""
    sources = [source for (source,) in fetch(db, _SQL["referring_memories"], {"memory_id": memory_id})]
    referring = fetch(db, _SQL["terms_of_memories"], {"memories": json.dumps(sources)})
    incoming = _scores(terms, {source: load_terms(stored) for source, stored in referring})
    fetch(db, _SQL["forget_cross_refs"], {"memory_id": memory_id})
    pairs = [(memory_id, target, score) for target, score in neighbours.items()]
    pairs += [(source, memory_id, score) for source, score in incoming.items()]
    fetch(db, _SQL["add_cross_refs"], {"pairs": json.dumps(pairs), "now": now})


def related_memories(db: sqlite3.Connection, memory_id: str, *, limit: int = RELATED_LIMIT) -> list[RelatedMemory]:
    """Return what a memory refers to and what refers to it, nearest first, without archived ones."""
    require_limit(limit)
    with missing_table_tolerated():
        rows = fetch(db, _SQL["related_memories"], {"memory_id": memory_id, "limit": limit})
        return [RelatedMemory(memory_from_row(tuple(memory)), score) for *memory, score in rows]
    return []
