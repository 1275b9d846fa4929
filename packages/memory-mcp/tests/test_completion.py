"""`memory completion`, and what a shell gets to offer."""

import pytest


@pytest.mark.parametrize(
    ("shell", "how"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef memory"), ("fish", "complete --no-files --command memory")],
)
def test_each_shell_gets_its_script(run_memory, shell, how):
    completed = run_memory("completion", shell)
    assert completed.exit_code == 0
    assert how in completed.stdout
    assert "_MEMORY_COMPLETE" in completed.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("memory re", {"recall", "reembed", "requeue"}),
        ("memory store ", {"episode", "fact", "rule"}),
        ("memory search tea --mode ", {"semantic", "keyword", "hybrid"}),
        ("memory get ", {"episode", "fact", "rule"}),
    ],
)
def test_commands_options_and_values_are_offered(run_memory, typed, offered):
    words = typed.split(" ")
    completed = run_memory(_MEMORY_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1))
    assert {line.partition(",")[2] for line in completed.stdout.splitlines()} == offered
