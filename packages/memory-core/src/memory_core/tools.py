"""Declares tools once: from a typed async function come its schema, its MCP registration, its command and its docs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from memory_core.errors import InvalidInputError
from memory_core.rows import to_json
from memory_core.schemas import compact_schema

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
    def signature(self) -> inspect.Signature:
        """The function's signature as a caller sees it, with types that a host can make its own schema from."""
        hints = self._hints
        visible = [
            parameter.replace(annotation=_lenient(hints[name]), kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in self.parameters.items()
        ]
        return inspect.Signature(visible, return_annotation=hints["return"])

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
        return compact_schema(self.arguments_model.model_json_schema())

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        schema = compact_schema(TypeAdapter(self._hints["return"]).json_schema(mode="serialization"))
        if "request_context" in self.parameters and schema.get("type") == "object":
            echo = {"type": "string", "description": "The request_id of the call's request_context, if it had one."}
            schema["properties"] = {**schema.get("properties", {}), "request_id": echo}
        return schema

    async def call(self, memory: Memory, arguments: Mapping[str, Any]) -> Any:
        """Check the arguments, run the tool and return its answer as JSON types, with the request's id if it has one.

        Raises:
            InvalidInputError: an argument is unknown, missing or of the wrong type.
        """
        checked = self.check(arguments)
        answer = to_json(await self.function(memory, **checked))
        request_id = (checked.get("request_context") or {}).get("request_id")
        if request_id is not None and isinstance(answer, dict):
            answer["request_id"] = str(request_id)
        return answer

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
        # The runtime's own annotation is left out: a tool may import it for type checkers only.
        hints = self.function.__annotations__
        shown = {name: hints[name] for name in (*self.parameters, "return")}
        scope = getattr(self.function, "__globals__", {})
        return get_type_hints(SimpleNamespace(__annotations__=shown), globalns=scope, include_extras=True)

    def _explain(self, error: ValidationError) -> str:
        problems = "; ".join(_explain_problem(problem) for problem in error.errors())
        return f"{self.name}: {problems}; its parameters are: {', '.join(self.parameters) or 'none'}"


def tool(
    *, title: str, read_only: bool = False, destructive: bool = False, idempotent: bool = False
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Declare an async function as a tool: its name, its docstring and its annotated parameters are what models see.

    Raises:
        InvalidInputError: the function is not async, has no docstring, lacks the runtime or an annotation.
    """

    def declare(function: Callable[..., Awaitable[Any]]) -> Tool:
        _require_declarable(function)
        description = inspect.cleandoc(function.__doc__ or "")
        return Tool(function.__name__, title, description, function, read_only, destructive, idempotent)

    return declare


def _require_declarable(function: Callable[..., Awaitable[Any]]) -> None:
    name = function.__name__
    if not inspect.iscoroutinefunction(function) or not (function.__doc__ or "").strip():
        raise InvalidInputError(f"tool {name!r} must be an async function with a docstring written for a model")
    names = list(inspect.signature(function).parameters)
    if not names:
        raise InvalidInputError(f"tool {name!r} must take the runtime as its first parameter")
    bare = [wanted for wanted in (*names[1:], "return") if wanted not in function.__annotations__]
    if bare:
        raise InvalidInputError(f"tool {name!r} must annotate: {', '.join(bare)}; its schema is made from the types")


def _explain_problem(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"]) or "arguments"
    if problem["type"] == "missing":
        return f"{where} is missing"
    if problem["type"] == "extra_forbidden":
        return f"{where} is not a parameter"
    return f"{where}: {problem['msg']} (got {str(problem['input'])[:60]!r})"


def _lenient(hint: Any) -> Any:
    """Accept lists and objects that a client sends as JSON text, as some models do."""
    return Annotated[hint, BeforeValidator(_decode_json)] if _is_structured(hint) else hint


def _is_structured(hint: Any) -> bool:
    """Tell whether a list or an object is among the forms that a type allows."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_structured(get_args(hint)[0])
    kind = origin if isinstance(origin, type) else hint
    if isinstance(kind, type) and issubclass(kind, list | tuple | set | frozenset | Mapping | BaseModel):
        return True
    return is_typeddict(hint) or any(_is_structured(part) for part in get_args(hint))


def _decode_json(value: Any) -> Any:
    if isinstance(value, str) and (value.lstrip()[:1] in ("[", "{") or value.strip() == "null"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
