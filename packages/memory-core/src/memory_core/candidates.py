"""What a search looks through and what it finds there, before the memories themselves are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from memory_core.callers import parse_tenant
from memory_core.errors import InvalidInputError
from memory_core.text import clean_name, preprocess_search_query
from memory_core.validation import parse_confidence, parse_positive
from memory_core.vocabulary import MemoryType, parse_word

if TYPE_CHECKING:
    import asyncpg

SearchMode = Literal["semantic", "keyword", "hybrid"]
TermMatch = Literal["all", "any"]

SEARCH_MODES: tuple[SearchMode, ...] = ("semantic", "keyword", "hybrid")
MAX_LIMIT = 1_000


@dataclass(frozen=True)
class SearchSpace:
    """The memories that a search may see."""

    tenant_id: str
    types: tuple[MemoryType, ...]
    scope: str | None
    min_confidence: float | None
    now: datetime

    @property
    def tables(self) -> list[str]:
        """The tables that hold them."""
        return [kind.table for kind in self.types]

    def only(self, types: Sequence[MemoryType]) -> SearchSpace:
        """Return the part of the space that holds some types."""
        return SearchSpace(self.tenant_id, tuple(types), self.scope, self.min_confidence, self.now)


@dataclass(frozen=True)
class Candidate:
    """A memory that matches, with what is needed to rank it; `score` is its similarity or its keyword rank."""

    memory_type: MemoryType
    id: UUID
    created_at: datetime
    importance: float
    confidence: float | None
    decay_rate: float | None
    last_confirmed_at: datetime | None
    last_referenced_at: datetime | None
    about: str | None
    opening: str
    score: float

    @classmethod
    def of(cls, row: asyncpg.Record, score: str) -> Candidate:
        """Read a candidate from a row whose column `score` ranks it."""
        return cls(
            MemoryType(row["memory_type"]),
            row["id"],
            row["created_at"],
            float(row["importance"]),
            row["confidence"],
            row["decay_rate"],
            row["last_confirmed_at"],
            row["last_referenced_at"],
            row["about"],
            row["opening"],
            float(row[score]),
        )


def search_space(
    tenant_id: str,
    types: Sequence[str] | None,
    scope: str | None,
    min_confidence: float | None,
    now: datetime,
) -> SearchSpace:
    """Check what a caller asks to search in; no types means all of them.

    Raises:
        InvalidInputError: a type is unknown, the scope is empty, or the confidence is not from 0 to 1.
    """
    if isinstance(types, str):
        raise InvalidInputError(f"types {types!r} is one text; pass a list, for example ['{types}']")
    kinds = tuple(dict.fromkeys(parse_word(MemoryType, kind, "type") for kind in types or MemoryType))
    least = None if min_confidence is None else parse_confidence(min_confidence)
    return SearchSpace(
        parse_tenant(tenant_id),
        kinds,
        None if scope is None else clean_name(scope, "scope"),
        least or None,  # every memory has at least no confidence
        now,
    )


def parse_table(table: str) -> MemoryType:
    """Return the memory type of a table.

    Raises:
        InvalidInputError: it is not a table that can be searched.
    """
    for kind in MemoryType:
        if table == kind.table:
            return kind
    raise InvalidInputError(f"table {table!r} is not one of: {', '.join(kind.table for kind in MemoryType)}")


def parse_mode(mode: str) -> SearchMode:
    """Return a search mode.

    Raises:
        InvalidInputError: the word is not one.
    """
    for known in SEARCH_MODES:
        if mode == known:
            return known
    raise InvalidInputError(f"mode {mode!r} is not one of: {', '.join(SEARCH_MODES)}")


def parse_limit(limit: int) -> int:
    """Return how many results are asked for.

    Raises:
        InvalidInputError: it is not a whole number from 1 to 1,000.
    """
    return parse_positive(limit, "limit", MAX_LIMIT)


def parse_query(query: str | None) -> str:
    """Return a query as it is searched for: single spaces, nothing that PostgreSQL cannot hold; empty for no query.

    Raises:
        InvalidInputError: it is not a text.
    """
    if query is not None and not isinstance(query, str):
        raise InvalidInputError(f"query {str(query)[:60]!r} is not a text; pass a string")
    return preprocess_search_query(query).encode("utf-8", "ignore").decode("utf-8")
