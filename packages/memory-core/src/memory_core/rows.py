"""Turns database rows into plain dictionaries, and those into JSON."""

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from memory_core.vocabulary import MemoryType

_JSON_COLUMNS = frozenset({"metadata", "tags", "payload", "context"})
_NEVER_SHOWN = frozenset({"embedding", "search_vector"})


def row_to_dict(row: "asyncpg.Record | Mapping[str, Any]") -> dict[str, Any]:
    """Return a row as a dictionary; JSONB arrives as text or decoded, depending on the pool's codecs."""
    return {
        key: json.loads(value) if key in _JSON_COLUMNS and isinstance(value, str) else value
        for key, value in row.items()
        if key not in _NEVER_SHOWN
    }


def memory_state(memory_type: MemoryType, memory: Mapping[str, Any]) -> str:
    """Return the canonical name of the state that a memory is in."""
    metadata = memory["metadata"]
    if memory_type is MemoryType.EPISODE:
        return str(memory["consolidation_status"])
    if memory_type is MemoryType.RULE and metadata.get("forgotten") is True:
        return "forgotten"
    if memory_type is MemoryType.FACT and memory["validity"] != "active":
        return str(memory["validity"])
    if metadata.get("status") == "fading":
        return "fading"
    return "active" if memory_type is MemoryType.FACT else str(memory["maturity"])


def to_json(value: Any) -> Any:
    """Return a value as JSON types: ids as text, times in ISO 8601, no infinite numbers."""
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items() if key not in _NEVER_SHOWN}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
