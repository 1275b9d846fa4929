"""The words of the domain: memory types, permanence, validity, maturity, relations."""

from enum import StrEnum
from typing import Literal, TypeVar

from memory_core.errors import InvalidInputError


class MemoryType(StrEnum):
    """What kind of memory a row is."""

    EPISODE = "episode"
    FACT = "fact"
    RULE = "rule"

    @property
    def table(self) -> str:
        """The table that holds this type."""
        return f"{self.value}s"


class Permanence(StrEnum):
    """How quickly a fact or rule fades when nobody confirms it."""

    PERMANENT = "permanent"
    STABLE = "stable"
    STANDARD = "standard"
    VOLATILE = "volatile"
    EPHEMERAL = "ephemeral"

    @property
    def decay_rate(self) -> float:
        """The exponential decay of confidence, per day."""
        return DECAY_RATES[self]


DECAY_RATES: dict[Permanence, float] = {
    Permanence.PERMANENT: 0.0,
    Permanence.STABLE: 0.002,
    Permanence.STANDARD: 0.008,
    Permanence.VOLATILE: 0.03,
    Permanence.EPHEMERAL: 0.1,
}


class Validity(StrEnum):
    """Where a fact is in its life."""

    ACTIVE = "active"
    FADING = "fading"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    RETRACTED = "retracted"


class Maturity(StrEnum):
    """How far a rule has proven itself."""

    CANDIDATE = "candidate"
    ESTABLISHED = "established"
    PROVEN = "proven"
    ANTI_PATTERN = "anti_pattern"


class Relation(StrEnum):
    """What a link between two memories means."""

    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    RELATED_TO = "related_to"


Direction = Literal["outgoing", "incoming", "both"]

Word = TypeVar("Word", bound=StrEnum)


def parse_word(kind: type[Word], value: str, name: str) -> Word:
    """Return the enum member that a word stands for.

    Raises:
        InvalidInputError: the word is not in the vocabulary.
    """
    try:
        return kind(value)
    except ValueError:
        raise InvalidInputError(f"{name} {value!r} is not one of: {', '.join(kind)}") from None
