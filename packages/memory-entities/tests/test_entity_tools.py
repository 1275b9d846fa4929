"""The five tools, as a model meets them: through the plugin, by name, with JSON in and out."""

import inspect
import json
from uuid import uuid4

import pytest
from memory_core import InvalidInputError, Memory, MemoryModuleConfig, TenantMismatchError
from memory_core.runtime import collect_tools, load_plugins
from memory_entities.entity_tools import TOOLS

CONFIG = MemoryModuleConfig.model_validate({"tools": {"sets": ["core", "entities"]}})


@pytest.fixture
def memory(pool, embedder):
    plugins = load_plugins(CONFIG)
    return Memory(pool, embedder, CONFIG, plugins, collect_tools(plugins, CONFIG))


@pytest.mark.scenario("Entity tools registered")
def test_the_plugin_brings_the_five_tools_with_the_parameters_of_the_specification():
    tools = collect_tools(load_plugins(CONFIG), CONFIG)
    names = ["entity_create", "entity_get", "entity_update", "entity_resolve", "entity_merge"]
    assert [name for name in tools if name.startswith("entity_")] == names

    create = tools["entity_create"].parameters
    assert [name for name, p in create.items() if p.default is inspect.Parameter.empty] == [
        "canonical_name",
        "entity_type",
        "tenant_id",
    ]
    assert create["aliases"].default is None
    assert create["metadata"].default is None
    resolve = {name: p.default for name, p in tools["entity_resolve"].parameters.items()}
    assert resolve == {
        "name": inspect.Parameter.empty,
        "tenant_id": "default",
        "entity_type": None,
        "context_hints": None,
        "enable_fuzzy": False,
        "request_context": None,
    }


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_tool_has_schemas_in_which_every_parameter_is_explained(tool):
    assert all("description" in field for field in tool.input_schema["properties"].values())
    assert tool.output_schema
    assert json.loads(json.dumps(tool.input_schema))["type"] == "object"


def test_reading_tools_say_so_and_a_merge_says_that_it_destroys():
    assert {tool.name for tool in TOOLS if tool.read_only} == {"entity_get", "entity_resolve"}
    assert {tool.name for tool in TOOLS if tool.destructive} == {"entity_merge"}


async def create(memory, name, **arguments):
    answer = await memory.call(
        "entity_create", canonical_name=name, entity_type="person", tenant_id=memory.tenant_id, **arguments
    )
    return answer["entity_id"]


async def test_a_model_creates_resolves_updates_and_merges(memory):
    bob = await create(memory, "Bob", aliases='["Bobby"]', metadata='{"age": 60}')
    robert = await create(memory, "Robert Smith")
    await memory.call("memory_store_fact", subject="Bob", predicate="likes", content="tea", entity_id=bob)

    [found] = await memory.call("entity_resolve", name="bobby", context_hints='{"topic": "tea"}')
    assert found == {
        "entity_id": bob,
        "canonical_name": "Bob",
        "entity_type": "person",
        "score": 90.0,
        "name_match": "alias",
        "aliases": ["Bobby"],
    }
    updated = await memory.call("entity_update", entity_id=bob, metadata={"job": "cook"})
    assert updated["entity"]["metadata"] == {"age": 60, "job": "cook"}
    merged = await memory.call("entity_merge", source_entity_id=bob, target_entity_id=robert)
    assert merged == {
        "source_entity_id": bob,
        "target_entity_id": robert,
        "facts_repointed": 1,
        "facts_superseded": 0,
        "history_repointed": 0,
        "aliases_added": 2,
    }
    answer = await memory.call("entity_get", entity_id=bob)
    assert (answer["found"], answer["merged_from"], answer["entity"]["id"]) == (True, bob, robert)
    assert "search_names" not in answer["entity"]


async def test_a_missing_entity_is_an_answer_not_an_error(memory):
    nothing = {"found": False, "entity": None, "merged_from": None}
    assert await memory.call("entity_get", entity_id=str(uuid4())) == nothing
    assert await memory.call("entity_update", entity_id=str(uuid4()), aliases=[]) == nothing
    assert await memory.call("entity_resolve", name="Nobody") == []


async def test_a_blank_name_is_explained_because_an_empty_list_makes_models_try_again(memory):
    for name in ("", "   ", "\x00", "\u200b"):
        with pytest.raises(InvalidInputError, match="is blank; pass the name as it was mentioned, for example 'Bob'"):
            await memory.call("entity_resolve", name=name)


async def test_a_model_sees_no_more_candidates_than_it_can_read(memory):
    await memory.pool.execute("INSERT INTO entities (canonical_name) SELECT 'Bob ' || n FROM generate_series(1, 40) n")
    assert len(await memory.call("entity_resolve", name="Bob")) == 25


async def test_another_tenant_is_refused_by_every_tool(memory):
    entity_id = await create(memory, "Ada")
    calls = {
        "entity_create": {"canonical_name": "Eve", "entity_type": "person"},
        "entity_get": {"entity_id": entity_id},
        "entity_update": {"entity_id": entity_id},
        "entity_resolve": {"name": "Ada"},
        "entity_merge": {"source_entity_id": entity_id, "target_entity_id": str(uuid4())},
    }
    for tool, arguments in calls.items():
        with pytest.raises(TenantMismatchError, match="tenant_id 'acme' is not the caller's tenant 'default'"):
            await memory.call(tool, tenant_id="acme", **arguments)
        with pytest.raises(TenantMismatchError, match="request_context names tenant 'acme'"):
            await memory.call(tool, **{"tenant_id": "default", **arguments}, request_context={"tenant_id": "acme"})


async def test_a_caller_of_another_tenant_may_leave_the_tenant_out(memory):
    acme = memory.for_tenant("acme")
    with pytest.raises(TenantMismatchError):
        await acme.call("entity_create", canonical_name="Ada", entity_type="person", tenant_id="default")
    ada = await create(acme, "Ada")
    assert [found["entity_id"] for found in await acme.call("entity_resolve", name="Ada")] == [ada]
    assert (await acme.call("entity_get", entity_id=ada, tenant_id="acme"))["found"]
    assert await memory.call("entity_resolve", name="Ada") == []


async def test_a_wrong_argument_is_named(memory):
    for tool, arguments, problem in (
        ("entity_create", {"canonical_name": "Ada", "entity_type": "person"}, "tenant_id"),
        ("entity_create", {"canonical_name": "A", "entity_type": "robot", "tenant_id": "default"}, "'person', 'organ"),
        ("entity_get", {"entity_id": "nope"}, "entity_id: .* valid UUID"),
        ("entity_resolve", {"name": "A", "fuzzy": True}, "fuzzy"),
    ):
        with pytest.raises(InvalidInputError, match=f"{tool}: .*{problem}"):
            await memory.call(tool, **arguments)
