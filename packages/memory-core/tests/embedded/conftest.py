"""Real processes around a real server, and proof that none of them is left behind."""

import functools
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
from memory_core.embedded.layout import Layout
from memory_core.embedded.locks import is_held

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
        self.has_imported = False

    def send(self, name: str, *arguments: Any) -> None:
        assert self.process.stdin is not None
        # Only now, so that several clients do their imports at the same time.
        if not self.has_imported:
            self.has_imported = self.receive() == "imported"
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
def nobody() -> pwd.struct_passwd:
    """An ordinary user that a test run of root's can become."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return pwd.getpwnam("nobody")


def _enterable_directory(account: pwd.struct_passwd | None) -> Path:
    # Not tmp_path: pytest closes that to all but its maker, so root's server account could not enter it.
    directory = Path(tempfile.mkdtemp(prefix="memory-embedded-", dir="/tmp"))
    directory.chmod(0o711)
    if account is not None:
        os.chown(directory, account.pw_uid, account.pw_gid)
    return directory


@pytest.fixture(scope="session")
def _directories() -> Iterator[Callable[[pwd.struct_passwd | None], Path]]:
    """Make directories, and remove all of them at the end: ext4 is slow to make files just after many were removed."""
    made: list[Path] = []

    def make(account: pwd.struct_passwd | None) -> Path:
        made.append(_enterable_directory(account))
        return made[-1]

    yield make
    for directory in made:
        shutil.rmtree(directory)


@pytest.fixture
def base(_directories: Callable[[pwd.struct_passwd | None], Path]) -> Iterator[Path]:
    """A fresh directory of the run's own user that the server's account can enter."""
    directory = _directories(None)
    yield directory
    for lock in directory.rglob("server.lock"):
        _expect_nothing_left(lock.parent)


@pytest.fixture
def fresh_dir(base: Path) -> Path:
    """A data directory that does not exist yet."""
    return base / "data"


@pytest.fixture(scope="session")
def _kept(_directories: Callable[[pwd.struct_passwd | None], Path]) -> Callable[[pwd.struct_passwd | None], Path]:
    """A directory for each account whose cluster one test makes and the next ones use: making one takes long."""
    return functools.cache(_directories)


@pytest.fixture
def data_dir(_kept: Callable[[pwd.struct_passwd | None], Path]) -> Iterator[Path]:
    """The data directory that tests of the run's own user share; its server does not run."""
    yield _kept(None) / "data"
    _expect_nothing_left(_kept(None) / "data")


@pytest.fixture
def account_dir(account: pwd.struct_passwd | None, _kept: Callable[[pwd.struct_passwd | None], Path]) -> Iterator[Path]:
    """The data directory that tests of this account share; its server does not run."""
    yield _kept(account) / "data"
    _expect_nothing_left(_kept(account) / "data")


def _expect_nothing_left(data_dir: Path) -> None:
    left = _processes_of(data_dir)
    for process in left:
        process.kill()
    psutil.wait_procs(left, PATIENCE)
    sockets = [path for path in _socket_dirs_of(data_dir) if path.exists()]
    for path in sockets:
        shutil.rmtree(path)
    assert not left, "the test left processes of its server behind"
    assert not sockets, "the test left the directory of its socket behind"


def _socket_dirs_of(data_dir: Path) -> list[Path]:
    return [Layout.at(data_dir).socket_dir] if data_dir.is_dir() else []


def _processes_of(data_dir: Path) -> list[psutil.Process]:
    if not is_held(Layout.at(data_dir).server_lock):
        return []
    lease = str(Layout.at(data_dir).server_lock)

    def holds_lease(process: psutil.Process) -> bool:
        try:
            return any(opened.path == lease for opened in process.open_files())
        except psutil.Error:
            return False

    return [process for process in psutil.process_iter() if holds_lease(process)]


@pytest.fixture(scope="session")
def _bytecode(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Bytecode of the clients' imports, kept between them even where writing it is switched off."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("bytecode"))}


@pytest.fixture
def spawn(_bytecode: dict[str, str]) -> Iterator[Callable[..., ClientProcess]]:
    """Make client processes, by default of the test run's own user; all are ended after the test."""
    clients: list[ClientProcess] = []

    def make(data_dir: Path, account: pwd.struct_passwd | None = None, **environment: str) -> ClientProcess:
        clients.append(ClientProcess(data_dir, account, {**_bytecode, **environment}))
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
