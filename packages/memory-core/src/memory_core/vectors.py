"""How vectors travel to PostgreSQL: without a codec, so that any asyncpg pool can send them.

A few go as one `real[]`. Many go by COPY, because asyncpg looks at each number of an array one by one: ten thousand
vectors take half a second that way, and a sixth of it in pgvector's own binary form.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from io import BytesIO
from itertools import chain
from sys import byteorder
from typing import TYPE_CHECKING, Any

from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("vectors")

COPY_FROM = 64
_COPY_HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
_COPY_END = struct.pack(">h", -1)


async def execute_with_vectors(
    connection: Connection, statement: str, vectors: Sequence[Sequence[float]], *arguments: Any
) -> None:
    """Run a statement that finds its vectors in `incoming_vectors (position, embedding)`; arguments begin at $3."""
    dimensions = len(vectors[0])
    if len(vectors) < COPY_FROM:
        await connection.execute(f"{SQL['vectors_in_array']}\n{statement}", dimensions, flatten(vectors), *arguments)
        return
    await connection.execute(SQL["create_staging"])
    await connection.copy_to_table("incoming_vectors", source=BytesIO(_copy_data(vectors)), format="binary")
    await connection.execute(f"{SQL['vectors_in_staging']}\n{statement}", dimensions, [], *arguments)
    # Dropped at once, not at the end of the transaction: the caller's own may store a second batch.
    await connection.execute(SQL["drop_staging"])


def flatten(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Return many vectors as one array; unnest would take a two-dimensional one apart."""
    return list(chain.from_iterable(vectors))


def _copy_data(vectors: Sequence[Sequence[float]]) -> bytes:
    rows = (_copy_row(position, vector) for position, vector in enumerate(vectors, start=1))
    return b"".join([_COPY_HEADER, *rows, _COPY_END])


def _copy_row(position: int, vector: Sequence[float]) -> bytes:
    """Return two fields: the position, and the vector as its length, two unused bytes and its numbers."""
    numbers = array("f", vector)
    if byteorder == "little":
        numbers.byteswap()
    size = 4 + 4 * len(vector)
    return struct.pack(">hiiihh", 2, 4, position, size, len(vector), 0) + numbers.tobytes()
