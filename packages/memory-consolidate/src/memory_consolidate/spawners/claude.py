"""The spawner for Claude Code, the `claude` program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memory_core.spawning import SpawnerResult

from memory_consolidate.spawners.answers import as_int, as_object
from memory_consolidate.spawners.command import ProgramSpawner, failure
from memory_consolidate.spawners.options import AgentOptions, read_options

ENVIRONMENT = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
)

# No tools, no MCP servers, none of the user's hooks: the session reads a prompt and answers, and nobody stores it.
ARGS = (
    "--print",
    "--output-format",
    "json",
    "--tools",
    "",
    "--strict-mcp-config",
    "--setting-sources",
    "project",
    "--no-session-persistence",
)


def create_claude(options: Mapping[str, Any]) -> ProgramSpawner:
    """Build the spawner `claude`.

    Raises:
        ConfigError: an option is unknown or has a bad value.
    """
    checked = read_options(AgentOptions, "claude", options)
    model = ["--model", checked.model] if checked.model else []
    argv = [checked.executable or "claude", *(ARGS if checked.args is None else checked.args), *model]
    return ProgramSpawner(argv, checked, read_claude_answer, ENVIRONMENT, checked.model)


def read_claude_answer(stdout: str) -> SpawnerResult:
    """Read the one JSON object that `--output-format json` prints."""
    try:
        answer = json.loads(stdout)
    except ValueError:
        return failure(f"claude did not print JSON: {stdout[:200]!r}")
    if not isinstance(answer, dict) or not isinstance(answer.get("result"), str):
        said = as_object(answer).get("subtype") or as_object(answer).get("errors")
        return failure(f"claude gave no result: {said or 'unknown output'}")
    if answer.get("is_error"):
        return failure(f"claude reported an error: {answer['result']}")
    usage = as_object(answer.get("usage"))
    cached = [as_int(usage.get(key)) for key in ("cache_creation_input_tokens", "cache_read_input_tokens")]
    return SpawnerResult(
        answer["result"],
        True,
        model=next(iter(as_object(answer.get("modelUsage"))), None),
        input_tokens=as_int(usage.get("input_tokens")) + sum(cached),
        output_tokens=as_int(usage.get("output_tokens")),
    )
