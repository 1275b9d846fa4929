"""The workers that the core itself brings. Each works for all tenants of the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memory_core.anti_patterns import invert_due_rules
from memory_core.cleanup import run_episode_cleanup
from memory_core.decay import run_decay_sweep
from memory_core.index_maintenance import maintain_indexes

if TYPE_CHECKING:
    from memory_core.runtime import Memory


class DecaySweepWorker:
    """Lets unconfirmed memories fade and end, and turns rules that keep doing harm into warnings."""

    name = "decay_sweep"
    cron = "0 3 * * *"

    async def run(self, memory: Memory) -> Mapping[str, int]:
        """Sweep every tenant, then perform the inversions that are due."""
        counts = await run_decay_sweep(memory.pool, thresholds=memory.config.facts, tenant_id=None)
        inverted = await invert_due_rules(memory.pool, memory.embedder, tenant_id=None)
        return {**counts, "rules_inverted": inverted}


class EpisodeCleanupWorker:
    """Removes episodes that have served their time, or that are too many."""

    name = "episode_cleanup"
    cron = "0 4 * * *"

    async def run(self, memory: Memory) -> Mapping[str, int]:
        """Clean up every tenant's episodes."""
        limits = memory.config.episodes
        return await run_episode_cleanup(memory.pool, limits.max_entries, grace_days=limits.grace_days, tenant_id=None)


class IndexMaintenanceWorker:
    """Gives tables that have grown large the index that suits them."""

    name = "index_maintenance"
    cron = "30 4 * * *"

    async def run(self, memory: Memory) -> Mapping[str, int]:
        """Look at each table's vector indexes and mend what is missing."""
        return await maintain_indexes(memory.pool)
