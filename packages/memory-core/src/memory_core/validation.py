"""Checks a caller's values before anything is written."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memory_core.errors import InvalidInputError
from memory_core.text import clean_name

MAX_METADATA_BYTES = 262_144
MAX_TAGS = 100


def parse_id(value: UUID | str, name: str = "memory_id") -> UUID:
    """Return an id.

    Raises:
        InvalidInputError: it is not a UUID.
    """
    if isinstance(value, UUID):
        # asyncpg hands out its own subclass; results compare and pickle better as the plain one.
        return UUID(int=value.int)
    try:
        return UUID(value)
    except (ValueError, AttributeError, TypeError):
        raise InvalidInputError(
            f"{name} {str(value)[:60]!r} is not a UUID; pass an id as a search or a store call returned it"
        ) from None


def parse_optional_id(value: UUID | str | None, name: str) -> UUID | None:
    """Return an id, or `None` where none is given.

    Raises:
        InvalidInputError: it is not a UUID.
    """
    return None if value is None else parse_id(value, name)


def parse_importance(value: float) -> float:
    """Return an importance from 0 to 10.

    Raises:
        InvalidInputError: it is not a number in that range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10:
        raise InvalidInputError(f"importance {value!r} is not a number from 0 to 10; 5 is the usual one")
    return float(value)


def parse_confidence(value: float) -> float:
    """Return a confidence from 0 to 1.

    Raises:
        InvalidInputError: it is not a number in that range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(f"confidence {value!r} is not a number from 0 to 1; 1 is certain")
    return float(value)


def parse_tags(tags: Sequence[str] | None) -> list[str]:
    """Return tags without repeats, in the given order.

    Raises:
        InvalidInputError: it is not a list of short texts.
    """
    if tags is None:
        return []
    if isinstance(tags, str) or not isinstance(tags, Sequence) or len(tags) > MAX_TAGS:
        raise InvalidInputError(f"tags {str(tags)[:60]!r} is not a list of at most {MAX_TAGS} texts")
    return list(dict.fromkeys(clean_name(tag, "tag") for tag in tags))


def parse_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return metadata that JSONB can hold.

    Raises:
        InvalidInputError: it is not an object of JSON values, or it is too large.
    """
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata {str(metadata)[:60]!r} is not an object; pass key-value pairs")
    try:
        text = json.dumps(_without_nul(dict(metadata)), allow_nan=False, ensure_ascii=False)
        size = len(text.encode("utf-8"))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"metadata cannot be written as JSON ({error}); use plain JSON values") from None
    if size > MAX_METADATA_BYTES:
        raise InvalidInputError(f"metadata is {size:,} bytes long, at most {MAX_METADATA_BYTES:,} are allowed")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, Mapping):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    return [_without_nul(item) for item in value] if isinstance(value, list | tuple) else value


def parse_moment(value: datetime | None) -> datetime:
    """Return a moment in UTC: the given one, else now; a naive time counts as UTC."""
    if value is None:
        return datetime.now(UTC)
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def parse_positive(value: int, name: str, maximum: int) -> int:
    """Return a whole number from 1 to `maximum`.

    Raises:
        InvalidInputError: it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
        raise InvalidInputError(f"{name} {value!r} is not a whole number from 1 to {maximum:,}")
    return value


def parse_days(value: float, name: str) -> float:
    """Return a positive number of days.

    Raises:
        InvalidInputError: it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise InvalidInputError(f"{name} {value!r} is not a positive number of days")
    return float(value)
