"""Where the embedded server keeps its files: everything but the socket lives in one data directory."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from memory_core.errors import ServerError

APPLICATION = "butler-memory"
# Outside /root: the server runs as an unprivileged account that cannot traverse root's home.
ROOT_DATA_DIR = Path("/var/lib") / APPLICATION
# Not TMPDIR nor XDG_RUNTIME_DIR: both differ between a login shell, cron and a service, and may be long.
SOCKET_ROOT = Path("/tmp")


def default_data_dir() -> Path:
    """Return MEMORY_DATA_DIR, else the user's data directory, else (for root) a place outside root's home."""
    if configured := os.environ.get("MEMORY_DATA_DIR"):
        return Path(configured)
    if os.geteuid() == 0:
        return ROOT_DATA_DIR
    return Path(platformdirs.user_data_dir(APPLICATION, appauthor=False))


@dataclass(frozen=True)
class Layout:
    """The names of all files under one data directory."""

    data_dir: Path

    @classmethod
    def at(cls, data_dir: Path) -> "Layout":
        """Resolve the directory, so that two spellings of one place share locks and socket."""
        return cls(Path(os.path.realpath(Path(data_dir).expanduser())))

    @property
    def pgdata(self) -> Path:
        """The PostgreSQL data directory proper."""
        return self.data_dir / "pgdata"

    @property
    def log(self) -> Path:
        """The server's log, beside pgdata so that it exists before pgdata does."""
        return self.data_dir / "server.log"

    @property
    def decision_lock(self) -> Path:
        """Held exclusively by whoever decides to make, start or stop the server."""
        return self.data_dir / "decision.lock"

    @property
    def clients_lock(self) -> Path:
        """Held shared by each client."""
        return self.data_dir / "clients.lock"

    @property
    def server_lock(self) -> Path:
        """Held by the server's own processes; free means that not one of them is alive."""
        return self.data_dir / "server.lock"

    @property
    def binaries(self) -> Path:
        """Copies of the server's programs, made only when the account cannot reach the installed ones."""
        return self.data_dir / "binaries"

    @property
    def socket_dir(self) -> Path:
        """The short directory of the unix socket; the inode tells apart equal paths in two containers."""
        identity = f"{self.data_dir}\0{self.data_dir.stat().st_ino}"
        return SOCKET_ROOT / f"{APPLICATION}-{hashlib.sha256(os.fsencode(identity)).hexdigest()[:16]}"


def prepare_data_dir(layout: Layout) -> None:
    """Make the data directory, private to its owner but traversable where root starts the server as somebody else.

    Raises: ServerError when the place is a PostgreSQL data directory of somebody else's making.
    """
    mode = 0o711 if os.geteuid() == 0 else 0o700
    layout.data_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
    if (layout.data_dir / "PG_VERSION").exists():
        raise ServerError(
            f"{layout.data_dir} is itself a PostgreSQL data directory; the embedded server needs one of its own: "
            "choose another data_dir (MEMORY_DATA_DIR), or run that server yourself and set MEMORY_DSN"
        )
    # Only an empty directory is ours to change: somebody may name their home by mistake.
    if layout.data_dir.stat().st_uid == os.geteuid() and not any(layout.data_dir.iterdir()):
        layout.data_dir.chmod(mode)
