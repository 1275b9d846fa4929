"""How well what is known about a candidate fits what is being talked about."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from memory_core.callers import Caller
from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("resolution", package="memory_entities")

MAX_BOOST = 20.0
MAX_FACTS = 500
# Enough for the words of a sentence or two; without a bound one resolve could read gigabytes.
MAX_FACT_LETTERS = 1_000

# Words that are in every text and so say nothing about any.
STOP_WORDS = frozenset(
    """
    a about an and are as at be been but by did do does for from had has have he her his i in is it its me my not of
    on or our she so that the their them they this to was we were what when where who will with you your
    """.split()  # noqa: SIM905 - sixty quoted words would be harder to read
)
_WORD = re.compile(r"[^\W_]+")


def keywords(text: str) -> frozenset[str]:
    """Return the words of a text without case, accents and stop words; the parts of a predicate are words too."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return frozenset(_WORD.findall(plain)) - STOP_WORDS


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return what share of all the words two sets have in common: 0 for nothing, 1 for the same words."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def neighbourhood_boost(facts: Iterable[frozenset[str]], terms: frozenset[str]) -> float:
    """Return up to 20 points for the fact that fits the terms best.

    The best one counts, not all of them as one text: an entity must not lose by being well known.
    """
    return MAX_BOOST * max((jaccard(fact, terms) for fact in facts), default=0.0)


async def neighbourhood_boosts(
    connection: Connection, entity_ids: Sequence[UUID], terms: frozenset[str], caller: Caller
) -> dict[UUID, float]:
    """Return the boost of each candidate that has a fact, from at most 500 facts each, read in one query."""
    if not terms or not entity_ids:
        return {}
    rows = await connection.fetch(SQL["facts_of_candidates"], caller.tenant_id, entity_ids, MAX_FACTS, MAX_FACT_LETTERS)
    facts: dict[UUID, list[frozenset[str]]] = {}
    for row in rows:
        facts.setdefault(row["entity_id"], []).append(keywords(f"{row['predicate']} {row['content']}"))
    return {entity_id: neighbourhood_boost(known, terms) for entity_id, known in facts.items()}
