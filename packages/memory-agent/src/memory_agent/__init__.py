"""Keyed memory per agent in one SQLite file: save, recall, search; standard library only."""

from memory_agent.agent_memory import MemoryManager
from memory_agent.cache import LRUCache
from memory_agent.categories import all_categories, categorize
from memory_agent.crossrefs import jaccard_similarity
from memory_agent.decay import apply_decay, compute_decay_multiplier
from memory_agent.deep import deep_search, search
from memory_agent.errors import (
    AgentMemoryError,
    DeepSearchError,
    InvalidInputError,
    UnsupportedSqliteError,
    UnusableFileError,
)
from memory_agent.fast import fast_search
from memory_agent.files import open_database
from memory_agent.promotion import promote
from memory_agent.records import (
    AgentMemory,
    CategoryResult,
    DeepSearchFn,
    EnrichedMemory,
    LRUCacheOptions,
    MemoryCategory,
    MemoryManagerOptions,
    RelatedMemory,
    ScoredMemory,
    SearchMode,
    SearchOptions,
    SearchResult,
)
from memory_agent.schema import ensure_memory_schema
from memory_agent.spawner import spawner_deep_search
from memory_agent.store import delete_memory, list_memories, recall_memory, save_memory, search_memories
from memory_agent.summaries import summarize_old_memories
from memory_agent.tfidf import IDFCorpus, cosine_similarity_dense, cosine_similarity_sparse
from memory_agent.tokens import term_frequency, tokenize

__all__ = [
    "AgentMemory",
    "AgentMemoryError",
    "CategoryResult",
    "DeepSearchError",
    "DeepSearchFn",
    "EnrichedMemory",
    "IDFCorpus",
    "InvalidInputError",
    "LRUCache",
    "LRUCacheOptions",
    "MemoryCategory",
    "MemoryManager",
    "MemoryManagerOptions",
    "RelatedMemory",
    "ScoredMemory",
    "SearchMode",
    "SearchOptions",
    "SearchResult",
    "UnsupportedSqliteError",
    "UnusableFileError",
    "all_categories",
    "apply_decay",
    "categorize",
    "compute_decay_multiplier",
    "cosine_similarity_dense",
    "cosine_similarity_sparse",
    "deep_search",
    "delete_memory",
    "ensure_memory_schema",
    "fast_search",
    "jaccard_similarity",
    "list_memories",
    "open_database",
    "promote",
    "recall_memory",
    "save_memory",
    "search",
    "search_memories",
    "spawner_deep_search",
    "summarize_old_memories",
    "term_frequency",
    "tokenize",
]
