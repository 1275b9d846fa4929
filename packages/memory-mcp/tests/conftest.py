"""Runs `memory` in this process, in an empty directory, with nothing set that is not named."""

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner, Result
from memory_mcp.cli import memory

RunMemory = Callable[..., Result]


@pytest.fixture
def run_memory(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunMemory]:
    """Return a function that runs the command line with arguments, and variables by keyword."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MEMORY_")]:
        monkeypatch.delenv(name)
    handlers, level = logging.root.handlers[:], logging.root.level

    def run(*arguments: str, stdin: str | None = None, **variables: str) -> Result:
        env = {"COLUMNS": "140", "MEMORY_TOOLS__SETS": '["core"]', **variables}
        # In a thread of its own, because a command starts its own event loop and the test may be in one.
        with ThreadPoolExecutor(1) as thread:
            invoke = thread.submit(
                CliRunner().invoke, memory, arguments, input=stdin, env=env, catch_exceptions=False, prog_name="memory"
            )
            return invoke.result()

    yield run
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
