"""The running server: what its pid file says, how it is launched, and how it is asked to stop."""

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_core.embedded.accounts import Account
from memory_core.embedded.socket_directory import listener_pid, socket_path
from memory_core.errors import ServerError

# A shell in a session of its own starts the server in the background and ends, so that the server is nobody's
# child who would have to reap it, and a Ctrl-C in the client's terminal does not reach it.
_DETACH = '"$@" </dev/null &'


@dataclass(frozen=True)
class PidFile:
    """What PostgreSQL writes into postmaster.pid."""

    pid: int
    port: int
    socket_dir: Path | None
    status: str

    @classmethod
    def read(cls, pgdata: Path) -> "PidFile | None":
        """Return the file's content, or None while it is missing or still being written."""
        try:
            lines = os.fsdecode((pgdata / "postmaster.pid").read_bytes()).split("\n")
            socket_dir = Path(lines[4]) if lines[4] else None
            return cls(int(lines[0]), int(lines[3]), socket_dir, lines[7].strip() if len(lines) > 7 else "")
        except (FileNotFoundError, ValueError, IndexError):
            return None

    def listener(self) -> int | None:
        """Return the process that listens on the socket that the file names."""
        return None if self.socket_dir is None else listener_pid(socket_path(self.socket_dir, self.port))

    def is_ready(self) -> bool:
        """Whether the server has finished its start and answers."""
        return self.status == "ready" and self.listener() is not None

    def is_its_listener(self) -> bool:
        """Whether the pid is the listening server itself, not a process that was given its number later."""
        return self.listener() == self.pid


def launch(command: Sequence[str], *, account: Account, log_fd: int, lease_fd: int) -> None:
    """Start the server detached; of this process it inherits its log and its lease, nothing else."""
    subprocess.run(
        ["/bin/sh", "-c", _DETACH, "sh", *command],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=log_fd,
        stderr=log_fd,
        pass_fds=(lease_fd,),
        start_new_session=True,
        cwd="/",
        env=clean_environment(),
        umask=0o077,
        **account.identity(),
    )


def clean_environment() -> dict[str, str]:
    """Return what the server needs and no more: PG* variables would steer it, others may be secrets."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def discard_stale_pid_file(pgdata: Path) -> None:
    """Remove the pid file of a server that is gone: PostgreSQL would take a reused or zombie pid for a live one.

    Raises: ServerError when the server that it names answers, so somebody started it without us.
    """
    found = PidFile.read(pgdata)
    if found is not None and found.is_its_listener():
        raise ServerError(
            f"{pgdata} is in use by a PostgreSQL that was started by other means (pid {found.pid}); "
            "stop it (pg_ctl stop) and start again, or set MEMORY_DSN to use it"
        )
    (pgdata / "postmaster.pid").unlink(missing_ok=True)


def request_fast_shutdown(pgdata: Path) -> bool:
    """Ask the server to disconnect everybody and stop; tells whether there was one that could be asked."""
    found = PidFile.read(pgdata)
    if found is None or not found.is_its_listener():
        return False
    os.kill(found.pid, signal.SIGINT)
    return True
