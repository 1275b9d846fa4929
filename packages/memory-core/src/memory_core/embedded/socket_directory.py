"""The directory of the unix socket: short, private, and provably ours."""

import os
import socket
import stat
import struct
import sys
from pathlib import Path

from memory_core.embedded.accounts import Account, user_name
from memory_core.embedded.server_settings import PORT
from memory_core.errors import ServerError

CONNECT_SECONDS = 5.0


def socket_path(socket_dir: Path, port: int = PORT) -> Path:
    """Return the socket's path as PostgreSQL names it."""
    return socket_dir / f".s.PGSQL.{port}"


def prepare_socket_dir(socket_dir: Path, account: Account) -> None:
    """Make the directory for the account, or verify that an existing one is the account's alone.

    Raises: ServerError when it is a link, not a directory, or somebody else's: /tmp is open to all.
    """
    try:
        socket_dir.mkdir(mode=0o700)
    except FileExistsError:
        _verify(socket_dir, account)
    else:
        account.adopt(socket_dir)


def _verify(socket_dir: Path, account: Account) -> None:
    status = socket_dir.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise ServerError(
            f"{socket_dir} is not a directory, and a link there is not followed; remove it and start again"
        )
    if status.st_uid != account.uid:
        raise ServerError(
            f"{socket_dir} belongs to {user_name(status.st_uid) or status.st_uid}, "
            f"not to {account.label} who runs the server; find out who made it, remove it and start again"
        )
    if status.st_mode & 0o077:
        raise ServerError(f"{socket_dir} is open to other users; close it: chmod 700 {socket_dir}")


def clear_stale_socket(socket_dir: Path) -> None:
    """Remove the socket and its lock file, which a killed server leaves and whose pid may be somebody else's now.

    Raises: ServerError when a server still answers there.
    """
    path = socket_path(socket_dir)
    if (pid := listener_pid(path)) is not None:
        raise ServerError(
            f"a server that is not of this data directory answers at {path} (pid {pid}); stop it and start again"
        )
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".lock").unlink(missing_ok=True)


def listener_pid(path: Path) -> int | None:
    """Return the process that listens on the socket, 0 where it cannot be told, None where nobody answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(CONNECT_SECONDS)
        try:
            client.connect(os.fsencode(path))
        except OSError:
            return None
        return _peer_pid(client)


def _peer_pid(client: socket.socket) -> int:
    if sys.platform == "linux":
        pid: int = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        return pid
    # macOS: SOL_LOCAL and LOCAL_PEERPID, which the socket module does not name.
    return int(client.getsockopt(0, 2))
