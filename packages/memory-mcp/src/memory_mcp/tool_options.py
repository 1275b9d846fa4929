"""Makes the arguments and options of a command from a tool's declaration, so that each is described once."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import click
from memory_core import Tool

# Lineage of a request, which a person at a terminal has none of.
NOT_ASKED = "request_context"


class PipedText(click.ParamType[str]):
    """A text, or what stdin holds for '-'."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, without the line end that programs put behind their output."""
        return sys.stdin.read().rstrip("\n") if value == "-" else value


def tool_parameters(tool: Tool, named: Collection[str] = (), piped: Collection[str] = ()) -> Iterator[click.Parameter]:
    """Yield an argument for each value that the tool needs, and options for the rest and for those in `named`.

    For an argument in `piped`, '-' stands for what stdin holds.
    """
    required = tool.input_schema.get("required", [])
    for name, schema in tool.input_schema["properties"].items():
        if name == NOT_ASKED:
            continue
        if name in required and name not in named:
            yield click.Argument([name], type=PipedText() if name in piped else _type(schema))
        else:
            yield _option(name, schema, required=name in required)


def _option(name: str, schema: Mapping[str, Any], *, required: bool) -> click.Option:
    form = _form(schema)
    shape: dict[str, Any] = {"type": _type(form)}
    described = schema.get("description", "")
    if form.get("type") == "boolean":
        shape = {"is_flag": True}
    elif form.get("type") == "array":
        # `--tag home --tag work` for `tags`: one at a time.
        shape = {"type": _type(form["items"]), "multiple": True}
        described = f"{described} May be repeated."
    return click.Option(
        [_flag(name, form), name],
        required=required,
        # Shown only: what is not given is not passed on, so that a tool can tell its default from a chosen value.
        show_default=_shown_default(schema),
        help=described.strip(),
        **shape,
    )


def _flag(name: str, form: Mapping[str, Any]) -> str:
    word = name.removesuffix("s") if form.get("type") == "array" else name
    return f"--{word.replace('_', '-')}"


def _form(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a value looks like where there is one."""
    forms: list[Mapping[str, Any]] = schema.get("anyOf", [schema])
    return next(form for form in forms if form.get("type") != "null")


def _type(schema: Mapping[str, Any]) -> click.ParamType[Any]:
    form = _form(schema)
    if "enum" in form:
        return click.Choice(form["enum"])
    if form.get("format") == "uuid":
        return click.UUID
    if form.get("type") == "integer":
        return click.IntRange(form.get("minimum"), form.get("maximum"))
    if form.get("type") == "number":
        return click.FloatRange(form.get("minimum"), form.get("maximum"))
    return click.STRING


def _shown_default(schema: Mapping[str, Any]) -> str | bool:
    default = schema.get("default")
    return False if default is None or isinstance(default, bool) else str(default)
