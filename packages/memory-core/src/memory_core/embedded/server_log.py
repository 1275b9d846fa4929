"""The server's log file: bounded by one older generation, quoted when a start fails."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_core.embedded.private_files import open_private

ROTATE_BYTES = 1_000_000
TAIL_LINES = 15
TAIL_BYTES = 8_000


def rotate(log: Path) -> None:
    """Move a log that has grown aside, replacing the older generation."""
    if log.exists() and log.stat().st_size > ROTATE_BYTES:
        log.replace(previous(log))


def previous(log: Path) -> Path:
    """Return where the older generation is kept."""
    return log.with_name(log.name + ".1")


@contextmanager
def appending(log: Path) -> Iterator[int]:
    """Open the log for the server's output; a symlink in its place is refused."""
    fd = open_private(log, os.O_WRONLY | os.O_APPEND)
    try:
        yield fd
    finally:
        os.close(fd)


def tail(log: Path, since: int = 0) -> str:
    """Return the last lines that were written after the given size, for an error message."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(since, log.stat().st_size - TAIL_BYTES))
            text = stream.read().decode("utf-8", "replace")
    except OSError as error:
        return f"(the log cannot be read: {error})"
    return "\n".join(text.splitlines()[-TAIL_LINES:]) or "(the log is empty)"


def size(log: Path) -> int:
    """Return how much the log holds now."""
    return log.stat().st_size if log.exists() else 0
