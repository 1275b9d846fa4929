"""What a client learns about the tools before it calls any."""

import pytest

NAMES = {
    "memory_store_episode",
    "memory_store_fact",
    "memory_store_rule",
    "memory_search",
    "memory_recall",
    "memory_get",
    "memory_confirm",
    "memory_mark_helpful",
    "memory_mark_harmful",
    "memory_forget",
    "memory_stats",
    "memory_context",
    "entity_create",
    "entity_get",
    "entity_update",
    "entity_resolve",
    "entity_merge",
    "memory_run_consolidation",
    "memory_run_episode_cleanup",
}

REQUIRED = object()


@pytest.fixture(scope="module")
async def listed():
    from memory_core import load_config
    from memory_mcp.assembled_server import describe_tool
    from memory_mcp.serving import prepare_serving

    return {name: describe_tool(tool) for name, tool in prepare_serving(load_config(environ={})).calls.tools.items()}


def parameters(tool) -> dict:
    """Return each parameter's default, or that it is required."""
    schema = tool.input_schema
    required = schema.get("required", [])
    return {
        name: REQUIRED if name in required else declared.get("default")
        for name, declared in schema["properties"].items()
        if name != "request_context"
    }


def assert_accepts(tool, **wanted):
    given = parameters(tool)
    assert {name: given[name] for name in wanted} == wanted
    assert {name for name, default in given.items() if default is REQUIRED} == {
        name for name, default in wanted.items() if default is REQUIRED
    }


async def test_a_client_is_offered_exactly_the_19_tools_in_both_eras(connect):
    for mode in ("legacy", "auto"):
        async with connect(mode) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == NAMES
            assert len(tools) == 19


async def test_tools_can_be_left_out_and_sets_added_by_configuration(connect, tmp_path):
    sets = '["core", "agent"]'
    file = str(tmp_path / "agent.db")
    variables = {"MEMORY_TOOLS__EXCLUDE": '["memory_forget"]', "MEMORY_PLUGINS__AGENT__PATH": file}
    async with connect(MEMORY_TOOLS__SETS=sets, **variables) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"agent_memory_save", "agent_memory_recall", "memory_get"} <= names
    assert not names & {"memory_forget", "entity_get", "memory_run_consolidation"}


@pytest.mark.scenario("Writing tools registered")
async def test_writing_tools(listed):
    assert_accepts(listed["memory_store_episode"], content=REQUIRED, butler=REQUIRED, session_id=None, importance=5.0)
    assert_accepts(
        listed["memory_store_fact"],
        subject=REQUIRED,
        predicate=REQUIRED,
        content=REQUIRED,
        importance=5.0,
        permanence="standard",
        scope="global",
        tags=None,
    )
    assert_accepts(listed["memory_store_rule"], content=REQUIRED, scope="global", tags=None)


@pytest.mark.scenario("Reading tools registered")
async def test_reading_tools(listed):
    assert_accepts(
        listed["memory_search"],
        query=REQUIRED,
        types=None,
        scope=None,
        mode="hybrid",
        limit=10,
        min_confidence=0.2,
    )
    assert_accepts(listed["memory_recall"], topic=REQUIRED, scope=None, limit=10)
    assert_accepts(listed["memory_get"], memory_type=REQUIRED, memory_id=REQUIRED)


@pytest.mark.scenario("Feedback tools registered")
async def test_feedback_tools(listed):
    assert_accepts(listed["memory_confirm"], memory_type=REQUIRED, memory_id=REQUIRED)
    assert_accepts(listed["memory_mark_helpful"], rule_id=REQUIRED)
    assert_accepts(listed["memory_mark_harmful"], rule_id=REQUIRED, reason=None)


@pytest.mark.scenario("Management tools registered")
async def test_management_tools(listed):
    assert_accepts(listed["memory_forget"], memory_type=REQUIRED, memory_id=REQUIRED)
    assert_accepts(listed["memory_stats"], scope=None)


@pytest.mark.scenario("Context tool registered")
async def test_context_tool(listed):
    assert_accepts(listed["memory_context"], trigger_prompt=REQUIRED, butler=REQUIRED, token_budget=None)


@pytest.mark.scenario("Entity tools registered")
async def test_entity_tools(listed):
    assert_accepts(
        listed["entity_create"],
        canonical_name=REQUIRED,
        entity_type=REQUIRED,
        tenant_id=REQUIRED,
        aliases=None,
        metadata=None,
    )
    assert_accepts(
        listed["entity_resolve"],
        name=REQUIRED,
        tenant_id="default",
        entity_type=None,
        context_hints=None,
        enable_fuzzy=False,
    )
    assert {"entity_get", "entity_update", "entity_merge"} <= listed.keys()


@pytest.mark.scenario("Consolidation and cleanup tools registered")
async def test_consolidation_and_cleanup_tools(listed):
    assert "memory_run_consolidation" in listed
    assert_accepts(listed["memory_run_episode_cleanup"], max_entries=10000)


def test_a_set_that_is_not_installed_stops_the_start(capsys):
    from memory_mcp.stdio import main

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMORY_TOOLS__SETS", '["core", "absent"]')
        with pytest.raises(SystemExit) as ended:
            main([])
    assert ended.value.code == 1
    assert "memory-mcp cannot start: modules.memory.tools.sets names 'absent'" in capsys.readouterr().err


async def test_every_tool_has_description_described_parameters_annotations_and_an_object_as_answer(listed):
    for tool in listed.values():
        assert tool.title
        assert len(tool.description) > 40
        assert all("description" in declared for declared in tool.input_schema["properties"].values()), tool.name
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations.read_only_hint is not None
        assert tool.output_schema["type"] == "object"
        assert tool.output_schema["properties"]


async def test_every_tool_takes_the_context_of_a_request_and_needs_none(listed):
    for tool in listed.values():
        assert "request_context" in tool.input_schema["properties"], tool.name
        assert "request_context" not in tool.input_schema.get("required", [])


async def test_enumerations_are_in_the_schema(listed):
    def values(tool, parameter):
        return listed[tool].input_schema["properties"][parameter]["enum"]

    assert values("memory_store_fact", "permanence") == ["permanent", "stable", "standard", "volatile", "ephemeral"]
    assert values("memory_search", "mode") == ["semantic", "keyword", "hybrid"]
    assert values("memory_get", "memory_type") == ["episode", "fact", "rule"]
    assert set(values("entity_create", "entity_type")) == {"person", "organization", "place", "other"}


async def test_clients_are_warned_of_tools_that_destroy(listed):
    destructive = {name for name, tool in listed.items() if tool.annotations.destructive_hint}
    assert destructive == {"memory_forget", "entity_merge", "memory_run_episode_cleanup"}
    read_only = {name for name, tool in listed.items() if tool.annotations.read_only_hint}
    assert read_only == {
        "memory_search",
        "memory_recall",
        "memory_get",
        "memory_context",
        "memory_stats",
        "entity_get",
        "entity_resolve",
    }
