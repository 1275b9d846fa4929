from importlib.metadata import entry_points

import pytest
from memory_agent import MemoryManager, plugin
from memory_core import ConfigError, InvalidInputError, MemoryModuleConfig, MemoryModuleError, Plugins
from memory_core.runtime import Memory, collect_tools


def runtime(plugins, config, **fields):
    """A runtime as `Memory.open` builds it, without the PostgreSQL that these tools do not use."""
    return Memory(None, None, config, plugins, collect_tools(plugins, config), **fields)


@pytest.fixture
def config(memory_file):
    return MemoryModuleConfig(tools={"sets": ["agent"]}, plugins={"agent": {"path": str(memory_file)}})


@pytest.fixture
def memory(config):
    plugins = Plugins(config.plugins)
    plugins.register(plugin, "agent")
    return runtime(plugins, config)


async def recalled(memory, **arguments):
    answer = await memory.call("agent_memory_recall", agent_id="a", **arguments)
    return [found["content"] for found in answer["memories"]]


def test_the_tool_set_is_found_by_its_entry_point():
    [found] = entry_points(group="memory", name="agent")
    assert found.load() is plugin


def test_nobody_gets_the_tools_without_asking():
    assert "agent" not in MemoryModuleConfig().tools.sets


async def test_what_is_saved_by_key_is_recalled_by_key(memory):
    saved = await memory.call("agent_memory_save", agent_id="a", key="api-key", content="secret token")
    assert (saved["key"], saved["category"]) == ("api-key", "credential")
    assert await recalled(memory, key="api-key") == ["secret token"]
    assert await recalled(memory, key="other") == []


async def test_words_find_memories_and_their_absence_lists_the_newest(memory):
    for number in range(3):
        await memory.call("agent_memory_save", agent_id="a", key=f"k{number}", content=f"apple number{number}")
    assert await recalled(memory, query="number1") == ["apple number1"]
    assert await recalled(memory, query="umber2") == ["apple number2"]
    assert await recalled(memory, limit=2) == ["apple number2", "apple number1"]


async def test_agents_and_tenants_have_memories_of_their_own(memory):
    await memory.call("agent_memory_save", agent_id="a", key="k", content="of the default tenant")
    other = memory.for_tenant("other")
    await other.call("agent_memory_save", agent_id="a", key="k", content="of the other")
    await memory.call("agent_memory_save", agent_id="b", key="k", content="of another agent")
    assert await recalled(memory, query="of") == ["of the default tenant"]
    assert await recalled(other, query="of") == ["of the other"]


async def test_the_file_is_the_one_that_the_library_opens(memory, memory_file):
    await memory.call("agent_memory_save", agent_id="a", key="k", content="apple")
    with MemoryManager.open(memory_file) as manager:
        assert manager.recall("a", "k").content == "apple"


async def test_key_and_words_together_are_refused(memory):
    with pytest.raises(InvalidInputError, match="key 'k' and query 'q' are both given; give one of them"):
        await recalled(memory, key="k", query="q")


async def test_bad_input_is_an_error_that_the_server_can_tell(memory):
    with pytest.raises(InvalidInputError, match="content ' ' is blank"):
        await memory.call("agent_memory_save", agent_id="a", key="k", content=" ")


async def test_a_file_that_cannot_be_used_is_an_error_that_the_server_can_tell(memory, memory_file):
    memory_file.write_text("no database " * 20)
    with pytest.raises(MemoryModuleError, match="is not an SQLite file"):
        await recalled(memory, key="k")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "plugins.agent.path None names no file; set the path of the SQLite file"),
        ({"path": " "}, "plugins.agent.path ' ' names no file"),
        ({"path": "x.db", "size": 3}, "plugins.agent has unknown options size; its only option is path"),
    ],
)
def test_wrong_options_stop_the_start(options, message):
    with pytest.raises(ConfigError, match=message):
        plugin.agent_tools(options)


def test_what_a_model_reads_is_complete(memory):
    save, recall = memory.tools["agent_memory_save"], memory.tools["agent_memory_recall"]
    assert (save.read_only, save.destructive, save.idempotent) == (False, False, True)
    assert recall.read_only
    assert set(save.input_schema["required"]) == {"agent_id", "key", "content"}
    assert recall.input_schema["required"] == ["agent_id"]
    for tool in (save, recall):
        assert all(field.get("description") for field in tool.input_schema["properties"].values())
        assert tool.output_schema["type"] == "object"
