"""What a spawner plugin is asked to do: run a language model once."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class SpawnerResult:
    """What came of one run of a language model."""

    output: str | None
    success: bool
    error: str | None = None
    model: str | None = None
    duration_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class Spawner(Protocol):
    """A way to run a language model."""

    async def trigger(self, *, prompt: str, trigger_source: str) -> SpawnerResult:
        """Run the model on a prompt; a failure is a result with `success=False`, not an exception."""
