"""Every point at which a package can extend Butler Memory.

Hooks are synchronous and only register: each returns named providers, and what a provider creates does the work.
docs/plugins.md shows each one in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

from memory_core.providers import PROJECT, Provider

if TYPE_CHECKING:
    from memory_core.embedding import Embedder
    from memory_core.migration_chains import MigrationChain
    from memory_core.reranking import Reranker
    from memory_core.scoring import Scorer
    from memory_core.spawning import Spawner
    from memory_core.tools import Tool
    from memory_core.workers import Worker

hookspec = pluggy.HookspecMarker(PROJECT)


@hookspec
def memory_embedding_backends() -> Sequence[Provider[Embedder]]:  # type: ignore[empty-body]
    """Offer sources of vectors; `embedding_backend` in the configuration picks one by name."""


@hookspec
def memory_spawners() -> Sequence[Provider[Spawner]]:  # type: ignore[empty-body]
    """Offer ways to run a language model; `consolidation.spawner` picks one by name."""


@hookspec
def memory_scorers() -> Sequence[Provider[Scorer]]:  # type: ignore[empty-body]
    """Offer formulas that turn the components of a recalled memory into its score; `retrieval.scorer` picks one."""


@hookspec
def memory_rerankers() -> Sequence[Provider[Reranker]]:  # type: ignore[empty-body]
    """Offer a last reordering of recalled memories; `retrieval.reranker` picks one, none by default."""


@hookspec
def memory_tools() -> Sequence[Provider[Sequence[Tool]]]:  # type: ignore[empty-body]
    """Offer sets of MCP tools; `tools.sets` lists the sets that are served."""


@hookspec
def memory_workers() -> Sequence[Provider[Worker]]:  # type: ignore[empty-body]
    """Offer periodic work; `schedule` in the configuration can give each its cron line."""


@hookspec
def memory_migrations() -> Sequence[Provider[MigrationChain]]:  # type: ignore[empty-body]
    """Offer a chain of Alembic revisions that is applied after the core's own."""
