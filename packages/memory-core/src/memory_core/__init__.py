"""Storage, search, lifecycle and plugins of Butler Memory on PostgreSQL and pgvector."""

from memory_core.anti_patterns import invert_to_anti_pattern
from memory_core.cleanup import run_episode_cleanup
from memory_core.config import MemoryModuleConfig, RetrievalConfig
from memory_core.config_sources import load_config
from memory_core.context_block import memory_context
from memory_core.decay import run_decay_sweep
from memory_core.embedding import Embedder
from memory_core.episodes import NewEpisode, store_episode, store_episodes
from memory_core.errors import (
    ConfigError,
    EmbeddingError,
    InvalidInputError,
    InvalidTransitionError,
    MemoryModuleError,
    MigrationError,
    PluginError,
    ServerError,
    TenantMismatchError,
)
from memory_core.fact_planning import NewFact
from memory_core.facts import store_fact, store_facts
from memory_core.feedback import mark_harmful, mark_helpful
from memory_core.links import create_link, get_links
from memory_core.memories import confirm_memory, forget_memory, get_memory
from memory_core.memory_export import export_memories
from memory_core.memory_import import ImportCounts, import_memories
from memory_core.migrating import migrate
from memory_core.plugins import Plugins
from memory_core.providers import Provider, hookimpl
from memory_core.purge import purge_memory, purge_tenant
from memory_core.recalling import recall
from memory_core.rules import store_rule
from memory_core.runtime import Memory
from memory_core.scheduling import WorkerSchedule
from memory_core.scoring import compute_composite_score, compute_recency_score, effective_confidence
from memory_core.searching import hybrid_search, keyword_search, search, semantic_search
from memory_core.stats import memory_stats
from memory_core.text import preprocess_search_query, preprocess_text
from memory_core.tools import Tool, tool
from memory_core.vocabulary import MemoryType, Permanence, Relation, Validity
from memory_core.worker_runs import WorkerBusyError, WorkerRun, run_worker, worker_runs

__all__ = [
    "ConfigError",
    "Embedder",
    "EmbeddingError",
    "ImportCounts",
    "InvalidInputError",
    "InvalidTransitionError",
    "Memory",
    "MemoryModuleConfig",
    "MemoryModuleError",
    "MemoryType",
    "MigrationError",
    "NewEpisode",
    "NewFact",
    "Permanence",
    "PluginError",
    "Plugins",
    "Provider",
    "Relation",
    "RetrievalConfig",
    "ServerError",
    "TenantMismatchError",
    "Tool",
    "Validity",
    "WorkerBusyError",
    "WorkerRun",
    "WorkerSchedule",
    "compute_composite_score",
    "compute_recency_score",
    "confirm_memory",
    "create_link",
    "effective_confidence",
    "export_memories",
    "forget_memory",
    "get_links",
    "get_memory",
    "hookimpl",
    "hybrid_search",
    "import_memories",
    "invert_to_anti_pattern",
    "keyword_search",
    "load_config",
    "mark_harmful",
    "mark_helpful",
    "memory_context",
    "memory_stats",
    "migrate",
    "preprocess_search_query",
    "preprocess_text",
    "purge_memory",
    "purge_tenant",
    "recall",
    "run_decay_sweep",
    "run_episode_cleanup",
    "run_worker",
    "search",
    "semantic_search",
    "store_episode",
    "store_episodes",
    "store_fact",
    "store_facts",
    "store_rule",
    "tool",
    "worker_runs",
]
