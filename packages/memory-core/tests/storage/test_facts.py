"""Storing facts: keys, supersession, confirmation, entities, concurrency."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest
from memory_core import (
    NewFact,
    get_links,
    get_memory,
    keyword_search,
    store_episode,
    store_fact,
    store_facts,
)
from memory_core.facts import SQL

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.scenario("Fact schema and defaults")
async def test_the_facts_table_has_every_column_of_the_specification_with_its_default(pool):
    row = await pool.fetchrow(
        "INSERT INTO facts (subject, predicate, content) VALUES ('s', 'p', 'c') RETURNING id, subject, predicate,"
        " content, embedding::text, search_vector, importance, confidence, decay_rate, permanence, source_butler,"
        " source_episode_id, supersedes_id, entity_id, validity, scope, reference_count, created_at,"
        " last_referenced_at, last_confirmed_at, tags, metadata, tenant_id"
    )
    defaults = dict(row)
    assert (
        defaults.items()
        >= {
            "importance": 5.0,
            "confidence": 1.0,
            "decay_rate": 0.008,
            "permanence": "standard",
            "source_butler": None,
            "source_episode_id": None,
            "supersedes_id": None,
            "entity_id": None,
            "validity": "active",
            "scope": "global",
            "reference_count": 0,
            "last_referenced_at": None,
            "last_confirmed_at": None,
            "tags": "[]",
            "metadata": "{}",
            "tenant_id": "default",
        }.items()
    )


@pytest.mark.scenario("Fact starts as active")
@pytest.mark.scenario("Fact created with default permanence")
async def test_a_new_fact_is_active_certain_standard_and_confirmed_now(pool, embedder):
    fact = await _stored(pool, await store_fact(pool, "user", "likes", "tea", embedder, now=NOW))
    assert fact["validity"] == "active"
    assert fact["confidence"] == 1.0
    assert fact["permanence"] == "standard"
    assert fact["decay_rate"] == 0.008
    assert fact["last_confirmed_at"] == NOW


@pytest.mark.scenario("Fact transitions to superseded")
@pytest.mark.scenario("Store fact with supersession check")
@pytest.mark.scenario("New fact supersedes existing fact with same subject and predicate")
async def test_storing_same_key_supersedes_the_active_fact(pool, embedder):
    green = await store_fact(pool, "user", "favorite_color", "green", embedder)
    blue = await store_fact(pool, "user", "favorite_color", "blue", embedder)

    assert (await _stored(pool, green))["validity"] == "superseded"
    assert (await _stored(pool, blue))["supersedes_id"] == green
    [link] = await get_links(pool, "fact", blue, direction="outgoing")
    assert (link["relation"], link["target_id"]) == ("supersedes", green)


async def test_a_failing_write_leaves_the_superseded_fact_active(pool, embedder):
    old = await store_fact(pool, "user", "city", "Rome", embedder)
    await pool.execute("ALTER TABLE memory_events ADD CONSTRAINT no_more CHECK (event_type <> 'fact_superseded')")
    with pytest.raises(asyncpg.CheckViolationError):
        await store_fact(pool, "user", "city", "Oslo", embedder)
    assert (await _stored(pool, old))["validity"] == "active"
    assert await pool.fetchval("SELECT count(*) FROM facts") == 1


@pytest.mark.scenario("No supersession when subject-predicate pair is unique")
async def test_a_fact_with_a_new_key_changes_no_other(pool, embedder):
    first = await store_fact(pool, "user", "city", "Rome", embedder)
    await store_fact(pool, "user", "street", "Via Appia", embedder)
    assert (await _stored(pool, first))["validity"] == "active"


async def test_the_same_key_in_another_scope_is_another_fact(pool, embedder):
    everywhere = await store_fact(pool, "user", "tone", "formal", embedder)
    local = await store_fact(pool, "user", "tone", "casual", embedder, scope="chef")
    assert (await _stored(pool, everywhere))["validity"] == "active"
    assert (await _stored(pool, local))["supersedes_id"] is None


async def test_storing_an_identical_active_fact_confirms_it(pool, embedder):
    first = await store_fact(pool, "user", "city", "Rome", embedder, tags=["home"], now=NOW)
    later = NOW + timedelta(days=3)
    again = await store_fact(pool, "user", "city", "Rome", embedder, tags=["home"], now=later)
    assert again == first
    assert (await _stored(pool, first))["last_confirmed_at"] == later
    assert await _events_of(pool, first) == ["fact_created", "fact_confirmed"]


async def test_an_identical_fact_clears_the_fading_mark(pool, embedder):
    fact_id = await store_fact(pool, "user", "city", "Rome", embedder)
    await pool.execute("""UPDATE facts SET metadata = '{"status": "fading"}'""")
    assert await store_fact(pool, "user", "city", "Rome", embedder) == fact_id
    assert (await get_memory(pool, "fact", fact_id))["state"] == "active"


async def test_the_same_content_with_another_permanence_supersedes(pool, embedder):
    first = await store_fact(pool, "user", "city", "Rome", embedder)
    second = await store_fact(pool, "user", "city", "Rome", embedder, permanence="permanent")
    assert second != first
    assert (await _stored(pool, second))["decay_rate"] == 0.0


@pytest.mark.scenario("Permanence levels and their decay rates")
@pytest.mark.scenario("Permanence-to-decay-rate mapping")
@pytest.mark.scenario("Fact created with permanence category")
@pytest.mark.parametrize(
    ("permanence", "decay_rate"),
    [("permanent", 0.0), ("stable", 0.002), ("standard", 0.008), ("volatile", 0.03), ("ephemeral", 0.1)],
)
async def test_each_permanence_has_its_decay_rate(pool, embedder, permanence, decay_rate):
    fact = await _stored(pool, await store_fact(pool, "s", "p", "c", embedder, permanence=permanence))
    assert (fact["permanence"], fact["decay_rate"]) == (permanence, decay_rate)


@pytest.mark.scenario("Invalid permanence rejected")
async def test_an_unknown_permanence_is_refused_with_the_valid_ones(pool, embedder):
    with pytest.raises(
        ValueError, match="permanence 'forever' is not one of: permanent, stable, standard, volatile, ephemeral"
    ):
        await store_fact(pool, "s", "p", "c", embedder, permanence="forever")
    assert await pool.fetchval("SELECT count(*) FROM facts") == 0


@pytest.mark.scenario("Store fact with entity_id validation")
async def test_an_entity_that_does_not_exist_is_refused(pool, embedder):
    missing = uuid4()
    with pytest.raises(ValueError, match=f"entity_id '{missing}' does not exist"):
        await store_fact(pool, "s", "p", "c", embedder, entity_id=missing)
    assert await pool.fetchval("SELECT count(*) FROM facts") == 0


async def test_an_entity_of_another_tenant_does_not_exist(pool, embedder):
    theirs = await _entity(pool, "Ann", tenant_id="other")
    with pytest.raises(ValueError, match="does not exist"):
        await store_fact(pool, "s", "p", "c", embedder, entity_id=theirs)


async def test_with_an_entity_the_entity_is_the_key_and_not_the_subject(pool, embedder):
    ann = await _entity(pool, "Ann")
    first = await store_fact(pool, "Ann", "job", "pilot", embedder, entity_id=ann)
    second = await store_fact(pool, "Annie", "job", "doctor", embedder, entity_id=ann)
    unrelated = await store_fact(pool, "Ann", "job", "baker", embedder)
    assert (await _stored(pool, first))["validity"] == "superseded"
    assert (await _stored(pool, second))["supersedes_id"] == first
    assert (await _stored(pool, unrelated))["supersedes_id"] is None


async def test_a_fact_about_a_merged_entity_is_attached_to_the_survivor(pool, embedder):
    survivor = await _entity(pool, "Ann")
    merged = await _entity(pool, "Annie")
    await pool.execute(
        "UPDATE entities SET metadata = jsonb_build_object('merged_into', $2::text) WHERE id = $1",
        merged,
        str(survivor),
    )
    fact = await _stored(pool, await store_fact(pool, "Annie", "job", "pilot", embedder, entity_id=merged))
    assert fact["entity_id"] == survivor


async def test_a_source_episode_must_exist_for_the_tenant(pool, embedder):
    episode = await store_episode(pool, "x", "b", embedder, tenant_id="other")
    with pytest.raises(ValueError, match=f"source_episode_id '{episode}' does not exist"):
        await store_fact(pool, "s", "p", "c", embedder, source_episode_id=episode)


async def test_a_batch_is_stored_as_if_one_after_another(pool, embedder):
    before = await store_fact(pool, "user", "city", "Rome", embedder)
    ids = await store_facts(
        pool,
        [
            NewFact("user", "city", "Oslo"),
            NewFact("user", "city", "Oslo"),
            NewFact("user", "city", "Lima"),
            NewFact("user", "pet", "cat"),
        ],
        embedder,
    )
    assert ids[0] == ids[1]
    assert [(await _stored(pool, id_))["validity"] for id_ in (before, ids[0], ids[2], ids[3])] == [
        "superseded",
        "superseded",
        "active",
        "active",
    ]
    assert (await _stored(pool, ids[2]))["supersedes_id"] == ids[0]
    assert (await _stored(pool, ids[0]))["supersedes_id"] == before


async def test_ten_thousand_keys_in_one_batch_do_not_exhaust_the_lock_table(pool, embedder):
    vector = embedder.embed("x")
    embedder.embed_batch = lambda texts: [vector for _ in texts]
    ids = await store_facts(pool, [NewFact("s", f"p{n}", "c") for n in range(10_000)], embedder)
    assert len(set(ids)) == 10_000
    # The planner knows of them at once, so that the next write finds its key and does not read the whole scope.
    await store_fact(pool, "s", "p5", "d", embedder)
    plan = await pool.fetch(f"EXPLAIN {SQL['active_facts']}", "default", ["global"], ["s"], ["p5"], [], [], [])
    assert [line for line in map(str, plan) if "Index Cond" in line and "(predicate = key.predicate)" in line]


async def test_a_batch_locks_what_it_replaces_in_id_order_so_that_readers_and_writers_never_deadlock(pool, embedder):
    entity_id = await pool.fetchval("INSERT INTO entities (canonical_name) VALUES ('Ada') RETURNING id")
    batch = [NewFact("user", f"p{n}", "old", entity_id=entity_id if n % 2 else None) for n in range(8)]
    first, *others = sorted(await store_facts(pool, batch, embedder))
    async with pool.acquire() as holder:
        held = holder.transaction()
        await held.start()
        await holder.execute("SELECT FROM facts WHERE id = $1 FOR UPDATE", first)
        writing = asyncio.create_task(store_facts(pool, [replace(fact, content="new") for fact in batch], embedder))
        while not await holder.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            await asyncio.sleep(0)
        await holder.execute("SELECT FROM facts WHERE id = ANY($1::uuid[]) FOR UPDATE NOWAIT", others)
        await held.commit()
    assert len(await asyncio.wait_for(writing, timeout=30)) == 8


async def test_a_key_that_somebody_else_writes_without_its_lock_is_superseded_not_an_error(pool, embedder):
    async with pool.acquire() as stranger:
        inserting = stranger.transaction()
        await inserting.start()
        theirs = await stranger.fetchval(
            "INSERT INTO facts (subject, predicate, content) VALUES ('user', 'city', 'Rome') RETURNING id"
        )
        storing = asyncio.create_task(store_fact(pool, "user", "city", "Oslo", embedder))
        while not await stranger.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            await asyncio.sleep(0)
        await inserting.commit()
    ours = await asyncio.wait_for(storing, timeout=30)
    assert (await _stored(pool, ours))["supersedes_id"] == theirs
    assert (await _stored(pool, theirs))["validity"] == "superseded"


@pytest.mark.scenario("Concurrent duplicate active facts prevented")
async def test_many_writers_of_one_key_all_succeed_and_one_row_stays_active(pool, embedder):
    for round_number in range(3):
        ids = await asyncio.gather(
            *(store_fact(pool, "user", f"mood{round_number}", f"mood {n}", embedder) for n in range(16))
        )
        rows = await pool.fetch("SELECT id, validity, supersedes_id FROM facts WHERE id = ANY($1::uuid[])", ids)
        assert len(rows) == 16
        assert sorted(row["validity"] for row in rows) == ["active"] + ["superseded"] * 15
        # One chain without forks: each fact but the first supersedes another one.
        superseded = [row["supersedes_id"] for row in rows if row["supersedes_id"]]
        assert len(superseded) == len(set(superseded)) == 15


async def test_the_database_itself_refuses_a_second_active_row(pool):
    insert = "INSERT INTO facts (subject, predicate, content) VALUES ('s', 'p', 'c')"
    await pool.execute(insert)
    with pytest.raises(asyncpg.UniqueViolationError):
        await pool.execute(insert)


async def test_batches_that_overlap_in_opposite_order_do_not_deadlock(pool, embedder):
    facts = [NewFact("s", f"p{n}", "c") for n in range(50)]
    for _ in range(4):
        await asyncio.gather(store_facts(pool, facts, embedder), store_facts(pool, facts[::-1], embedder))
    assert await pool.fetchval("SELECT count(*) FROM facts") == 50


@pytest.mark.scenario("Legacy forgotten state accepted as compatibility alias")
async def test_the_legacy_word_forgotten_becomes_retracted_and_such_a_fact_is_not_found(pool, embedder):
    told = await pool.fetchval(
        "INSERT INTO facts (subject, predicate, content, search_vector, validity)"
        " VALUES ('s', 'p', 'tea', to_tsvector('english', 'tea'), 'forgotten') RETURNING id"
    )
    changed = await store_fact(pool, "user", "likes", "tea", embedder)
    assert [hit["id"] for hit in await keyword_search(pool, "tea", "facts")] == [changed]
    await pool.execute("UPDATE facts SET validity = 'forgotten' WHERE id = $1", changed)
    assert await keyword_search(pool, "tea", "facts") == []
    assert [(await get_memory(pool, "fact", id_))["state"] for id_ in (told, changed)] == ["retracted"] * 2


async def test_a_row_that_arrives_as_fading_is_active_and_fading(pool):
    fact_id = await pool.fetchval(
        "INSERT INTO facts (subject, predicate, content, validity) VALUES ('s', 'p', 'c', 'fading') RETURNING id"
    )
    fact = await get_memory(pool, "fact", fact_id)
    assert (fact["validity"], fact["metadata"], fact["state"]) == ("active", {"status": "fading"}, "fading")


async def test_an_unknown_validity_is_refused_by_the_database(pool):
    with pytest.raises(asyncpg.CheckViolationError):
        await pool.execute("INSERT INTO facts (subject, predicate, content, validity) VALUES ('s', 'p', 'c', 'gone')")


async def _stored(pool, fact_id):
    return await pool.fetchrow(
        "SELECT id, validity, confidence, permanence, decay_rate, supersedes_id, entity_id, last_confirmed_at"
        " FROM facts WHERE id = $1",
        fact_id,
    )


async def _events_of(pool, fact_id):
    rows = await pool.fetch("SELECT event_type FROM memory_events WHERE entity_id = $1 ORDER BY occurred_at", fact_id)
    return [row["event_type"] for row in rows]


async def _entity(pool, name, tenant_id="default"):
    return await pool.fetchval(
        "INSERT INTO entities (tenant_id, canonical_name, entity_type) VALUES ($1, $2, 'person') RETURNING id",
        tenant_id,
        name,
    )
