"""Remembers which files were already hashed, so that a start does not read 90 MB again.

Hashing takes 0.17 s where the processor has SHA instructions and longer where it has not; loading takes 0.1 s. A
file counts as unchanged while its path, size and modification time are.
"""

import json
import os
from pathlib import Path

# Below this the hash costs less than looking it up.
SMALL_FILE_BYTES = 1_000_000


class VerifiedFiles:
    """The receipts of successful checks, in one JSON file of the cache directory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def contains(self, file: Path, sha256: str) -> bool:
        """Whether the file, as it is now, was found to have this hash."""
        return self._read().get(str(file.resolve())) == _receipt(file, sha256)

    def add(self, file: Path, sha256: str) -> None:
        """Remember a successful check; without a writable cache directory every start hashes again."""
        if file.stat().st_size < SMALL_FILE_BYTES:
            return
        receipts = {**self._read(), str(file.resolve()): _receipt(file, sha256)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Written aside and renamed: another process starting now reads the old file or the new one, never half.
            draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            draft.write_text(json.dumps(receipts))
            draft.replace(self._path)
        except OSError:
            return

    def _read(self) -> dict[str, list[object]]:
        try:
            receipts = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return receipts if isinstance(receipts, dict) else {}


def _receipt(file: Path, sha256: str) -> list[object]:
    status = file.stat()
    return [sha256, status.st_size, status.st_mtime_ns]
