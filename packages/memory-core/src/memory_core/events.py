"""Appends to the audit stream, always in the transaction of the change it records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_core.callers import Caller
from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("events")


@dataclass(frozen=True)
class Event:
    """What happened to one memory; the payload holds ids and states, never content, so that erasure stays possible."""

    event_type: str
    entity_type: str
    entity_id: UUID
    payload: dict[str, Any] = field(default_factory=dict)


async def record_events(connection: Connection, events: Sequence[Event], *, caller: Caller, now: datetime) -> None:
    """Append events in one statement."""
    if events:
        await connection.execute(
            SQL["insert_events"],
            caller.tenant_id,
            caller.actor,
            caller.request_id,
            now,
            [event.event_type for event in events],
            [event.entity_type for event in events],
            [event.entity_id for event in events],
            [json.dumps(event.payload) for event in events],
        )
