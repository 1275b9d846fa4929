"""Where episodes wait while the database is away: append-only files, one per process, on disk before the answer.

A file is locked by the process that appends to it. Whoever can lock a file may replay it: its writer, once it has let
go of it, or anybody after its writer has died. Replaying twice is harmless, because each episode carries its id.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

from memory_mcp.file_locks import lock_file
from memory_mcp.tool_errors import SpoolFullError

logger = logging.getLogger(__name__)

SUFFIX = ".episodes.jsonl"
# Replayed together: enough for one pass of the model, few enough for one transaction.
BATCH = 100


@dataclass(frozen=True)
class WaitingEpisode:
    """An episode as it waits: everything that storing it takes, with its id and its own time."""

    episode_id: str
    tenant_id: str
    content: str
    butler: str
    session_id: str | None
    importance: float
    ttl_days: float
    created_at: str
    request_context: dict[str, Any] | None


Store = Callable[[Sequence[WaitingEpisode]], Awaitable[None]]


class EpisodeSpool:
    """The spool of one database; the directory is made when the first episode waits."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._file: int | None = None
        self._threads = threading.Lock()

    def append(self, episode: WaitingEpisode) -> None:
        """Put an episode on disk; when this returns it survives a power cut.

        Raises:
            SpoolFullError: as much waits as may wait, or the disk does not take it.
        """
        line = (json.dumps(asdict(episode), ensure_ascii=False) + "\n").encode()
        with self._threads:
            waiting = sum(size for _, size, _ in self._listed())
            if waiting + len(line) > self._max_bytes:
                raise SpoolFullError(
                    f"the memory database is away, and no more than {self._max_bytes} bytes of episodes may wait for it"
                )
            try:
                self._write(line)
            except OSError as error:
                logger.exception("an episode could not be spooled")
                raise SpoolFullError("the memory database is away, and the episode could not be kept either") from error

    def files(self) -> list[Path]:
        """Return the files in which episodes wait, oldest first."""
        return [path for _, _, path in sorted(self._listed())]

    def _listed(self) -> list[tuple[float, int, Path]]:
        """Return when each file was last written, its size and its path."""
        listed = []
        for path in self._directory.glob(f"*{SUFFIX}"):
            # Another process may have replayed and removed it since it was listed.
            with suppress(FileNotFoundError):
                found = path.stat()
                listed.append((found.st_mtime, found.st_size, path))
        return listed

    def release(self) -> None:
        """Let go of this process's file, so that it can be replayed; the next episode begins a new one."""
        with self._threads:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    async def replay(self, store: Store) -> int:
        """Store what waits in files that nobody appends to, remove them, and return how many episodes that were.

        What the store refuses for good it must not raise for; when it raises, the file stays for another time.
        """
        self.release()
        replayed = 0
        for path in self.files():
            with _locked(path) as is_ours:
                if is_ours:
                    replayed += await _replay_file(path, store)
        return replayed

    def _write(self, line: bytes) -> None:
        if self._file is None:
            self._file = self._begin()
        written = os.write(self._file, line)
        if written < len(line):
            # A half line would spoil the next one; in a new file it is a torn end, which the reader expects.
            os.close(self._file)
            self._file = None
            raise OSError(f"only {written} of {len(line)} bytes were written")
        os.fsync(self._file)

    def _begin(self) -> int:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            path = self._directory / f"{os.getpid()}-{uuid4().hex[:12]}{SUFFIX}"
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            # Before it was locked, another process may have taken it for one to replay, and removed it.
            if lock_file(file) and path.exists():
                _sync_directory(self._directory)
                return file
            os.close(file)


async def _replay_file(path: Path, store: Store) -> int:
    try:
        episodes = read_episodes(path)
    except (ValueError, TypeError):
        # It must not stand in the way of the files after it; a person may still make something of it.
        logger.exception("the spool file %s cannot be read and is set aside", path)
        path.rename(path.with_suffix(".unreadable"))
        return 0
    for batch in _batches(episodes):
        await store(batch)
    path.unlink()
    return len(episodes)


def read_episodes(path: Path) -> list[WaitingEpisode]:
    """Return the episodes of one file; an end that was torn by a crash was never answered for, and is left out."""
    *lines, _torn = path.read_bytes().split(b"\n")
    return [WaitingEpisode(**json.loads(line)) for line in lines]


def _batches(episodes: Sequence[WaitingEpisode]) -> Iterator[list[WaitingEpisode]]:
    """Return runs of episodes that one call can store: of one tenant and one request."""
    for _, run in groupby(episodes, key=lambda episode: (episode.tenant_id, json.dumps(episode.request_context))):
        together = list(run)
        for start in range(0, len(together), BATCH):
            yield together[start : start + BATCH]


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        # Between opening and locking another process may have replayed and removed it.
        yield lock_file(file) and path.exists()
    finally:
        os.close(file)


def _sync_directory(directory: Path) -> None:
    if sys.platform == "win32":
        return
    # A new file's name is on disk only when its directory is.
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
