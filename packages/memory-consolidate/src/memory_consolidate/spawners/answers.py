"""Reads values out of what programs and endpoints answer, whatever they answer."""

from typing import Any


def as_object(value: Any) -> dict[str, Any]:
    """Return a JSON object, empty where there is none."""
    return value if isinstance(value, dict) else {}


def as_int(value: Any) -> int:
    """Return a count, 0 where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
