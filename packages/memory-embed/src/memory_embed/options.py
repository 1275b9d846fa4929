"""Checks of the values that a configuration gives; each error names the option."""

import os
from collections.abc import Sequence
from pathlib import Path

from memory_core.errors import ConfigError


def whole_number(option: str, value: object, minimum: int, remedy: str) -> int:
    """Return the value if it is a whole number of at least `minimum`.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ConfigError(f"{option} {value!r} is not a whole number from {minimum} up; {remedy}")
    return value


def flag(option: str, value: object) -> bool:
    """Return the value if it is true or false.

    Raises:
        ConfigError: it is not; a text such as "no" would count as true.
    """
    if not isinstance(value, bool):
        raise ConfigError(f"{option} {value!r} is neither true nor false; write it without quotes")
    return value


def directory(option: str, value: object) -> Path:
    """Return the path that the value names.

    Raises:
        ConfigError: it names none.
    """
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ConfigError(f"{option} {value!r} names no directory; give its path, or leave the option out")
    return Path(value).expanduser()


def one_of(option: str, value: str, allowed: Sequence[str]) -> None:
    """Check that the value is one of those allowed.

    Raises:
        ConfigError: it is not.
    """
    if value not in allowed:
        raise ConfigError(f"{option} {value!r} is not one of: {', '.join(allowed)}")


def known_option(backend: str, key: str, known: Sequence[str]) -> None:
    """Check that a backend has the option.

    Raises:
        ConfigError: it has not.
    """
    if key not in known:
        raise ConfigError(f"embedding backend {backend!r} has no option {key!r}; its options are: {', '.join(known)}")
