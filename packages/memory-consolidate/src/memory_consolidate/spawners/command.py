"""The spawner for any program that reads a prompt on stdin and writes its answer to stdout."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory_core.spawning import SpawnerResult

from memory_consolidate.sanitising import sanitise_error
from memory_consolidate.spawners.child_process import Finished, ProgramError, run_program
from memory_consolidate.spawners.environments import allowed_environment
from memory_consolidate.spawners.options import CommandOptions, ProgramOptions, read_options

AnswerReader = Callable[[str], SpawnerResult]


@dataclass(frozen=True)
class ProgramSpawner:
    """Starts a program for each prompt and reads its answer."""

    argv: Sequence[str]
    options: ProgramOptions
    read_answer: AnswerReader
    environment: Iterable[str] = ()
    model: str | None = None

    async def trigger(self, *, prompt: str, trigger_source: str) -> SpawnerResult:
        """Run the program on a prompt; a failure is a result with `success=False`."""
        began = time.monotonic()
        passed = [*self.environment, *self.options.pass_environment]
        try:
            finished = await run_program(
                self.argv,
                stdin=prompt,
                environment=allowed_environment(os.environ, passed, trigger_source=trigger_source),
                timeout=self.options.timeout_seconds,
                max_output=self.options.max_output_bytes,
            )
            result = self._read(finished)
        except ProgramError as error:
            result = failure(str(error))
        elapsed = round((time.monotonic() - began) * 1000)
        return replace(result, model=result.model or self.model, duration_ms=elapsed)

    def _read(self, finished: Finished) -> SpawnerResult:
        result = self.read_answer(finished.stdout)
        if finished.returncode == 0 or not result.success:
            return result
        said = finished.stderr.strip()[-2000:] or "it gave no reason on stderr"
        return replace(failure(f"the program ended with code {finished.returncode}: {said}"), model=result.model)


def failure(reason: str) -> SpawnerResult:
    """Return the result of a run that failed."""
    return SpawnerResult(None, False, error=sanitise_error(reason))


def plain_answer(stdout: str) -> SpawnerResult:
    """Take all of stdout as the answer."""
    return SpawnerResult(stdout, True)


def create_command(options: Mapping[str, Any]) -> ProgramSpawner:
    """Build the spawner `command`.

    Raises:
        ConfigError: the options do not name a command.
    """
    checked = read_options(CommandOptions, "command", options)
    return ProgramSpawner(checked.command, checked, plain_answer, model=checked.model)
