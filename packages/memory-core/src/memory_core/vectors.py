"""The form in which vectors travel to PostgreSQL: `real[]`, which every asyncpg pool can send without a codec."""

from collections.abc import Sequence
from itertools import chain


def flatten(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Return many vectors as one array; unnest would take a two-dimensional one apart."""
    return list(chain.from_iterable(vectors))
