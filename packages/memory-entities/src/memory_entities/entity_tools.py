"""The five tools for entities. Their docstrings are what a model reads before it calls one."""

from __future__ import annotations

from typing import Annotated, Any, cast
from uuid import UUID

from memory_core.callers import DEFAULT_TENANT
from memory_core.errors import InvalidInputError
from memory_core.runtime import Memory
from memory_core.tools import RequestContext, Tool, tool
from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from memory_entities.merging import entity_merge as merge_entities
from memory_entities.names import is_blank
from memory_entities.registry import entity_create as create_entity
from memory_entities.registry import entity_get as get_entity
from memory_entities.registry import entity_update as update_entity
from memory_entities.resolution import entity_resolve as resolve_entity
from memory_entities.vocabulary import EntityType

# A model reads them all: more candidates than these mean that the name says too little.
MAX_SHOWN = 25

TenantId = Annotated[str, Field(description="Your own tenant; leave it out unless you were told its name.")]
EntityId = Annotated[UUID, Field(description="The entity's id, as entity_resolve or entity_create returned it.")]
Aliases = Annotated[list[str] | None, Field(description="Other names that it goes by, for example ['Bob', 'Bobby'].")]
Metadata = Annotated[dict[str, Any] | None, Field(description="Anything else about it, as key-value pairs.")]
Kind = Annotated[EntityType, Field(description="What it is: person, organization, place or other.")]


class Created(TypedDict):
    """The answer to a create call."""

    entity_id: UUID


class FoundEntity(TypedDict):
    """The answer to a get or update call; `merged_from` is the asked id where another entity took its place."""

    found: bool
    entity: dict[str, Any] | None
    merged_from: UUID | None


class ResolvedEntity(TypedDict):
    """One entity that a name may mean."""

    entity_id: UUID
    canonical_name: str
    entity_type: str
    score: float
    name_match: str
    aliases: list[str]


class Merged(TypedDict):
    """What a merge moved."""

    source_entity_id: UUID
    target_entity_id: UUID
    facts_repointed: int
    facts_superseded: int
    history_repointed: int
    aliases_added: int


@tool(title="Create an entity")
async def entity_create(
    memory: Memory,
    canonical_name: Annotated[str, Field(description="Its full, usual name, for example 'Robert Smith'.")],
    entity_type: Kind,
    tenant_id: Annotated[str, Field(description="Your own tenant; 'default' unless you were told another name.")],
    aliases: Aliases = None,
    metadata: Metadata = None,
    request_context: RequestContext = None,
) -> Created:
    """Register a person, organization, place or other thing that facts will be about. Call entity_resolve first.

    Pass the returned entity_id to memory_store_fact. A second entity of the same name and type is refused.
    """
    created = await create_entity(
        memory.pool,
        canonical_name,
        entity_type,
        aliases=aliases,
        metadata=metadata,
        tenant_id=memory.require_tenant(tenant_id),
        request_context=request_context,
    )
    return {"entity_id": created}


@tool(title="Get an entity", read_only=True, idempotent=True)
async def entity_get(
    memory: Memory,
    entity_id: EntityId,
    tenant_id: TenantId = DEFAULT_TENANT,
    request_context: RequestContext = None,
) -> FoundEntity:
    """Read one entity by its id, with its names and metadata; found is false if there is none.

    If it was merged into another entity, that one is returned and merged_from is the id you asked for.
    """
    entity = await get_entity(
        memory.pool, entity_id, tenant_id=_own_tenant(memory, tenant_id), request_context=request_context
    )
    return _found(entity)


@tool(title="Update an entity", idempotent=True)
async def entity_update(
    memory: Memory,
    entity_id: EntityId,
    canonical_name: Annotated[str | None, Field(description="The new name, in place of the old one.")] = None,
    aliases: Annotated[
        list[str] | None, Field(description="The full list of aliases: it replaces the list that is there.")
    ] = None,
    metadata: Annotated[
        dict[str, Any] | None, Field(description="Keys to set; keys that you leave out stay as they are.")
    ] = None,
    tenant_id: TenantId = DEFAULT_TENANT,
    request_context: RequestContext = None,
) -> FoundEntity:
    """Change an entity's name, aliases or metadata; found is false if there is none.

    To add an alias, call entity_get and pass its aliases together with the new one.
    """
    entity = await update_entity(
        memory.pool,
        entity_id,
        canonical_name=canonical_name,
        aliases=aliases,
        metadata=metadata,
        tenant_id=_own_tenant(memory, tenant_id),
        request_context=request_context,
    )
    return _found(entity)


@tool(title="Resolve a name to entities", read_only=True, idempotent=True)
async def entity_resolve(
    memory: Memory,
    name: Annotated[str, Field(description="The name as it was mentioned, for example 'Bob'.")],
    tenant_id: TenantId = DEFAULT_TENANT,
    entity_type: Annotated[EntityType | None, Field(description="Only entities of this type.")] = None,
    context_hints: Annotated[
        dict[str, Any] | None,
        Field(
            description="What helps to choose: 'topic' (text), 'mentioned_with' (list of texts), "
            "'domain_scores' (entity id to number)."
        ),
    ] = None,
    enable_fuzzy: Annotated[bool, Field(description="Whether misspelt names are found too.")] = False,
    request_context: RequestContext = None,
) -> list[ResolvedEntity]:
    """Find out whom or what a name means: candidates with scores, the likeliest first. Creates nothing.

    An empty list means that no entity has that name: try enable_fuzzy, else call entity_create.
    """
    if is_blank(name):
        raise InvalidInputError(
            f"name {name[:40]!a} is blank; pass the name as it was mentioned, for example 'Bob', "
            "or skip entity_resolve if nobody was named"
        )
    candidates = await resolve_entity(
        memory.pool,
        name,
        entity_type=entity_type,
        context_hints=context_hints,
        enable_fuzzy=enable_fuzzy,
        limit=MAX_SHOWN,
        tenant_id=_own_tenant(memory, tenant_id),
        request_context=request_context,
    )
    return cast(list[ResolvedEntity], candidates)


@tool(title="Merge two entities", destructive=True)
async def entity_merge(
    memory: Memory,
    source_entity_id: Annotated[UUID, Field(description="The duplicate, which will point to the other one.")],
    target_entity_id: Annotated[UUID, Field(description="The entity that stays.")],
    tenant_id: TenantId = DEFAULT_TENANT,
    request_context: RequestContext = None,
) -> Merged:
    """Merge two entities that are the same thing: the source's facts, names and metadata move to the target.

    Where both have a fact with the same scope and predicate, the one of higher confidence stays. It cannot be undone.
    """
    merged = await merge_entities(
        memory.pool,
        source_entity_id,
        target_entity_id,
        tenant_id=_own_tenant(memory, tenant_id),
        request_context=request_context,
    )
    return cast(Merged, merged)


def _own_tenant(memory: Memory, tenant_id: str) -> str:
    # The schema's default is a caller who named no tenant, not one who asks for the tenant 'default'.
    return memory.require_tenant(None if tenant_id == DEFAULT_TENANT else tenant_id)


def _found(entity: dict[str, Any] | None) -> FoundEntity:
    if entity is None:
        return {"found": False, "entity": None, "merged_from": None}
    merged_from = entity.pop("merged_from", None)
    return {"found": True, "entity": entity, "merged_from": merged_from}


TOOLS: tuple[Tool, ...] = (entity_create, entity_get, entity_update, entity_resolve, entity_merge)
