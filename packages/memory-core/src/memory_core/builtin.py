"""The core's own plugin: it registers through the same hooks as everybody else's."""

from collections.abc import Sequence

from memory_core.lifecycle_workers import DecaySweepWorker, EpisodeCleanupWorker, IndexMaintenanceWorker
from memory_core.providers import Provider, hookimpl
from memory_core.scoring import CompositeScorer, Scorer
from memory_core.tools import Tool
from memory_core.workers import Worker


@hookimpl
def memory_tools() -> Sequence[Provider[Sequence[Tool]]]:
    """Offer the core's tool set."""
    return [Provider("core", lambda _options: _core_tools())]


@hookimpl
def memory_scorers() -> Sequence[Provider[Scorer]]:
    """Offer the formula of the specification."""
    return [Provider("composite", lambda _options: CompositeScorer())]


@hookimpl
def memory_workers() -> Sequence[Provider[Worker]]:
    """Offer the upkeep of the core's own tables."""
    return [
        Provider("decay_sweep", lambda _options: DecaySweepWorker()),
        Provider("episode_cleanup", lambda _options: EpisodeCleanupWorker()),
        Provider("index_maintenance", lambda _options: IndexMaintenanceWorker()),
    ]


def _core_tools() -> Sequence[Tool]:
    # Imported on use: the tools import the runtime, which imports the plugins.
    from memory_core import lifecycle_tools, retrieval_tools, storage_tools

    return (*storage_tools.TOOLS, *retrieval_tools.TOOLS, *lifecycle_tools.TOOLS)
