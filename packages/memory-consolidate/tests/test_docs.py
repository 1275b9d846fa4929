"""The examples of docs/spawners.md work as they stand."""

import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from memory_consolidate import parse_consolidation_output
from memory_consolidate.spawners import claude, codex, gemini
from memory_core import Plugins
from memory_core.config_sources import parse_config

PAGE = (Path(__file__).parents[3] / "docs" / "spawners.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CONFIGURATIONS = [code for language, code in BLOCKS if language == "toml" and "[modules.memory" in code]


@pytest.mark.parametrize("code", CONFIGURATIONS)
def test_every_configuration_builds_its_spawner(code):
    config = parse_config(tomllib.loads(code)["modules"]["memory"])
    spawner = Plugins.from_entry_points(config.plugins).create("memory_spawners", config.consolidation.spawner)
    assert callable(spawner.trigger)


def test_every_built_in_spawner_has_an_example():
    named = {tomllib.loads(code)["modules"]["memory"]["consolidation"]["spawner"] for code in CONFIGURATIONS}
    assert named == {"claude", "codex", "command", "gemini", "openai"}


@pytest.mark.parametrize("agent", [claude, codex, gemini])
def test_the_page_shows_the_arguments_that_are_used(agent):
    arguments = " ".join(argument or '""' for argument in agent.ARGS)
    assert f"{agent.__name__.rpartition('.')[2]} {arguments}" in PAGE


async def test_the_spawner_of_a_third_party_answers():
    [code] = [code for language, code in BLOCKS if language == "python"]
    plugin = ModuleType("my_spawner.plugin")
    exec(code, vars(plugin))
    plugins = Plugins({"echo": {"greeting": "Hello. "}})
    plugins.register(plugin, "my-spawner")
    result = await plugins.create("memory_spawners", "echo").trigger(prompt="p" * 40, trigger_source="test")
    assert (result.success, result.input_tokens) == (True, 10)
    answer = parse_consolidation_output(result.output)
    assert answer.answered
    assert answer.actions == []
