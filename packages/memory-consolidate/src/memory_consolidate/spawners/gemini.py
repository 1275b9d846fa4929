"""The spawner for Google's Gemini CLI, the `gemini` program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memory_core.spawning import SpawnerResult

from memory_consolidate.spawners.answers import as_int, as_object
from memory_consolidate.spawners.command import ProgramSpawner, failure
from memory_consolidate.spawners.options import AgentOptions, read_options

ENVIRONMENT = (
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_APPLICATION_CREDENTIALS",
)

# Without a terminal the program reads the prompt on stdin; a name that nothing has switches extensions and servers off.
ARGS = ("--output-format", "json", "--extensions", "none", "--allowed-mcp-server-names", "none")


def create_gemini(options: Mapping[str, Any]) -> ProgramSpawner:
    """Build the spawner `gemini`.

    Raises:
        ConfigError: an option is unknown or has a bad value.
    """
    checked = read_options(AgentOptions, "gemini", options)
    model = ["--model", checked.model] if checked.model else []
    argv = [checked.executable or "gemini", *(ARGS if checked.args is None else checked.args), *model]
    return ProgramSpawner(argv, checked, read_gemini_answer, ENVIRONMENT, checked.model)


def read_gemini_answer(stdout: str) -> SpawnerResult:
    """Read the one JSON object that `--output-format json` prints."""
    try:
        answer = as_object(json.loads(stdout[max(stdout.find("{"), 0) :]))
    except ValueError:
        return failure(f"gemini did not print JSON: {stdout[:200]!r}")
    if answer.get("error"):
        error = answer["error"]
        return failure(f"gemini reported an error: {as_object(error).get('message') or error}")
    if not isinstance(answer.get("response"), str):
        return failure("gemini gave no response")
    models = as_object(as_object(answer.get("stats")).get("models"))
    tokens = [as_object(as_object(model).get("tokens")) for model in models.values()]
    return SpawnerResult(
        answer["response"],
        True,
        model=next(iter(models), None),
        input_tokens=sum(as_int(counted.get("prompt")) for counted in tokens),
        output_tokens=sum(as_int(counted.get("candidates")) + as_int(counted.get("thoughts")) for counted in tokens),
    )
