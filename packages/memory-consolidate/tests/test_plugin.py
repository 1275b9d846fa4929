"""What the package brings to a runtime: the tool, the spawners, the worker."""

import json

import pytest
from memory_core import Memory, Plugins, Provider, store_episode
from memory_core.config_sources import parse_config
from memory_core.errors import ConfigError, PluginError
from memory_core.progress import listening
from memory_core.providers import hookimpl
from memory_core.runtime import collect_tools


class Extras:
    """A third party's plugin: a spawner of its own."""

    def __init__(self, model: object) -> None:
        self.model = model

    @hookimpl
    def memory_spawners(self):
        return [Provider("scripted", lambda _options: self.model)]


@pytest.fixture
def runtime(pool, embedder, model):
    def build(**settings: object) -> Memory:
        config = parse_config({"tools": {"sets": ["consolidation"]}, **settings})
        plugins = Plugins.from_entry_points(config.plugins)
        plugins.register(Extras(model), "extras")
        return Memory(pool, embedder, config, plugins, collect_tools(plugins, config))

    return build


def test_the_entry_point_offers_two_tool_sets_five_spawners_and_one_worker():
    plugins = Plugins.from_entry_points()
    [report] = [report for report in plugins.reports if report.name == "consolidate"]
    assert (report.status, report.error) == ("loaded", None)
    assert report.provides == {
        "memory_tools": ["consolidation", "consolidation-upkeep"],
        "memory_spawners": ["claude", "codex", "command", "gemini", "openai"],
        "memory_workers": ["consolidate"],
    }


@pytest.mark.scenario("Consolidation and cleanup tools registered")
def test_both_tools_of_upkeep_are_available_by_default():
    config = parse_config({"tools": {"sets": ["core", "consolidation"]}})
    tools = collect_tools(Plugins.from_entry_points(), config)
    assert set(tools) >= {"memory_run_consolidation", "memory_run_episode_cleanup"}
    assert tools["memory_run_episode_cleanup"].parameters["max_entries"].default == 10_000
    assert set(tools["memory_run_consolidation"].input_schema["properties"]) == {"butler", "dry_run", "request_context"}
    assert "required" not in tools["memory_run_consolidation"].input_schema


async def test_the_tool_consolidates_with_the_configured_spawner(runtime, pool, embedder, model):
    memory = runtime(consolidation={"spawner": "scripted"})
    await store_episode(pool, "FACT user | city | Paris", "home", embedder)
    await store_episode(pool, "FACT user | city | Rome", "home", embedder, tenant_id="else")
    answer = await memory.call("memory_run_consolidation", request_context={"request_id": "r1"})
    assert answer["dry_run"] is False
    assert answer["waiting"] == {"home": 1}
    assert (answer["counts"]["facts_created"], answer["counts"]["input_tokens"], answer["errors"]) == (1, 100, [])
    assert await pool.fetchval("SELECT count(*) FROM facts WHERE tenant_id = 'else'") == 0
    assert await pool.fetchval("SELECT count(*) FROM memory_events WHERE request_id = 'r1'") == 4
    json.dumps(answer)


async def test_whoever_listens_hears_how_far_the_tool_has_come(runtime, pool, embedder, model):
    memory = runtime(consolidation={"spawner": "scripted", "batch_size": 1})
    for city in ("Paris", "Rome"):
        await store_episode(pool, f"FACT user | city | {city}", "home", embedder)
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        await memory.call("memory_run_consolidation")
    assert heard == [
        ("home: asking", 0, 2),
        ("home: consolidated", 1, 2),
        ("home: asking", 1, 2),
        ("home: consolidated", 2, 2),
    ]


async def test_dead_letters_are_requeued_by_a_tool_that_must_be_asked_for(runtime, pool, embedder, model):
    assert "consolidation-upkeep" not in parse_config({}).tools.sets
    memory = runtime(tools={"sets": ["consolidation-upkeep"]})
    dead = [str(await store_episode(pool, f"episode {n}", "home", embedder)) for n in range(3)]
    await pool.execute("UPDATE episodes SET consolidation_status = 'dead_letter'")
    assert await memory.call("memory_requeue_episodes", butler="work") == {"requeued": 0}
    assert await memory.call("memory_requeue_episodes", episode_ids=dead[:1]) == {"requeued": 1}
    assert await memory.for_tenant("else").call("memory_requeue_episodes") == {"requeued": 0}
    assert await memory.call("memory_requeue_episodes") == {"requeued": 2}


def test_every_tool_of_the_package_has_a_readable_answer(runtime):
    tools = runtime(tools={"sets": ["consolidation", "consolidation-upkeep"]}).tools.values()
    assert [tool.output_schema["type"] for tool in tools] == ["object", "object"]


async def test_without_a_spawner_or_if_asked_the_tool_only_counts(runtime, pool, embedder, model):
    await store_episode(pool, "FACT user | city | Paris", "home", embedder)
    assert (await runtime().call("memory_run_consolidation"))["dry_run"] is True
    memory = runtime(consolidation={"spawner": "scripted"})
    assert (await memory.call("memory_run_consolidation", dry_run=True, butler="work"))["waiting"] == {}
    assert model.prompts == []


async def test_a_real_program_can_be_the_model(runtime, pool, embedder, tmp_path):
    program = tmp_path / "model.py"
    answer = {"new_facts": [{"subject": "user", "predicate": "city", "content": "Paris"}]}
    program.write_text(f"import sys\nassert '<episode_content>' in sys.stdin.read()\nprint({json.dumps(answer)!r})\n")
    memory = runtime(
        consolidation={"spawner": "command"}, plugins={"command": {"command": ["python3", str(program)], "model": "py"}}
    )
    await store_episode(pool, "I live in Paris.", "home", embedder)
    assert (await memory.call("memory_run_consolidation"))["counts"]["facts_created"] == 1


async def test_a_spawner_that_is_missing_or_misconfigured_is_named(runtime):
    with pytest.raises(
        PluginError, match=r"no installed plugin provides 'gpt' .*claude, codex, command, gemini, openai"
    ):
        await runtime(consolidation={"spawner": "gpt"}).call("memory_run_consolidation")
    with pytest.raises(ConfigError, match=r"modules\.memory\.plugins\.openai\.model"):
        await runtime(consolidation={"spawner": "openai"}).call("memory_run_consolidation")


async def test_the_worker_serves_all_tenants(runtime, pool, embedder, model):
    memory = runtime(consolidation={"spawner": "scripted"})
    worker = memory.plugins.create("memory_workers", "consolidate")
    assert (worker.name, worker.cron) == ("consolidate", "0 */6 * * *")
    assert await worker.run(memory) == {}
    for tenant in ("default", "else"):
        await store_episode(pool, f"FACT user | city | {tenant}", "home", embedder, tenant_id=tenant)
    heard: list[str] = []
    with listening(lambda doing, _done, _total: heard.append(doing)):
        counts = await worker.run(memory)
    assert heard == ["home: asking", "home: consolidated"] * 2
    assert (counts["facts_created"], counts["episodes_consolidated"]) == (2, 2)
    stored = await pool.fetch("SELECT tenant_id, content FROM facts ORDER BY tenant_id")
    assert [tuple(row) for row in stored] == [("default", "default"), ("else", "else")]
