"""What each kind of action does inside the transaction of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_core import Embedder, InvalidInputError, MemoryType, Relation, confirm_memory, store_facts, store_rule
from memory_core import NewFact as StoredFact
from memory_core.events import Event, record_events
from memory_core.fact_planning import FactKey
from memory_core.facts import KEY_LOCK_CLASS, KEY_LOCK_STRIPES, key_stripe
from memory_core.links import insert_links
from memory_core.queries import load_queries
from memory_core.rows import row_to_dict

from memory_consolidate.actions import Action, Confirmation, NewFact, NewRule, UpdatedFact
from memory_consolidate.fact_resolution import allowed_scope, fact_to_store, same_text
from memory_consolidate.groups import EpisodeGroup

if TYPE_CHECKING:
    from memory_core.database import Connection

SQL = load_queries("known", "memory_consolidate")
LOCK_SQL = load_queries("actions", "memory_consolidate")["lock_stripes"]

RULE_LOCK_CLASS = 0x72756C  # "rul"


@dataclass(frozen=True)
class Outcome:
    """What one action came to; `counted_as` names the count of the report that it adds to."""

    memory_type: MemoryType
    memory_id: UUID
    counted_as: str
    links: int = 0
    holds: tuple[FactKey, str] | None = None


@dataclass
class ActionSteps:
    """The actions of one answer, on one connection, with everything locked that they will write."""

    connection: Connection
    embedder: Embedder
    group: EpisodeGroup
    episode_ids: Sequence[UUID]
    now: datetime
    targets: dict[UUID, dict[str, Any]] = field(default_factory=dict)
    holders: dict[FactKey, tuple[UUID, str]] = field(default_factory=dict)

    @classmethod
    async def prepare(
        cls,
        connection: Connection,
        embedder: Embedder,
        actions: Sequence[Action],
        group: EpisodeGroup,
        episode_ids: Sequence[UUID],
        now: datetime,
    ) -> ActionSteps:
        """Lock the keys that the actions will write, and read what now holds them."""
        steps = cls(connection, embedder, group, episode_ids, now)
        await steps._read_targets(actions)
        # All locks at once and in order: taken action by action, two answers could wait for each other.
        await steps._lock_keys(actions)
        await steps._read_targets(actions)
        await steps._read_holders(actions)
        return steps

    async def perform(self, action: Action) -> Outcome:
        """Do what an action asks for.

        Raises:
            InvalidInputError: it asks for something that does not exist or may not be done.
        """
        evidence = self.evidence(action)
        if isinstance(action, NewFact | UpdatedFact):
            return await self._store_fact(action, evidence)
        if isinstance(action, NewRule):
            return await self._store_rule(action, evidence)
        assert isinstance(action, Confirmation)
        return await self._confirm(UUID(action.target_id), evidence)

    def evidence(self, action: Action) -> list[UUID]:
        """Return the episodes that an action rests on: those of the group that it names, else all of the group."""
        named = set(action.evidence_episode_ids)
        return [id_ for id_ in self.episode_ids if id_ in named] or list(self.episode_ids)

    def remember(self, outcome: Outcome) -> None:
        """Take note of the fact that now holds a key; only once its savepoint has been kept."""
        if outcome.holds is not None:
            key, content = outcome.holds
            self.holders[key] = (outcome.memory_id, content)

    async def _store_fact(self, action: NewFact | UpdatedFact, evidence: Sequence[UUID]) -> Outcome:
        fact = self._fact(action)
        before = self.holders.get(fact.key)
        if before and isinstance(action, NewFact) and same_text(before[1], fact.content):
            # The model found again what is known: its importance or tags of today are no news.
            await self._confirm_memory(MemoryType.FACT, before[0])
            fact_id = before[0]
        else:
            [fact_id] = await store_facts(
                self.connection,
                [fact],
                self.embedder,
                tenant_id=self.group.caller.tenant_id,
                request_context=self._context,
                now=self.now,
            )
        links = await self._link_to_episodes(MemoryType.FACT, fact_id, evidence)
        counted_as = "facts_created" if before is None else "facts_updated"
        if before and before[0] == fact_id:
            counted_as = "confirmations"
        return Outcome(MemoryType.FACT, fact_id, counted_as, links, (fact.key, fact.content))

    async def _store_rule(self, action: NewRule, evidence: Sequence[UUID]) -> Outcome:
        scope = allowed_scope(action.scope, self.group.butler, self.group.scope)
        same = await self.connection.fetchrow(SQL["same_rule"], self.group.caller.tenant_id, scope, action.content)
        if same is not None and not same["says_it"]:
            raise InvalidInputError(
                f"rule '{same['id']}' said this until it was found harmful; it is not stored again as advice"
            )
        if same is not None:
            await self._confirm_memory(MemoryType.RULE, same["id"])
            rule_id, counted_as = same["id"], "confirmations"
        else:
            counted_as = "rules_created"
            rule_id = await store_rule(
                self.connection,
                action.content,
                self.embedder,
                scope=scope,
                tags=action.tags,
                source_butler=self.group.butler,
                source_episode_id=evidence[0],
                tenant_id=self.group.caller.tenant_id,
                request_context=self._context,
                now=self.now,
            )
        links = await self._link_to_episodes(MemoryType.RULE, rule_id, evidence)
        return Outcome(MemoryType.RULE, rule_id, counted_as, links)

    async def _confirm(self, memory_id: UUID, evidence: Sequence[UUID]) -> Outcome:
        found = await self.connection.fetchrow(
            SQL["confirmable_memories"], self.group.caller.tenant_id, [memory_id], self.group.butler
        )
        if found is None:
            raise InvalidInputError(
                f"'{memory_id}' is no fact or rule that {self.group.butler!r} sees; nothing is confirmed"
            )
        kind = MemoryType(found["memory_type"])
        await self._confirm_memory(kind, memory_id)
        created = await insert_links(
            self.connection,
            MemoryType.EPISODE,
            kind,
            Relation.SUPPORTS,
            [(episode_id, memory_id) for episode_id in evidence],
            caller=self.group.caller,
            now=self.now,
        )
        await self._record_links(kind, memory_id, Relation.SUPPORTS, [episode_id for episode_id, _ in created])
        return Outcome(kind, memory_id, "confirmations", len(created))

    async def _confirm_memory(self, kind: MemoryType, memory_id: UUID) -> None:
        confirmed = await confirm_memory(
            self.connection,
            kind,
            memory_id,
            tenant_id=self.group.caller.tenant_id,
            request_context=self._context,
            now=self.now,
        )
        if not confirmed:
            raise InvalidInputError(f"{kind} '{memory_id}' has just been deleted; nothing is confirmed")

    async def _link_to_episodes(self, kind: MemoryType, memory_id: UUID, evidence: Sequence[UUID]) -> int:
        created = await insert_links(
            self.connection,
            kind,
            MemoryType.EPISODE,
            Relation.DERIVED_FROM,
            [(memory_id, episode_id) for episode_id in evidence],
            caller=self.group.caller,
            now=self.now,
        )
        await self._record_links(kind, memory_id, Relation.DERIVED_FROM, [episode_id for _, episode_id in created])
        return len(created)

    async def _record_links(
        self, kind: MemoryType, memory_id: UUID, relation: Relation, episode_ids: Sequence[UUID]
    ) -> None:
        # One event for all links of a memory: an answer on 50 episodes would otherwise write thousands.
        payload = {"relation": relation, "episode_ids": [str(id_) for id_ in episode_ids]}
        events = [Event("evidence_linked", kind, memory_id, payload)] if episode_ids else []
        await record_events(self.connection, events, caller=self.group.caller, now=self.now)

    async def _read_targets(self, actions: Sequence[Action]) -> None:
        ids = [UUID(action.target_id) for action in actions if isinstance(action, UpdatedFact)]
        if ids:
            rows = await self.connection.fetch(SQL["target_facts"], self.group.caller.tenant_id, ids, self.group.butler)
            self.targets = {row["id"]: row_to_dict(row) for row in rows}

    async def _lock_keys(self, actions: Sequence[Action]) -> None:
        facts = {key_stripe(self.group.caller.tenant_id, fact.key) for fact in self._facts(actions)}
        rules = {self._rule_stripe(action) for action in actions if isinstance(action, NewRule)}
        for lock_class, stripes in ((KEY_LOCK_CLASS, facts), (RULE_LOCK_CLASS, rules)):
            if stripes:
                await self.connection.execute(LOCK_SQL, lock_class, sorted(stripes))

    async def _read_holders(self, actions: Sequence[Action]) -> None:
        keys = {fact.key for fact in self._facts(actions)}
        subjects = [(key.scope, key.subject, key.predicate) for key in keys if key.entity_id is None]
        entities = [(key.scope, key.entity_id, key.predicate) for key in keys if key.entity_id is not None]
        if keys:
            columns = [*_columns(subjects), *_columns(entities)]
            for row in await self.connection.fetch(SQL["holders"], self.group.caller.tenant_id, *columns):
                subject = None if row["entity_id"] else row["subject"]
                key = FactKey(row["scope"], row["entity_id"], subject, row["predicate"])
                self.holders[key] = (row["id"], row["content"])

    def _facts(self, actions: Sequence[Action]) -> list[StoredFact]:
        return [self._fact(action) for action in actions if isinstance(action, NewFact | UpdatedFact)]

    def _fact(self, action: NewFact | UpdatedFact) -> StoredFact:
        target = self.targets.get(UUID(action.target_id)) if isinstance(action, UpdatedFact) else None
        return fact_to_store(
            action, target, butler=self.group.butler, scope=self.group.scope, evidence=self.evidence(action)
        )

    def _rule_stripe(self, action: NewRule) -> int:
        scope = allowed_scope(action.scope, self.group.butler, self.group.scope)
        text = "\x00".join((self.group.caller.tenant_id, scope, action.content))
        return int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) % KEY_LOCK_STRIPES

    @property
    def _context(self) -> Mapping[str, Any]:
        return {"actor": self.group.caller.actor, "request_id": self.group.caller.request_id}


def _columns(rows: Sequence[tuple[Any, Any, Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
