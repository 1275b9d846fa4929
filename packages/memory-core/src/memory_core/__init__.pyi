"""The public names of memory-core and where each lives; `__init__.py` imports a module once a name of it is used."""

from .anti_patterns import invert_to_anti_pattern
from .cleanup import run_episode_cleanup
from .config import MemoryModuleConfig, RetrievalConfig
from .config_sources import load_config
from .context_block import memory_context
from .database import open_pool
from .decay import run_decay_sweep
from .embedding import Embedder
from .episodes import NewEpisode, store_episode, store_episodes
from .errors import (
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
from .fact_planning import NewFact
from .facts import store_fact, store_facts
from .feedback import mark_harmful, mark_helpful
from .links import create_link, get_links
from .memories import confirm_memory, forget_memory, get_memory
from .memory_export import export_memories
from .memory_import import ImportCounts, import_memories
from .migrating import migrate
from .migration_chains import MigrationChain
from .plugins import Plugins
from .providers import Provider, hookimpl
from .purge import purge_memory, purge_tenant
from .recalling import recall
from .reembedding import reembed
from .rules import store_rule
from .runtime import Memory
from .scheduling import WorkerSchedule
from .scoring import compute_composite_score, compute_recency_score, effective_confidence
from .searching import hybrid_search, keyword_search, search, semantic_search
from .spawning import SpawnerResult
from .stats import memory_stats
from .text import preprocess_search_query, preprocess_text
from .tools import Tool, tool
from .vocabulary import MemoryType, Permanence, Relation, Validity
from .worker_runs import WorkerBusyError, WorkerRun, latest_worker_runs, run_worker
from .workers import Worker

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
    "MigrationChain",
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
    "SpawnerResult",
    "TenantMismatchError",
    "Tool",
    "Validity",
    "Worker",
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
    "latest_worker_runs",
    "load_config",
    "mark_harmful",
    "mark_helpful",
    "memory_context",
    "memory_stats",
    "migrate",
    "open_pool",
    "preprocess_search_query",
    "preprocess_text",
    "purge_memory",
    "purge_tenant",
    "recall",
    "reembed",
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
]
