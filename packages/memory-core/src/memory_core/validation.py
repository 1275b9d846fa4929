"""Checks a caller's values before anything is written."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memory_core.errors import InvalidInputError
from memory_core.text import clean_name

MAX_METADATA_BYTES = 262_144
# Far more than anybody nests by hand, far less than what a reader's stack can take.
MAX_METADATA_DEPTH = 50
MAX_TAGS = 100
# A century: a sum of dates stays within what a calendar can hold.
MAX_DAYS = 36_500
MAX_COUNT = 10**12


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


def parse_metadata(metadata: Mapping[str, Any] | None, name: str = "metadata") -> dict[str, Any]:
    """Return metadata that JSONB can hold.

    Raises:
        InvalidInputError: it is not an object of JSON values, too large, or nested too deeply.
    """
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"{name} {str(metadata)[:60]!r} is not an object; pass key-value pairs")
    try:
        text = json.dumps(_without_nul(metadata, MAX_METADATA_DEPTH), allow_nan=False, ensure_ascii=False)
        size = len(text.encode("utf-8"))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} cannot be written as JSON ({error}); use plain JSON values") from None
    if size > MAX_METADATA_BYTES:
        raise InvalidInputError(f"{name} is {size:,} bytes long, at most {MAX_METADATA_BYTES:,} are allowed")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def _without_nul(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return value.replace("\x00", "")
    if not isinstance(value, Mapping | list | tuple):
        return value
    if levels == 0:
        raise ValueError(f"it is nested more than {MAX_METADATA_DEPTH} levels deep")
    if isinstance(value, Mapping):
        return {_without_nul(key, levels - 1): _without_nul(item, levels - 1) for key, item in value.items()}
    return [_without_nul(item, levels - 1) for item in value]


def parse_moment(value: datetime | None) -> datetime:
    """Return a moment in UTC: the given one, else now; a naive time counts as UTC.

    Raises:
        InvalidInputError: it is something else than a datetime.
    """
    if value is None:
        return datetime.now(UTC)
    if not isinstance(value, datetime):
        raise InvalidInputError(
            f"moment {str(value)[:60]!r} is {type(value).__name__}, not a datetime; "
            "pass one, such as datetime.now(UTC), or leave it out"
        )
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def parse_positive(value: int, name: str, maximum: int) -> int:
    """Return a whole number from 1 to `maximum`.

    Raises:
        InvalidInputError: it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
        raise InvalidInputError(f"{name} {value!r} is not a whole number from 1 to {maximum:,}")
    return value


def parse_count(value: int, name: str) -> int:
    """Return a whole number from 0 on.

    Raises:
        InvalidInputError: it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise InvalidInputError(f"{name} {value!r} is not a whole number from 0 to {MAX_COUNT:,}")
    return value


def parse_days(value: float, name: str, *, may_be_zero: bool = False) -> float:
    """Return a number of days, at most a century.

    Raises:
        InvalidInputError: it is not one.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MAX_DAYS or (value == 0 and not may_be_zero):
        span = f"{'from' if may_be_zero else 'above'} 0 up to {MAX_DAYS:,}"
        raise InvalidInputError(f"{name} {value!r} is not a number of days {span}")
    return float(value)
