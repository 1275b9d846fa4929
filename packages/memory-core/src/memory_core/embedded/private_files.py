"""Opening the files of a data directory: private, never through a link, and always its owner's."""

import os
from pathlib import Path


def open_private(path: Path, flags: int) -> int:
    """Open a file, making it where it is missing; no program that this process starts inherits it by accident."""
    fd = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    _give_to_directory_owner(fd, path.parent)
    return fd


def _give_to_directory_owner(fd: int, directory: Path) -> None:
    # Root may work in another user's data directory; the owner must be able to open its files afterwards.
    owner = directory.stat()
    opened = os.fstat(fd)
    if os.geteuid() == opened.st_uid == 0 != owner.st_uid and opened.st_nlink == 1:
        os.fchown(fd, owner.st_uid, owner.st_gid)
