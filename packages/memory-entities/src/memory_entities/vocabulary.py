"""The words of the domain: what an entity can be, and how a name can match it."""

from enum import StrEnum


class EntityType(StrEnum):
    """What kind of thing an entity is."""

    PERSON = "person"
    ORGANIZATION = "organization"
    PLACE = "place"
    OTHER = "other"


class NameMatch(StrEnum):
    """How a candidate was found by its name, best first."""

    EXACT = "exact"
    ALIAS = "alias"
    PREFIX = "prefix"
    FUZZY = "fuzzy"

    @property
    def base_score(self) -> float:
        """What the match is worth before any hint counts."""
        return BASE_SCORES[self]


BASE_SCORES: dict[NameMatch, float] = {
    NameMatch.EXACT: 100.0,
    NameMatch.ALIAS: 80.0,
    NameMatch.PREFIX: 50.0,
    NameMatch.FUZZY: 20.0,
}
