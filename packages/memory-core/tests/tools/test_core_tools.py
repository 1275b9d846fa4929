"""The tools that the core serves take what the specification names, with the defaults that it names."""

import inspect

import pytest
from memory_core import Plugins, Tool

REQUIRED = inspect.Parameter.empty


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    return {tool.name: tool for tool in Plugins.from_entry_points().create("memory_tools", "core")}


def defaults(tool: Tool) -> dict[str, object]:
    return {name: parameter.default for name, parameter in tool.parameters.items()}


@pytest.mark.scenario("Writing tools registered")
def test_the_writing_tools_take_what_the_specification_names(tools):
    episode = {"content": REQUIRED, "butler": REQUIRED, "session_id": None, "importance": 5.0}
    assert defaults(tools["memory_store_episode"]).items() >= episode.items()
    fact = {"subject": REQUIRED, "predicate": REQUIRED, "content": REQUIRED, "importance": 5.0}
    options = {"permanence": "standard", "scope": "global", "tags": None}
    assert defaults(tools["memory_store_fact"]).items() >= {**fact, **options}.items()
    rule = {"content": REQUIRED, "scope": "global", "tags": None}
    assert defaults(tools["memory_store_rule"]).items() >= rule.items()


@pytest.mark.scenario("Feedback tools registered")
def test_the_feedback_tools_take_what_the_specification_names(tools):
    confirmed = {"memory_type": REQUIRED, "memory_id": REQUIRED}
    assert defaults(tools["memory_confirm"]).items() >= confirmed.items()
    assert defaults(tools["memory_mark_helpful"])["rule_id"] is REQUIRED
    assert defaults(tools["memory_mark_harmful"]).items() >= {"rule_id": REQUIRED, "reason": None}.items()


@pytest.mark.scenario("Management tools registered")
def test_the_management_tools_take_what_the_specification_names(tools):
    forgotten = {"memory_type": REQUIRED, "memory_id": REQUIRED}
    assert defaults(tools["memory_forget"]).items() >= forgotten.items()
    assert defaults(tools["memory_stats"])["scope"] is None


def test_callers_see_neither_pool_nor_embedder(tools):
    seen = {name for tool in tools.values() for name in tool.input_schema["properties"]}
    assert seen.isdisjoint({"memory", "pool", "embedding_engine", "embedder"})


def test_the_core_serves_thirteen_tools(tools):
    assert len(tools) == 13
