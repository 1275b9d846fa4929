"""What stands in for the embedded server where it cannot run."""

from collections.abc import Mapping
from pathlib import Path

from memory_core.errors import ServerError


class EmbeddedServer:
    """Refuses to be made: there is no embedded server on this platform."""

    def __init__(self, data_dir: Path | None = None, *, settings: Mapping[str, str] | None = None) -> None:
        """Raises: ServerError, always."""
        raise ServerError(
            "the embedded server does not run on Windows: it needs flock, unix sockets and peer authentication; "
            "set MEMORY_DSN (or `dsn` in [modules.memory]) to a PostgreSQL >= 14 with pgvector, or run inside WSL"
        )
