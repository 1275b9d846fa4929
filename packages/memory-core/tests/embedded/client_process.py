"""A client of the embedded server in a process of its own: a JSON list on each line of stdin is a command.

Run as root with `--uid` it becomes that user only after its imports, because a Python under root's home could not be
started by anybody else.
"""

import asyncio
import ctypes
import getpass  # noqa: F401  (asyncpg imports these on first use, when they may be out of reach)
import json
import logging
import os
import platform  # noqa: F401
import resource
import signal
import ssl  # noqa: F401
import sys
from pathlib import Path
from typing import Any

import asyncpg
from memory_core.embedded import EmbeddedServer, lifecycle, locks
from memory_core.errors import MemoryModuleError

PR_SET_CHILD_SUBREAPER = 36
INSERT = "INSERT INTO acknowledged (body) VALUES (repeat('x', 500)) RETURNING id"


class Client:
    """Holds one EmbeddedServer, and answers commands named like its methods."""

    def __init__(self, data_dir: Path) -> None:
        self.server = EmbeddedServer(data_dir)
        self.messages: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: self.messages.append(record.getMessage())  # type: ignore[method-assign]
        logging.getLogger("memory_core.embedded").addHandler(handler)
        logging.getLogger("memory_core.embedded").setLevel(logging.INFO)

    def start(self) -> str:
        return self.server.start()

    def stop(self) -> None:
        self.server.stop()

    def pid(self) -> int | None:
        return self.server.status().pid

    def said(self) -> list[str]:
        return self.messages

    def query(self, sql: str) -> Any:
        return asyncio.run(self._query(sql))

    def connect(self, dsn: str) -> None:
        """Try to connect without a hold on the server."""
        asyncio.run(self._query("SELECT 1", dsn))

    async def _query(self, sql: str, dsn: str | None = None) -> Any:
        connection = await asyncpg.connect(dsn or self.server.dsn)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    def hold_connection(self) -> int:
        """Connect and stay connected; returns the backend's pid."""
        self.loop = asyncio.new_event_loop()
        self.connection = self.loop.run_until_complete(asyncpg.connect(self.server.dsn))
        return self.query_held("SELECT pg_backend_pid()")

    def query_held(self, sql: str) -> Any:
        return self.loop.run_until_complete(self.connection.fetchval(sql))

    def write_rows(self) -> None:
        """Insert one row after another, naming each only once the server has acknowledged it, until it is gone."""
        asyncio.run(self._write_rows())

    async def _write_rows(self) -> None:
        connection = await asyncpg.connect(self.server.dsn)
        await connection.execute("CREATE TABLE IF NOT EXISTS acknowledged (id bigserial PRIMARY KEY, body text)")
        try:
            while True:
                row = await connection.fetchval(
                    "INSERT INTO acknowledged (body) VALUES (repeat('x', 500)) RETURNING id"
                )
                reply(row)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
            connection.terminate()

    def start_and_stop(self, rounds: int) -> int:
        """Use the server so often; returns how many times it answered."""
        answers = 0
        for _ in range(rounds):
            self.server.start()
            answers += self.query("SELECT 1")
            self.server.stop()
        return answers

    def open_inheritable(self, path: str) -> None:
        os.set_inheritable(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), True)

    def fork_child_that_stops(self) -> int:
        """Fork; the child stops its copy of the server object. Returns the child's exit code."""
        child = os.fork()
        if child == 0:
            self.server.stop()
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def fork_child_that_stays(self, through: str) -> int:
        """Fork in Python or below it; the child does nothing until it is killed. Returns its pid."""
        reading, writing = os.pipe()
        child: int = os.fork() if through == "python" else ctypes.PyDLL(None).fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.write(writing, b"!")
            while True:
                signal.pause()
        # Only a child that answers has run what Python does after a fork.
        assert os.read(reading, 1) == b"!"
        return child

    def fork_child_while_locking(self, path: str) -> int:
        """Fork while a lock is held, and close it as a starter does with its lease. Returns the child's pid."""
        lock = locks.FileLock(Path(path))
        assert lock.try_exclusive()
        child = self.fork_child_that_stays("python")
        lock.hand_over()
        return child

    def adopt_orphans(self) -> None:
        """Become the parent of orphaned descendants and never reap them, as a careless pid 1 does."""
        assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0

    def limit_file_size(self, size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def give_up_on_decision_after(self, seconds: float) -> None:
        locks.DECISION_SECONDS = seconds

    def give_up_on_orphans_after(self, seconds: float) -> None:
        lifecycle.ORPHAN_SECONDS = seconds


def reply(value: Any) -> None:
    print(json.dumps(value), flush=True)


def become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def main() -> None:
    data_dir, *identity = sys.argv[1:]
    if identity:
        become(*map(int, identity))
    client = Client(Path(data_dir))
    reply("imported")
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            reply({"value": getattr(client, name)(*arguments)})
        except (MemoryModuleError, OSError) as error:
            reply({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
