"""The registry of entities: who and what facts are about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import asyncpg
from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.errors import InvalidInputError, InvalidTransitionError
from memory_core.events import Event, record_events
from memory_core.queries import load_queries
from memory_core.rows import row_to_dict
from memory_core.validation import parse_id, parse_metadata, parse_moment
from memory_core.vocabulary import parse_word

from memory_entities.names import clean_aliases, clean_entity_name
from memory_entities.vocabulary import EntityType

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("registry", package="memory_entities")

# What a merge writes into the metadata; a caller who could write it too would make an entity vanish.
MERGE_KEYS = ("merged_into", "merged_name")


async def entity_create(
    pool: Database,
    canonical_name: str,
    entity_type: str,
    *,
    aliases: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> UUID:
    """Register an entity and return its id.

    Raises:
        InvalidInputError: a value breaks its rule, or an entity of that name and type is there already.
    """
    caller = Caller.of(tenant_id, request_context)
    moment = parse_moment(now)
    name = clean_entity_name(canonical_name)
    kind = parse_word(EntityType, entity_type, "entity_type")
    values = (clean_aliases(aliases), json.dumps(_free_metadata(metadata)), moment)
    entity_id = uuid4()
    row = (entity_id, caller.tenant_id, name, kind, *values)
    async with transaction(pool) as connection:
        created = await connection.fetchval(SQL["insert_entity"], *row)
        if created is None and await _release_name(connection, name, kind, caller, moment):
            created = await connection.fetchval(SQL["insert_entity"], *row)
        if created is None:
            raise _name_taken(
                name, kind, await connection.fetchval(SQL["holder_of_name"], caller.tenant_id, name, kind)
            )
        event = Event("entity_created", "entity", entity_id, {"entity_type": kind})
        await record_events(connection, [event], caller=caller, now=moment)
    return entity_id


async def entity_get(
    pool: Database,
    entity_id: UUID | str,
    *,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """Return an entity, `None` where the tenant has no such one.

    For a merged entity its survivor is returned, with `merged_from` set to the id that was asked for.

    Raises:
        InvalidInputError: the id is not valid.
    """
    caller = Caller.of(tenant_id, request_context)
    asked = parse_id(entity_id, "entity_id")
    async with transaction(pool) as connection:
        row = await connection.fetchrow(SQL["surviving_entity"], caller.tenant_id, asked)
    if row is None:
        return None
    return {**row_to_dict(row), "merged_from": None if row["id"] == asked else asked}


async def entity_update(
    pool: Database,
    entity_id: UUID | str,
    *,
    canonical_name: str | None = None,
    aliases: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, Any] | None:
    """Change an entity and return it, `None` where the tenant has no such one.

    The name and the list of aliases are replaced, the keys of the metadata are merged into those that are there.

    Raises:
        InvalidInputError: a value breaks its rule, or another entity has that name.
        InvalidTransitionError: the entity was merged into another one.
    """
    caller = Caller.of(tenant_id, request_context)
    asked, moment = parse_id(entity_id, "entity_id"), parse_moment(now)
    name = None if canonical_name is None else clean_entity_name(canonical_name)
    names = None if aliases is None else clean_aliases(aliases)
    added = _free_metadata(metadata)
    given = {"canonical_name": canonical_name, "aliases": aliases, "metadata": metadata}
    changes = {"fields": [field for field, value in given.items() if value is not None]}
    async with transaction(pool) as connection:
        current = await _lock_for_update(connection, asked, caller)
        if current is None:
            return None
        if name is not None and name != current["canonical_name"]:
            await _release_name(connection, name, current["entity_type"], caller, moment)
        # Checked again as a whole: many small additions must not grow past the limit either.
        merged = json.dumps(parse_metadata({**current["metadata"], **added})) if added else None
        try:
            [row] = await connection.fetch(SQL["update_entity"], caller.tenant_id, asked, name, names, merged, moment)
        except asyncpg.UniqueViolationError:
            raise _name_taken(name, current["entity_type"]) from None
        await record_events(connection, [Event("entity_updated", "entity", asked, changes)], caller=caller, now=moment)
    return row_to_dict(row)


async def _lock_for_update(connection: Connection, entity_id: UUID, caller: Caller) -> dict[str, Any] | None:
    row = await connection.fetchrow(SQL["lock_entity"], caller.tenant_id, entity_id)
    if row is None:
        return None
    current = row_to_dict(row)
    survivor = current["metadata"].get("merged_into")
    if survivor is not None:
        # Not passed on to the survivor: the caller has not seen its aliases and would replace them.
        raise InvalidTransitionError(
            f"entity '{entity_id}' was merged into '{survivor}' and cannot be updated; get and update that one"
        )
    return current


async def _release_name(connection: Connection, name: str, entity_type: str, caller: Caller, now: datetime) -> bool:
    released = await connection.fetchval(SQL["release_name"], caller.tenant_id, name, entity_type)
    if released is not None:
        changes = {"fields": ["canonical_name"], "reason": "name released"}
        await record_events(connection, [Event("entity_updated", "entity", released, changes)], caller=caller, now=now)
    return released is not None


def _name_taken(name: str | None, entity_type: str, holder: UUID | None = None) -> InvalidInputError:
    which = f"its id is '{holder}'" if holder else "entity_resolve finds it"
    return InvalidInputError(
        f"canonical_name {name!r} is a duplicate: an entity of type '{entity_type}' with that name already exists, "
        f"{which}; use that one, or tell the two apart in the name"
    )


def _free_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    parsed = parse_metadata(metadata)
    for key in MERGE_KEYS:
        if key in parsed:
            raise InvalidInputError(f"metadata key {key!r} is reserved for merges; use entity_merge, or another key")
    return parsed
