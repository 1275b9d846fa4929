"""A spawner: where others run a language model, this one repeats what it is told."""

from memory_core.spawning import SpawnerResult


class EchoSpawner:
    """Answers with the prompt, cut to a length."""

    def __init__(self, length: int = 1000) -> None:
        self._length = length

    async def trigger(self, *, prompt: str, trigger_source: str) -> SpawnerResult:
        """Return the prompt's beginning."""
        return SpawnerResult(output=prompt[: self._length], success=True, model="echo")
