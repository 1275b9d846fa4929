"""The installed `memory` script, as a process of its own."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("memory")


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, cwd=cwd, timeout=60, check=False)


def test_the_script_is_installed(tmp_path):
    completed = run("--version", cwd=tmp_path)
    assert (completed.returncode, completed.stdout) == (0, f"memory, version {version('memory-mcp')}\n")


def test_a_failure_is_one_line_on_stderr_and_an_exit_code(tmp_path):
    completed = run("--dsn", "postgresql://jeeves:s3cret@127.0.0.1:1/memory", "migrate", cwd=tmp_path)
    assert completed.returncode == 1
    assert completed.stdout == ""
    assert completed.stderr.startswith("Error: no usable PostgreSQL at postgresql://jeeves:***@127.0.0.1:1/memory")
    assert completed.stderr.count("\n") == 1
