"""Opening a runtime: which server it uses, and what stops the start."""

import logging
import shutil
import socket
import tempfile
from pathlib import Path

import pytest
from memory_core import ConfigError, InvalidInputError, Memory, PluginError, ServerError, TenantMismatchError
from memory_core.config_sources import parse_config
from memory_core.embedded import EmbeddedServer


@pytest.fixture
def data_dir():
    # Not pytest's own directory: for root the server runs as another user, who may not enter that.
    directory = Path(tempfile.mkdtemp(prefix="memory-runtime-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def silent_dsn():
    """A DSN at which nobody answers: the port was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return f"postgresql://jeeves:s3cret@127.0.0.1:{port}/memory"


def changed(config, **settings):
    return parse_config({**config.model_dump(by_alias=True, exclude_unset=True), **settings})


async def test_a_dsn_that_does_not_answer_is_an_error_and_never_the_embedded_server(
    config, plugins, silent_dsn, data_dir
):
    configured = changed(config, dsn=silent_dsn, data_dir=str(data_dir / "db"))
    with pytest.raises(ServerError) as caught:
        async with Memory.open(config=configured, plugins=plugins):
            pass
    message = str(caught.value)
    assert "no usable PostgreSQL at postgresql://jeeves:***@127.0.0.1" in message
    assert "s3cret" not in message
    assert not (data_dir / "db").exists(), "no embedded server was made"


async def test_the_embedded_server_of_a_data_directory_starts_and_stops_with_the_runtime_and_wins_over_a_dsn(
    config, plugins, silent_dsn, data_dir, caplog
):
    configured = changed(config, dsn=silent_dsn)
    with caplog.at_level(logging.INFO, logger="memory_core"):
        async with Memory.open(data_dir=data_dir, config=configured, plugins=plugins) as memory:
            assert memory.location == f"the embedded server in {data_dir}"
            stored = await memory.call("memory_store_fact", subject="user", predicate="city", content="Lisbon")
            assert EmbeddedServer(data_dir).status().running
    assert f"memory is in the embedded server in {data_dir}" in caplog.messages
    assert not EmbeddedServer(data_dir).status().running
    async with Memory.open(data_dir=data_dir, config=configured, plugins=plugins) as memory:
        found = await memory.call("memory_get", memory_type="fact", memory_id=stored["id"])
        assert found["memory"]["content"] == "Lisbon"


async def test_a_new_database_is_migrated_and_an_old_one_reused(config, plugins, empty_dsn):
    async with Memory.open(empty_dsn, config=config, plugins=plugins) as memory:
        stored = await memory.call("memory_store_rule", content="Ask before booking.")
    async with Memory.open(empty_dsn, config=config, plugins=plugins) as memory:
        assert (await memory.call("memory_get", memory_type="rule", memory_id=stored["id"]))["found"]


async def test_two_schemas_of_one_database_hold_separate_memories(config, plugins, empty_dsn):
    async with Memory.open(empty_dsn, config=changed(config, schema="jeeves"), plugins=plugins) as memory:
        stored = await memory.call("memory_store_fact", subject="user", predicate="city", content="Lisbon")
        tables = await memory.pool.fetch("SELECT schemaname FROM pg_tables WHERE tablename = 'facts'")
        assert [row["schemaname"] for row in tables] == ["jeeves"]
    async with Memory.open(empty_dsn, config=changed(config, schema="alfred"), plugins=plugins) as memory:
        assert not (await memory.call("memory_get", memory_type="fact", memory_id=stored["id"]))["found"]


async def test_the_password_of_a_dsn_is_masked_in_what_is_shown(config, plugins, dsn, caplog):
    with_password = dsn.replace("memory@", "memory:s3cret@")
    assert with_password != dsn
    with caplog.at_level(logging.DEBUG):
        async with Memory.open(with_password, config=config, plugins=plugins) as memory:
            assert "memory:***@" in memory.location
    assert "s3cret" not in caplog.text


async def test_configuration_and_plugins_are_read_when_none_are_given(dsn, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_DSN", dsn)
    monkeypatch.setenv("MEMORY_TENANT_ID", "house")
    monkeypatch.setenv("MEMORY_TOOLS__SETS", '["core"]')
    monkeypatch.chdir(tmp_path)
    async with Memory.open() as memory:
        assert memory.tenant_id == "house"
        assert "core" in [report.name for report in memory.plugins.reports]
        assert memory.config.retrieval.default_limit == 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embedding_backend": "absent"}, "modules.memory.embedding_backend names 'absent': no installed plugin"),
        ({"tools": {"sets": ["core", "absent"]}}, "modules.memory.tools.sets names 'absent': no installed plugin"),
        ({"retrieval": {"scorer": "absent"}}, "modules.memory.retrieval.scorer names 'absent'"),
    ],
)
async def test_a_missing_plugin_that_the_configuration_names_fails_before_any_server_starts(
    config, plugins, data_dir, settings, message
):
    with pytest.raises(PluginError) as caught:
        async with Memory.open(data_dir=data_dir / "db", config=changed(config, **settings), plugins=plugins):
            pass
    assert message in str(caught.value)
    assert not (data_dir / "db").exists()


@pytest.mark.parametrize(("key", "value"), [("embedding_model", "bge-small"), ("embedding_dimensions", 768)])
async def test_a_model_that_the_backend_does_not_have_fails_the_start(config, plugins, dsn, key, value):
    with pytest.raises(ConfigError, match=f"bad value for modules.memory.{key}: {value!r}, but the embedding backend"):
        async with Memory.open(dsn, config=changed(config, **{key: value}), plugins=plugins):
            pass


async def test_the_embedder_is_closed_with_the_runtime_even_when_the_server_is_away(config, silent_dsn):
    from memory_core import Plugins, Provider, hookimpl
    from memory_core.testing import WordHashEmbedder

    closed = []

    class Closing(WordHashEmbedder):
        def close(self):
            closed.append(True)

    class Backend:
        @staticmethod
        @hookimpl
        def memory_embedding_backends():
            return [Provider("word-hash", lambda _: Closing())]

    plugins = Plugins.from_entry_points()
    plugins.register(Backend, "closing")
    with pytest.raises(ServerError):
        async with Memory.open(silent_dsn, config=config, plugins=plugins):
            pass
    assert closed == [True]


async def test_a_tenants_view_shares_the_pool_and_hides_the_others_memories(config, plugins, dsn):
    async with Memory.open(dsn, tenant_id="anna", config=config, plugins=plugins) as anna:
        stored = await anna.call("memory_store_fact", subject="user", predicate="city", content="Lisbon")
        berta = anna.for_tenant("berta")
        assert berta.pool is anna.pool
        assert not (await berta.call("memory_get", memory_type="fact", memory_id=stored["id"]))["found"]
        assert (await anna.call("memory_get", memory_type="fact", memory_id=stored["id"]))["found"]


async def test_an_argument_may_repeat_the_tenant_but_not_change_it(config, plugins, dsn):
    async with Memory.open(dsn, tenant_id="anna", config=config, plugins=plugins) as memory:
        assert memory.require_tenant(None) == "anna"
        assert memory.require_tenant("anna") == "anna"
        with pytest.raises(TenantMismatchError, match="'berta' is not the caller's tenant 'anna'; pass 'anna', leave"):
            memory.require_tenant("berta")


async def test_an_empty_tenant_is_refused_before_any_server_starts(config, plugins, data_dir):
    with pytest.raises(InvalidInputError, match="tenant_id '' is empty"):
        async with Memory.open(data_dir=data_dir / "db", tenant_id="", config=config, plugins=plugins):
            pass
    assert not (data_dir / "db").exists()


async def test_a_tool_that_is_not_served_cannot_be_called(config, plugins, dsn):
    narrowed = changed(config, tools={"sets": ["core"], "exclude": ["memory_forget"]})
    async with Memory.open(dsn, config=narrowed, plugins=plugins) as memory:
        with pytest.raises(InvalidInputError, match="tool 'memory_forget' is not one of: memory_store_episode, "):
            await memory.call("memory_forget", memory_type="fact", memory_id="x")


async def test_a_calls_request_id_is_echoed_and_recorded(config, plugins, dsn):
    async with Memory.open(dsn, config=config, plugins=plugins) as memory:
        answer = await memory.call(
            "memory_store_fact",
            subject="user",
            predicate="city",
            content="Lisbon",
            request_context={"request_id": "req-7"},
        )
        assert answer["request_id"] == "req-7"
        assert await memory.pool.fetchval("SELECT request_id FROM memory_events") == "req-7"
