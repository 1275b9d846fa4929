"""Runs consolidation as the configuration says: the tool, the worker and the command line all stand on this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memory_core.progress import report_progress

from memory_consolidate.pipeline import run_consolidation
from memory_consolidate.reports import ConsolidationReport, Progress

if TYPE_CHECKING:
    from memory_core.runtime import Memory
    from memory_core.spawning import Spawner


async def run_configured(
    memory: Memory,
    *,
    butler: str | None = None,
    dry_run: bool = False,
    request_context: Mapping[str, Any] | None = None,
) -> ConsolidationReport:
    """Consolidate the runtime's tenant with the configured spawner; without one, or if asked, only count what waits.

    Raises:
        PluginError: no plugin provides the spawner that the configuration names.
        ConfigError: the spawner's options are wrong.
    """
    settings = memory.config.consolidation
    spawner: Spawner | None = None
    if settings.spawner is not None and not dry_run:
        spawner = memory.plugins.create("memory_spawners", settings.spawner)
    return await run_consolidation(
        memory.pool,
        memory.embedder,
        spawner,
        butler=butler,
        settings=settings,
        on_progress=_tell,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )


def _tell(progress: Progress) -> None:
    report_progress(f"{progress.butler}: {progress.status}", progress.done, progress.total)
