"""Starting and stopping, by whoever holds the decision lock.

The truth about "is it running" is one flock: the server's processes inherit a lease on `server.lock`, and the kernel
frees it when the last of them is gone. Pids can be reused, zombies answer to signals, orphaned backends outlive
their postmaster; none of that can fool the lease.
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping

from memory_core.embedded import server_log
from memory_core.embedded.accounts import Account, server_account
from memory_core.embedded.binaries import binaries_for
from memory_core.embedded.cluster import ClusterMaker, check_version, initial_sync_is_wanted, write_access_rules
from memory_core.embedded.layout import Layout
from memory_core.embedded.locks import POLL_SECONDS, FileLock, is_held
from memory_core.embedded.postmaster import PidFile, discard_stale_pid_file, launch, request_fast_shutdown
from memory_core.embedded.server_settings import command_line
from memory_core.embedded.socket_directory import clear_stale_socket, prepare_socket_dir
from memory_core.errors import ServerError

logger = logging.getLogger(__name__)

# Crash recovery replays up to max_wal_size of log; on a slow disk that takes minutes.
START_SECONDS = 300.0
# Backends notice a killed postmaster at once when idle; a long computation may take a while to look.
ORPHAN_SECONDS = 30.0
STOP_SECONDS = 60.0


def ensure_running(layout: Layout, settings: Mapping[str, str]) -> PidFile:
    """Join the running server, or make and start it; return once it answers.

    Raises: ServerError when it cannot start, with the end of its log.
    """
    log_size: int | None = None
    for waited in _polling(START_SECONDS):
        lease = FileLock(layout.server_lock)
        if not lease.try_exclusive():
            lease.release()
            # A server that this call has launched may take its time; only one found in this state is suspect.
            if (running := _answering(layout, suspect=log_size is None and waited > ORPHAN_SECONDS)) is not None:
                return running
            continue
        try:
            if log_size is not None:
                _remove_socket_dir(layout)
                raise ServerError(_failed_start(layout, log_size))
            log_size = _start(layout, settings, lease)
        finally:
            lease.hand_over()
    raise ServerError(
        f"the server in {layout.data_dir} is alive but does not answer after {START_SECONDS:.0f} s; "
        "it may still be recovering, so try again later; "
        f"its log {layout.log} ends with:\n{server_log.tail(layout.log)}"
    )


def _answering(layout: Layout, *, suspect: bool) -> PidFile | None:
    found = PidFile.read(layout.pgdata)
    if found is not None and found.is_ready():
        return found
    if found is not None and suspect and found.listener() is None:
        raise ServerError(
            f"processes of a server in {layout.data_dir} are alive, but nobody listens at {found.socket_dir}: its "
            f"postmaster (pid {found.pid}) was killed and a backend is still busy, it runs in another container, "
            "or its socket was removed; "
            f"end those processes (`fuser {layout.server_lock}` lists them) and start again"
        )
    return None


def _start(layout: Layout, settings: Mapping[str, str], lease: FileLock) -> int:
    account = server_account(layout)
    binaries = binaries_for(account, layout)
    server_log.rotate(layout.log)
    if not layout.pgdata.exists():
        ClusterMaker(layout, account, binaries, durable=initial_sync_is_wanted(settings), lease_fd=lease.fd).make()
        logger.info("made a new cluster in %s", layout.data_dir)
    check_version(layout.pgdata, binaries.version())
    _clear_the_way(layout, account)
    log_size = server_log.size(layout.log)
    command = [str(binaries.program("postgres")), "-D", str(layout.pgdata), *command_line(settings, layout.socket_dir)]
    with server_log.appending(layout.log) as log_fd:
        launch(command, account=account, log_fd=log_fd, lease_fd=lease.fd)
    logger.info("started the server in %s", layout.data_dir)
    return log_size


def _clear_the_way(layout: Layout, account: Account) -> None:
    discard_stale_pid_file(layout.pgdata)
    prepare_socket_dir(layout.socket_dir, account)
    clear_stale_socket(layout.socket_dir)
    write_access_rules(layout.pgdata, account)


def _failed_start(layout: Layout, log_size: int) -> str:
    return (
        f"the server in {layout.data_dir} ended while it was starting; its log {layout.log} says why "
        "(a full disk, a file that it may not read and a wrong setting are usual):\n"
        f"{server_log.tail(layout.log, log_size)}"
    )


def stop_unless_used(layout: Layout) -> None:
    """Stop the server if no client holds it, and wait until its last process is gone."""
    clients = FileLock(layout.clients_lock)
    try:
        if clients.try_exclusive() and request_fast_shutdown(layout.pgdata):
            _wait_until_gone(layout)
    finally:
        clients.release()


def _wait_until_gone(layout: Layout) -> None:
    for _ in _polling(STOP_SECONDS):
        if not is_held(layout.server_lock):
            _remove_socket_dir(layout)
            logger.info("stopped the server in %s", layout.data_dir)
            return
    # Not killed: it is writing its checkpoint, and the next start waits for it.
    logger.warning("the server in %s is still stopping after %.0f s", layout.data_dir, STOP_SECONDS)


def _remove_socket_dir(layout: Layout) -> None:
    try:
        os.rmdir(layout.socket_dir)
    except OSError:
        logger.debug("the socket directory stays: it is not empty or already gone")


def _polling(seconds: float) -> Iterator[float]:
    began = time.monotonic()
    while (waited := time.monotonic() - began) < seconds:
        yield waited
        time.sleep(POLL_SECONDS)
