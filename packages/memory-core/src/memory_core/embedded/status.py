"""What `memory doctor` wants to know about the embedded server."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ServerStatus:
    """The state of one data directory's server at one moment."""

    running: bool
    data_dir: Path
    log_path: Path
    pid: int | None
    socket_dir: Path | None
    version: str | None
    """The version of the installed server programs, None where the package is missing."""
    client_pids: tuple[int, ...] | None
    """The processes that hold the server, None where the system does not tell."""
