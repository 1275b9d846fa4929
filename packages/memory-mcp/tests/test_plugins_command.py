"""`memory plugins`."""

import json


def test_plugins_are_listed_with_package_status_and_what_they_provide(run_memory):
    completed = run_memory("plugins")
    assert completed.exit_code == 0
    [core] = [line for line in completed.stdout.splitlines() if line.startswith("core")]
    assert "memory-core" in core
    assert "loaded" in core
    assert "memory_scorers: composite" in completed.stdout


def test_json_carries_the_same_for_machines(run_memory):
    completed = run_memory("plugins", "--json")
    answer = json.loads(completed.stdout)
    [core] = [plugin for plugin in answer["plugins"] if plugin["name"] == "core"]
    assert core["status"] == "loaded"
    assert core["provides"]["memory_tools"] == ["core"]
    assert answer["missing"] == []


def test_a_disabled_plugin_is_shown_as_such(run_memory):
    answer = json.loads(run_memory("plugins", "--json", MEMORY_DISABLED_PLUGINS="agent").stdout)
    assert [plugin["status"] for plugin in answer["plugins"] if plugin["name"] == "agent"] == ["disabled"]


def test_what_the_configuration_names_and_nobody_provides_is_listed_and_fails(run_memory):
    completed = run_memory("plugins", MEMORY_RETRIEVAL__RERANKER="absent")
    assert completed.exit_code == 1
    assert "missing modules.memory.retrieval.reranker names 'absent'" in completed.stdout
