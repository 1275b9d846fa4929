"""Runs consolidation: claim a batch, ask the model, apply its answer, until nothing waits or the budget is used."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_core import Embedder
from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.config import ConsolidationConfig
from memory_core.database import UNAVAILABLE, transaction
from memory_core.queries import load_queries
from memory_core.rows import row_to_dict
from memory_core.spawning import Spawner, SpawnerResult
from memory_core.text import clean_name
from memory_core.validation import parse_moment

from memory_consolidate.actions import ConsolidationResult
from memory_consolidate.claims import Claim, claim_batch, keep_lease, record_failure, release, waiting_butlers
from memory_consolidate.errors import AttemptFailedError, LeaseLostError
from memory_consolidate.execution import ExecutionReport, apply_answer
from memory_consolidate.groups import EpisodeGroup, consolidation_caller
from memory_consolidate.parsing import parse_consolidation_output
from memory_consolidate.prompting import MAX_FACTS, MAX_RULES, build_consolidation_prompt
from memory_consolidate.reports import BatchReport, ConsolidationReport, Progress, ProgressCallback, Usage
from memory_consolidate.sanitising import describe_error, sanitise_error

if TYPE_CHECKING:
    from memory_core.database import Database

logger = logging.getLogger(__name__)

SQL = load_queries("known", "memory_consolidate")

TRIGGER_SOURCE = "schedule:consolidation"
MAX_ANSWER_CHARS = 2_000_000


async def run_consolidation(
    pool: Database,
    embedding_engine: Embedder,
    cc_spawner: Spawner | None = None,
    *,
    butler: str | None = None,
    settings: ConsolidationConfig | None = None,
    on_progress: ProgressCallback | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> ConsolidationReport:
    """Turn a tenant's waiting episodes into facts and rules; without a spawner only count what waits.

    A batch that fails is recorded and tried again later; it holds up no other butler.

    Raises:
        InvalidInputError: the tenant, the butler or the request context is not valid.
    """
    caller = consolidation_caller(tenant_id, request_context)
    chosen = None if butler is None else clean_name(butler, "butler")
    moment = None if now is None else parse_moment(now)
    waiting = await waiting_butlers(pool, caller=caller, butler=chosen, now=moment)
    report = ConsolidationReport(caller.tenant_id, cc_spawner is None, waiting)
    if cc_spawner is not None:
        run = _Run(pool, embedding_engine, cc_spawner, settings or ConsolidationConfig(), caller, moment)
        await run.take_all(report, on_progress or _ignore)
    return report


def _ignore(_progress: Progress) -> None:
    return None


@dataclass(frozen=True)
class _Run:
    pool: Database
    embedder: Embedder
    spawner: Spawner
    settings: ConsolidationConfig
    caller: Caller
    now: datetime | None

    async def take_all(self, report: ConsolidationReport, on_progress: ProgressCallback) -> None:
        """Take batches in turn from each butler, so that one with a long queue starves no other."""
        total = min(sum(report.waiting.values()), self.settings.max_episodes_per_run)
        done, butlers = 0, deque(report.waiting)
        while butlers and done < self.settings.max_episodes_per_run:
            butler = butlers.popleft()
            claim = await self._claim(butler, self.settings.max_episodes_per_run - done)
            if claim is None:
                continue
            on_progress(Progress(done, total, butler, "asking"))
            batch = await self._consolidate(claim)
            report.batches.append(batch)
            done += batch.episodes
            on_progress(Progress(done, max(total, done), butler, batch.status))
            if batch.status == "consolidated":
                butlers.append(butler)

    async def _claim(self, butler: str, limit: int) -> Claim | None:
        return await claim_batch(
            self.pool, butler, caller=self.caller, settings=self.settings, limit=limit, now=self.now
        )

    async def _consolidate(self, claim: Claim) -> BatchReport:
        batch = BatchReport(claim.butler, len(claim.episodes))
        try:
            answer = await self._ask(claim, batch.usage)
            batch.errors += [sanitise_error(error) for error in answer.parse_errors]
            batch.result = await self._apply(claim, answer, batch.usage)
            batch.errors += batch.result.errors
        except LeaseLostError as error:
            logger.warning("the batch of %r is left to whoever has it: %s", claim.butler, error)
            batch.status = "lost"
            batch.errors.append(describe_error(error))
            await release(self.pool, claim)
        except asyncio.CancelledError:
            await self._give_back(claim)
            raise
        except Exception as error:
            # An isolation point: whatever goes wrong with one batch, the other butlers get their turn.
            logger.exception("consolidation of %d episodes of %r failed", len(claim.episodes), claim.butler)
            await self._fail(claim, batch, describe_error(error))
        return batch

    async def _ask(self, claim: Claim, usage: Usage) -> ConsolidationResult:
        prompt = await self._prompt(claim)
        result = await self._trigger(claim, prompt)
        usage.take(result)
        if not result.success:
            raise AttemptFailedError(f"the model run failed: {result.error or 'no reason was given'}")
        if not result.output or not result.output.strip():
            raise AttemptFailedError("the model gave an empty answer")
        if len(result.output) > MAX_ANSWER_CHARS:
            raise AttemptFailedError(f"the model's answer has {len(result.output):,} characters")
        answer = parse_consolidation_output(result.output)
        if not answer.answered:
            raise AttemptFailedError("; ".join(answer.parse_errors))
        return answer

    async def _prompt(self, claim: Claim) -> str:
        known = (claim.caller.tenant_id, claim.butler, claim.ids)
        async with transaction(self.pool) as connection:
            facts = await connection.fetch(SQL["existing_facts"], *known, MAX_FACTS)
            rules = await connection.fetch(SQL["existing_rules"], *known, MAX_RULES)
        return build_consolidation_prompt(
            claim.episodes,
            [row_to_dict(row) for row in facts],
            [row_to_dict(row) for row in rules],
            claim.butler,
            max_chars=self.settings.max_prompt_chars,
        )

    async def _trigger(self, claim: Claim, prompt: str) -> SpawnerResult:
        """Run the model while the lease is kept; a lost lease or the time limit stops it."""
        asking = asyncio.ensure_future(self.spawner.trigger(prompt=prompt, trigger_source=TRIGGER_SOURCE))
        keeping = asyncio.ensure_future(keep_lease(self.pool, claim, self.settings.lease_seconds, self.now))
        limit = self.settings.time_limit_seconds
        try:
            await asyncio.wait({asking, keeping}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            if keeping.done():
                keeping.result()
                raise LeaseLostError(f"the lease of {len(claim.episodes)} episodes was lost while the model ran")
            raise AttemptFailedError(f"the model did not answer within {limit:g} seconds")
        finally:
            asking.cancel()
            keeping.cancel()
            await asyncio.gather(asking, keeping, return_exceptions=True)

    async def _apply(self, claim: Claim, answer: ConsolidationResult, usage: Usage) -> ExecutionReport:
        group = EpisodeGroup(claim.caller, claim.butler, tuple(claim.ids), lease_owner=claim.owner)
        recorded = usage.payload() | {"parse_errors": len(answer.parse_errors)}
        return await apply_answer(self.pool, self.embedder, answer.actions, group, usage=recorded, now=self.now)

    async def _fail(self, claim: Claim, batch: BatchReport, reason: str) -> None:
        batch.status = "failed"
        batch.errors.append(reason)
        states = await record_failure(
            self.pool,
            claim,
            reason,
            max_attempts=self.settings.max_attempts,
            usage=batch.usage.payload(),
            now=self.now,
        )
        batch.dead_letters = states["dead_letter"]

    async def _give_back(self, claim: Claim) -> None:
        try:
            await asyncio.shield(release(self.pool, claim))
        except UNAVAILABLE:
            # The lease runs out by itself; what matters now is to stop.
            logger.warning("the batch of %r could not be given back", claim.butler, exc_info=True)
