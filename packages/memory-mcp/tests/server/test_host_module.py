"""The module in a host: an abstract base, a wrapped server, a strict configuration, pools with and without codecs."""

import abc
import asyncio
import json
import logging
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import asyncpg
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from memory_core import ConfigError, MemoryModuleConfig, MigrationError, PluginError, migrate
from memory_core.embedded import EmbeddedServer
from memory_core.migration_chains import CORE_CHAIN
from memory_mcp import MemoryModule
from memory_mcp.assembled_server import describe_tool
from memory_mcp.registration import ToolCallError
from pydantic import BaseModel


class Module(abc.ABC):
    """The abstract base of a host, with the signatures that hosts call."""

    @property
    @abc.abstractmethod
    def name(self) -> str: ...

    @property
    @abc.abstractmethod
    def config_schema(self) -> type[BaseModel]: ...

    @property
    @abc.abstractmethod
    def dependencies(self) -> list[str]: ...

    @abc.abstractmethod
    async def register_tools(self, mcp, config, db, butler_name: str | None = None) -> None: ...

    @abc.abstractmethod
    def migration_revisions(self) -> str | None: ...

    @abc.abstractmethod
    async def on_startup(self, config, db, credential_store=None, blob_store=None) -> None: ...

    @abc.abstractmethod
    async def on_shutdown(self) -> None: ...


class HostedMemory(MemoryModule, Module):
    """The module as a host with a base class of its own adopts it."""


class WrappedServer:
    """A host's wrapper around its server, as hosts have to trace calls or to check names."""

    def __init__(self) -> None:
        self.inner = MCPServer("host")
        self.names: list[str] = []

    def tool(self, *args, **kwargs):
        register = self.inner.tool(*args, **kwargs)

        def decorate(function):
            self.names.append(kwargs["name"])
            return register(function)

        return decorate


def speak_structured(client: Client):
    """Return calls that answer `(failed, text)`, from the structure: a list is many blocks of text here."""

    async def call(name: str, arguments: dict) -> tuple[bool, str]:
        result = await client.call_tool(name, arguments)
        if result.is_error:
            return True, result.content[0].text
        answer = result.structured_content
        answer = answer["result"] if answer.keys() == {"result"} else answer
        return False, answer if isinstance(answer, str) else json.dumps(answer)

    return call


@pytest.fixture
async def module():
    hosted = HostedMemory()
    yield hosted
    await hosted.on_shutdown()


@pytest.fixture
def config(tmp_path):
    return MemoryModuleConfig.model_validate({"spool": {"directory": str(tmp_path)}})


@pytest.fixture(params=["without codec", "with codec"])
async def host_db(request, empty_dsn):
    async def add_codec(connection):
        await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")

    init = add_codec if request.param == "with codec" else None
    opened = await asyncpg.create_pool(empty_dsn, min_size=1, max_size=8, init=init)
    yield SimpleNamespace(pool=opened)
    await asyncio.wait_for(opened.close(), 10)


async def test_a_host_starts_it_on_an_empty_database_and_every_tool_works(module, config, host_db, every_call):
    server = WrappedServer()
    await module.on_startup(config, host_db)
    await module.register_tools(server, config, host_db, butler_name="jeeves")
    assert len(set(server.names)) == 19
    async with Client(server.inner) as client:
        call = speak_structured(client)
        every_call.assert_good_answers(await every_call.make_every_good_call(call))
        for name, (arguments, part) in every_call.BAD_CALLS.items():
            failed, text = await call(name, arguments)
            if "because" in arguments:
                # The host's own server drops what it does not know before the tool could refuse it.
                assert not failed
            else:
                assert failed, name
                assert part.split(" ")[0] in text


@pytest.mark.scenario("Module startup")
async def test_startup_keeps_the_configuration_and_the_database(module, config, host_db):
    await module.on_startup(config, host_db, credential_store=object(), blob_store=object())
    assert module._config is config
    assert module._db is host_db
    assert await host_db.pool.fetchval("SELECT version_num FROM memory_alembic_version") == CORE_CHAIN.head


