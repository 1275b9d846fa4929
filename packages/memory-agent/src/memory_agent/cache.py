"""A least-recently-used cache whose entries also grow old."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from memory_agent.errors import InvalidInputError
from memory_agent.records import LRUCacheOptions

T = TypeVar("T")


class LRUCache(Generic[T]):
    """Keeps the most recently used values, each for a limited time; safe to share between threads."""

    def __init__(self, options: LRUCacheOptions | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = _checked(options or LRUCacheOptions())
        self._clock = clock
        self._entries: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> T | None:
        """Return the value and make it the most recently used; None when it is absent or expired."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if self._expired(entry[0]):
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return entry[1]

    def set(self, key: str, value: T) -> None:
        """Keep the value as the most recently used; at capacity the least recently used one goes."""
        with self._lock:
            self._entries.pop(key, None)
            while len(self._entries) >= self._options.max_size:
                self._entries.popitem(last=False)
            self._entries[key] = (self._clock(), value)

    def delete(self, key: str) -> bool:
        """Remove a key; False when it was not there."""
        with self._lock:
            return self._entries.pop(key, None) is not None

    def invalidate_prefix(self, prefix: str) -> int:
        """Remove every key that starts with the prefix and return how many did."""
        return self._remove(lambda key, _stored_at: key.startswith(prefix))

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._entries.clear()

    def prune(self) -> int:
        """Remove what has expired and return how many entries that were."""
        return self._remove(lambda _key, stored_at: self._expired(stored_at))

    def _remove(self, doomed: Callable[[str, float], bool]) -> int:
        with self._lock:
            keys = [key for key, (stored_at, _value) in self._entries.items() if doomed(key, stored_at)]
            for key in keys:
                del self._entries[key]
            return len(keys)

    def _expired(self, stored_at: float) -> bool:
        return (self._clock() - stored_at) * 1000 > self._options.ttl_ms


def _checked(options: LRUCacheOptions) -> LRUCacheOptions:
    if options.max_size < 1:
        raise InvalidInputError(f"max_size {options.max_size!r} is below 1; a cache must hold at least one entry")
    if options.ttl_ms <= 0:
        raise InvalidInputError(f"ttl_ms {options.ttl_ms!r} is not above 0; pass milliseconds, for example 300000")
    return options
