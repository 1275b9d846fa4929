"""Decides which of a query's words select memories and which only rank them: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# A word that a tenth of all memories carry tells little, and reading them all to rank them costs much.
COMMON_FREQUENCY = 0.1

# Below this many rows even a word that all of them carry is cheap to look for.
COMMON_MATTERS_FROM_ROWS = 1_000

MAX_TERMS = 32


@dataclass(frozen=True)
class KeywordTerms:
    """A query as PostgreSQL's text search reads it: three `tsquery` texts, empty where there is no word in it."""

    every: str
    selecting: str
    ranking: str

    @classmethod
    def of(cls, every: str, lexemes: Sequence[str], frequencies: Sequence[float]) -> KeywordTerms:
        """Build the terms from a parsed query and its lexemes, rarest first."""
        kept = list(zip(lexemes, frequencies, strict=True))[:MAX_TERMS]
        rare = [lexeme for lexeme, frequency in kept if frequency < COMMON_FREQUENCY]
        # A query of nothing but common words still finds something: by the least common of them.
        selecting = rare or [lexeme for lexeme, _ in kept[:1]]
        return cls(every, any_of(selecting), any_of([lexeme for lexeme, _ in kept]))

    def __bool__(self) -> bool:
        return bool(self.every)


def any_of(lexemes: Sequence[str]) -> str:
    """Return a `tsquery` text that matches any of the lexemes, whatever characters they are made of."""
    return " | ".join("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in lexemes)
