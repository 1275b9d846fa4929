"""Bearer tokens: each stands for a tenant; only hashes are kept, in a file of its owner's.

A token is `mem_<id>_<secret>`. The id finds the record, the secret is compared in constant time. Its 256 random bits
cannot be guessed, so a plain SHA-256 is enough at rest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_core import ConfigError, InvalidInputError
from memory_core.text import clean_name

from memory_mcp.file_locks import lock_file

PREFIX = "mem"
_LOCK_SECONDS = 10.0


@dataclass(frozen=True)
class TokenRecord:
    """What is kept of a token."""

    id: str
    name: str
    tenant_id: str
    sha256: str
    created_at: str
    expires_at: str | None = None

    def is_valid(self, secret: str, now: datetime) -> bool:
        """Tell whether a secret is this token's, and its time is not over."""
        is_same = hmac.compare_digest(_hash(secret), self.sha256)
        return is_same and (self.expires_at is None or now < datetime.fromisoformat(self.expires_at))


# Compared with where no record has the id, so that an unknown id takes as long as a wrong secret.
_NOBODY = TokenRecord("", "", "", hashlib.sha256(b"").hexdigest(), "")


class TokenFile:
    """The tokens of a server, in one file; a change is seen by running servers at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: tuple[int, int, int] | None = None
        self._records: list[TokenRecord] = []

    @property
    def path(self) -> Path:
        """Where the records are kept."""
        return self._path

    def records(self) -> list[TokenRecord]:
        """Return what is kept, oldest first.

        Raises:
            ConfigError: the file cannot be read, or others may write to it.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return []
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen != self._read_at:
            self._require_private(found)
            self._records, self._read_at = self._read(), seen
        return self._records

    def create(
        self, tenant_id: str, name: str = "", *, days: float | None = None, now: datetime | None = None
    ) -> tuple[TokenRecord, str]:
        """Add a token for a tenant; return its record and the token itself, which is not kept anywhere.

        Raises:
            InvalidInputError: the tenant or the number of days is not valid.
        """
        moment = now or datetime.now(UTC)
        if days is not None and days <= 0:
            raise InvalidInputError(f"a token that is valid for {days:g} days would never be valid; use more than 0")
        secret = secrets.token_urlsafe(32)
        record = TokenRecord(
            id=secrets.token_hex(4),
            name=name,
            tenant_id=clean_name(tenant_id, "tenant_id"),
            sha256=_hash(secret),
            created_at=moment.isoformat(),
            expires_at=None if days is None else (moment + timedelta(days=days)).isoformat(),
        )
        with self._changing():
            self._write([*self.records(), record])
        return record, f"{PREFIX}_{record.id}_{secret}"

    def revoke(self, token_id: str) -> TokenRecord | None:
        """Remove a token and return what was kept of it; it is refused from now on."""
        with self._changing():
            records = self.records()
            revoked = next((record for record in records if record.id == token_id), None)
            if revoked is not None:
                self._write([record for record in records if record is not revoked])
        return revoked

    def verify(self, token: str, now: datetime | None = None) -> TokenRecord | None:
        """Return the record of a token, or None where it is unknown, wrong or out of date."""
        prefix, _, rest = token.partition("_")
        token_id, _, secret = rest.partition("_")
        known = {record.id: record for record in self.records()}
        record = known.get(token_id, _NOBODY)
        is_valid = record.is_valid(secret, now or datetime.now(UTC))
        return record if is_valid and prefix == PREFIX and record is not _NOBODY else None

    def _read(self) -> list[TokenRecord]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            return [TokenRecord(**record) for record in document["tokens"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"the token file {str(self._path)!r} cannot be read: {error}; "
                "restore it, or delete it and make new tokens"
            ) from error

    def _require_private(self, found: os.stat_result) -> None:
        if os.name == "posix" and stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigError(
                f"the token file {str(self._path)!r} can be written by others, who could let themselves in; "
                "run: chmod 600 on it"
            )

    def _write(self, records: Sequence[TokenRecord]) -> None:
        document = json.dumps({"tokens": [asdict(record) for record in records]}, indent=2) + "\n"
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, document.encode())
            os.fsync(file)
        finally:
            os.close(file)
        # Replaced in one step: a server that reads meanwhile sees the old file or the new one, never a half.
        draft.replace(self._path)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self._path.with_name(f"{self._path.name}.lock")
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _wait_for_lock(file, lock)
            yield
        finally:
            os.close(file)


def _wait_for_lock(file: int, path: Path) -> None:
    deadline = time.monotonic() + _LOCK_SECONDS
    while not lock_file(file):
        if time.monotonic() > deadline:
            raise ConfigError(f"{str(path)!r} has been locked for {_LOCK_SECONDS:g} s by another process; try again")
        time.sleep(0.01)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
