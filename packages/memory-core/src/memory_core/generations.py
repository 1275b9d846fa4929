"""Keeps vectors of different models apart: one generation is active in a database at a time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memory_core.embedding import Embedder
from memory_core.errors import EmbeddingError
from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("generations")

GENERATION_LOCK_CLASS = 0x6D6567  # "meg"


class Generation(NamedTuple):
    """What makes two vectors comparable."""

    model: str
    version: str
    dimensions: int

    @classmethod
    def of(cls, embedder: Embedder) -> Generation:
        """Return the generation that an embedder's vectors belong to."""
        return cls(embedder.model, embedder.version, embedder.dimensions)

    def __str__(self) -> str:
        return f"{self.model} ({self.version}, {self.dimensions} dimensions)"


async def require_generation(connection: Connection, embedder: Embedder, now: datetime) -> None:
    """Check that an embedder is of the active generation, which the first one ever to write becomes.

    Raises:
        EmbeddingError: the stored vectors were made by another model, or the columns are made for another length.
    """
    mine = Generation.of(embedder)
    if await hold_generation(connection) is None:
        await _require_room(connection, mine)
        await connection.execute(SQL["insert_first_generation"], *mine, now)
    await _require_same(await active_generation(connection), mine)


async def require_comparable(connection: Connection, embedder: Embedder) -> None:
    """Check, without writing, that an embedder's vectors can be compared with the stored ones.

    Raises:
        EmbeddingError: the stored vectors were made by another model.
    """
    active = await hold_generation(connection)
    if active is not None:
        await _require_same(active, Generation.of(embedder))


async def hold_generation(connection: Connection) -> Generation | None:
    """Return the active generation and keep it from being replaced until the transaction ends."""
    # In a statement of its own: the next one must see what was committed while this one waited.
    await connection.execute(SQL["hold_generation"], GENERATION_LOCK_CLASS)
    return await active_generation(connection)


async def active_generation(connection: Connection) -> Generation | None:
    """Return the generation of the stored vectors, `None` before the first one."""
    row = await connection.fetchrow(SQL["active_generation"])
    return None if row is None else Generation(*row)


async def _require_same(active: Generation | None, mine: Generation) -> None:
    if active != mine:
        raise EmbeddingError(
            f"the stored vectors were made by {active}, but the embedder is {mine}; "
            "vectors of two models cannot be compared: configure the stored model, or run `memory reembed`"
        )


async def _require_room(connection: Connection, mine: Generation) -> None:
    columns = await connection.fetchval(SQL["column_dimensions"])
    if columns != mine.dimensions:
        raise EmbeddingError(
            f"the vector columns have {columns} dimensions, but the embedder is {mine}; "
            "run `memory reembed --change-dimensions` once, or configure another embedder"
        )
