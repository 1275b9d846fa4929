"""The spawner for OpenAI's Codex, the `codex` program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memory_core.spawning import SpawnerResult

from memory_consolidate.spawners.answers import as_int, as_object
from memory_consolidate.spawners.command import ProgramSpawner, failure
from memory_consolidate.spawners.options import AgentOptions, read_options

ENVIRONMENT = ("OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME")

# Read-only, outside any repository, and without a record of the session; `-` says that the prompt is on stdin.
ARGS = ("exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral")


def create_codex(options: Mapping[str, Any]) -> ProgramSpawner:
    """Build the spawner `codex`.

    Raises:
        ConfigError: an option is unknown or has a bad value.
    """
    checked = read_options(AgentOptions, "codex", options)
    model = ["--model", checked.model] if checked.model else []
    argv = [checked.executable or "codex", *(ARGS if checked.args is None else checked.args), *model, "-"]
    return ProgramSpawner(argv, checked, read_codex_answer, ENVIRONMENT, checked.model)


def read_codex_answer(stdout: str) -> SpawnerResult:
    """Read the events that `exec --json` prints, one a line: the last message is the answer."""
    message, usage, error = None, {}, None
    for event in _events(stdout):
        kind, item = event.get("type"), as_object(event.get("item"))
        if kind == "item.completed" and item.get("type") == "agent_message" and isinstance(item.get("text"), str):
            message = item["text"]
        elif kind == "turn.completed":
            usage, error = as_object(event.get("usage")), None
        elif kind in ("turn.failed", "error"):
            error = str(as_object(event.get("error")).get("message") or event.get("message") or kind)
    if error or message is None:
        return failure(f"codex reported an error: {error}" if error else "codex printed no message")
    return SpawnerResult(
        message,
        True,
        input_tokens=as_int(usage.get("input_tokens")),
        output_tokens=as_int(usage.get("output_tokens")),
    )


def _events(stdout: str) -> Iterator[dict[str, Any]]:
    for line in stdout.splitlines():
        try:
            yield as_object(json.loads(line))
        except ValueError:
            # Other programs on the way (a wrapper, a proxy) may print lines of their own.
            continue
