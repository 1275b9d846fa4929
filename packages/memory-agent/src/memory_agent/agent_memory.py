"""`MemoryManager`: the one object most callers need."""

import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Self

from memory_agent.cache import LRUCache
from memory_agent.clock import utc_now
from memory_agent.crossrefs import RELATED_LIMIT, find_neighbours, related_memories
from memory_agent.deep import dispatched_search
from memory_agent.documents import document_terms
from memory_agent.enrichment import enrich, memories_of_category, stored_category, with_category
from memory_agent.fast import fast_search
from memory_agent.files import open_database
from memory_agent.freshness import MemoryCache, OtherWriters, announce_write, cache_key, watch_writes
from memory_agent.records import (
    AgentMemory,
    DeepSearchFn,
    EnrichedMemory,
    MemoryCategory,
    MemoryManagerOptions,
    RelatedMemory,
    ScoredMemory,
    SearchOptions,
    SearchResult,
)
from memory_agent.schema import ensure_memory_schema, migrate
from memory_agent.store import delete_memory, list_memories, recall_memory, write_memory
from memory_agent.transactions import write_transaction
from memory_agent.validation import require_category, require_text

logger = logging.getLogger(__name__)

# Named here: inside the class `list` is the method.
Memories = list[AgentMemory]
RelatedMemories = list[RelatedMemory]


class MemoryManager:
    """Saves, recalls and searches the memories of agents in one SQLite database."""

    def __init__(
        self,
        db: sqlite3.Connection,
        options: MemoryManagerOptions | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        cache_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        chosen = options or MemoryManagerOptions()
        self._db = db
        self._clock = clock
        self._deep_search_fn = chosen.deep_search_fn
        _prepare(db)
        self._cache: MemoryCache = LRUCache(chosen.cache, clock=cache_clock)
        self._other_writers = OtherWriters(db, clock=cache_clock)
        watch_writes(self._cache)

    @classmethod
    def open(cls, path: str | Path, options: MemoryManagerOptions | None = None) -> Self:
        """Open or create a memory file; use it in a `with` statement, or call `close`.

        Raises:
            UnusableFileError: the file is no memory file, is damaged, or was written by a newer version.
        """
        return cls(open_database(path), options)

    @property
    def db(self) -> sqlite3.Connection:
        """The database, for the functions that take one."""
        return self._db

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def save(self, agent_id: str, key: str, content: str) -> EnrichedMemory:
        """Store the content under the agent's key with its category, embedding and cross-references, all or nothing.

        Raises:
            InvalidInputError: agent, key or content is blank or no text.
        """
        with write_transaction(self._db):
            terms = document_terms(require_text("key", key), require_text("content", content))
            previous = recall_memory(self._db, agent_id, key)
            neighbours = find_neighbours(self._db, agent_id, previous.id if previous else None, terms)
            memory = write_memory(self._db, agent_id, key, content, now=self._clock()).memory
            enriched = enrich(self._db, memory, terms, neighbours)
        announce_write(agent_id, key)
        return enriched

    def recall(self, agent_id: str, key: str) -> EnrichedMemory | None:
        """Return the agent's memory under the key, from the cache where it is there, or None."""
        if self._other_writers.have_written():
            self._cache.clear()
        cached = self._cache.get(cache_key(agent_id, key))
        # Compared in full: agent "a" with key "b:c" and agent "a:b" with key "c" share one cache key.
        if cached is not None and (cached.agent_id, cached.key) == (agent_id, key):
            return cached
        return self._recall_stored(agent_id, key)

    def _recall_stored(self, agent_id: str, key: str) -> EnrichedMemory | None:
        memory = recall_memory(self._db, agent_id, key)
        if memory is None:
            return None
        enriched = with_category(memory, stored_category(self._db, memory.id))
        if not self._db.in_transaction:  # what is not committed may yet be rolled back
            self._cache.set(cache_key(agent_id, key), enriched)
        return enriched

    def delete(self, agent_id: str, key: str) -> bool:
        """Remove a memory and all that was derived from it; False when there was none."""
        return delete_memory(self._db, agent_id, key)

    async def search(self, agent_id: str, query: str, opts: SearchOptions | None = None) -> SearchResult:
        """Search fast or deep, as the options' mode says, and tell how many candidates were weighed."""
        chosen = opts or SearchOptions()
        found = await dispatched_search(self._db, agent_id, query, chosen, self._deep_search_fn, now=self._clock())
        return SearchResult(found.results, chosen.mode, found.total_candidates)

    def search_fast(self, agent_id: str, query: str, opts: SearchOptions | None = None) -> list[ScoredMemory]:
        """Search fast, without an event loop; the options' mode does not matter."""
        return fast_search(self._db, agent_id, query, replace(opts or SearchOptions(), mode="fast"), now=self._clock())

    def list(self, agent_id: str) -> Memories:
        """Return the agent's most recently updated memories."""
        return list_memories(self._db, agent_id)

    def list_by_category(self, agent_id: str, category: MemoryCategory) -> Memories:
        """Return the agent's most recently updated memories of a category, at most 20.

        Raises:
            InvalidInputError: there is no such category.
        """
        return memories_of_category(self._db, require_text("agent_id", agent_id), require_category(category))

    def get_related(self, memory_id: str, limit: int = RELATED_LIMIT) -> RelatedMemories:
        """Return the memories that are about the same thing, nearest first."""
        return related_memories(self._db, memory_id, limit=limit)

    def invalidate_agent(self, agent_id: str) -> None:
        """Forget what is cached of an agent."""
        self._cache.invalidate_prefix(cache_key(agent_id, ""))

    def clear_cache(self) -> None:
        """Forget all that is cached; the term counts of TF-IDF live in the database and have nothing to forget."""
        self._cache.clear()

    def get_cache_stats(self) -> dict[str, int]:
        """Return how many memories are cached, as `size`."""
        return {"size": len(self._cache)}

    def set_deep_search_fn(self, fn: DeepSearchFn) -> None:
        """Set or replace the function that ranks the candidates of a deep search."""
        self._deep_search_fn = fn


def _prepare(db: sqlite3.Connection) -> None:
    migrate(db)
    try:
        ensure_memory_schema(db)
    except sqlite3.DatabaseError:
        # Categories, embeddings and references are extras: memories can be kept without them.
        logger.warning("the extension tables could not be created, memories are kept without them", exc_info=True)