@pytest.mark.scenario("Module shutdown")
async def test_shutdown_lets_go_of_everything_and_leaves_the_hosts_pool_open(module, config, host_db):
    await module.on_startup(config, host_db)
    await module.on_shutdown()
    assert module._db is None
    assert module._embedding_engine is None
    assert await host_db.pool.fetchval("SELECT 1") == 1
    assert not [task for task in asyncio.all_tasks() if "memory" in task.get_name()]
    await module.on_shutdown()


@pytest.mark.scenario("Lazy embedding engine initialization")
async def test_the_embedding_engine_is_made_once_and_loads_nothing_before_the_first_text(module, config, pool):
    assert module._embedding_engine is None
    await module.on_startup(config, pool)
    engine = module._get_embedding_engine()
    assert engine._worker is None
    server = MCPServer("host")
    await module.register_tools(server, config, pool)
    async with Client(server) as client:
        await asyncio.gather(*(client.call_tool("memory_store_rule", {"content": f"Rule {n}"}) for n in range(4)))
    assert module._get_embedding_engine() is engine
    assert engine._worker is not None
    assert (await module.memory()).embedder is engine


async def test_it_can_be_started_again(module, config, pool):
    for number in (1, 2):
        server = MCPServer("host")
        await module.on_startup(config, pool)
        await module.register_tools(server, config, pool)
        async with Client(server) as client:
            await client.call_tool("memory_store_rule", {"content": f"Rule {number}"})
        await module.on_shutdown()
    assert await pool.fetchval("SELECT count(*) FROM rules") == 2


async def test_tools_may_be_registered_before_the_start(module, config, pool):
    server = MCPServer("host")
    await module.register_tools(server, config, pool)
    async with Client(server) as client:
        early = await client.call_tool("memory_stats", {})
        assert early.is_error
        assert "not started" in early.content[0].text
        await module.on_startup(config, pool)
        assert not (await client.call_tool("memory_stats", {})).is_error


def test_it_is_what_hosts_ask_for():
    assert MemoryModule().name == "memory"
    assert MemoryModule().dependencies == []
    assert MemoryModule().config_schema is MemoryModuleConfig
    assert MemoryModule().migration_revisions() == "memory"
    assert isinstance(HostedMemory(), Module)


async def test_a_hosts_server_publishes_the_names_defaults_and_values_that_ours_does(module, config, pool):
    server = MCPServer("host")
    await module.register_tools(server, config, pool)
    published = {tool.name: tool for tool in await server.list_tools()}
    for name, tool in module._calls.tools.items():
        ours, theirs = describe_tool(tool), published[name]
        assert theirs.description == ours.description
        assert theirs.annotations == ours.annotations
        assert theirs.input_schema.get("required", []) == ours.input_schema.get("required", [])
        for parameter, declared in ours.input_schema["properties"].items():
            other = theirs.input_schema["properties"][parameter]
            assert other.get("default") == declared.get("default"), (name, parameter)
            assert other["description"] == declared["description"]
        # A host's server has no room beside a list for the id of the request.
        wrapped = {"request_id"} if "result" in ours.output_schema["properties"] else set()
        assert set(theirs.output_schema["properties"]) == set(ours.output_schema["properties"]) - wrapped, name


async def test_a_configured_default_reaches_calls_through_a_host(module, tmp_path, pool):
    settings = {"retrieval": {"default_limit": 2}, "spool": {"directory": str(tmp_path)}}
    server = MCPServer("host")
    await module.on_startup(settings, pool)
    await module.register_tools(server, settings, pool)
    async with Client(server) as client:
        for number in range(4):
            await client.call_tool("memory_store_rule", {"content": f"Tea rule {number}"})
        found = await client.call_tool("memory_search", {"query": "tea rule"})
        assert len(found.structured_content["result"]) == 2
        chosen = await client.call_tool("memory_search", {"query": "tea rule", "limit": 10})
        assert len(chosen.structured_content["result"]) == 4


async def test_a_host_that_shows_exceptions_gets_the_failure_as_its_text(module, config, pool):
    registered = {}

    class PlainServer:
        def tool(self, **description):
            return lambda function: registered.setdefault(description["name"], function)

    await module.on_startup(config, pool)
    await module.register_tools(PlainServer(), config, pool)
    stored = await registered["memory_store_rule"](content="Warm the pot", request_context={"request_id": "r-1"})
    assert stored["request_id"] == "r-1"
    with pytest.raises(ToolCallError) as failed:
        await registered["memory_get"](memory_type="fact", memory_id="seven")
    assert json.loads(str(failed.value))["error"] == "invalid_input"


