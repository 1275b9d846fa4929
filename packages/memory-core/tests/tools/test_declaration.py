"""Declaring a tool: what a model gets to see comes from the function alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from memory_core import InvalidInputError, Permanence, Plugins, Tool, tool
from memory_core.retrieval_tools import UnchosenLimit, UnchosenMode, memory_search
from memory_core.schemas import compact_schema
from memory_core.storage_tools import memory_store_fact
from memory_core.tools import RequestContext
from pydantic import Field
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from nowhere import Runtime


CORE_TOOLS = Plugins.from_entry_points().create("memory_tools", "core")


class Greeting(TypedDict):
    """An answer."""

    text: str
    title: str


@tool(title="Greet somebody", read_only=True)
async def greet(
    memory: Runtime,
    name: Annotated[str, Field(description="Who is greeted.")],
    permanence: Permanence = Permanence.STANDARD,
    titles: list[str] | None = None,
    style: Literal["plain", "warm"] = "plain",
    request_context: RequestContext = None,
) -> Greeting:
    """Greet somebody.

    In the style they like.
    """
    return {"text": f"Hello {name}", "title": ", ".join(titles or [])}


def test_name_title_description_and_hints_come_from_the_declaration():
    assert isinstance(greet, Tool)
    assert (greet.name, greet.title) == ("greet", "Greet somebody")
    assert greet.description == "Greet somebody.\n\nIn the style they like."
    assert (greet.read_only, greet.destructive, greet.idempotent) == (True, False, False)


def test_the_runtime_is_not_among_the_parameters_and_its_type_need_not_be_importable():
    assert list(greet.parameters) == ["name", "permanence", "titles", "style", "request_context"]
    assert list(greet.input_schema["properties"]) == list(greet.parameters)


def test_the_input_schema_has_descriptions_defaults_and_required_names():
    schema = greet.input_schema
    assert schema["properties"]["name"] == {"type": "string", "description": "Who is greeted."}
    assert schema["required"] == ["name"]
    assert schema["additionalProperties"] is False


def test_the_words_of_an_enum_are_in_the_schema_in_place():
    field = greet.input_schema["properties"]["permanence"]
    assert field["enum"] == ["permanent", "stable", "standard", "volatile", "ephemeral"]
    assert field["default"] == "standard"
    assert greet.input_schema["properties"]["style"]["enum"] == ["plain", "warm"]
    assert "$defs" not in str(greet.input_schema)


def test_the_output_schema_is_an_object_with_the_echoed_request_id():
    schema = greet.output_schema
    assert schema["type"] == "object"
    assert set(schema["properties"]) == {"text", "title", "request_id"}
    assert schema["required"] == ["text", "title"]


@pytest.mark.parametrize("declared", CORE_TOOLS, ids=lambda declared: declared.name)
def test_every_tool_of_the_core_has_schemas_and_words_for_each_parameter(declared):
    assert declared.input_schema["type"] == "object"
    assert declared.output_schema["type"] in ("object", "array", "string")
    assert [name for name, field in declared.input_schema["properties"].items() if not field.get("description")] == []


def test_a_default_of_a_special_type_is_shown_as_the_plain_value_and_reaches_the_function_as_it_is():
    shown = memory_search.input_schema["properties"]
    assert (shown["limit"]["default"], shown["mode"]["default"]) == (10, "hybrid")
    unchosen = memory_search.check({"query": "x"})
    assert (type(unchosen["limit"]), type(unchosen["mode"])) == (UnchosenLimit, UnchosenMode)
    chosen = memory_search.check({"query": "x", "limit": 10, "mode": "hybrid"})
    assert (type(chosen["limit"]), type(chosen["mode"])) == (int, str)


def test_generated_titles_are_left_out_but_a_property_called_title_stays():
    schema = {"title": "x", "type": "object", "properties": {"title": {"title": "Title", "type": "string"}}}
    assert compact_schema(schema) == {"type": "object", "properties": {"title": {"type": "string"}}}


def test_what_stands_beside_a_reference_wins_over_the_definition():
    schema = {"$defs": {"A": {"type": "string", "description": "old"}}, "$ref": "#/$defs/A", "description": "new"}
    assert compact_schema(schema) == {"type": "string", "description": "new"}


def test_a_function_that_is_not_async_or_says_nothing_is_no_tool():
    def blocking(memory: Any) -> str:
        """Return at once."""
        return ""

    async def silent(memory: Any) -> str:
        return ""

    for function in (blocking, silent):
        with pytest.raises(InvalidInputError, match=f"tool '{function.__name__}' must be an async function with a doc"):
            tool(title="x")(function)  # type: ignore[arg-type]


def test_a_tool_must_take_the_runtime_and_annotate_the_rest():
    async def alone() -> str:
        """Return nothing."""
        return ""

    async def bare(memory, text):
        """Return nothing."""

    with pytest.raises(InvalidInputError, match="tool 'alone' must take the runtime as its first parameter"):
        tool(title="x")(alone)
    with pytest.raises(InvalidInputError, match="tool 'bare' must annotate: text, return"):
        tool(title="x")(bare)


def test_the_fact_tool_accepts_what_the_specification_names():
    parameters = memory_store_fact.parameters
    assert list(parameters)[:3] == ["subject", "predicate", "content"]
    assert {name: parameters[name].default for name in ("importance", "permanence", "scope", "tags")} == {
        "importance": 5.0,
        "permanence": "standard",
        "scope": "global",
        "tags": None,
    }
