"""Keeps what a manager has cached from outliving a write by somebody else."""

import sqlite3
import time
from collections.abc import Callable
from weakref import WeakSet

from memory_agent.cache import LRUCache
from memory_agent.queries import fetch
from memory_agent.records import EnrichedMemory

MemoryCache = LRUCache[EnrichedMemory]

# Recalls in between are answered from memory alone, without asking SQLite anything.
OTHER_PROCESS_CHECK_SECONDS = 1.0

_caches: WeakSet[MemoryCache] = WeakSet()


def cache_key(agent_id: str, key: str) -> str:
    """Return the key under which a memory is cached."""
    return f"{agent_id}:{key}"


def watch_writes(cache: MemoryCache) -> None:
    """Have every write of this process forget its entry in the cache, for as long as the cache lives."""
    _caches.add(cache)


def announce_write(agent_id: str, key: str) -> None:
    """Forget a memory in every cache of this process; which file it lies in does not matter, a miss is only slower."""
    for cache in list(_caches):
        cache.delete(cache_key(agent_id, key))


class OtherWriters:
    """Notices commits of other connections and processes, at most once a second."""

    def __init__(self, db: sqlite3.Connection, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._clock = clock
        self._asked_at = clock()
        self._version = self._data_version()

    def have_written(self) -> bool:
        """Tell whether somebody else has committed since the last time this was true."""
        if self._clock() - self._asked_at < OTHER_PROCESS_CHECK_SECONDS:
            return False
        self._asked_at = self._clock()
        before, self._version = self._version, self._data_version()
        return self._version != before

    def _data_version(self) -> int:
        return int(fetch(self._db, "PRAGMA data_version")[0][0])
