"""Random sequences of writes by several writers, against real PostgreSQL, keep every invariant."""

import asyncio
from collections import Counter

import asyncpg
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from memory_core import InvalidTransitionError, confirm_memory, forget_memory, get_memory, store_fact
from memory_core.testing import WordHashEmbedder

tenants = st.sampled_from(["a", "b"])
keys = st.tuples(
    st.sampled_from(["user", "Ann"]), st.sampled_from(["city", "job"]), st.sampled_from(["global", "chef"])
)
contents = st.sampled_from(["one", "two", "three"])
choices = st.integers(0, 10_000)


class MemoryWriters(RuleBasedStateMachine):
    """Drives the public functions; a dictionary of what each tenant was told serves as the model."""

    dsn = ""

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner()
        self.pool = self.runner.run(self._open())
        self.embedder = WordHashEmbedder(dimensions=384)
        self.known = []  # (tenant, fact id), in the order of storing
        self.events = Counter()

    async def _open(self):
        pool = await asyncpg.create_pool(self.dsn, min_size=1, max_size=4)
        await pool.execute("DROP SCHEMA public CASCADE")
        await pool.execute("CREATE SCHEMA public")
        from memory_core import migrate

        await migrate(pool)
        return pool

    def teardown(self):
        self.runner.run(self.pool.close())
        self.runner.close()

    async def _store(self, tenant, key, content):
        subject, predicate, scope = key
        return await store_fact(self.pool, subject, predicate, content, self.embedder, scope=scope, tenant_id=tenant)

    def _active(self, tenant, key):
        subject, predicate, scope = key
        return self.runner.run(
            self.pool.fetchrow(
                "SELECT id, content FROM facts WHERE (tenant_id, subject, predicate, scope) = ($1, $2, $3, $4)"
                " AND validity = 'active'",
                tenant,
                subject,
                predicate,
                scope,
            )
        )

    @rule(tenant=tenants, key=keys, content=contents)
    def store(self, tenant, key, content):
        before = self._active(tenant, key)
        stored = self.runner.run(self._store(tenant, key, content))
        if before is not None and before["content"] == content:
            assert stored == before["id"]
            self.events["fact_confirmed"] += 1
        else:
            self.events["fact_created"] += 1
            self.events["fact_superseded"] += before is not None
            self.known.append((tenant, stored))
        assert self._active(tenant, key)["id"] == stored

    @rule(tenant=tenants, key=keys, texts=st.lists(st.uuids(), min_size=2, max_size=4, unique=True))
    def store_at_once(self, tenant, key, texts):
        before = self._active(tenant, key)
        stored = self.runner.run(self._gather([self._store(tenant, key, str(text)) for text in texts]))
        assert len(set(stored)) == len(texts)
        self.events["fact_created"] += len(texts)
        self.events["fact_superseded"] += len(texts) - (before is None)
        self.known += [(tenant, id_) for id_ in stored]

    async def _gather(self, calls):
        return await asyncio.gather(*calls)

    @precondition(lambda self: self.known)
    @rule(choice=choices, asker=tenants)
    def confirm(self, choice, asker):
        tenant, fact_id = self.known[choice % len(self.known)]
        validity = self._validity(fact_id)
        try:
            found = self.runner.run(confirm_memory(self.pool, "fact", fact_id, tenant_id=asker))
        except InvalidTransitionError:
            assert asker == tenant
            assert validity != "active"
        else:
            assert found == (asker == tenant)
            self.events["fact_confirmed"] += found

    @precondition(lambda self: self.known)
    @rule(choice=choices, asker=tenants)
    def forget(self, choice, asker):
        tenant, fact_id = self.known[choice % len(self.known)]
        validity = self._validity(fact_id)
        assert self.runner.run(forget_memory(self.pool, "fact", fact_id, tenant_id=asker)) == (asker == tenant)
        self.events["fact_retracted"] += asker == tenant and validity != "retracted"

    @precondition(lambda self: self.known)
    @rule(choice=choices, asker=tenants)
    def read(self, choice, asker):
        tenant, fact_id = self.known[choice % len(self.known)]
        memory = self.runner.run(get_memory(self.pool, "fact", fact_id, tenant_id=asker))
        assert (memory is not None) == (asker == tenant)

    def _validity(self, fact_id):
        return self.runner.run(self.pool.fetchval("SELECT validity FROM facts WHERE id = $1", fact_id))

    @invariant()
    def one_active_row_per_key(self):
        most = self.runner.run(
            self.pool.fetchval(
                "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM facts WHERE validity = 'active'"
                " GROUP BY tenant_id, scope, subject, predicate) AS keys"
            )
        )
        assert most <= 1

    @invariant()
    def chains_have_no_cycles_forks_or_foreign_tenants(self):
        rows = self.runner.run(self.pool.fetch("SELECT id, tenant_id, supersedes_id FROM facts"))
        older = {row["id"]: row["supersedes_id"] for row in rows}
        owner = {row["id"]: row["tenant_id"] for row in rows}
        superseded = [target for target in older.values() if target]
        assert len(superseded) == len(set(superseded))
        for start in older:
            seen, current = set(), start
            while current is not None:
                assert current not in seen
                assert owner[current] == owner[start]
                seen.add(current)
                current = older[current]

    @invariant()
    def one_event_per_mutation(self):
        rows = self.runner.run(
            self.pool.fetch("SELECT event_type, count(*) AS n FROM memory_events GROUP BY event_type")
        )
        assert {row["event_type"]: row["n"] for row in rows} == {kind: n for kind, n in self.events.items() if n}


def test_random_writers_keep_every_invariant(dsn):
    machine = type("Writers", (MemoryWriters,), {"dsn": dsn})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
