"""Finds the entities that a name may mean, tier by tier, each tier from an index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from memory_core.callers import Caller
from memory_core.queries import load_queries
from memory_core.validation import parse_id

from memory_entities.names import spelling
from memory_entities.vocabulary import EntityType, NameMatch

if TYPE_CHECKING:
    import asyncpg
    from memory_core.database import Connection

SQL = load_queries("resolution", package="memory_entities")

# Of a name like "a" thousands of entities have a part: no more than these, the nearest ones, are scored.
MAX_CANDIDATES = 200
FUZZY_THRESHOLD = 0.3
FUZZY_MIN_LETTERS = 3
ACCENT_PENALTY = 5.0


@dataclass(frozen=True)
class Candidate:
    """An entity that a name may mean."""

    id: UUID
    canonical_name: str
    entity_type: str
    aliases: list[str]
    name_match: NameMatch

    def is_spelled(self, name: str) -> bool:
        """Tell whether the entity has the name with the same accents."""
        names = [self.canonical_name] if self.name_match is NameMatch.EXACT else self.aliases
        return spelling(name) in map(spelling, names)


async def find_candidates(
    connection: Connection,
    name: str,
    *,
    entity_type: EntityType | None,
    preferred: Collection[UUID],
    enable_fuzzy: bool,
    caller: Caller,
) -> list[Candidate]:
    """Return the entities that a name may mean; the preferred ones are never cut off by the limit on their number."""
    asked = (caller.tenant_id, name, entity_type, list(preferred), MAX_CANDIDATES)
    rows = await connection.fetch(SQL["named_candidates"], *asked)
    if enable_fuzzy and len(name) >= FUZZY_MIN_LETTERS and await _can_compare(connection):
        rows += await connection.fetch(SQL["fuzzy_candidates"], *asked, FUZZY_THRESHOLD)
    return [_candidate(row) for row in rows]


def base_scores(candidates: Sequence[Candidate], name: str) -> dict[UUID, float]:
    """Return what each candidate's match is worth.

    Of two that match alike, one only without its accents, that one is worth less: "José" means José before Jose.
    """
    spelled = {candidate.id for candidate in candidates if candidate.is_spelled(name)}
    outdone = {candidate.name_match for candidate in candidates if candidate.id in spelled}
    return {
        candidate.id: candidate.name_match.base_score
        - (ACCENT_PENALTY if candidate.name_match in outdone and candidate.id not in spelled else 0.0)
        for candidate in candidates
    }


async def _can_compare(connection: Connection) -> bool:
    row = await connection.fetchrow(SQL["prepare_fuzzy"], str(FUZZY_THRESHOLD))
    return row is not None and bool(row["available"])


def _candidate(row: asyncpg.Record) -> Candidate:
    return Candidate(
        parse_id(row["id"]), row["canonical_name"], row["entity_type"], row["aliases"], NameMatch(row["name_match"])
    )
