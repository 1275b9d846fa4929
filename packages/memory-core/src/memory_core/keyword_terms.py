"""Decides which of a query's words select memories and which only rank them: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# A word that a tenth of all memories carry tells little, and reading them all to rank them costs much.
COMMON_FREQUENCY = 0.1

# Below this many rows even a word that all of them carry is cheap to look for.
COMMON_MATTERS_FROM_ROWS = 1_000

# Words are taken rarest first for as long as together they are expected in no more rows than these.
MAX_EXPECTED_ROWS = 4_000

MAX_TERMS = 32


class Lexeme(NamedTuple):
    """A word of a query, with the part of the rows that carry it and their number; zero where too rare to tell."""

    text: str
    frequency: float = 0.0
    expected_rows: float = 0.0


@dataclass(frozen=True)
class KeywordTerms:
    """A query as PostgreSQL's text search reads it: three `tsquery` texts, empty where there is no word in it."""

    every: str
    selecting: str
    ranking: str

    @classmethod
    def of(cls, every: str, lexemes: Sequence[Lexeme]) -> KeywordTerms:
        """Build the terms from a parsed query and its lexemes, rarest first."""
        kept = lexemes[:MAX_TERMS]
        return cls(every, any_of(selecting_lexemes(kept)), any_of(kept))

    def __bool__(self) -> bool:
        return bool(self.every)


def selecting_lexemes(lexemes: Sequence[Lexeme]) -> list[Lexeme]:
    """Return the words by which memories are looked up: the rare ones; of none but common ones the least common."""
    selecting: list[Lexeme] = []
    for lexeme in lexemes:
        expected = sum(chosen.expected_rows for chosen in selecting) + lexeme.expected_rows
        if selecting and (lexeme.frequency >= COMMON_FREQUENCY or expected > MAX_EXPECTED_ROWS):
            break
        selecting.append(lexeme)
    return selecting


def any_of(lexemes: Sequence[Lexeme]) -> str:
    """Return a `tsquery` text that matches any of the lexemes, whatever characters they are made of."""
    return " | ".join("'" + lexeme.text.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in lexemes)
