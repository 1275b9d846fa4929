"""Begins a search: settings for its transaction, and what it must know about indexes, model and query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.candidates import SearchSpace
from memory_core.keyword_terms import COMMON_MATTERS_FROM_ROWS, KeywordTerms, Lexeme
from memory_core.queries import load_queries
from memory_core.vocabulary import MemoryType

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("search_setup")

# A text search reads the beginning of a long query only: a prompt of pages has thousands of words.
MAX_QUERY_CHARS = 4_000

EF_SEARCH = 100
MAX_EF_SEARCH = 1_000


@dataclass(frozen=True)
class SearchSetup:
    """What was found out when a search began."""

    terms: KeywordTerms
    approximate: frozenset[MemoryType]


async def begin_search(connection: Connection, query: str, space: SearchSpace, depth: int) -> SearchSetup:
    """Set up the transaction for vector queries and read the query's terms, in one round trip."""
    row = await connection.fetchrow(
        SQL["begin_search"],
        query[:MAX_QUERY_CHARS],
        space.tables,
        float(COMMON_MATTERS_FROM_ROWS),
        str(min(MAX_EF_SEARCH, max(EF_SEARCH, 2 * depth))),
    )
    assert row is not None  # a SELECT without FROM returns one row
    approximate = frozenset(kind for kind in MemoryType if kind.table in row["approximate_tables"])
    lexemes = [Lexeme(*told) for told in zip(row["lexemes"], row["frequencies"], row["expected_rows"], strict=True)]
    return SearchSetup(KeywordTerms.of(row["every_term"], lexemes), approximate)


async def set_sizes(
    connection: Connection, space: SearchSpace, types: Sequence[MemoryType], at_most: int
) -> dict[MemoryType, int]:
    """Return how many memories of each type a search would compare, counted up to a limit."""
    tables = [kind.table for kind in types]
    rows = await connection.fetch(SQL["set_sizes"], space.tenant_id, space.scope, tables, at_most)
    sizes = {row["table_name"]: row["size"] for row in rows}
    return {kind: sizes[kind.table] for kind in types}
