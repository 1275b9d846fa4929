"""Declares tools once: from a typed async function come its schema, its MCP registration, its command and its docs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from memory_core.errors import InvalidInputError
from memory_core.rows import to_json

if TYPE_CHECKING:
    from memory_core.runtime import Memory

RequestContext = Annotated[
    dict[str, Any] | None,
    Field(
        description="Optional lineage of the request, for example {'request_id': '…'}; echoed and kept in the audit."
    ),
]


@dataclass(frozen=True)
class Tool:
    """One tool: what a model reads about it and the function that answers."""

    name: str
    title: str
    description: str
    function: Callable[..., Awaitable[Any]]
    read_only: bool
    destructive: bool
    idempotent: bool

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters that a caller sees: all but the runtime."""
        _, *visible = inspect.signature(self.function).parameters.items()
        return dict(visible)

    @cached_property
    def arguments_model(self) -> type[BaseModel]:
        """The model that checks a caller's arguments."""
        hints = self._hints
        fields: dict[str, Any] = {
            name: (_lenient(hints[name]), ... if parameter.default is parameter.empty else parameter.default)
            for name, parameter in self.parameters.items()
        }
        return create_model(self.name, __config__=ConfigDict(extra="forbid"), **fields)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self.arguments_model.model_json_schema()

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        return TypeAdapter(self._hints["return"]).json_schema(mode="serialization")

    async def call(self, memory: Memory, arguments: Mapping[str, Any]) -> Any:
        """Check the arguments, run the tool and return its answer as JSON types.

        Raises:
            InvalidInputError: an argument is unknown, missing or of the wrong type.
        """
        return to_json(await self.function(memory, **self.check(arguments)))

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments in the types that the function asks for.

        Raises:
            InvalidInputError: an argument is unknown, missing or of the wrong type.
        """
        try:
            checked = self.arguments_model.model_validate(dict(arguments))
        except ValidationError as error:
            raise InvalidInputError(self._explain(error)) from None
        return {name: getattr(checked, name) for name in self.parameters}

    @cached_property
    def _hints(self) -> dict[str, Any]:
        # The runtime's own annotation may not be importable here; only its presence matters.
        scope = {**getattr(self.function, "__globals__", {}), "Memory": object}
        return get_type_hints(self.function, globalns=scope, include_extras=True)

    def _explain(self, error: ValidationError) -> str:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc']) or 'arguments'}: {problem['msg']}"
            + (f" (got {str(problem['input'])[:60]!r})" if problem["type"] != "missing" else "")
            for problem in error.errors()
        )
        return f"{self.name}: {problems}; its parameters are: {', '.join(self.parameters) or 'none'}"


def tool(
    *, title: str, read_only: bool = False, destructive: bool = False, idempotent: bool = False
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Declare an async function as a tool: its name, its docstring and its annotated parameters are what models see."""

    def declare(function: Callable[..., Awaitable[Any]]) -> Tool:
        name = function.__name__
        if not inspect.iscoroutinefunction(function) or not function.__doc__:
            raise InvalidInputError(f"tool {name!r} must be an async function with a docstring written for a model")
        return Tool(name, title, inspect.cleandoc(function.__doc__), function, read_only, destructive, idempotent)

    return declare


def _lenient(hint: Any) -> Any:
    """Accept lists and objects that a client sends as JSON text, as some models do."""
    text = str(hint)
    origin = get_origin(hint)
    structured = origin in (list, dict) or "list[" in text or "dict[" in text
    return Annotated[hint, BeforeValidator(_decode_json)] if structured else hint


def _decode_json(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{", "n"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
