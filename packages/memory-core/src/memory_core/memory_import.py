"""Reads an export into a tenant: rows that are new are inserted, rows that are there stay as they are.

All of it happens in one transaction, so an import that fails leaves nothing behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import asyncpg

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
from memory_core.errors import InvalidInputError
from memory_core.events import Event, record_events
from memory_core.generations import Generation, require_generation
from memory_core.import_file import Batch, Header, read_batches, read_header
from memory_core.memory_export import KINDS, Progress
from memory_core.queries import load_queries
from memory_core.session_context import Turn, add_turns, index_facts_with_source, lock_sessions
from memory_core.validation import parse_id, parse_moment

if TYPE_CHECKING:
    from memory_core.database import Connection, Database

SQL = load_queries("memory_import")

# What stands for each kind of memory in its vector.
DOCUMENTS = {"episode": ("content",), "fact": ("subject", "predicate", "content"), "rule": ("content",)}
TURN_COLUMNS = ("episode_id", "session_id", "created_at", "content", "embedding")


@dataclass
class ImportCounts:
    """What became of the lines of one kind."""

    inserted: int = 0
    unchanged: int = 0  # a row with this id was there
    conflicts: int = (
        0  # not inserted: another row holds the key, the id is another tenant's, or what it needs is missing
    )


async def import_memories(
    pool: Database,
    lines: Iterable[str],
    embedding_engine: Embedder,
    *,
    progress: Progress | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> dict[str, ImportCounts]:
    """Read the lines of an export into a tenant and return what became of each kind; a second time changes nothing.

    Vectors of the embedder's own model are taken as they are; otherwise every text is embedded anew.

    Raises:
        InvalidInputError: a line is not what an export has there, or the file ends early; nothing was imported.
        EmbeddingError: the database's vectors were made by another model than the embedder's.
    """
    caller = Caller.of(tenant_id, request_context)
    moment = parse_moment(now)
    source = iter(lines)
    header = read_header(source)
    async with transaction(pool) as connection:
        await require_generation(connection, embedding_engine, moment)
        keeps_vectors = header.embedding == Generation.of(embedding_engine)
        reading = _Import(connection, caller, embedding_engine, keeps_vectors)
        for batch in read_batches(source):
            await reading.insert(batch)
            if progress:
                progress(batch.kind, reading.read[batch.kind], header.counts[batch.kind])
        reading.require_all(header)
        if any(counts.inserted for counts in reading.counts.values()):
            inserted = {kind: counts.inserted for kind, counts in reading.counts.items()}
            await record_events(
                connection, [Event("memories_imported", "import", uuid4(), inserted)], caller=caller, now=moment
            )
    return reading.counts


@dataclass
class _Import:
    """One import on its way."""

    connection: Connection
    caller: Caller
    embedder: Embedder
    keeps_vectors: bool
    counts: dict[str, ImportCounts] = field(default_factory=lambda: {kind: ImportCounts() for kind in KINDS})
    read: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    places: dict[str, str] = field(default_factory=dict)  # entity in the file -> the one that has its name here

    async def insert(self, batch: Batch) -> None:
        """Insert what is new of a batch."""
        self.read[batch.kind] += len(batch.rows)
        makes_turns = batch.kind == "session_turn" and not self.keeps_vectors
        try:
            await (self._make_turns(batch) if makes_turns else self._insert(batch))
        except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, KeyError, TypeError) as error:
            told = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            raise InvalidInputError(
                f"{batch.where} cannot be stored as {batch.kind} ({told}); nothing was imported: "
                "correct the file, or export the memories again"
            ) from error

    async def _insert(self, batch: Batch) -> None:
        rows = await self._with_vectors(batch) if batch.kind in DOCUMENTS else batch.rows
        if batch.kind == "fact":
            rows = [{**row, "entity_id": self.places.get(row["entity_id"], row["entity_id"])} for row in rows]
        if not self.keeps_vectors:
            # Words that it was found by came from its neighbours, too: made anew with the vectors.
            rows = [{**row, "search_vector": None} for row in rows]
        answer = await self.connection.fetchrow(
            SQL[f"import_{batch.kind}"], self.caller.tenant_id, [json.dumps(row) for row in rows]
        )
        assert answer is not None  # the statement ends in an aggregate
        new = answer["inserted"]
        self._count(batch, len(new), answer["unchanged"])
        if batch.kind == "entity":
            await self._find_places(rows)
        if batch.kind == "fact" and not self.keeps_vectors:
            await index_facts_with_source(self.connection, new, self.caller)

    async def _make_turns(self, batch: Batch) -> None:
        """Index episodes with their neighbours, as storing them one after another would."""
        texts = [json.dumps(row) for row in batch.rows]
        rows = await self.connection.fetch(SQL["turns_to_make"], self.caller.tenant_id, texts)
        new = [row for row in rows if not row["is_kept"]]
        turns = [Turn(*(row[name] for name in TURN_COLUMNS)) for row in new]
        await lock_sessions(self.connection, {turn.session_id for turn in turns}, self.caller)
        await add_turns(self.connection, turns, self.caller)
        self._count(batch, len(new), len(rows) - len(new))

    def _count(self, batch: Batch, inserted: int, unchanged: int) -> None:
        counts = self.counts[batch.kind]
        counts.inserted += inserted
        counts.unchanged += unchanged
        counts.conflicts += len(batch.rows) - inserted - unchanged

    async def _with_vectors(self, batch: Batch) -> list[dict[str, Any]]:
        """Give a vector to each row that brings none of the embedder's own."""
        bare = [row for row in batch.rows if not self._brings_vector(row)]
        vectors = iter(await embed_texts(self.embedder, [_document(batch.kind, row) for row in bare]))
        return [row if self._brings_vector(row) else {**row, "embedding": next(vectors)} for row in batch.rows]

    def _brings_vector(self, row: Mapping[str, Any]) -> bool:
        return self.keeps_vectors and row.get("embedding") is not None

    async def _find_places(self, rows: Sequence[Mapping[str, Any]]) -> None:
        found = await self.connection.fetch(
            SQL["entities_of_same_name"],
            self.caller.tenant_id,
            [parse_id(row["id"], "id") for row in rows],
            [row["canonical_name"] for row in rows],
            [row["entity_type"] for row in rows],
        )
        self.places |= {str(row["told_id"]): str(row["kept_id"]) for row in found}
        if self.places:
            await self.connection.execute(
                SQL["redirect_merges"],
                self.caller.tenant_id,
                [UUID(told) for told in self.places],
                [UUID(kept) for kept in self.places.values()],
            )

    def require_all(self, header: Header) -> None:
        """Check that the file had every line that its header announces.

        Raises:
            InvalidInputError: it ended early.
        """
        if sum(self.read.values()) < header.lines:
            raise InvalidInputError(
                f"the file ends after {sum(self.read.values()):,} of {header.lines:,} lines; nothing was imported: "
                "copy it again, or export the memories again"
            )


def _document(kind: str, row: Mapping[str, Any]) -> str:
    return " ".join(row[part] for part in DOCUMENTS[kind])
