"""docs/plugins.md: every hook is there with its signature, and every example does what it says."""

import importlib
import inspect
import sys
from types import ModuleType

import pytest
from memory_core import Memory, Plugins, hookspecs
from memory_core.config_sources import parse_config
from memory_core.embedding import embed_texts
from memory_core.plugins import HOOKS
from memory_core.scoring import ScoreComponents, ScoreWeights

from tests.markdown_blocks import ROOT, blocks

PAGE = ROOT / "docs" / "plugins.md"
MODULES = ("embedding", "spawners", "scorers", "rerankers", "tools", "workers", "migrations")
CONFIG = {
    "embedding_backend": "digest",
    "retrieval": {"scorer": "newest", "reranker": "facts-first"},
    "consolidation": {"spawner": "canned"},
    "tools": {"sets": ["core", "greetings"]},
    "schedule": {"count_facts": "30 * * * *"},
}


@pytest.fixture
def my_plugin(tmp_path, monkeypatch) -> dict[str, ModuleType]:
    """Write the page's examples to the files that they name, and import them."""
    for block in blocks(PAGE, "python"):
        assert block.file, "each example begins with a comment that names its file"
        file = tmp_path / block.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.code, encoding="utf-8")
    (tmp_path / "my_plugin" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    yield {name: importlib.import_module(f"my_plugin.{name}") for name in (*MODULES, "program")}
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_plugin"]:
        del sys.modules[name]


@pytest.fixture
async def memory(my_plugin, empty_dsn):
    plugins = Plugins.from_entry_points()
    for name in MODULES:
        plugins.register(my_plugin[name], f"my-{name}")
    async with Memory.open(empty_dsn, config=parse_config(CONFIG), plugins=plugins) as opened:
        yield opened


async def embeds_equal_texts_alike(memory):
    first, second = await embed_texts(memory.embedder, ["tea", "tea"])
    assert first == second
    assert len(first) == 384


async def answers_a_prompt(memory):
    spawner = memory.plugins.create("memory_spawners", "canned")
    result = await spawner.trigger(prompt="Hello", trigger_source="test")
    assert (result.success, result.output) == (True, "{}")


async def scores_the_fresh_higher(memory):
    scorer = memory.plugins.create("memory_scorers", "newest")
    fresh, stale = ScoreComponents(0.5, 5, 1.0, 1.0), ScoreComponents(0.9, 5, 0.0, 1.0)
    assert scorer.score(fresh, ScoreWeights()) > scorer.score(stale, ScoreWeights())


async def puts_facts_first(memory):
    reranker = memory.plugins.create("memory_rerankers", "facts-first")
    ranked = await reranker.rerank("", [{"memory_type": "rule"}, {"memory_type": "fact"}])
    assert [each["memory_type"] for each in ranked] == ["fact", "rule"]


async def greets(memory):
    assert await memory.call("my_greet", name="Anna") == {"text": "Good morning, Anna."}


async def counts_facts(memory):
    await memory.call("memory_store_fact", subject="user", predicate="city", content="Lisbon")
    assert await memory.plugins.create("memory_workers", "count_facts").run(memory) == {"facts": 1}


async def makes_its_table(memory):
    await memory.pool.execute("INSERT INTO notes (tenant_id, body) VALUES ('default', 'works')")
    assert await memory.pool.fetchval("SELECT version_num FROM notes_alembic_version") == "notes_001"


EXERCISES = {
    "memory_embedding_backends": embeds_equal_texts_alike,
    "memory_spawners": answers_a_prompt,
    "memory_scorers": scores_the_fresh_higher,
    "memory_rerankers": puts_facts_first,
    "memory_tools": greets,
    "memory_workers": counts_facts,
    "memory_migrations": makes_its_table,
}


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_with_its_signature_and_an_example(hook):
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"\n## {hook}\n")
    section = section.partition("\n## ")[0]
    signature = str(inspect.signature(getattr(hookspecs, hook))).replace("'", "")
    assert f"`{hook}{signature}`" in section
    assert f"def {hook}():" in section


def test_every_hook_is_exercised():
    assert set(EXERCISES) == set(HOOKS)


async def test_the_examples_of_the_page_work_together_in_one_runtime(memory):
    for exercise in EXERCISES.values():
        await exercise(memory)


def test_a_program_can_register_a_module_of_its_own(my_plugin):
    plugins = my_plugin["program"].plugins
    assert plugins.create("memory_scorers", "newest").score
