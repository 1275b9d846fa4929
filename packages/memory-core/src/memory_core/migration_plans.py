"""What a migration would do, without doing it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.database import transaction
from memory_core.errors import MigrationError
from memory_core.migrating import SQL, current_revision, enter_schema, plan
from memory_core.migration_chains import CORE_CHAIN, MigrationChain

if TYPE_CHECKING:
    from memory_core.database import Database


@dataclass(frozen=True)
class ChainPlan:
    """The way of one chain to a revision."""

    chain: MigrationChain
    before: str | None
    target: str
    statements: list[str]

    @property
    def undoes(self) -> bool:
        """Whether it leads back, and so drops what later revisions hold."""
        order = [None, *self.chain.revisions]
        goal = {"head": self.chain.head, "base": None}.get(self.target, self.target)
        return self.before in order and goal in order and order.index(goal) < order.index(self.before)


def chains_with(target: str, chains: Sequence[MigrationChain]) -> list[MigrationChain]:
    """Return the chains that a target concerns: all for `head` and `base`, else the one that has the revision.

    Raises:
        MigrationError: no chain has it.
    """
    if target in ("head", "base"):
        return list(chains)
    found = [chain for chain in chains if target in chain.revisions]
    if not found:
        known = ", ".join(revision for chain in chains for revision in chain.revisions)
        raise MigrationError(f"revision {target!r} is not one of: head, base, {known}")
    return found


async def plan_migration(
    db: Database,
    target: str = "head",
    *,
    schema: str | None = None,
    chains: Sequence[MigrationChain] = (CORE_CHAIN,),
) -> list[ChainPlan]:
    """Return how each chain would get to `target` from where the database is now; changes nothing.

    Raises:
        MigrationError: the target is unknown, or the database is newer than this package.
        ServerError: the role may not use the schema.
    """
    concerned = chains_with(target, chains)
    async with transaction(db) as connection:
        # In a schema that is yet to be made nothing was applied; without it another one would be looked at.
        exists = schema is None or await connection.fetchval(SQL["schema_exists"], schema)
        if exists:
            await enter_schema(connection, schema)
        before = [await current_revision(connection, chain) if exists else None for chain in concerned]
    plans = [
        ChainPlan(chain, revision, target, await asyncio.to_thread(plan, chain, revision, target))
        for chain, revision in zip(concerned, before, strict=True)
    ]
    return plans[::-1] if target == "base" else plans
