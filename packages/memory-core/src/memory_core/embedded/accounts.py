"""Whom the server runs as: PostgreSQL refuses root, so root hands it to an unprivileged account."""

import os
import pwd
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core.embedded.layout import Layout
from memory_core.errors import ServerError


@dataclass(frozen=True)
class Account:
    """The uid and gid that own the cluster and run its processes."""

    uid: int
    gid: int

    @property
    def is_another(self) -> bool:
        """Whether the current process must change identity to act as this account."""
        return self.uid != os.geteuid()

    @property
    def label(self) -> str:
        """The account's name for messages, or its number where it has none."""
        return user_name(self.uid) or f"uid {self.uid}"

    def identity(self) -> dict[str, Any]:
        """The arguments of Popen that make a child run as this account, with no group of the caller's."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.is_another else {}

    def adopt(self, path: Path) -> None:
        """Give a file that was just made here to this account."""
        if self.is_another:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def server_account(layout: Layout) -> Account:
    """Choose the account: the cluster's owner, else the caller, and for root the data directory's owner or a stand-in.

    Raises: ServerError when the current user may not act as the cluster's owner, or that is root.
    """
    if layout.pgdata.exists():
        return _owner_of_cluster(layout.pgdata)
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    owner = layout.data_dir.stat()
    return Account(owner.st_uid, owner.st_gid) if owner.st_uid != 0 else unprivileged_account()


def _owner_of_cluster(pgdata: Path) -> Account:
    owner = pgdata.stat()
    account = Account(owner.st_uid, owner.st_gid)
    if account.uid == 0:
        raise ServerError(
            f"{pgdata} belongs to root, and PostgreSQL does not run as root; "
            f"give it to an unprivileged account: chown -R nobody {pgdata}"
        )
    if os.geteuid() not in (0, account.uid):
        raise ServerError(
            f"{pgdata} belongs to {account.label}, and only its owner or root may run a server on it; "
            "choose a data_dir (MEMORY_DATA_DIR) that belongs to you"
        )
    return account


def unprivileged_account() -> Account:
    """Return `nobody`, or where that does not exist any account that is not root."""
    entries = pwd.getpwall()
    for entry in sorted(entries, key=lambda entry: entry.pw_name != "nobody"):
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid)
    raise ServerError(
        "the server cannot run as root, and the user database has no other account: "
        "add one (useradd --system nobody), run as an ordinary user, or set MEMORY_DSN"
    )


def user_name(uid: int) -> str | None:
    """Return the name of a uid, or None where the user database does not know it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def blocking_directory(account: Account, path: Path) -> Path | None:
    """Return the topmost part of the path that the account may not pass or read, judged by the mode bits."""
    for part in [*reversed(path.parents), path]:
        wanted = 0o1 if part.is_dir() else 0o4
        if not _permits(account, part.stat(), wanted):
            return part
    return None


def all_reachable(account: Account, paths: Iterable[Path]) -> bool:
    """Whether the account can read each of the files through every directory above it."""
    return all(blocking_directory(account, path) is None for path in paths)


def _permits(account: Account, status: os.stat_result, wanted: int) -> bool:
    bits = stat.S_IMODE(status.st_mode)
    if status.st_uid == account.uid:
        return bool(bits >> 6 & wanted)
    return bool(bits >> 3 & wanted) if status.st_gid == account.gid else bool(bits & wanted)
