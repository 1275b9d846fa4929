"""Entities for Butler Memory: registry, resolution and merge."""

from memory_entities.merging import entity_merge
from memory_entities.registry import entity_create, entity_get, entity_update
from memory_entities.resolution import entity_resolve
from memory_entities.vocabulary import EntityType, NameMatch

__all__ = [
    "EntityType",
    "NameMatch",
    "entity_create",
    "entity_get",
    "entity_merge",
    "entity_resolve",
    "entity_update",
]
