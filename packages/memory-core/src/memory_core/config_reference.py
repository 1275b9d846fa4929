"""Writes docs/configuration.md from the configuration model: `python -m memory_core.config_reference`."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic.fields import FieldInfo

from memory_core.config import MemoryModuleConfig, Section
from memory_core.schemas import compact_schema

INTRODUCTION = """\
# Configuration

<!-- Generated from the model: uv run python -m memory_core.config_reference > docs/configuration.md -->

Every setting has a default; nothing needs to be configured. Settings come from, later ones winning:

1. the table `[modules.memory]` of a TOML file: the one that `--config` or `MEMORY_CONFIG` names, else `butler.toml` in
   the working directory if there is one;
2. the environment: `MEMORY_` and the key in capitals, two underscores between table and key. Lists and tables are JSON:
   `MEMORY_TOOLS__SETS='["core"]'`;
3. arguments: options of the command line, or `Memory.open(...)` and `load_config(overrides={...})` in a program.

An unknown key or a bad value stops the start with one line that names the key. A variable that is none of the settings
is left alone, because other programs may use the prefix; one that looks like a typo is warned about.

```toml
[modules.memory]
tenant_id = "household"

[modules.memory.retrieval]
default_limit = 10
score_weights = { relevance = 0.5, importance = 0.2 }

[modules.memory.plugins.onnx]    # options of one provider, by its name
threads = 2
```

Two more variables are read: `MEMORY_CONFIG` (the file) and `MEMORY_DISABLED_PLUGINS` (plugin names, separated by
commas, that are not loaded; see [plugins](plugins.md)).
"""


def reference() -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, *_sections(MemoryModuleConfig, ())])


def _sections(model: type[Section], path: tuple[str, ...]) -> Iterator[str]:
    yield f"## `[{'.'.join(('modules', 'memory', *path))}]`\n"
    yield f"{_text(model.__doc__)}\n"
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    schema = compact_schema(model.model_json_schema())
    rows = [
        _row((*path, key), field, schema["properties"][key]) for key, field in fields.items() if not _is_section(field)
    ]
    if rows:
        yield from ("| key | values | default | variable | |", "|---|---|---|---|---|", *rows, "")
    for key, field in fields.items():
        if _is_section(field):
            yield from _sections(field.annotation, (*path, key))  # type: ignore[arg-type]


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, Section)


def _row(path: tuple[str, ...], field: FieldInfo, schema: Mapping[str, Any]) -> str:
    default = "none" if field.default is None else f"`{json.dumps(field.default)}`"
    variable = f"`MEMORY_{'__'.join(path).upper()}`"
    return f"| `{path[-1]}` | {_values(schema)} | {default} | {variable} | {_text(field.description)} |"


def _values(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return _values(next(form for form in schema["anyOf"] if form.get("type") != "null"))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema["type"] == "array":
        return "list of texts"
    words = {"boolean": "`true`, `false`", "integer": "whole number", "number": "number", "object": "tables"}
    return words.get(schema["type"], "text") + _limits(schema)


def _limits(schema: Mapping[str, Any]) -> str:
    if "exclusiveMinimum" in schema:
        upper = f", at most {_number(schema['maximum'])}" if "maximum" in schema else ""
        return f" above {_number(schema['exclusiveMinimum'])}{upper}"
    if "minimum" not in schema:
        return ""
    lower = _number(schema["minimum"])
    return f", {lower} to {_number(schema['maximum'])}" if "maximum" in schema else f", {lower} or more"


def _number(value: float) -> str:
    return f"{value:,.15g}"


def _text(words: str | None) -> str:
    return " ".join((words or "").split())


if __name__ == "__main__":
    sys.stdout.write(reference())
