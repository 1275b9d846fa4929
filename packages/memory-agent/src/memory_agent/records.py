"""What the package takes and returns: memories, scored memories, options."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

SearchMode = Literal["fast", "deep"]
ScoreSource = Literal["fts5", "tfidf", "combined", "llm"]
MemoryStatus = Literal["pending", "confirmed"]
MemoryCategory = Literal[
    "config", "code", "person", "project", "credential", "preference", "fact", "conversation", "task", "general"
]


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """One row of `agent_memories`; times are UTC texts as SQLite writes them."""

    id: str
    agent_id: str
    key: str
    content: str
    txid: str | None
    status: MemoryStatus
    archived: bool
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class EnrichedMemory(AgentMemory):
    """A memory with its category; both fields are None when it was last written without enrichment."""

    category: MemoryCategory | None = None
    category_confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A search hit and how its score came about."""

    memory: AgentMemory
    score: float
    source: ScoreSource


@dataclass(frozen=True, slots=True)
class RelatedMemory:
    """A cross-referenced memory and the Jaccard similarity of the pair."""

    memory: AgentMemory
    score: float


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search; `min_similarity` is compared before decay."""

    limit: int = 10
    mode: SearchMode = "fast"
    category: str | None = None
    min_similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits, the mode that was asked for, and how many candidates were weighed."""

    memories: list[ScoredMemory]
    mode: SearchMode
    total_candidates: int


@dataclass(frozen=True, slots=True)
class CategoryResult:
    """The best category of a memory and how sure the keywords are, from 0.0 to 1.0."""

    category: MemoryCategory
    confidence: float


@dataclass(frozen=True, slots=True)
class LRUCacheOptions:
    """How many entries a cache holds, and for how long each is good."""

    max_size: int = 256
    ttl_ms: int = 300_000


DeepSearchFn = Callable[[str, Sequence[AgentMemory], int], Awaitable[list[ScoredMemory]]]


@dataclass(frozen=True, slots=True)
class MemoryManagerOptions:
    """What a manager can be told; there are no environment variables."""

    cache: LRUCacheOptions | None = None
    deep_search_fn: DeepSearchFn | None = None