async def test_a_schema_that_the_host_migrated_itself_is_left_alone(module, config, pool):
    await pool.execute("ALTER TABLE memory_alembic_version RENAME TO alembic_version")
    await pool.execute("INSERT INTO alembic_version VALUES ('core_017')")
    await module.on_startup(config, pool)
    assert (await module.memory()).location == "the host's database"
    assert await pool.fetchval("SELECT to_regclass('memory_alembic_version') IS NULL")


async def test_a_host_whose_migrations_are_behind_is_told_to_run_them(module, config, empty_dsn):
    opened = await asyncpg.create_pool(empty_dsn, min_size=1)
    await migrate(opened, "mem_005")
    await opened.execute("ALTER TABLE memory_alembic_version RENAME TO alembic_version")
    with pytest.raises(MigrationError, match=f"at mem_005, and this package needs {CORE_CHAIN.head}; run the host's"):
        await module.on_startup(config, opened)
    assert module._db is None
    await opened.close()


async def test_a_database_without_the_schema_is_migrated_beside_the_hosts_own_tables(module, config, empty_dsn):
    opened = await asyncpg.create_pool(empty_dsn, min_size=1)
    await opened.execute("CREATE TABLE alembic_version (version_num TEXT)")
    await opened.execute("INSERT INTO alembic_version VALUES ('core_017')")
    await module.on_startup(config, opened)
    assert await opened.fetchval("SELECT version_num FROM memory_alembic_version") == CORE_CHAIN.head
    assert await opened.fetchval("SELECT version_num FROM alembic_version") == "core_017"
    await module.on_shutdown()
    await opened.close()


async def test_a_schema_of_its_own_works_where_the_hosts_pool_looks_for_it(module, empty_dsn, pool):
    opened = await asyncpg.create_pool(empty_dsn, min_size=1, server_settings={"search_path": "jeeves, public"})
    await module.on_startup({"schema": "jeeves"}, opened)
    assert await opened.fetchval("SELECT count(*) FROM jeeves.facts") == 0
    await module.on_shutdown()
    await opened.close()
    with pytest.raises(ConfigError, match=r"schema is 'jeeves', but the host's pool works in 'public'; leave it out"):
        await module.on_startup({"schema": "jeeves"}, pool)


async def test_a_missing_plugin_stops_the_start(module, pool):
    with pytest.raises(PluginError, match="names 'absent'"):
        await module.on_startup({"embedding_backend": "absent"}, pool)


async def test_without_its_database_the_host_starts_and_episodes_wait(module, config, speak, caplog):
    data_dir = Path(tempfile.mkdtemp(prefix="memory-host-"))
    with EmbeddedServer(data_dir, settings={"fsync": "off"}) as own:
        opened = await asyncpg.create_pool(own.dsn, min_size=0)
        await module.on_startup(config, opened)
        server = MCPServer("host")
        await module.register_tools(server, config, opened)
        async with Client(server) as client:
            call = speak(client)
            await call("memory_stats", {})
            await asyncio.to_thread(own.stop)
            caplog.set_level(logging.WARNING)
            failed, block = await call("memory_context", {"trigger_prompt": "tea", "butler": "jeeves"})
            assert (failed, block) == (False, "# Memory Context\n")
            failed, text = await call("memory_store_episode", {"content": "during", "butler": "jeeves"})
            assert not failed
            assert json.loads(text)["spooled"] is True
            assert "an episode waits in the spool" in caplog.text
            await asyncio.to_thread(own.start)
            async with asyncio.timeout(60):
                while not (rows := await _contents(own.dsn)):
                    await asyncio.sleep(0.1)
        assert rows == ["during"]
        await module.on_shutdown()
        opened.terminate()
    shutil.rmtree(data_dir, ignore_errors=True)


async def _contents(dsn: str) -> list[str]:
    connection = await asyncpg.connect(dsn)
    try:
        return [row["content"] for row in await connection.fetch("SELECT content FROM episodes")]
    finally:
        await connection.close()
