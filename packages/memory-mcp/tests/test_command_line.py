"""The command line as a whole: help, versions, options, exit codes, errors in one line."""

import pytest


def assert_fails(completed, exit_code: int, message: str) -> None:
    assert completed.exit_code == exit_code
    assert message in completed.stderr
    assert completed.stdout == ""


def test_help_names_the_commands_and_what_exit_codes_mean(run_memory):
    completed = run_memory("--help")
    assert completed.exit_code == 0
    for word in ("migrate", "plugins", "call", "--dsn", "--data-dir", "--config", "--schema", "--tenant"):
        assert word in completed.stdout
    assert "Exit codes: 0 done, 1 it could not be done, 2 what was typed or configured is" in completed.stdout


@pytest.mark.parametrize("command", ["migrate", "plugins", "call"])
def test_every_command_explains_itself(run_memory, command):
    completed = run_memory(command, "--help")
    assert completed.exit_code == 0
    assert f"Usage: memory {command}" in completed.stdout


def test_an_unknown_command_is_a_usage_error(run_memory):
    assert_fails(run_memory("remember"), 2, "No such command 'remember'")


def test_a_dsn_and_a_data_directory_together_are_a_usage_error(run_memory):
    completed = run_memory("--dsn", "postgresql://db/memory", "--data-dir", "/tmp/x", "plugins")
    assert_fails(completed, 2, "give one of them")


def test_a_wrong_configuration_is_one_line_that_names_the_key(run_memory, tmp_path):
    (tmp_path / "butler.toml").write_text("[modules.memory]\nenabeld = true\n", encoding="utf-8")
    completed = run_memory("plugins")
    assert_fails(completed, 2, "Error: unknown key modules.memory.enabeld")
    assert completed.stderr.count("\n") == 1


def test_a_configuration_file_that_is_not_there_is_said_so(run_memory):
    assert_fails(run_memory("--config", "absent.toml", "plugins"), 2, "'absent.toml' cannot be read")


def test_a_server_that_does_not_answer_is_one_line_without_the_password(run_memory):
    completed = run_memory("migrate", MEMORY_DSN="postgresql://jeeves:s3cret@127.0.0.1:1/memory")
    assert_fails(completed, 1, "Error: no usable PostgreSQL at postgresql://jeeves:***@127.0.0.1:1/memory")
    assert "s3cret" not in completed.stderr
    assert completed.stderr.count("\n") == 1


def test_a_server_that_goes_away_during_the_work_is_one_line(run_memory, monkeypatch):
    import asyncpg
    from memory_mcp.commands import call

    def lost(*_: object) -> None:
        raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")

    monkeypatch.setattr(call, "_list_tools", lost)
    assert_fails(run_memory("call"), 1, "Error: the database is not available any more: connection was closed")


def test_verbose_shows_what_is_logged(run_memory, dsn):
    assert "memory_core.server_choice: memory is in" in run_memory("-v", "--dsn", dsn, "migrate").stderr
