"""Fast search: candidates from the full-text index, ranked again by TF-IDF, weighed by age."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from memory_agent.decay import apply_decay
from memory_agent.documents import Terms, agent_number, load_corpus, load_terms
from memory_agent.matching import match_expression
from memory_agent.queries import fetch, load_queries
from memory_agent.records import AgentMemory, ScoredMemory, SearchOptions
from memory_agent.store import memory_from_row
from memory_agent.tfidf import IDFCorpus, cosine_similarity_sparse
from memory_agent.tokens import tokenize
from memory_agent.transactions import missing_table_tolerated
from memory_agent.validation import require_encodable, require_options, require_text

FTS_WEIGHT = 0.4
TFIDF_WEIGHT = 0.6
# Enough for TF-IDF to change the order, few enough to cost no more than the full-text query itself.
CANDIDATES_PER_RESULT = 3
MIN_CANDIDATES = 20

_SQL = load_queries("search.sql")


class Candidate(NamedTuple):
    """A memory that the full-text index found, and its terms."""

    memory: AgentMemory
    terms: Terms


class RankedSearch(NamedTuple):
    """The results of a search and how many candidates were weighed for them."""

    results: list[ScoredMemory]
    total_candidates: int


def fast_search(
    db: sqlite3.Connection,
    agent_id: str,
    query: str,
    opts: SearchOptions | None = None,
    *,
    now: datetime | None = None,
) -> list[ScoredMemory]:
    """Return the agent's memories that hold every word of the query, best first; none when no word matches.

    Raises:
        InvalidInputError: the agent is blank or an option breaks its rule.
    """
    return ranked_search(db, agent_id, query, opts or SearchOptions(), now=now).results


def ranked_search(
    db: sqlite3.Connection, agent_id: str, query: str, opts: SearchOptions, *, now: datetime | None = None
) -> RankedSearch:
    """Search like `fast_search` and also count the candidates."""
    require_text("agent_id", agent_id)
    require_encodable("query", query)
    require_options(opts)
    agent = agent_number(db, agent_id)
    if agent is None:
        return RankedSearch([], 0)
    candidates = _find_candidates(db, agent, agent_id, query, opts)
    query_terms = dict(Counter(tokenize(query)))
    corpus = load_corpus(db, agent, set(query_terms).union(*(found.terms for found in candidates)))
    scored = [hit for hit in score_candidates(candidates, query_terms, corpus) if hit.score >= opts.min_similarity]
    return RankedSearch(apply_decay(scored, now)[: opts.limit], len(candidates))


def _find_candidates(
    db: sqlite3.Connection, agent: int, agent_id: str, query: str, opts: SearchOptions
) -> list[Candidate]:
    expression = match_expression(agent, query)
    if expression is None:
        return []
    limit = max(CANDIDATES_PER_RESULT * opts.limit, MIN_CANDIDATES)
    params = {"expression": expression, "agent_id": agent_id, "limit": limit, "category": opts.category}
    # A category that none of the hits has is dropped: a wrong guess of a category must not hide the answer.
    return (opts.category and _in_category(db, params)) or _candidates(fetch(db, _SQL["candidates"], params))


def _in_category(db: sqlite3.Connection, params: dict[str, object]) -> list[Candidate]:
    with missing_table_tolerated():
        return _candidates(fetch(db, _SQL["candidates_of_category"], params))
    return []


def _candidates(rows: Sequence[tuple[object, ...]]) -> list[Candidate]:
    return [Candidate(memory_from_row(tuple(memory)), load_terms(str(terms))) for *memory, terms in rows]


def score_candidates(candidates: Sequence[Candidate], query_terms: Terms, corpus: IDFCorpus) -> list[ScoredMemory]:
    """Return the candidates, scored from 0 to 1: their place among the hits, blended with TF-IDF where it speaks."""
    query_vector = corpus.weigh(query_terms)
    blend = any(query_vector.values())
    scored = []
    for place, candidate in enumerate(candidates):
        score = positional_score(place, len(candidates))
        if blend:
            similarity = cosine_similarity_sparse(query_vector, corpus.weigh(candidate.terms))
            score = FTS_WEIGHT * score + TFIDF_WEIGHT * similarity
        scored.append(ScoredMemory(candidate.memory, score, "combined" if blend else "fts5"))
    return scored


def positional_score(place: int, count: int) -> float:
    """Return 1.0 for the first of the hits, less for each later one, and never below 0.1."""
    return 1 - (place / max(count, 2)) * 0.9
