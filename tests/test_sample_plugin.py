"""A third party's plugin, installed for real, works through every hook; a broken one beside it harms nobody."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from memory_core.plugins import HOOKS

PLUGINS = Path(__file__).parent / "plugins"
TOOL_SETS = '["core", "sample"]'


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A directory into which both sample packages were installed from their built wheels."""
    target = tmp_path_factory.mktemp("site")
    uv = os.environ.get("UV") or shutil.which("uv")
    assert uv, "uv runs this workspace; it must be on the PATH"
    packages = [str(PLUGINS / "memory-sample-plugin"), str(PLUGINS / "memory-broken-plugin")]
    install = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--no-deps", "--target", str(target)]
    subprocess.run([*install, *packages], check=True, timeout=300)
    return target


def run(site: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    return subprocess.run(
        [sys.executable, *command],
        env={
            **clean,
            "PYTHONPATH": str(site),
            "MEMORY_TOOLS__SETS": '["core", "sample"]',
            "COLUMNS": "160",
            **variables,
        },
        cwd=site,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_memory_plugins_shows_the_installed_plugin_with_all_it_provides(site):
    completed = run(site, "-m", "memory_mcp.cli", "plugins", "--json")
    assert completed.returncode == 0, completed.stderr
    [sample] = [plugin for plugin in json.loads(completed.stdout)["plugins"] if plugin["name"] == "sample"]
    assert (sample["status"], sample["source"]) == ("loaded", "memory-sample-plugin 1.0.0")
    assert sample["provides"] == {hook: ["sample"] for hook in sorted(HOOKS)}


def test_a_broken_plugin_is_shown_with_its_error_in_one_line_and_is_not_fatal(site):
    completed = run(site, "-m", "memory_mcp.cli", "plugins")
    assert completed.returncode == 0
    [line] = [line for line in completed.stdout.splitlines() if line.startswith("broken")]
    assert "memory-broken-plugin 0.0.1" in line
    assert "RuntimeError: this plugin needs a library that is not installed" in line
    assert completed.stderr.count("\n") == 1
    assert "plugin 'broken' from memory-broken-plugin 0.0.1 is left out: RuntimeError" in completed.stderr


def test_plugins_can_be_disabled_by_a_variable(site):
    completed = run(site, "-m", "memory_mcp.cli", "plugins", "--json", MEMORY_DISABLED_PLUGINS="broken,sample")
    answer = json.loads(completed.stdout)
    assert {plugin["name"] for plugin in answer["plugins"] if plugin["status"] == "disabled"} == {"broken", "sample"}
    assert completed.returncode == 1
    assert "modules.memory.tools.sets names 'sample'" in answer["missing"][0]
    assert completed.stderr == ""


def test_every_hook_of_the_installed_plugin_does_its_work(site, empty_dsn):
    completed = run(site, str(PLUGINS / "exercise_sample_plugin.py"), empty_dsn)
    assert completed.returncode == 0, completed.stderr
    done = json.loads(completed.stdout)
    assert done == {
        "memory_embedding_backends": ["letters", "Lisbon"],
        "memory_spawners": "Good morning",
        "memory_scorers": 0.8,
        "memory_rerankers": ["short", "longer"],
        "memory_tools": {"place": "Lisbon", "visits": 2},
        "memory_workers": {"deleted": 2},
        "memory_migrations": "sample_001",
    }
    assert set(done) == set(HOOKS), "a new hook is to be exercised here too"


def test_the_command_line_runs_a_plugins_tool_on_its_migrated_table(site, empty_dsn):
    completed = run(site, "-m", "memory_mcp.cli", "--dsn", empty_dsn, "call", "sample_visit", "place=Porto")
    assert json.loads(completed.stdout) == {"place": "Porto", "visits": 1}
    migrated = run(site, "-m", "memory_mcp.cli", "--dsn", empty_dsn, "migrate", "--json")
    assert json.loads(migrated.stdout)["sample"] == {"before": "sample_001", "after": "sample_001"}
