"""Resolves an ambiguous name to the entities that it may mean, the likeliest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.errors import InvalidInputError
from memory_core.text import MAX_NAME_BYTES, clean_content, preprocess_search_query
from memory_core.validation import parse_positive
from memory_core.vocabulary import parse_word

from memory_entities.candidate_tiers import MAX_CANDIDATES, Candidate, base_scores, find_candidates
from memory_entities.hints import ContextHints
from memory_entities.names import is_blank
from memory_entities.neighbourhood import neighbourhood_boosts
from memory_entities.vocabulary import EntityType

if TYPE_CHECKING:
    from memory_core.database import Database


async def entity_resolve(
    pool: Database,
    name: str,
    *,
    entity_type: str | None = None,
    context_hints: Mapping[str, Any] | None = None,
    enable_fuzzy: bool = False,
    limit: int = MAX_CANDIDATES,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the entities that a name may mean, by score, then name; empty for a blank name. Creates nothing.

    Raises:
        InvalidInputError: the type, a hint or the limit breaks its rule, or the name is not valid Unicode.
    """
    caller = Caller.of(tenant_id, request_context)
    kind = None if entity_type is None else parse_word(EntityType, entity_type, "entity_type")
    hints = ContextHints.of(context_hints)
    most = parse_positive(limit, "limit", MAX_CANDIDATES)
    asked = _searchable(name)
    if asked is None:
        return []
    async with transaction(pool) as connection:
        found = await find_candidates(
            connection,
            asked,
            entity_type=kind,
            preferred=hints.domain_scores.keys(),
            enable_fuzzy=enable_fuzzy,
            caller=caller,
        )
        boosts = await neighbourhood_boosts(connection, [candidate.id for candidate in found], hints.terms, caller)
    scores = _scores(found, asked, hints, boosts)
    ranked = sorted((_result(candidate, scores[candidate.id]) for candidate in found), key=_rank)
    return ranked[:most]


def _searchable(name: str) -> str | None:
    if not isinstance(name, str):
        raise InvalidInputError(f"name is {type(name).__name__}, not text; pass a string")
    asked = preprocess_search_query(name)
    # No stored name is longer than the limit, so a longer one is a part of none.
    if is_blank(asked) or len(asked.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return None
    return clean_content(asked, "name")


def _scores(
    candidates: list[Candidate], name: str, hints: ContextHints, boosts: Mapping[UUID, float]
) -> dict[UUID, float]:
    return {
        entity_id: base + boosts.get(entity_id, 0.0) + hints.domain_scores.get(entity_id, 0.0)
        for entity_id, base in base_scores(candidates, name).items()
    }


def _result(candidate: Candidate, score: float) -> dict[str, Any]:
    return {
        "entity_id": candidate.id,
        "canonical_name": candidate.canonical_name,
        "entity_type": candidate.entity_type,
        "score": round(score, 4),
        "name_match": candidate.name_match.value,
        "aliases": candidate.aliases,
    }


def _rank(result: Mapping[str, Any]) -> tuple[float, str, str]:
    return (-result["score"], result["canonical_name"], str(result["entity_id"]))
