"""Calling a tool: arguments are checked, JSON texts are understood, and the request's id comes back."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from memory_core import InvalidInputError, Permanence, tool
from memory_core.tools import RequestContext
from typing_extensions import TypedDict


class Options(TypedDict):
    """An object among the arguments."""

    depth: int


@tool(title="Repeat")
async def repeat(
    memory: object,
    text: str = "",
    tags: list[str] | None = None,
    options: Options | None = None,
    either: str | list[str] = "",
    id: UUID | None = None,
    permanence: Permanence = Permanence.STANDARD,
    number: float = 0,
    request_context: RequestContext = None,
) -> dict[str, Any]:
    """Return the arguments."""
    given = {"text": text, "tags": tags, "options": options, "either": either, "id": id, "number": number}
    return {**given, "permanence": permanence, "at": datetime(2026, 3, 1, tzinfo=UTC), "embedding": [0.1]}


@tool(title="List")
async def listing(memory: object, request_context: RequestContext = None) -> list[int]:
    """Return a list."""
    return [1]


async def test_an_answer_is_made_of_json_types_and_never_has_a_vector():
    answer = await repeat.call(None, {"id": "6f1c2a34-0000-4000-8000-000000000001", "number": float("inf")})
    assert answer["id"] == "6f1c2a34-0000-4000-8000-000000000001"
    assert answer["at"] == "2026-03-01T00:00:00+00:00"
    assert answer["number"] is None
    assert "embedding" not in answer


async def test_lists_and_objects_may_come_as_json_text():
    answer = await repeat.call(None, {"tags": '["a", "b"]', "options": ' {"depth": 3}'})
    assert (answer["tags"], answer["options"]) == (["a", "b"], {"depth": 3})
    assert (await repeat.call(None, {"tags": "null"}))["tags"] is None


async def test_a_text_that_looks_like_json_stays_text_where_text_is_asked_for():
    answer = await repeat.call(None, {"text": '["a"]', "either": "[not json"})
    assert (answer["text"], answer["either"]) == ('["a"]', "[not json")


async def test_numbers_and_words_may_come_as_text():
    answer = await repeat.call(None, {"number": "2.5", "permanence": "stable"})
    assert (answer["number"], answer["permanence"]) == (2.5, "stable")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"txt": "x"}, "repeat: txt is not a parameter; its parameters are: text, tags, options"),
        ({"tags": "[1"}, "tags: Input should be a valid list (got '[1')"),
        ({"tags": [1]}, "tags.0: Input should be a valid string (got '1')"),
        ({"options": {}}, "options.depth is missing"),
        ({"id": "abc"}, "id: Input should be a valid UUID"),
        ({"permanence": "forever"}, "'permanent', 'stable', 'standard', 'volatile' or 'ephemeral' (got 'forever')"),
        ({"request_context": "abc"}, "request_context: Input should be a valid dictionary"),
    ],
)
async def test_a_wrong_argument_is_refused_with_its_name_and_value(arguments, message):
    with pytest.raises(InvalidInputError) as caught:
        await repeat.call(None, arguments)
    assert message in str(caught.value)


async def test_a_tool_without_parameters_says_so():
    @tool(title="x")
    async def nothing(memory: object) -> str:
        """Do nothing."""
        return "done"

    with pytest.raises(InvalidInputError, match="nothing: text is not a parameter; its parameters are: none"):
        await nothing.call(None, {"text": "x"})
    assert await nothing.call(None, {}) == "done"


async def test_the_request_id_of_the_call_comes_back_with_the_answer():
    answer = await repeat.call(None, {"request_context": {"request_id": "req-7", "actor": "jeeves"}})
    assert answer["request_id"] == "req-7"


async def test_without_a_request_id_nothing_is_added():
    assert "request_id" not in await repeat.call(None, {"request_context": {"actor": "jeeves"}})
    assert "request_id" not in await repeat.call(None, {})


async def test_an_answer_that_is_no_object_stays_as_it_is():
    assert await listing.call(None, {"request_context": {"request_id": "req-7"}}) == [1]
