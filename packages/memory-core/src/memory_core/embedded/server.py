"""One client's hold on the embedded server of a data directory."""

import atexit
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from memory_core.embedded.binaries import installed_binaries
from memory_core.embedded.cluster import DATABASE, ROLE
from memory_core.embedded.layout import Layout, default_data_dir, prepare_data_dir
from memory_core.embedded.lifecycle import ensure_running, stop_unless_used
from memory_core.embedded.locks import FileLock, deciding, holders, is_held
from memory_core.embedded.postmaster import PidFile
from memory_core.embedded.server_settings import merged_settings
from memory_core.embedded.status import ServerStatus
from memory_core.errors import ServerError


class EmbeddedServer:
    """Starts or joins the server of a data directory; the last client to leave stops it."""

    def __init__(self, data_dir: Path | None = None, *, settings: Mapping[str, str] | None = None) -> None:
        """Name the server; nothing is touched before `start`.

        `settings` are PostgreSQL settings over the defaults; a server that already runs keeps the ones it has.

        Raises: ConfigError when a setting has a bad name or is fixed.
        """
        self._layout = Layout.at(data_dir if data_dir is not None else default_data_dir())
        self._settings = merged_settings(settings)
        self._hold: FileLock | None = None
        self._running: PidFile | None = None
        self._threads = threading.RLock()

    @property
    def data_dir(self) -> Path:
        """The directory that holds everything but the socket."""
        return self._layout.data_dir

    @property
    def log_path(self) -> Path:
        """The server's log."""
        return self._layout.log

    @property
    def socket_dir(self) -> Path:
        """The directory of the unix socket.

        Raises: ServerError before `start` and after `stop`.
        """
        if self._running is None or self._running.socket_dir is None:
            raise ServerError(f"the server in {self.data_dir} was not started by this object; call start() first")
        return self._running.socket_dir

    @property
    def dsn(self) -> str:
        """The connection string, for libpq and asyncpg alike.

        Raises: ServerError before `start` and after `stop`.
        """
        # The port is named, or a PGPORT in the caller's environment would replace it.
        return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(self.socket_dir))}&port={self._port()}"

    def _port(self) -> int:
        assert self._running is not None
        return self._running.port

    def start(self) -> str:
        """Make, start or join the server, hold it for this client, and return the connection string.

        Calling it again is cheap, and brings back a server that was killed meanwhile.

        Raises: ServerError when there is no usable server afterwards.
        """
        with self._threads, _explained(self._layout):
            prepare_data_dir(self._layout)
            with deciding(self._layout.decision_lock):
                self._take_hold()
                self._running = self._ensure_running()
        atexit.unregister(self.stop)
        atexit.register(self.stop)
        return self.dsn

    def _take_hold(self) -> None:
        if not self._holds():
            self._hold = FileLock(self._layout.clients_lock)
            # Nobody can have it alone: that is only tried under the decision lock, which is ours.
            self._hold.try_shared()

    def _ensure_running(self) -> PidFile:
        try:
            return ensure_running(self._layout, self._settings)
        except ServerError:
            # A server that is still recovering goes on by itself; stopping it would throw that work away.
            self._let_go()
            raise
        except BaseException:
            self._let_go()
            stop_unless_used(self._layout)
            raise

    def _holds(self) -> bool:
        # In a forked child the lock is closed: the hold, and the decision to stop, are the parent's.
        return self._hold is not None and self._hold.is_open

    def _abandon(self) -> None:
        # Somebody removed the data directory under the running server; there is nothing left to stop cleanly.
        running = self._running
        self._let_go()
        if running is not None and running.is_its_listener():
            os.kill(running.pid, signal.SIGQUIT)

    def _let_go(self) -> None:
        if self._hold is not None:
            self._hold.release()
        self._hold = self._running = None

    def stop(self) -> None:
        """Release this client's hold; the last one out stops the server. Calling it again does nothing."""
        with self._threads:
            atexit.unregister(self.stop)
            if not self._holds():
                return
            if not self.data_dir.is_dir():
                self._abandon()
                return
            with _explained(self._layout), deciding(self._layout.decision_lock):
                self._let_go()
                stop_unless_used(self._layout)

    def status(self) -> ServerStatus:
        """Tell whether the server runs, where, and who holds it; changes nothing.

        Raises: ServerError when the data directory may not be read.
        """
        with _explained(self._layout):
            running = is_held(self._layout.server_lock)
            found = PidFile.read(self._layout.pgdata) if running else None
        return ServerStatus(
            running=running,
            data_dir=self.data_dir,
            log_path=self.log_path,
            pid=found.pid if found else None,
            socket_dir=found.socket_dir if found else None,
            version=_installed_version(),
            client_pids=holders(self._layout.clients_lock),
        )

    def __enter__(self) -> Self:
        """Start and return the server."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release this client's hold."""
        self.stop()


def _installed_version() -> str | None:
    try:
        return installed_binaries().version()
    except (ServerError, OSError):
        return None


@contextmanager
def _explained(layout: Layout) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = os.fspath(error.filename) if error.filename else layout.data_dir
        raise ServerError(
            f"the embedded server in {layout.data_dir} met {error.strerror or error} at {where}; the data directory "
            "must be writable, on a local disk with room, and usable by the account that runs the server: "
            "choose another one (MEMORY_DATA_DIR) or set MEMORY_DSN"
        ) from error
