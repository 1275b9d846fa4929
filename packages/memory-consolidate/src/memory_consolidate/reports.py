"""What a run tells: while it goes on, and when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memory_core.spawning import SpawnerResult

from memory_consolidate.execution import ExecutionReport


@dataclass
class Usage:
    """What the model cost; zero where a spawner does not say."""

    input_tokens: int = 0
    output_tokens: int = 0
    duration_ms: int = 0
    model: str | None = None

    def take(self, result: SpawnerResult) -> None:
        """Take over what a result tells."""
        self.input_tokens = result.input_tokens or 0
        self.output_tokens = result.output_tokens or 0
        self.duration_ms = result.duration_ms or 0
        self.model = result.model

    def payload(self) -> dict[str, Any]:
        """Return it as an event records it."""
        return dict(vars(self))


@dataclass
class BatchReport:
    """What came of one batch of one butler's episodes."""

    butler: str
    episodes: int
    status: str = "consolidated"  # or failed, lost
    dead_letters: int = 0
    result: ExecutionReport = field(default_factory=ExecutionReport)
    usage: Usage = field(default_factory=Usage)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Progress:
    """How far a run has come; `butler` is the one whose batch has just begun or ended."""

    done: int
    total: int
    butler: str
    status: str  # asking, then consolidated, failed or lost


ProgressCallback = Callable[[Progress], None]


@dataclass
class ConsolidationReport:
    """What came of a run: what was waiting, and each batch that it took."""

    tenant_id: str
    dry_run: bool
    waiting: Mapping[str, int]
    batches: list[BatchReport] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        """Everything that went wrong, with the butler that it concerns."""
        return [f"{batch.butler}: {error}" for batch in self.batches for error in batch.errors]

    def counts(self) -> dict[str, int]:
        """Return the totals of all batches."""
        results = [batch.result for batch in self.batches]
        usages = [batch.usage for batch in self.batches]
        return {
            "episodes_waiting": sum(self.waiting.values()),
            "groups": len({batch.butler for batch in self.batches}),
            "batches": len(self.batches),
            "episodes_consolidated": sum(result.episodes_consolidated for result in results),
            "episodes_failed": sum(batch.episodes for batch in self.batches if batch.status == "failed"),
            "dead_letters": sum(batch.dead_letters for batch in self.batches),
            "facts_created": sum(result.facts_created for result in results),
            "facts_updated": sum(result.facts_updated for result in results),
            "rules_created": sum(result.rules_created for result in results),
            "confirmations": sum(result.confirmations for result in results),
            "links_created": sum(result.links_created for result in results),
            "input_tokens": sum(usage.input_tokens for usage in usages),
            "output_tokens": sum(usage.output_tokens for usage in usages),
            "errors": len(self.errors),
        }
