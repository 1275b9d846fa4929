"""What an examination finds, and how it is told."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; where it is not in order, what to do about it."""

    what: str
    status: Status
    told: str
    remedy: str | None = None


def ok(what: str, told: str) -> Finding:
    """Return that something is in order."""
    return Finding(what, "ok", told)


def warn(what: str, told: str, remedy: str) -> Finding:
    """Return that something works but deserves a look."""
    return Finding(what, "warn", told, remedy)


def fail(what: str, told: str, remedy: str) -> Finding:
    """Return that something does not work."""
    return Finding(what, "fail", told, remedy)
