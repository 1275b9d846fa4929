"""Links between memories: where each came from and what it stands for or against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.errors import InvalidInputError
from memory_core.events import Event, record_events
from memory_core.queries import load_queries
from memory_core.rows import row_to_dict
from memory_core.validation import parse_id, parse_moment
from memory_core.vocabulary import Direction, MemoryType, Relation, parse_word

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("links")


async def create_link(
    pool: Database,
    source_type: str,
    source_id: UUID | str,
    target_type: str,
    target_id: UUID | str,
    relation: str,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> bool:
    """Link two memories and tell whether both exist; a link that is there already stays as it is.

    Raises:
        InvalidInputError: a type, an id or the relation is not valid, or a memory is linked to itself.
    """
    caller = Caller.of(tenant_id, request_context)
    source = (parse_word(MemoryType, source_type, "source_type"), parse_id(source_id, "source_id"))
    target = (parse_word(MemoryType, target_type, "target_type"), parse_id(target_id, "target_id"))
    kind = parse_word(Relation, relation, "relation")
    if source == target:
        raise InvalidInputError(f"{source[0]} '{source[1]}' cannot be linked to itself; pass two memories")
    moment = parse_moment(now)
    async with transaction(pool) as connection:
        ends = [list(column) for column in zip(source, target, strict=True)]
        if len(await connection.fetch(SQL["existing_memories"], caller.tenant_id, *ends)) < 2:
            return False
        pair = (source[1], target[1])
        created = await insert_links(connection, source[0], target[0], kind, [pair], caller=caller, now=moment)
        payload = {"target_type": target[0], "target_id": str(target[1]), "relation": kind}
        events = [Event("link_created", source[0], source[1], payload)] if created else []
        await record_events(connection, events, caller=caller, now=moment)
    return True


async def get_links(
    pool: Database,
    memory_type: str,
    memory_id: UUID | str,
    *,
    direction: Direction = "both",
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the links of a memory, newest first.

    Raises:
        InvalidInputError: the type, the id or the direction is not valid.
    """
    caller = Caller.of(tenant_id, request_context)
    kind = parse_word(MemoryType, memory_type, "memory_type")
    if direction not in ("outgoing", "incoming", "both"):
        raise InvalidInputError(f"direction {direction!r} is not one of: outgoing, incoming, both")
    async with transaction(pool) as connection:
        rows = await connection.fetch(SQL["links_of"], caller.tenant_id, kind, parse_id(memory_id), direction)
    return [row_to_dict(row) for row in rows]


async def insert_links(
    connection: Connection,
    source_type: MemoryType,
    target_type: MemoryType,
    relation: Relation,
    pairs: Sequence[tuple[UUID, UUID]],
    *,
    caller: Caller,
    now: datetime,
) -> list[tuple[UUID, UUID]]:
    """Insert links of one kind in one statement and return those that were new."""
    if not pairs:
        return []
    rows = await connection.fetch(
        SQL["insert_links"],
        caller.tenant_id,
        source_type,
        target_type,
        relation,
        now,
        [source for source, _ in pairs],
        [target for _, target in pairs],
    )
    return [(row["source_id"], row["target_id"]) for row in rows]
