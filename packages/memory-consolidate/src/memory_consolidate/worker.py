"""The worker that consolidates the episodes of all tenants, one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.config import ScheduleConfig

from memory_consolidate.claims import waiting_tenants
from memory_consolidate.configured import run_configured

if TYPE_CHECKING:
    from memory_core.runtime import Memory


@dataclass(frozen=True)
class ConsolidationWorker:
    """Turns waiting episodes into facts and rules."""

    name: str = "consolidate"
    cron: str = ScheduleConfig().consolidate

    async def run(self, memory: Memory) -> Mapping[str, int]:
        """Run once for each tenant that has episodes waiting, and return the totals."""
        totals: Counter[str] = Counter()
        for tenant_id in await waiting_tenants(memory.pool):
            report = await run_configured(memory.for_tenant(tenant_id))
            totals.update(report.counts())
        return dict(totals)
