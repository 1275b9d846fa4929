"""Where the servers keep their own files: beside the embedded server's data, whichever database is used."""

import hashlib
import sys
from pathlib import Path

import platformdirs
from memory_core import MemoryModuleConfig
from memory_core.database import masked_dsn
from memory_core.embedded.layout import APPLICATION, Layout, default_data_dir, prepare_data_dir

from memory_mcp.episode_spool import EpisodeSpool


def state_directory(config: MemoryModuleConfig, data_dir: Path | None = None) -> Path:
    """Return the directory of the servers' own files."""
    chosen = data_dir or (Path(config.data_dir) if config.data_dir else _default_directory())
    return Layout.at(chosen).data_dir


def prepare_state_directory(config: MemoryModuleConfig, data_dir: Path | None = None) -> None:
    """Make the directory as the embedded server needs it, which changes the rights only of an empty one.

    Raises:
        ServerError: the place is a PostgreSQL data directory of somebody else's making.
    """
    if sys.platform != "win32":
        prepare_data_dir(Layout.at(state_directory(config, data_dir)))


def token_file(config: MemoryModuleConfig, data_dir: Path | None = None) -> Path:
    """Return the file of the tokens' hashes."""
    if config.serve.token_file:
        return Path(config.serve.token_file).expanduser()
    return state_directory(config, data_dir) / "tokens.json"


def episode_spool(
    config: MemoryModuleConfig, *, dsn: str | None = None, data_dir: Path | None = None
) -> EpisodeSpool | None:
    """Return the spool of the database that a configuration names, or None where it is turned off."""
    if config.spool.max_bytes == 0:
        return None
    chosen = dsn or (None if data_dir else config.dsn)
    database = masked_dsn(chosen) if chosen else f"embedded {state_directory(config, data_dir)}"
    return spool_of(config, database, data_dir)


def spool_of(config: MemoryModuleConfig, database: str, data_dir: Path | None = None) -> EpisodeSpool:
    """Return the spool of one database, told apart by any text that no other database has."""
    configured = config.spool.directory
    root = Path(configured).expanduser() if configured else state_directory(config, data_dir) / "spool"
    # Each has a directory of its own: what was meant for one must never be replayed into another.
    identity = hashlib.sha256(f"{database}\0{config.schema_name or ''}".encode()).hexdigest()[:16]
    return EpisodeSpool(root / identity, config.spool.max_bytes)


def _default_directory() -> Path:
    if sys.platform == "win32":
        return Path(platformdirs.user_data_dir(APPLICATION, appauthor=False))
    return default_data_dir()
