"""What the configuration takes from the plugins: options, named providers, tools, migrations, and what is missing."""

import asyncpg
import pytest
from memory_core import MemoryModuleConfig, PluginError, Plugins, Provider, hookimpl, tool
from memory_core.config_sources import disabled_plugins, parse_config
from memory_core.migrating import migrate
from memory_core.migration_chains import MigrationChain
from memory_core.plugin_selection import (
    collect_tools,
    load_plugins,
    migration_chains,
    missing_plugins,
    require_named_plugins,
)


class Offering:
    """A plugin that offers the given things through one hook each."""

    def __init__(self, **providers):
        for hook, provider in providers.items():
            setattr(self, hook, hookimpl(lambda provider=provider: [provider]))


def plugins_with(options=None, **providers) -> Plugins:
    plugins = Plugins.from_entry_points(options)
    plugins.register(Offering(**providers), "test")
    return plugins


def test_options_reach_the_provider_that_they_are_named_after():
    provider = Provider("mine", lambda options: dict(options))
    plugins = plugins_with({"mine": {"size": 3}, "other": {"size": 9}}, memory_scorers=provider)
    assert plugins.create("memory_scorers", "mine") == {"size": 3}


def test_a_provider_without_options_gets_an_empty_table():
    plugins = plugins_with(memory_scorers=Provider("mine", lambda options: dict(options)))
    assert plugins.create("memory_scorers", "mine") == {}


def test_options_come_from_the_tables_of_the_configuration(install):
    source = """
        from memory_core import Provider, hookimpl

        @hookimpl
        def memory_scorers():
            return [Provider("mine", lambda options: options["size"])]
    """
    install("memory-extra", source, extra="memory_extra")
    plugins = load_plugins(parse_config({"plugins": {"mine": {"size": 3}}}))
    assert plugins.create("memory_scorers", "mine") == 3


def test_a_provider_that_fails_is_named_with_its_plugin_and_its_table():
    plugins = plugins_with(memory_scorers=Provider("mine", lambda options: options["size"]))
    with pytest.raises(
        PluginError, match=r"plugin 'test' cannot create 'mine' .*KeyError.*modules\.memory\.plugins\.mine"
    ):
        plugins.create("memory_scorers", "mine")


def test_a_name_that_nobody_provides_is_an_error_that_says_what_is_there(install):
    install("memory-broken", "raise RuntimeError('no licence key')", broken="memory_broken")
    plugins = Plugins.from_entry_points()
    with pytest.raises(PluginError) as caught:
        plugins.create("memory_scorers", "mine")
    message = str(caught.value)
    assert "no installed plugin provides 'mine' through memory_scorers (provided: composite" in message
    assert "plugin 'broken' is broken: RuntimeError: no licence key" in message


def test_a_variable_disables_plugins_by_name(install, monkeypatch):
    install("memory-extra", "raise RuntimeError('was imported')", extra="memory_extra")
    monkeypatch.setenv("MEMORY_DISABLED_PLUGINS", "other, extra,")
    assert disabled_plugins() == ["other", "extra"]
    [report] = [report for report in load_plugins(MemoryModuleConfig()).reports if report.name == "extra"]
    assert report.status == "disabled"


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"embedding_backend": "absent"}, "modules.memory.embedding_backend"),
        ({"retrieval": {"scorer": "absent"}}, "modules.memory.retrieval.scorer"),
        ({"retrieval": {"reranker": "absent"}}, "modules.memory.retrieval.reranker"),
        ({"consolidation": {"spawner": "absent"}}, "modules.memory.consolidation.spawner"),
        ({"tools": {"sets": ["core", "absent"]}}, "modules.memory.tools.sets"),
        ({"schedule": {"absent": "0 1 * * *"}}, "modules.memory.schedule.absent"),
    ],
)
def test_a_plugin_that_the_configuration_names_and_that_is_missing_fails_naming_it_and_the_key(settings, key):
    config = parse_config({"tools": {"sets": ["core"]}, **settings})
    with pytest.raises(PluginError, match=f"{key} names 'absent': no installed plugin provides 'absent'"):
        require_named_plugins(plugins_with(), config)


def test_everything_that_is_missing_is_told_at_once():
    config = parse_config({"embedding_backend": "absent", "retrieval": {"scorer": "gone"}, "tools": {"sets": []}})
    assert [message.partition(":")[0] for message in missing_plugins(plugins_with(), config)] == [
        "modules.memory.embedding_backend names 'absent'",
        "modules.memory.retrieval.scorer names 'gone'",
    ]


def test_options_for_something_that_nobody_provides_fail_the_start():
    plugins = Plugins.from_entry_points()
    config = parse_config({"plugins": {"onxx": {"threads": 1}}, "tools": {"sets": ["core"]}})
    with pytest.raises(PluginError, match=r"modules\.memory\.plugins\.onxx has options for 'onxx', which no installed"):
        require_named_plugins(plugins, config)


