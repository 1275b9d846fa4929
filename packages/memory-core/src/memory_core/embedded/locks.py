"""Advisory locks between processes: the kernel releases them however a process ends, kill -9 included."""

import fcntl
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_core.embedded.private_files import open_private
from memory_core.errors import ServerError

POLL_SECONDS = 0.01
# Longer than the longest start that a holder may wait for, see lifecycle.START_SECONDS.
DECISION_SECONDS = 330.0


class FileLock:
    """A flock on an open file description of its own, so that two objects in one process exclude each other."""

    def __init__(self, path: Path) -> None:
        """Open the lock file, making it where it is missing; it is never removed, or two locks could exist."""
        self.fd = open_private(path, os.O_RDWR)
        _opened.add(self)

    @property
    def is_open(self) -> bool:
        """False after release, and in a forked child, where the lock is still the parent's."""
        return self.fd >= 0

    def try_exclusive(self) -> bool:
        """Take the lock alone, unless anybody else has it."""
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        """Take the lock together with other sharers, unless somebody has it alone."""
        return self._try(fcntl.LOCK_SH)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Unlock and close; closing alone would leave the lock to a child that native code has forked meanwhile."""
        if self.is_open:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        self.hand_over()

    def hand_over(self) -> None:
        """Close without unlocking: the processes that inherited the descriptor keep the lock."""
        if self.is_open:
            os.close(self.fd)
            self.fd = -1


# A child that Python forks without exec would share every lock, and keep a server's lease alive with its own life.
_opened: "weakref.WeakSet[FileLock]" = weakref.WeakSet()


def _close_in_forked_child() -> None:
    for lock in list(_opened):
        lock.hand_over()


os.register_at_fork(after_in_child=_close_in_forked_child)


@contextmanager
def deciding(path: Path) -> Iterator[None]:
    """Hold the right to make, start or stop the server.

    Raises: ServerError when another process does not let go of it.
    """
    lock = FileLock(path)
    try:
        deadline = time.monotonic() + DECISION_SECONDS
        while not lock.try_exclusive():
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{path} has been locked for {DECISION_SECONDS:.0f} s by another process that starts or stops "
                    f"the server; see which one with `fuser {path}` and end it"
                )
            time.sleep(POLL_SECONDS)
        yield
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Whether any process holds the lock; tells without keeping anybody out for longer than this call."""
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        return not lock.try_shared()
    finally:
        lock.release()


def holders(path: Path) -> tuple[int, ...] | None:
    """Return the processes that hold the lock, or None where the kernel does not tell (anything but Linux)."""
    try:
        table = Path("/proc/locks").read_text()
        inode = path.stat().st_ino
    except OSError:
        return None
    rows = (line.split() for line in table.splitlines())
    return tuple(sorted(int(row[4]) for row in rows if row[1] == "FLOCK" and row[5].endswith(f":{inode}")))
