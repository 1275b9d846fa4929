"""Keeps vectors of different models apart: one generation is active in a database at a time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memory_core.embedding import Embedder
from memory_core.errors import EmbeddingError
from memory_core.queries import load_queries

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("generations")


async def require_generation(connection: Connection, embedder: Embedder, now: datetime) -> None:
    """Record the embedder's model as the database's first, or check that it is the active one.

    Raises:
        EmbeddingError: the stored vectors were made by another model.
    """
    active = await connection.fetchrow(SQL["active_generation"])
    if active is None:
        await connection.execute(
            SQL["insert_first_generation"], embedder.model, embedder.version, embedder.dimensions, now
        )
        active = await connection.fetchrow(SQL["active_generation"])
    mine = (embedder.model, embedder.version, embedder.dimensions)
    if active is None or tuple(active) != mine:
        stored = "another model" if active is None else describe(*active)
        raise EmbeddingError(
            f"the stored vectors were made by {stored}, but the embedder is {describe(*mine)}; "
            "vectors of two models cannot be compared: configure the stored model, or run `memory reembed`"
        )


def describe(model: str, version: str, dimensions: int) -> str:
    """Return a generation as people read it."""
    return f"{model} ({version}, {dimensions} dimensions)"
