"""The tool that runs a consolidation. Its docstring is what a model reads before it calls it."""

from __future__ import annotations

from typing import Annotated

from memory_core.runtime import Memory
from memory_core.tools import RequestContext, Tool, tool
from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from memory_consolidate.configured import run_configured

MAX_SHOWN_ERRORS = 20


class Consolidated(TypedDict):
    """The answer to a consolidation call."""

    dry_run: bool
    waiting: dict[str, int]
    counts: dict[str, int]
    errors: list[str]


@tool(title="Run consolidation")
async def memory_run_consolidation(
    memory: Memory,
    butler: Annotated[str | None, Field(description="Only this butler's episodes; all butlers without it.")] = None,
    dry_run: Annotated[bool, Field(description="Only count the waiting episodes, by butler.")] = False,
    request_context: RequestContext = None,
) -> Consolidated:
    """Distil waiting episodes into facts and rules with the configured language model. It may take minutes.

    It runs on a schedule anyway; call it when something just observed must be known as a fact at once. Without a
    configured model it only counts what waits (dry_run is true in the answer). Batches that fail are tried again later.
    """
    report = await run_configured(memory, butler=butler, dry_run=dry_run, request_context=request_context)
    return {
        "dry_run": report.dry_run,
        "waiting": dict(report.waiting),
        "counts": report.counts(),
        "errors": report.errors[:MAX_SHOWN_ERRORS],
    }


TOOLS: tuple[Tool, ...] = (memory_run_consolidation,)
