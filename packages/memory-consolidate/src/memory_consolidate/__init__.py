"""Consolidation for Butler Memory: episodes into facts and rules by a language model."""

from memory_consolidate.actions import ConsolidationResult, NewFact, NewRule, UpdatedFact
from memory_consolidate.claims import requeue
from memory_consolidate.errors import AttemptFailedError, LeaseLostError
from memory_consolidate.execution import ExecutionReport, execute_consolidation
from memory_consolidate.parsing import parse_consolidation_output
from memory_consolidate.pipeline import run_consolidation
from memory_consolidate.prompting import build_consolidation_prompt
from memory_consolidate.reports import BatchReport, ConsolidationReport, Progress

__all__ = [
    "AttemptFailedError",
    "BatchReport",
    "ConsolidationReport",
    "ConsolidationResult",
    "ExecutionReport",
    "LeaseLostError",
    "NewFact",
    "NewRule",
    "Progress",
    "UpdatedFact",
    "build_consolidation_prompt",
    "execute_consolidation",
    "parse_consolidation_output",
    "requeue",
    "run_consolidation",
]
