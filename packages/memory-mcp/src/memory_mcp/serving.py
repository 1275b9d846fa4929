"""What both servers stand on: the plugins' tools, a runtime that opens in the background, and the spool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core import Memory, MemoryModuleConfig, Tool, WorkerSchedule
from memory_core.plugin_selection import collect_tools, load_plugins, require_named_plugins

from memory_mcp.episode_keeping import EpisodeKeeper
from memory_mcp.lazy_runtime import LazyRuntime
from memory_mcp.state_files import episode_spool
from memory_mcp.tool_calls import ToolCalls


@dataclass(frozen=True)
class Serving:
    """A runtime and the calls that it answers."""

    config: MemoryModuleConfig
    runtime: LazyRuntime
    calls: ToolCalls


def prepare_serving(
    config: MemoryModuleConfig, *, dsn: str | None = None, data_dir: Path | None = None, workers: bool | None = None
) -> Serving:
    """Load the plugins and prepare a runtime; entering it opens the database in the background.

    Raises:
        PluginError: a plugin that the configuration names is missing, or two have one name.
    """
    plugins = load_plugins(config)
    require_named_plugins(plugins, config)
    tools: Mapping[str, Tool] = collect_tools(plugins, config)
    spool = episode_spool(config, dsn=dsn, data_dir=data_dir)
    works = config.serve.workers if workers is None else workers
    beside: list[Callable[[Memory], AbstractAsyncContextManager[Any]]] = [WorkerSchedule] if works else []
    keepers: list[EpisodeKeeper] = []

    async def replay(memory: Memory) -> None:
        for keeper in keepers:
            await keeper.replay(memory)

    runtime = LazyRuntime(
        lambda: Memory.open(dsn, data_dir, config=config, plugins=plugins),
        wait_seconds=config.serve.start_wait_seconds,
        beside=beside,
        when_available=replay,
    )
    if spool is not None:
        keepers.append(EpisodeKeeper(runtime, config, spool))
    calls = ToolCalls(tools, runtime, config, keepers[0] if keepers else None)
    return Serving(config, runtime, calls)
