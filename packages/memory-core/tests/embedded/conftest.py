"""Real processes around a real server, and proof that none of them is left behind."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

CLIENT = Path(__file__).with_name("client_process.py")
PATIENCE = 30.0


class ClientProcess:
    """Drives one client_process.py; its errors are raised here."""

    def __init__(self, data_dir: Path, account: pwd.struct_passwd | None, environment: dict[str, str]) -> None:
        identity = [str(account.pw_uid), str(account.pw_gid)] if account else []
        self.process = subprocess.Popen(
            [sys.executable, str(CLIENT), str(data_dir), *identity],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **environment},
        )
        assert self.receive() == "imported"

    def send(self, name: str, *arguments: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the client process ended without an answer"
        return json.loads(line)

    def result(self) -> Any:
        answer = self.receive()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]

    def call(self, name: str, *arguments: Any) -> Any:
        self.send(name, *arguments)
        return self.result()

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait(PATIENCE)

    def close(self) -> None:
        """End as a program does that never calls stop: the end of stdin ends it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


@pytest.fixture(params=["own user", "ordinary user"])
def account(request: pytest.FixtureRequest) -> pwd.struct_passwd | None:
    """Whom the clients run as: the user of the test run, and (where that is root) an ordinary one."""
    if request.param == "own user":
        return None
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; the suite's own user is already an ordinary one here")
    return pwd.getpwnam("nobody")


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory that the server's account can enter; pytest's own tmp_path is closed to all but its maker."""
    directory = Path(tempfile.mkdtemp(prefix="memory-embedded-", dir="/tmp"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def data_dir(base: Path) -> Iterator[Path]:
    """A data directory that does not exist yet; afterwards no process and no socket of it may be left."""
    before = set(Path("/tmp").glob("butler-memory-*"))
    directory = base / "data"
    yield directory
    left = _processes_of(base)
    for process in left:
        process.kill()
    psutil.wait_procs(left, PATIENCE)
    assert not left, "the test left processes of its server behind"
    assert set(Path("/tmp").glob("butler-memory-*")) <= before | _sockets_of_others(base)


def _processes_of(base: Path) -> list[psutil.Process]:
    def belongs(process: psutil.Process) -> bool:
        try:
            return process.status() != psutil.STATUS_ZOMBIE and any(str(base) in part for part in process.cmdline())
        except psutil.Error:
            return False

    # The titles of backends do not name the directory, so those are found through their parents.
    found = {process for process in psutil.process_iter() if belongs(process)}
    for process in list(found):
        try:
            found.update(process.children(recursive=True))
        except psutil.NoSuchProcess:
            continue
    return list(found)


def _sockets_of_others(base: Path) -> set[Path]:
    # Other suites may run at the same time; a socket directory is theirs if a server of theirs names it.
    return {
        Path(part.removeprefix("unix_socket_directories="))
        for process in psutil.process_iter(["cmdline"])
        for part in process.info["cmdline"] or []
        if part.startswith("unix_socket_directories=")
    }


@pytest.fixture
def spawn(data_dir: Path, base: Path) -> Iterator[Callable[..., ClientProcess]]:
    """Make client processes, by default of the test run's own user; all are ended after the test."""
    clients: list[ClientProcess] = []

    def make(account: pwd.struct_passwd | None = None, *, at: Path | None = None, **environment: str) -> ClientProcess:
        if account is not None and base.stat().st_uid != account.pw_uid:
            os.chown(base, account.pw_uid, account.pw_gid)
        clients.append(ClientProcess(at or data_dir, account, environment))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Wait for a condition, but not for ever."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "the condition did not come true"
            time.sleep(0.005)

    return wait
