"""Makes JSON schemas short: every tool's schema is text that a model pays for on every turn."""

from collections.abc import Mapping
from typing import Any


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same schema with definitions in place and without the titles that repeat each name."""
    definitions = schema.get("$defs", {})
    body = {key: value for key, value in schema.items() if key != "$defs"}
    compact: dict[str, Any] = _compact(body, definitions)
    return compact


def _compact(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_compact(item, definitions) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _compact({**target, **beside}, definitions)
    compact = {key: _compact(value, definitions) for key, value in node.items() if key not in ("title", "properties")}
    if "properties" in node:
        # Here the keys are names that somebody chose: one of them may be "title".
        compact["properties"] = {name: _compact(member, definitions) for name, member in node["properties"].items()}
    return compact
