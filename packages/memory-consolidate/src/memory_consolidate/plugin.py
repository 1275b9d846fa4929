"""What this package brings: the tool of consolidation and one for its upkeep, five spawners and one worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.providers import Provider, hookimpl

from memory_consolidate.spawners.claude import create_claude
from memory_consolidate.spawners.codex import create_codex
from memory_consolidate.spawners.command import create_command
from memory_consolidate.spawners.gemini import create_gemini

if TYPE_CHECKING:
    from memory_core.providers import Options
    from memory_core.spawning import Spawner
    from memory_core.tools import Tool
    from memory_core.workers import Worker


@hookimpl
def memory_tools() -> Sequence[Provider[Sequence[Tool]]]:
    """Offer the tool that runs a consolidation, and, for those who ask for it, the one that mends its failures."""
    return [
        Provider("consolidation", lambda _options: _tools()),
        Provider("consolidation-upkeep", lambda _options: _upkeep_tools()),
    ]


@hookimpl
def memory_spawners() -> Sequence[Provider[Spawner]]:
    """Offer the ways to run a model."""
    return [
        Provider("claude", create_claude),
        Provider("codex", create_codex),
        Provider("command", create_command),
        Provider("gemini", create_gemini),
        Provider("openai", _create_openai),
    ]


@hookimpl
def memory_workers() -> Sequence[Provider[Worker]]:
    """Offer the worker that consolidates on a schedule."""
    return [Provider("consolidate", lambda _options: _worker())]


def _tools() -> Sequence[Tool]:
    # Imported on use: the tools import the runtime, which imports the plugins.
    from memory_consolidate import consolidation_tools

    return consolidation_tools.TOOLS


def _upkeep_tools() -> Sequence[Tool]:
    from memory_consolidate import upkeep_tools

    return upkeep_tools.TOOLS


def _create_openai(options: Options) -> Spawner:
    # Imported on use: an HTTP client takes a tenth of a second to import, and few need it.
    from memory_consolidate.spawners.openai import create_openai

    return create_openai(options)


def _worker() -> Worker:
    from memory_consolidate.worker import ConsolidationWorker

    return ConsolidationWorker()