def test_options_of_a_disabled_or_broken_plugin_do_not_keep_the_rest_from_starting(install):
    install("memory-models", "raise RuntimeError('no licence key')", models="memory_models")
    config = parse_config({"plugins": {"big-model": {"size": 7}}, "tools": {"sets": ["core"]}})
    require_named_plugins(Plugins.from_entry_points(), config)
    require_named_plugins(Plugins.from_entry_points(disabled=["models"]), config)


@tool(title="Echo")
async def echo(memory: object, text: str) -> dict[str, str]:
    """Return the text."""
    return {"text": text}


def test_tool_sets_are_widened_and_single_tools_left_out_by_the_configuration():
    plugins = plugins_with(memory_tools=Provider("echoes", lambda _: [echo]))
    config = parse_config({"tools": {"sets": ["core", "echoes"], "exclude": ["memory_forget"]}})
    tools = collect_tools(plugins, config)
    assert tools["echo"] is echo
    assert "memory_forget" not in tools
    assert "memory_get" in tools


def test_only_the_listed_sets_are_taken():
    plugins = plugins_with(memory_tools=Provider("echoes", lambda _: [echo]))
    assert list(collect_tools(plugins, parse_config({"tools": {"sets": ["echoes"]}}))) == ["echo"]


def test_two_sets_with_one_tool_name_are_refused():
    plugins = plugins_with(memory_tools=Provider("echoes", lambda _: [echo, echo]))
    with pytest.raises(PluginError, match="tool 'echo' is in two sets"):
        collect_tools(plugins, parse_config({"tools": {"sets": ["echoes"]}}))


def test_leaving_out_a_tool_that_is_not_there_is_refused():
    with pytest.raises(PluginError, match=r"tools\.exclude names 'memory_forgte'"):
        collect_tools(plugins_with(), parse_config({"tools": {"sets": ["core"], "exclude": ["memory_forgte"]}}))


def test_a_tool_set_that_is_no_list_of_tools_is_refused():
    plugins = plugins_with(memory_tools=Provider("odd", lambda _: [print]))
    with pytest.raises(PluginError, match=r"tool set 'odd' is .*must create a list of tools"):
        collect_tools(plugins, parse_config({"tools": {"sets": ["odd"]}}))


REVISION = '''
"""Notes."""

from alembic import op

revision = "notes_001"
down_revision = None


def upgrade():
    op.execute("CREATE TABLE notes (fact_id UUID REFERENCES facts (id), body TEXT NOT NULL)")


def downgrade():
    op.execute("DROP TABLE notes")
'''


@pytest.fixture
def chain(tmp_path):
    versions = tmp_path / "migrations" / "versions"
    versions.mkdir(parents=True)
    (versions / "notes_001_notes.py").write_text(REVISION, encoding="utf-8")
    return MigrationChain("notes", versions.parent)


async def test_a_plugins_migrations_are_applied_after_the_cores_with_a_version_table_of_their_own(empty_dsn, chain):
    chains = migration_chains(plugins_with(memory_migrations=Provider("notes", lambda _: chain)))
    assert [each.name for each in chains] == ["memory", "notes"]
    connection = await asyncpg.connect(empty_dsn)
    try:
        changes = await migrate(connection, chains=chains)
        assert changes["notes"] == (None, "notes_001")
        assert await connection.fetchval("SELECT version_num FROM notes_alembic_version") == "notes_001"
        assert await connection.fetchval("SELECT version_num FROM memory_alembic_version") == chains[0].head
        await connection.execute("INSERT INTO notes (body) VALUES ('works')")

        again = await migrate(connection, chains=chains)
        assert again["notes"] == ("notes_001", "notes_001")

        await migrate(connection, "base", chains=chains)
        assert await connection.fetchval("SELECT to_regclass('notes')") is None
        assert await connection.fetchval("SELECT to_regclass('facts')") is None
    finally:
        await connection.close()


@pytest.mark.parametrize("name", ["memory", "Notes", "no-tes", "notes; DROP TABLE facts", ""])
def test_a_chain_whose_name_cannot_be_its_version_table_is_refused(chain, name):
    odd = MigrationChain(name, chain.location)
    with pytest.raises(PluginError, match="the migrations of 'notes' have the chain name"):
        migration_chains(plugins_with(memory_migrations=Provider("notes", lambda _: odd)))


def test_a_chain_without_revisions_is_refused(tmp_path):
    empty = MigrationChain("notes", tmp_path)
    with pytest.raises(PluginError, match="the migrations of 'notes' have no revisions in"):
        migration_chains(plugins_with(memory_migrations=Provider("notes", lambda _: empty)))


def test_something_else_than_a_chain_is_refused():
    with pytest.raises(PluginError, match="the migrations of 'notes' are 7; its provider must create a MigrationChain"):
        migration_chains(plugins_with(memory_migrations=Provider("notes", lambda _: 7)))
