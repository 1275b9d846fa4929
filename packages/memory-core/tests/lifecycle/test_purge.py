"""Erasure for good: of one memory, and of a tenant."""

import asyncio
import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from memory_core import (
    InvalidInputError,
    NewEpisode,
    create_link,
    mark_harmful,
    purge_memory,
    purge_tenant,
    store_episode,
    store_episodes,
    store_fact,
    store_rule,
)
from memory_core.purge import TENANT_TABLES

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

# Kept on purpose: the audit stream, and what belongs to the database rather than to a tenant.
KEPT_TABLES = {"memory_events", "embedding_versions", "worker_runs"}


async def tables_with_tenants(pool):
    rows = await pool.fetch(
        "SELECT table_name FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND column_name = 'tenant_id'"
    )
    return {row["table_name"] for row in rows}


async def everything(pool):
    """All rows of all tables that know tenants, as one text."""
    texts = [
        await pool.fetchval(f"SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} AS t")
        for table in sorted(await tables_with_tenants(pool))
    ]
    return " ".join(texts)


async def test_a_purged_fact_leaves_an_event_and_no_content(pool, embedder):
    old = await store_fact(pool, "user", "secretsubject", "secretold", embedder, now=NOW)
    new = await store_fact(pool, "user", "secretsubject", "harmless", embedder, now=NOW)
    assert await purge_memory(pool, "fact", old, embedder, tenant_id="default", now=NOW) is True
    assert "secretold" not in await everything(pool)
    assert await pool.fetchval("SELECT supersedes_id FROM facts WHERE id = $1", new) is None
    assert await pool.fetchval("SELECT count(*) FROM memory_links") == 0
    event = await pool.fetchrow("SELECT entity_id, payload FROM memory_events WHERE event_type = 'fact_purged'")
    assert (event["entity_id"], json.loads(event["payload"])) == (old, {})


async def test_a_purged_rule_takes_its_reasons_with_it(pool, embedder):
    rule_id = await store_rule(pool, "secretrule", embedder, now=NOW)
    fact_id = await store_fact(pool, "user", "likes", "tea", embedder, now=NOW)
    await create_link(pool, "fact", fact_id, "rule", rule_id, "supports", now=NOW)
    await mark_harmful(pool, rule_id, "secretreason", now=NOW)
    assert await purge_memory(pool, "rule", rule_id, embedder, tenant_id="default", now=NOW) is True
    text = await everything(pool)
    assert "secretrule" not in text
    assert "secretreason" not in text
    assert await pool.fetchval("SELECT count(*) FROM memory_links") == 0


async def test_a_purged_episode_is_gone_from_what_its_neighbours_and_its_facts_are_found_by(pool, embedder):
    session = uuid4()
    turns = [NewEpisode(text, "jeeves", session, created_at=NOW) for text in ("hello", "zanzibar trip", "bye")]
    first, middle, last = await store_episodes(pool, turns, embedder, now=NOW)
    fact_id = await store_fact(pool, "user", "travels", "often", embedder, source_episode_id=middle, now=NOW)
    assert "zanzibar" in await pool.fetchval("SELECT search_vector::text FROM episodes WHERE id = $1", first)
    assert await purge_memory(pool, "episode", middle, embedder, tenant_id="default", now=NOW) is True
    assert "zanzibar" not in await everything(pool)
    source, vector = await pool.fetchrow(
        "SELECT source_episode_id, embedding::real[] FROM facts WHERE id = $1", fact_id
    )
    assert source is None
    assert vector == pytest.approx(embedder.embed("user travels often"), abs=1e-6)
    together = await pool.fetch("SELECT search_vector::text FROM episodes WHERE id = ANY($1)", [first, last])
    assert all("hello" in row[0] and "bye" in row[0] for row in together)


async def until_somebody_waits(connection):
    while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
        await asyncio.sleep(0)


async def store_next_turn(connection, embedder, episode_id, session_id):
    await store_episode(connection, "and then tea", "jeeves", embedder, session_id=session_id)


async def store_derived_fact(connection, embedder, episode_id, session_id):
    await store_fact(connection, "user", "likes", "tea", embedder, source_episode_id=episode_id)


@pytest.mark.parametrize("store", [store_next_turn, store_derived_fact])
async def test_what_is_being_indexed_by_an_episodes_words_loses_them_too(pool, embedder, store):
    session_id = uuid4()
    secret = await store_episode(pool, "secretword", "jeeves", embedder, session_id=session_id)
    async with pool.acquire() as writer:
        storing = writer.transaction()
        await storing.start()
        await store(writer, embedder, secret, session_id)
        purging = asyncio.create_task(purge_memory(pool, "episode", secret, embedder, tenant_id="default"))
        await asyncio.wait_for(until_somebody_waits(writer), timeout=30)
        await storing.commit()
    assert await asyncio.wait_for(purging, timeout=30) is True
    assert "secretword" not in await everything(pool)


