"""Removes episodes that have served their time, or that are too many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.queries import load_queries
from memory_core.validation import parse_count, parse_days, parse_moment

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("cleanup")

DEFAULT_MAX_ENTRIES = 10_000

# Episodes deleted in one transaction: a large backlog must not keep rows locked for long.
BATCH_SIZE = 1_000


async def run_episode_cleanup(
    pool: Database,
    max_entries: int = DEFAULT_MAX_ENTRIES,
    *,
    grace_days: float = 0,
    tenant_id: str | None = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, int]:
    """Delete expired episodes, then the oldest consolidated ones above `max_entries` per tenant, and count them.

    Episodes that are not consolidated are kept for `grace_days` past their expiry and never deleted for their number.
    `tenant_id=None` means all tenants; it is for the worker alone: no tool passes it.

    Raises:
        InvalidInputError: a limit is negative or not a number.
    """
    kept = parse_count(max_entries, "max_entries")
    grace = timedelta(days=parse_days(grace_days, "grace_days", may_be_zero=True))
    caller = Caller.of(DEFAULT_TENANT if tenant_id is None else tenant_id, request_context)
    bound = None if tenant_id is None else caller.tenant_id
    moment = parse_moment(now)
    cleanup = _Cleanup(pool, bound, caller, moment)
    expired = await cleanup.delete("lock_expired_episodes", "expired", moment, moment - grace)
    surplus = await cleanup.delete("lock_surplus_episodes", "capacity", kept)
    async with transaction(pool) as connection:
        remaining = await connection.fetchval(SQL["count_episodes"], bound)
    return {"expired_deleted": expired, "capacity_deleted": surplus, "remaining": remaining}


@dataclass(frozen=True)
class _Cleanup:
    """One cleanup: whose episodes, for whom, when."""

    pool: Database
    bound: str | None
    caller: Caller
    now: datetime

    async def delete(self, selection: str, reason: str, *limits: Any) -> int:
        """Delete what a statement selects, batch by batch, and return how many there were."""
        deleted = 0
        while True:
            async with transaction(self.pool) as connection:
                rows = await connection.fetch(SQL[selection], self.bound, BATCH_SIZE, *limits)
                await self._delete_batch(connection, [row["id"] for row in rows], reason)
            deleted += len(rows)
            if len(rows) < BATCH_SIZE:
                return deleted

    async def _delete_batch(self, connection: Connection, ids: list[UUID], reason: str) -> None:
        actor = self.caller.actor or "episode_cleanup"
        await connection.execute(SQL["delete_episodes"], ids, actor, self.caller.request_id, self.now, reason)
