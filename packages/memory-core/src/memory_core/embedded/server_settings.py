"""The server's configuration: what suits a laptop, what a caller may change, and what is fixed."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from memory_core.errors import ConfigError

DEFAULTS: Mapping[str, str] = {
    "shared_buffers": "128MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "256MB",
    "max_connections": "40",
    "jit": "off",
    # A parallel index build needs more shared memory than the 64 MB that containers give.
    "max_parallel_maintenance_workers": "0",
    "random_page_cost": "1.1",
    "fsync": "on",
    "full_page_writes": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # `try` ends in SIGBUS where a container may not have the huge pages that its host shows.
    "huge_pages": "off",
    # Errors go to the client that made them; in the log they would grow it and repeat private text.
    "log_min_messages": "log",
    "log_checkpoints": "off",
    "log_autovacuum_min_duration": "-1",
    "cluster_name": "butler-memory",
}
LINUX_DEFAULTS: Mapping[str, str] = {"recovery_init_sync_method": "syncfs"}

# These hold the promise "unix socket only, peer only, one place"; a caller cannot loosen them.
FIXED = frozenset(
    {
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "logging_collector",
        "port",
        "unix_socket_directories",
        "unix_socket_group",
        "unix_socket_permissions",
    }
)
PORT = 5432
_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?\Z")


def merged_settings(overrides: Mapping[str, str] | None) -> dict[str, str]:
    """Return the defaults with the caller's overrides.

    Raises: ConfigError when a name is not a setting's name, or is one that the embedded server fixes.
    """
    defaults = {**DEFAULTS, **(LINUX_DEFAULTS if sys.platform == "linux" else {})}
    return {**defaults, **{_checked(name, str(value)): str(value) for name, value in (overrides or {}).items()}}


def _checked(name: str, value: str) -> str:
    if not _NAME.match(name):
        raise ConfigError(f"server setting {name!r} is not a PostgreSQL setting name; use lower case, e.g. 'work_mem'")
    if "\0" in value:
        raise ConfigError(f"server setting {name!r} has the value {value!r} with a NUL character in it; remove that")
    if name in FIXED:
        raise ConfigError(
            f"server setting {name!r} is fixed by the embedded server (unix socket only, peer authentication); "
            "remove it, or run your own PostgreSQL and set MEMORY_DSN"
        )
    return name


def command_line(settings: Mapping[str, str], socket_dir: Path) -> list[str]:
    """Return the arguments for `postgres`; on the command line they win over any file in the cluster."""
    fixed = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": str(socket_dir),
        "unix_socket_permissions": "0700",
        "logging_collector": "off",
    }
    return [argument for name, value in {**settings, **fixed}.items() for argument in ("-c", f"{name}={value}")]
