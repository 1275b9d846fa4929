"""The installed `memory` script, as a process of its own."""

import signal
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from memory_core.embedded import EmbeddedServer

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


def test_being_terminated_stops_the_embedded_server_too(tmp_path):
    # Not pytest's own directory: for root the server runs as another user, who may not enter that.
    with tempfile.TemporaryDirectory(prefix="memory-terminated-") as data_dir:
        command = [SCRIPT, "--data-dir", data_dir, "demo"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
        with subprocess.Popen(command, **quiet) as tour:
            assert tour.stderr is not None
            assert tour.stderr.readline() == f"memory is in the embedded server in {data_dir}\n"
            tour.terminate()
            tour.wait(timeout=60)
        assert tour.returncode == 128 + signal.SIGTERM
        assert not EmbeddedServer(Path(data_dir)).status().running
