"""Takes episodes for consolidation and gives them back: one batch per butler at a time, the oldest first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.config import ConsolidationConfig
from memory_core.database import UNAVAILABLE, transaction
from memory_core.events import Event, record_events
from memory_core.queries import load_queries
from memory_core.rows import row_to_dict
from memory_core.text import clean_name
from memory_core.validation import parse_id, parse_moment

from memory_consolidate.prompting import episode_room, fitting_episodes
from memory_consolidate.sanitising import sanitise_error

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

logger = logging.getLogger(__name__)

SQL = load_queries("claims", "memory_consolidate")

GROUP_LOCK_CLASS = 0x636F6E  # "con"


@dataclass(frozen=True)
class Claim:
    """Episodes of one butler that one process has taken; the owner names the attempt."""

    owner: UUID
    caller: Caller
    butler: str
    episodes: tuple[dict[str, Any], ...]

    @property
    def ids(self) -> list[UUID]:
        """The episodes' ids, oldest first."""
        return [episode["id"] for episode in self.episodes]


async def waiting_butlers(
    db: Database, *, caller: Caller, butler: str | None = None, now: datetime | None = None
) -> dict[str, int]:
    """Return how many episodes of each butler are not consolidated yet, the longest waiting butler first."""
    async with transaction(db) as connection:
        rows = await connection.fetch(SQL["waiting_butlers"], caller.tenant_id, butler, now)
    return {row["butler"]: row["episodes"] for row in rows}


async def waiting_tenants(db: Database) -> list[str]:
    """Return the tenants that have episodes to consolidate."""
    async with transaction(db) as connection:
        return [row["tenant_id"] for row in await connection.fetch(SQL["waiting_tenants"])]


async def claim_batch(
    db: Database,
    butler: str,
    *,
    caller: Caller,
    settings: ConsolidationConfig,
    limit: int,
    now: datetime | None = None,
) -> Claim | None:
    """Take a butler's oldest episodes, or `None` if there are none, they must wait, or another process has some."""
    async with transaction(db) as connection:
        if not await connection.fetchval(SQL["try_lock_group"], *group_lock(caller.tenant_id, butler)):
            return None
        size = min(settings.batch_size, limit)
        arguments = (caller.tenant_id, butler, size, now, settings.max_prompt_chars)
        waiting = [row_to_dict(row) for row in await connection.fetch(SQL["oldest_waiting_episodes"], *arguments)]
        batch = choose_batch(waiting, settings.batch_size)
        batch = batch[: fitting_episodes(batch, episode_room(settings.max_prompt_chars))]
        if not batch:
            return None
        claim = Claim(uuid4(), caller, butler, tuple(batch))
        await _lease(connection, claim, settings.lease_seconds, now, renew=False)
    return claim


def choose_batch(waiting: Sequence[Mapping[str, Any]], batch_size: int) -> list[dict[str, Any]]:
    """Return the oldest episodes that may be taken together.

    An episode that waits for its retry holds up the younger ones of its butler: taken out of order, what it says would
    later replace what they say. Each failed attempt halves the batch, so that one bad episode ends up alone.
    """
    if not waiting:
        return []
    size = max(1, batch_size >> int(waiting[0]["consolidation_attempts"]))
    batch: list[dict[str, Any]] = []
    for episode in waiting[:size]:
        if episode["leased"] or not episode["due"]:
            break
        batch.append(dict(episode))
    return batch


async def keep_lease(db: Database, claim: Claim, lease_seconds: float, now: datetime | None) -> None:
    """Renew a claim again and again; return when it is lost."""
    while True:
        await asyncio.sleep(lease_seconds / 3)
        try:
            async with transaction(db) as connection:
                held = await _lease(connection, claim, lease_seconds, now, renew=True)
        except UNAVAILABLE:
            # The lease may outlive a short outage; if it does not, applying the answer will notice.
            logger.warning("the lease of %d episodes could not be renewed", len(claim.episodes), exc_info=True)
            continue
        if held < len(claim.episodes):
            return


async def release(db: Database, claim: Claim) -> None:
    """Give a claim back as if it had never been taken."""
    async with transaction(db) as connection:
        await connection.execute(SQL["release_episodes"], claim.caller.tenant_id, claim.ids, str(claim.owner))


async def record_failure(
    db: Database,
    claim: Claim,
    error: str,
    *,
    max_attempts: int,
    usage: Mapping[str, Any],
    now: datetime | None = None,
) -> dict[str, int]:
    """Count a failed attempt and return how many episodes are now `failed` and how many `dead_letter`."""
    caller, reason = claim.caller, sanitise_error(error)
    async with transaction(db) as connection:
        arguments = (caller.tenant_id, claim.ids, str(claim.owner), reason, max_attempts, now)
        rows = await connection.fetch(SQL["fail_episodes"], *arguments)
        events = [
            Event(
                "episode_dead_lettered" if row["consolidation_status"] == "dead_letter" else "episode_failed",
                "episode",
                row["id"],
                {"attempts": row["consolidation_attempts"], "attempt_id": str(claim.owner)},
            )
            for row in rows
        ]
        payload = {"butler": claim.butler, "episodes": len(rows), **usage}
        events.append(Event("consolidation_failed", "consolidation", claim.owner, payload))
        await record_events(connection, events, caller=caller, now=parse_moment(now))
    states = [row["consolidation_status"] for row in rows]
    return {state: states.count(state) for state in ("failed", "dead_letter")}


async def requeue(
    pool: Database,
    *,
    butler: str | None = None,
    episode_ids: Sequence[UUID | str] | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> int:
    """Give dead letters a new start and return how many there were: all of them, one butler's, or those named.

    Raises:
        InvalidInputError: an id is not a UUID, or the butler is not a name.
    """
    caller = Caller.of(tenant_id, request_context)
    chosen = None if butler is None else clean_name(butler, "butler")
    ids = None if episode_ids is None else [parse_id(id_, "episode_ids") for id_ in episode_ids]
    async with transaction(pool) as connection:
        rows = await connection.fetch(SQL["requeue_episodes"], caller.tenant_id, chosen, ids)
        events = [Event("episode_requeued", "episode", row["id"], {"from": "dead_letter"}) for row in rows]
        await record_events(connection, events, caller=caller, now=parse_moment(now))
    return len(rows)


def group_lock(tenant_id: str, butler: str) -> tuple[int, int]:
    """Return the advisory lock of a butler's group; the same in every process."""
    digest = blake2b(f"{tenant_id}\x00{butler}".encode(), digest_size=4).digest()
    return GROUP_LOCK_CLASS, int.from_bytes(digest, signed=True)


async def _lease(
    connection: Connection, claim: Claim, lease_seconds: float, now: datetime | None, *, renew: bool
) -> int:
    owner = str(claim.owner)
    rows = await connection.fetch(
        SQL["lease_episodes"], claim.caller.tenant_id, claim.ids, owner, now, lease_seconds, renew
    )
    return len(rows)
