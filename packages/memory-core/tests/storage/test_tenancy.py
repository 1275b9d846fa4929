"""No tenant sees or changes another's data."""

import pytest
from memory_core import confirm_memory, create_link, forget_memory, get_links, get_memory, store_episode, store_fact
from memory_core.rules import store_rule


@pytest.mark.scenario("Tenant-scoped fact storage")
async def test_a_fact_belongs_to_the_callers_tenant(pool, embedder):
    fact_id = await store_fact(pool, "user", "city", "Rome", embedder, tenant_id="acme")
    assert await pool.fetchval("SELECT tenant_id FROM facts WHERE id = $1", fact_id) == "acme"
    assert (await get_memory(pool, "fact", fact_id, tenant_id="acme"))["content"] == "Rome"


@pytest.mark.scenario("Cross-tenant access prevention")
async def test_another_tenants_memory_can_be_neither_read_nor_changed(pool, embedder):
    theirs = {
        "episode": await store_episode(pool, "x", "b", embedder, tenant_id="acme"),
        "fact": await store_fact(pool, "s", "p", "c", embedder, tenant_id="acme"),
        "rule": await store_rule(pool, "x", embedder, tenant_id="acme"),
    }
    before = await _snapshot(pool)
    for kind, memory_id in theirs.items():
        assert await get_memory(pool, kind, memory_id) is None
        assert not await forget_memory(pool, kind, memory_id)
        if kind != "episode":
            assert not await confirm_memory(pool, kind, memory_id)
    assert not await create_link(pool, "fact", theirs["fact"], "episode", theirs["episode"], "derived_from")
    assert await get_links(pool, "fact", theirs["fact"]) == []
    assert await _snapshot(pool) == before


async def test_the_same_key_in_two_tenants_is_two_facts(pool, embedder):
    ours = await store_fact(pool, "user", "city", "Rome", embedder, tenant_id="a")
    theirs = await store_fact(pool, "user", "city", "Oslo", embedder, tenant_id="b")
    assert (await get_memory(pool, "fact", ours, tenant_id="a"))["validity"] == "active"
    assert (await get_memory(pool, "fact", theirs, tenant_id="b"))["supersedes_id"] is None


async def test_every_table_has_a_tenant_column_that_cannot_be_null(pool):
    missing = await pool.fetch(
        "SELECT table_name FROM information_schema.tables AS tables"
        " WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE '%alembic_version'"
        " AND NOT EXISTS (SELECT FROM information_schema.columns AS columns"
        "   WHERE columns.table_schema = 'public' AND columns.table_name = tables.table_name"
        "   AND column_name = 'tenant_id' AND is_nullable = 'NO')"
    )
    assert [row["table_name"] for row in missing] == []


async def _snapshot(pool):
    return [
        await pool.fetch("SELECT id, expires_at, reference_count FROM episodes ORDER BY id"),
        await pool.fetch("SELECT id, validity, reference_count, last_confirmed_at FROM facts ORDER BY id"),
        await pool.fetch("SELECT id, metadata, reference_count, last_confirmed_at FROM rules ORDER BY id"),
        await pool.fetchval("SELECT count(*) FROM memory_events"),
    ]
