"""Reads, confirms and forgets one memory of any type."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.errors import InvalidInputError, InvalidTransitionError
from memory_core.events import Event, record_events
from memory_core.queries import load_queries
from memory_core.rows import memory_state, row_to_dict
from memory_core.validation import parse_id, parse_moment
from memory_core.vocabulary import MemoryType, parse_word

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("memories")

# What forgetting makes of each type, as its event says.
FORGOTTEN_STATES = {MemoryType.EPISODE: "expired", MemoryType.FACT: "retracted", MemoryType.RULE: "forgotten"}
# Time alone makes an episode expire, too; only one that somebody forgot is kept from consolidation.
DONE_STATES = {**FORGOTTEN_STATES, MemoryType.EPISODE: "forgotten"}


async def get_memory(
    pool: Database,
    memory_type: str,
    memory_id: UUID | str,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, Any] | None:
    """Return a memory with its `state`, counting the reference; `None` where the tenant has no such memory.

    Raises:
        InvalidInputError: the type or the id is not valid.
    """
    caller = Caller.of(tenant_id, request_context)
    kind = parse_word(MemoryType, memory_type, "memory_type")
    asked = parse_id(memory_id)
    async with transaction(pool) as connection:
        row = await connection.fetchrow(SQL[f"get_{kind}"], caller.tenant_id, asked, parse_moment(now))
    if row is None:
        return None
    memory = row_to_dict(row)
    return {**memory, "memory_type": kind.value, "state": memory_state(kind, memory)}


async def confirm_memory(
    pool: Database,
    memory_type: str,
    memory_id: UUID | str,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> bool:
    """Say that a fact or rule still holds: its decay starts anew. `False` where the tenant has no such memory.

    Raises:
        InvalidInputError: the type or the id is not valid, or it is an episode.
        InvalidTransitionError: the memory is no longer active.
    """
    caller = Caller.of(tenant_id, request_context)
    kind = parse_word(MemoryType, memory_type, "memory_type")
    if kind is MemoryType.EPISODE:
        raise InvalidInputError("memory_type 'episode' cannot be confirmed; only facts and rules decay")
    asked, moment = parse_id(memory_id), parse_moment(now)
    async with transaction(pool) as connection:
        state = await _lock(connection, kind, asked, caller, moment)
        if state is None:
            return False
        if state != "active":
            raise InvalidTransitionError(
                f"{kind} '{asked}' is {state} and cannot be confirmed; only active ones can: store it again"
            )
        await connection.execute(SQL[f"confirm_{kind}"], caller.tenant_id, asked, moment)
        await record_events(connection, [Event(f"{kind}_confirmed", kind, asked)], caller=caller, now=moment)
    return True


async def forget_memory(
    pool: Database,
    memory_type: str,
    memory_id: UUID | str,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> bool:
    """Take a memory out of use: `False` where the tenant has no such memory; forgetting twice changes nothing.

    Raises:
        InvalidInputError: the type or the id is not valid.
    """
    caller = Caller.of(tenant_id, request_context)
    kind = parse_word(MemoryType, memory_type, "memory_type")
    asked, moment = parse_id(memory_id), parse_moment(now)
    async with transaction(pool) as connection:
        state = await _lock(connection, kind, asked, caller, moment)
        if state is None or state == DONE_STATES[kind]:
            return state is not None
        await connection.execute(SQL[f"forget_{kind}"], caller.tenant_id, asked, *_clock(kind, moment))
        event = Event(f"{kind}_{FORGOTTEN_STATES[kind]}", kind, asked, {"from": state, "reason": "forget"})
        await record_events(connection, [event], caller=caller, now=moment)
    return True


async def _lock(connection: Connection, kind: MemoryType, memory_id: UUID, caller: Caller, now: datetime) -> str | None:
    state: str | None = await connection.fetchval(SQL[f"lock_{kind}"], caller.tenant_id, memory_id, *_clock(kind, now))
    return state


def _clock(kind: MemoryType, now: datetime) -> tuple[datetime, ...]:
    # Only an episode's state is a matter of time.
    return (now,) if kind is MemoryType.EPISODE else ()