async def test_a_purge_and_a_store_that_replaces_a_fact_of_the_episode_do_not_deadlock(pool, embedder):
    episode_id = await store_episode(pool, "secretword", "jeeves", embedder)
    await store_fact(pool, "user", "likes", "tea", embedder, source_episode_id=episode_id)
    async with pool.acquire() as writer:
        storing = writer.transaction()
        await storing.start()
        await writer.execute("SELECT FROM episodes WHERE id = $1 FOR KEY SHARE", episode_id)
        purging = asyncio.create_task(purge_memory(pool, "episode", episode_id, embedder, tenant_id="default"))
        await asyncio.wait_for(until_somebody_waits(writer), timeout=30)
        await store_fact(writer, "user", "likes", "coffee", embedder, source_episode_id=episode_id)
        await storing.commit()
    assert await asyncio.wait_for(purging, timeout=30) is True
    assert "secretword" not in await everything(pool)


async def test_a_purge_locks_turns_in_id_order_and_only_those_next_to_it(pool, embedder):
    session_id, ids = uuid4(), sorted(uuid4() for _ in range(4))
    afar, before, after, secret = ids
    told = zip(("before it", "secretword", "after it", "afar"), (before, secret, after, afar), strict=True)
    turns = [NewEpisode(text, "jeeves", session_id, episode_id=id_) for text, id_ in told]
    await store_episodes(pool, turns, embedder)
    async with pool.acquire() as onlooker, onlooker.transaction():
        await onlooker.execute("SELECT FROM episodes WHERE id = $1 FOR UPDATE", afar)
        async with pool.acquire() as holder, holder.transaction():
            await holder.execute("SELECT FROM episodes WHERE id = $1 FOR UPDATE", before)
            purging = asyncio.create_task(purge_memory(pool, "episode", secret, embedder, tenant_id="default"))
            await asyncio.wait_for(until_somebody_waits(holder), timeout=30)
            await holder.execute("SELECT FROM episodes WHERE id = ANY($1::uuid[]) FOR UPDATE NOWAIT", [after, secret])
        assert await asyncio.wait_for(purging, timeout=30) is True
    assert "secretword" not in await everything(pool)


async def test_another_tenants_memory_is_not_there_to_purge(pool, embedder):
    fact_id = await store_fact(pool, "user", "likes", "tea", embedder, tenant_id="other", now=NOW)
    assert await purge_memory(pool, "fact", fact_id, embedder, tenant_id="default") is False
    assert await purge_memory(pool, "episode", uuid4(), embedder, tenant_id="default") is False
    assert await pool.fetchval("SELECT count(*) FROM facts") == 1
    assert await pool.fetchval("SELECT count(*) FROM memory_events WHERE event_type ~ 'purged'") == 0


async def test_bad_input_is_refused(pool, embedder):
    with pytest.raises(InvalidInputError, match="memory_type 'dream' is not one of: episode, fact, rule"):
        await purge_memory(pool, "dream", uuid4(), embedder, tenant_id="default")
    with pytest.raises(InvalidInputError, match="is not a UUID"):
        await purge_memory(pool, "fact", "nope", embedder, tenant_id="default")


async def fill(pool, embedder, tenant_id):
    told = {"tenant_id": tenant_id, "now": NOW}
    episode_id = await store_episode(pool, "secretepisode", "jeeves", embedder, session_id=uuid4(), **told)
    entity_id = await pool.fetchval(
        "INSERT INTO entities (tenant_id, canonical_name) VALUES ($1, 'secretname') RETURNING id", tenant_id
    )
    await store_fact(pool, "user", "likes", "secretold", embedder, source_episode_id=episode_id, **told)
    await store_fact(pool, "user", "likes", "secretfact", embedder, entity_id=entity_id, **told)
    rule_id = await store_rule(pool, "secretrule", embedder, **told)
    await mark_harmful(pool, rule_id, "secretreason", **told)
    await create_link(pool, "rule", rule_id, "episode", episode_id, "derived_from", **told)


async def test_a_purged_tenant_leaves_nothing_but_events_and_others_keep_all(pool, embedder):
    await fill(pool, embedder, "one")
    counts = await purge_tenant(pool, "one", request_context={"request_id": "r-5"}, now=NOW)
    assert counts["facts"] == 2
    assert "secret" not in await everything(pool)
    event = await pool.fetchrow("SELECT payload, request_id FROM memory_events WHERE event_type = 'tenant_purged'")
    assert (json.loads(event["payload"]), event["request_id"]) == (counts, "r-5")
    await fill(pool, embedder, "two")
    assert not any((await purge_tenant(pool, "one", now=NOW)).values())
    assert await pool.fetchval("SELECT count(*) FROM facts WHERE tenant_id = 'two'") == 2
    assert await pool.fetchval("SELECT count(*) FROM memory_events WHERE event_type = 'tenant_purged'") == 1


async def test_every_table_that_knows_tenants_is_purged_or_kept_on_purpose(pool):
    assert await tables_with_tenants(pool) == set(TENANT_TABLES) | KEPT_TABLES
