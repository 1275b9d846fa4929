"""Counts a tenant's memories by the states of their lives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.queries import load_queries
from memory_core.text import clean_name
from memory_core.validation import parse_moment
from memory_core.worker_runs import WorkerRun, latest_worker_runs

if TYPE_CHECKING:
    from memory_core.database import Database

SQL = load_queries("stats")


async def memory_stats(
    pool: Database,
    *,
    scope: str | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, dict[str, Any]]:
    """Return how many memories are in each state, how old the backlog is, and when each worker last ran.

    The scope bounds facts and rules.

    Raises:
        InvalidInputError: the scope is empty.
    """
    caller = Caller.of(tenant_id, request_context)
    bound = None if scope is None else clean_name(scope, "scope")
    async with transaction(pool) as connection:
        row = await connection.fetchrow(SQL["memory_stats"], caller.tenant_id, bound, parse_moment(now))
        runs = await latest_worker_runs(connection)
    assert row is not None  # counts of nothing are a row of zeros
    counts = dict(row)
    return {
        "episodes": {
            "total": counts["total"],
            "unconsolidated": counts["pending"],
            "consolidated": counts["consolidated"],
            "failed": counts["failed"],
            "dead_letter": counts["dead_letter"],
            "expired": counts["expired"],
            "backlog_age_hours": counts["backlog_age_hours"],
        },
        "facts": _part(counts, "facts_"),
        "rules": _part(counts, "rules_"),
        "workers": {run.worker: _last_run(run) for run in runs},
    }


def _part(counts: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}


def _last_run(run: WorkerRun) -> dict[str, Any]:
    # Without counts and error: a run covers all tenants, and these are for one.
    return {"status": run.status, "started_at": run.started_at, "finished_at": run.finished_at}
