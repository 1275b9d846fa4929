"""Any program can be the model; whatever it does, nothing of it stays behind."""

import asyncio
import json
from pathlib import Path

import pytest
from memory_consolidate.plugin import memory_spawners
from memory_consolidate.spawners.command import create_command
from memory_core import ConfigError

FORKS = """
import os, sys, time
child = os.fork()
if child == 0:
    time.sleep(600)
    os._exit(0)
with open({pids!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{child}}")
"""


async def ask(spawner, prompt="hello"):
    return await spawner.trigger(prompt=prompt, trigger_source="schedule:consolidation")


async def test_the_prompt_goes_in_on_stdin_and_the_answer_comes_out_on_stdout(program):
    path = program("import sys; text = sys.stdin.read(); print(len(text), text[-1])")
    result = await ask(create_command({"command": [path], "model": "mine"}), "é" * 300_000 + "!")
    assert (result.success, result.output, result.error, result.model) == (True, "300001 !\n", None, "mine")
    assert result.duration_ms > 0


async def test_no_shell_reads_the_arguments(program):
    path = program("import sys; print(sys.argv[1:])")
    result = await ask(create_command({"command": [path, "$HOME; echo", "`id`"]}))
    assert result.output == "['$HOME; echo', '`id`']\n"


async def test_only_allowed_variables_are_seen(program, monkeypatch):
    monkeypatch.setenv("MEMORY_DSN", "postgresql://secret")
    monkeypatch.setenv("MY_KEY", "given")
    path = program("import os, json; print(json.dumps(dict(os.environ)))")
    seen = json.loads((await ask(create_command({"command": [path], "pass_environment": ["MY_KEY"]}))).output)
    assert "MEMORY_DSN" not in seen
    assert seen["MY_KEY"] == "given"
    assert seen["PATH"]
    assert seen["MEMORY_TRIGGER_SOURCE"] == "schedule:consolidation"


async def test_a_program_runs_in_an_empty_directory_that_is_gone_afterwards(program):
    path = program("import os; open('note', 'w').close(); print(os.getcwd(), os.listdir())")
    directory, _, listing = (await ask(create_command({"command": [path]}))).output.partition(" ")
    assert listing == "['note']\n"
    assert not Path(directory).exists()


async def test_a_failing_program_is_a_failed_result_with_its_last_words(program):
    path = program("import sys; sys.exit('no key in /home/me/.config/key, sk-abcdefghijkl')")
    result = await ask(create_command({"command": [path]}))
    assert (result.success, result.output) == (False, None)
    assert result.error == "the program ended with code 1: no key in [path], [secret]"


async def test_a_program_that_cannot_be_started_is_a_failed_result(tmp_path):
    result = await ask(create_command({"command": ["no-such-program-anywhere"]}))
    assert not result.success
    assert "'no-such-program-anywhere' cannot be started" in result.error
    assert not (await ask(create_command({"command": ["nul\x00byte"]}))).success


async def test_a_program_that_ignores_its_input_still_answers(program):
    path = program("import os; os.close(0); print('done')")
    assert (await ask(create_command({"command": [path]}), "x" * 5_000_000)).output == "done\n"


async def test_a_program_that_takes_too_long_is_stopped_with_its_children(program, tmp_path, gone):
    pids = tmp_path / "pids"
    # A shell script, because it is under way long before the second is over, whatever else the machine does.
    path = program(f"sleep 600 & echo $$ $! > {pids}; wait", interpreter="/bin/sh")
    result = await ask(create_command({"command": [path], "timeout_seconds": 1}))
    assert not result.success
    assert result.error.endswith("did not finish within 1 seconds and was stopped")
    await gone(pids)


async def test_a_program_that_writes_too_much_is_stopped_with_its_children(program, tmp_path, gone):
    pids = tmp_path / "pids"
    path = program(FORKS.format(pids=str(pids)) + "\nwhile True: print('x' * 10_000)")
    result = await ask(create_command({"command": [path], "max_output_bytes": 50_000}))
    assert not result.success
    assert result.error.endswith("wrote more than 50,000 bytes and was stopped")
    await gone(pids)


async def test_a_child_that_keeps_the_output_open_does_not_keep_the_run_waiting(program, tmp_path, gone):
    pids = tmp_path / "pids"
    path = program(FORKS.format(pids=str(pids)) + "print('answer')")
    result = await ask(create_command({"command": [path], "timeout_seconds": 300}))
    assert result.output == "answer\n"
    await gone(pids)


async def test_cancelling_leaves_no_process(program, tmp_path, gone):
    pids = tmp_path / "pids"
    path = program(FORKS.format(pids=str(pids)) + "time.sleep(600)")
    asking = asyncio.create_task(ask(create_command({"command": [path]})))
    async with asyncio.timeout(10):
        while not (pids.exists() and len(pids.read_text().split()) == 2):
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await gone(pids)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("command", {}, "modules.memory.plugins.command.command: Field required"),
        ("command", {"command": []}, "modules.memory.plugins.command.command: List should have at least 1 item"),
        ("claude", {"modle": "x"}, "modules.memory.plugins.claude.modle: Extra inputs are not permitted"),
        ("codex", {"timeout_seconds": 0}, "modules.memory.plugins.codex.timeout_seconds: Input should be greater"),
        ("gemini", {"args": "x"}, "modules.memory.plugins.gemini.args: Input should be a valid list"),
        ("openai", {}, "modules.memory.plugins.openai.model: Field required"),
        (
            "openai",
            {"model": "m", "base_url": "ftp://x"},
            "modules.memory.plugins.openai.base_url: String should match",
        ),
        (
            "openai",
            {"model": "m", "base_url": "http://[::1/v1"},
            "modules.memory.plugins.openai.base_url: Value error, Invalid IPv6 URL",
        ),
        (
            "openai",
            {"model": "m", "base_url": "http://localhost:99999/v1"},
            "modules.memory.plugins.openai.base_url: Value error, Port out of range",
        ),
        (
            "openai",
            {"model": "m", "base_url": "http:///v1"},
            "modules.memory.plugins.openai.base_url: Value error, name a host",
        ),
    ],
)
def test_bad_options_name_the_key(name, options, message):
    provider = next(provider for provider in memory_spawners() if provider.name == name)
    with pytest.raises(ConfigError) as caught:
        provider.create(options)
    assert message in str(caught.value)
    assert f"the options of {name!r} are: timeout_seconds" in str(caught.value)
