"""Reads an export line by line and checks its form, so that a mistake is reported with the line it is in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from memory_core.errors import InvalidInputError
from memory_core.generations import Generation
from memory_core.memory_export import FORMAT, FORMAT_VERSION, KINDS

BATCH_LINES = 500


@dataclass(frozen=True)
class Header:
    """What the first line of an export says of the rest."""

    embedding: Generation | None  # what made the vectors in it
    counts: Mapping[str, int]

    @property
    def lines(self) -> int:
        """How many lines follow."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Batch:
    """Some consecutive lines of one kind."""

    kind: str
    first_line: int
    rows: list[dict[str, Any]]

    @property
    def where(self) -> str:
        """Which lines of the file these are."""
        return f"lines {self.first_line} to {self.first_line + len(self.rows) - 1}"


def read_header(lines: Iterator[str]) -> Header:
    """Read the first line.

    Raises:
        InvalidInputError: it is not the header of an export that this version can read.
    """
    header = _parse(next(lines, ""), 1)
    if header.get("format") != FORMAT:
        raise InvalidInputError(
            f"line 1 is not the header of a {FORMAT} export; pass a file that `memory export` wrote, from its start"
        )
    if header.get("version") != FORMAT_VERSION:
        raise InvalidInputError(
            f"the export has format version {header.get('version')!r}, this package reads {FORMAT_VERSION}; "
            "install the version of the package that wrote it, or a newer one"
        )
    made_by = header.get("embedding")
    try:
        counts = {kind: int(header["counts"].get(kind, 0)) for kind in KINDS}
        embedding = Generation(**made_by) if made_by else None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInputError("line 1 has no usable counts or embedding; export the memories again") from None
    return Header(embedding, counts)


def read_batches(lines: Iterator[str]) -> Iterator[Batch]:
    """Read the lines after the header in batches of one kind each.

    Raises:
        InvalidInputError: a line is not a JSON object of a known kind.
    """
    numbered = ((number, _row(line, number)) for number, line in enumerate(lines, start=2) if line.strip())
    for kind, group in groupby(numbered, key=lambda row: str(row[1]["kind"])):
        for chunk in _chunks(group):
            yield Batch(kind, chunk[0][0], [row for _, row in chunk])


def _chunks(rows: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    chunk: list[tuple[int, dict[str, Any]]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == BATCH_LINES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _row(line: str, number: int) -> dict[str, Any]:
    row = _parse(line, number)
    if row.get("kind") not in KINDS:
        raise InvalidInputError(f"line {number} has kind {row.get('kind')!r}, which is not one of: {', '.join(KINDS)}")
    return row


def _parse(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"line {number} is not JSON ({error}); the file may be cut short: export the memories again"
        ) from None
    if not isinstance(row, dict):
        raise InvalidInputError(f"line {number} is not a JSON object; every line of an export is one")
    return row
