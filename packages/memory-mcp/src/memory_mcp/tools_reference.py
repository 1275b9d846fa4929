"""Writes docs/tools.md from the tools' declarations: `python -m memory_mcp.tools_reference`."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from memory_core.config import MemoryModuleConfig
from memory_core.plugin_selection import load_plugins
from memory_core.tools import Tool

INTRODUCTION = """\
# Tools

<!-- Generated from the declarations: uv run python -m memory_mcp.tools_reference > docs/tools.md -->

What a model can call. {served} tools are served by default; `tools.sets` in the
[configuration](configuration.md) adds and removes sets, `tools.exclude` leaves out single ones.

- Every tool also takes `request_context`, an optional object such as `{{"request_id": "…"}}`: its id is kept with the
  events that the call causes and is echoed in answers that are objects.
- The tenant is that of the token, or the configured one. Where a tool takes `tenant_id`, it must be the same.
- Lists and objects may be sent as JSON text.
- A call that fails answers `{{"error": …, "message": …, "recovery": …}}`; bad input changes nothing.
- No answer contains a vector.

The same from Python: `await memory.call("memory_search", query="…")`, and from a shell:
`memory call memory_search query=…`.
"""

# A set that cannot be made without options is described with these.
EXAMPLE_OPTIONS = {"agent": {"path": "agents.db"}}
WORDS = {"boolean": "`true`, `false`", "integer": "whole number", "number": "number", "object": "object"}


def reference() -> str:
    """Return the page."""
    served = MemoryModuleConfig().tools.sets
    plugins = load_plugins(MemoryModuleConfig(plugins=EXAMPLE_OPTIONS))
    sets = {name: list(plugins.create("memory_tools", name)) for name in plugins.providers("memory_tools")}
    lines = [INTRODUCTION.format(served=sum(len(sets[name]) for name in served))]
    for name in (*served, *(name for name in sets if name not in served)):
        lines += _set(name, sets[name], is_served=name in served)
    return "\n".join(lines)


def _set(name: str, tools: list[Tool], *, is_served: bool) -> Iterator[str]:
    yield f"## The set `{name}`\n"
    if not is_served:
        yield "Not served by default: add its name to `tools.sets`.\n"
    for tool in tools:
        yield from _tool(tool)


def _tool(tool: Tool) -> Iterator[str]:
    yield f"### `{tool.name}`\n"
    yield f"{tool.description}\n"
    yield f"{_effects(tool)}\n"
    parameters = {name: schema for name, schema in tool.input_schema["properties"].items() if name != "request_context"}
    if parameters:
        yield from ("| parameter | values | default | |", "|---|---|---|---|")
        required = tool.input_schema.get("required", [])
        yield from (_row(name, schema, is_required=name in required) for name, schema in parameters.items())
        yield ""
    yield f"Answer: {_answer(tool.output_schema)}\n"


def _effects(tool: Tool) -> str:
    if tool.read_only:
        return "Reads only."
    kinds = ["Destructive." if tool.destructive else "Writes."]
    if tool.idempotent:
        kinds.append("Calling it again with the same arguments changes nothing more.")
    return " ".join(kinds)


def _row(name: str, schema: Mapping[str, Any], *, is_required: bool) -> str:
    default = schema.get("default")
    shown = "required" if is_required else "" if default is None else f"`{json.dumps(default)}`"
    return f"| `{name}` | {_values(schema)} | {shown} | {schema.get('description', '')} |"


def _values(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_values(form) for form in schema["anyOf"] if form.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_values(schema['items'])}"
    if schema.get("format") == "uuid":
        return "id"
    return WORDS.get(schema.get("type", ""), "text") + _limits(schema)


def _limits(schema: Mapping[str, Any]) -> str:
    if "minimum" not in schema:
        return ""
    lower = f"{schema['minimum']:,g}"
    return f", {lower} to {schema['maximum']:,g}" if "maximum" in schema else f", {lower} or more"


def _answer(schema: Mapping[str, Any]) -> str:
    if schema.get("type") == "object" and schema.get("properties"):
        return ", ".join(f"`{name}`" for name in schema["properties"] if name != "request_id")
    if schema.get("type") == "array":
        return "a list of memories, best first" if schema["items"].get("type") == "object" else "a list"
    return {"string": "a text", "object": "an object"}.get(schema.get("type", ""), "an object, or null")


if __name__ == "__main__":
    sys.stdout.write(reference())
