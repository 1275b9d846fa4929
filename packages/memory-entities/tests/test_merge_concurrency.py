"""Merges beside other writers: nothing lost, no error that the caller did not earn, no deadlock."""

import asyncio
from uuid import UUID

import asyncpg
import pytest
from memory_core import InvalidTransitionError, forget_memory, store_fact, store_facts
from memory_core.fact_planning import NewFact
from memory_entities import entity_create, entity_get, entity_merge, entity_update

ROUNDS = 12


async def new_pair(pool, number):
    return [await entity_create(pool, f"{name} {number}", "person") for name in ("source", "target")]


async def active_facts(pool, entity_id):
    rows = await pool.fetch(
        "SELECT predicate, content FROM facts WHERE entity_id = $1 AND validity = 'active' ORDER BY predicate",
        entity_id,
    )
    return [tuple(row) for row in rows]


@pytest.mark.scenario("Row-level locking during merge")
async def test_both_entities_are_locked_for_update_until_the_merge_ends(pool):
    source, target = await new_pair(pool, 0)
    async with pool.acquire() as connection, connection.transaction():
        await entity_merge(connection, source, target)
        for entity_id in (source, target):
            with pytest.raises(asyncpg.LockNotAvailableError):
                await pool.fetch("SELECT FROM entities WHERE id = $1 FOR KEY SHARE NOWAIT", entity_id)


async def test_facts_stored_while_their_entity_is_merged_are_neither_lost_nor_doubled(pool, embedder):
    for number in range(ROUNDS):
        source, target = await new_pair(pool, number)
        writes = [
            store_fact(pool, "Bob", f"p{n % 4}", f"{owner}{n}", embedder, entity_id=owner)
            for n in range(8)
            for owner in (source, target)
        ]
        half = len(writes) // 2
        await asyncio.gather(*writes[:half], entity_merge(pool, source, target), *writes[half:])
        # Each write returned without an error; the survivor has one active fact per key, the source none at all.
        assert [predicate for predicate, _ in await active_facts(pool, target)] == ["p0", "p1", "p2", "p3"]
        assert await pool.fetchval("SELECT count(*) FROM facts WHERE entity_id = $1", source) == 0
        assert await pool.fetchval("SELECT count(*) FROM facts WHERE entity_id = $1", target) == len(writes)


async def test_facts_forgotten_while_their_entity_is_merged_stay_forgotten(pool, embedder):
    for number in range(ROUNDS):
        source, target = await new_pair(pool, number)
        doomed = [
            await store_fact(pool, "Bob", "email", "x", embedder, entity_id=owner, confidence=confidence)
            for owner, confidence in ((source, 0.9), (target, 0.5))
        ]
        await asyncio.gather(
            entity_merge(pool, source, target), *(forget_memory(pool, "fact", fact) for fact in doomed)
        )
        assert await active_facts(pool, target) == []


async def test_of_two_opposite_merges_one_wins_and_the_other_is_told(pool):
    for number in range(ROUNDS):
        one, other = await new_pair(pool, number)
        results = await asyncio.gather(
            entity_merge(pool, one, other), entity_merge(pool, other, one), return_exceptions=True
        )
        [won] = [result for result in results if isinstance(result, dict)]
        [lost] = [result for result in results if not isinstance(result, dict)]
        assert isinstance(lost, InvalidTransitionError)
        assert f"was merged into '{won['target_entity_id']}' before" in str(lost)
        assert {(await entity_get(pool, entity))["id"] for entity in (one, other)} == {won["target_entity_id"]}


async def test_a_ring_of_merges_with_writers_ends_in_survivors_that_hold_every_fact(pool, embedder):
    for number in range(ROUNDS // 2):
        ring = [await entity_create(pool, f"ring {number} {n}", "person") for n in range(5)]
        merges = [entity_merge(pool, ring[n], ring[(n + 1) % 5]) for n in range(5)]
        repeats = [entity_merge(pool, ring[n], ring[(n + 1) % 5]) for n in range(5)]
        writes = [store_fact(pool, "r", f"p{n}", "x", embedder, entity_id=ring[n % 5]) for n in range(10)]
        results = await asyncio.gather(*merges, *writes, *repeats, return_exceptions=True)
        assert {type(result) for result in results} <= {dict, UUID, InvalidTransitionError}, results
        survivors = {(await entity_get(pool, entity))["id"] for entity in ring}
        held = [predicate for survivor in survivors for predicate, _ in await active_facts(pool, survivor)]
        assert sorted(held) == sorted(f"p{n}" for n in range(10))


async def test_an_update_of_the_target_beside_a_merge_is_kept_and_so_is_the_merge(pool):
    for number in range(ROUNDS):
        source, target = await new_pair(pool, number)
        await asyncio.gather(entity_merge(pool, source, target), entity_update(pool, target, metadata={"kept": True}))
        survivor = await entity_get(pool, target)
        assert survivor["metadata"] == {"kept": True}
        assert survivor["aliases"] == [f"source {number}"]


async def test_creating_one_name_many_times_at_once_makes_one_entity_even_over_a_tombstone(pool):
    for number in range(ROUNDS // 2):
        source, target = await new_pair(pool, number)
        await entity_merge(pool, source, target)
        results = await asyncio.gather(
            *(entity_create(pool, f"source {number}", "person") for _ in range(6)), return_exceptions=True
        )
        assert sum(isinstance(result, UUID) for result in results) == 1
        assert all(isinstance(result, UUID) or "already exists" in str(result) for result in results)


async def test_a_fact_that_is_being_forgotten_is_waited_for(pool, embedder):
    source, target = await new_pair(pool, 0)
    await store_fact(pool, "Bob", "email", "x", embedder, entity_id=source, confidence=0.9)
    rival = await store_fact(pool, "Bob", "email", "y", embedder, entity_id=target, confidence=0.5)
    async with pool.acquire() as connection, connection.transaction():
        await forget_memory(connection, "fact", rival)
        merge = asyncio.create_task(entity_merge(pool, source, target))
        await until_somebody_waits(connection)
    assert (await merge)["facts_superseded"] == 0
    assert await pool.fetchval("SELECT validity FROM facts WHERE id = $1", rival) == "retracted"


async def test_a_merge_of_a_tombstone_is_refused_at_once_though_a_writer_holds_it(dsn):
    # A writer that follows the tombstone to the survivor holds it: waiting for it here could be a deadlock.
    pool = await asyncpg.create_pool(dsn, min_size=1, max_size=2, server_settings={"lock_timeout": "5s"})
    source, target = await new_pair(pool, 0)
    await entity_merge(pool, source, target)
    async with pool.acquire() as writer, writer.transaction():
        await writer.fetch("SELECT FROM entities WHERE id = $1 FOR KEY SHARE", source)
        with pytest.raises(InvalidTransitionError, match="was merged into"):
            await entity_merge(pool, source, target)
    await pool.close()


async def test_a_repeated_merge_never_makes_a_writer_the_victim_of_a_deadlock(dsn, embedder):
    # The writer gives up after a moment and the merge never does: any deadlock between them would fail the write.
    patient = await asyncpg.create_pool(dsn, min_size=2, max_size=2, server_settings={"deadlock_timeout": "1min"})
    impatient = await asyncpg.create_pool(dsn, min_size=1, max_size=1, server_settings={"deadlock_timeout": "1ms"})
    for number in range(ROUNDS):
        target, source = sorted(await new_pair(patient, number))
        async with patient.acquire() as connection, connection.transaction():
            await entity_merge(connection, source, target)
            again = asyncio.create_task(entity_merge(patient, source, target))
            await until_somebody_waits(connection)
            write = asyncio.create_task(store_fact(impatient, "Bob", "p", "x", embedder, entity_id=source))
            await until_somebody_waits(connection, 2)
        with pytest.raises(InvalidTransitionError, match="was merged into"):
            await again
        await write
        assert await active_facts(patient, target) == [("p", "x")]
    await patient.close()
    await impatient.close()


async def until_somebody_waits(connection, count=1):
    waiting = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
    while await connection.fetchval(waiting) < count:
        await asyncio.sleep(0)


async def test_a_transaction_that_writes_about_both_entities_in_any_order_is_never_the_victim(dsn, embedder):
    patient = await asyncpg.create_pool(dsn, min_size=1, max_size=2, server_settings={"deadlock_timeout": "1min"})
    writer = await asyncpg.connect(dsn, server_settings={"deadlock_timeout": "1ms"})
    first, last = sorted(await new_pair(patient, 0))
    async with writer.transaction():
        await store_facts(writer, [NewFact("b", "p", "x", entity_id=last)], embedder)
        merge = asyncio.create_task(entity_merge(patient, first, last))
        await until_somebody_waits(writer)
        await store_facts(writer, [NewFact("a", "q", "y", entity_id=first)], embedder)
    assert (await merge)["facts_repointed"] == 1
    assert await active_facts(patient, last) == [("p", "x"), ("q", "y")]
    await writer.close()
    await patient.close()


async def test_a_pair_that_is_never_free_is_waited_for(dsn, monkeypatch):
    monkeypatch.setattr("memory_entities.merging.LOCK_ATTEMPTS", 0)
    pool = await asyncpg.create_pool(dsn, min_size=1, max_size=2)
    source, target = await new_pair(pool, 0)
    async with pool.acquire() as writer, writer.transaction():
        await writer.fetch("SELECT FROM entities WHERE id = $1 FOR KEY SHARE", source)
        merge = asyncio.create_task(entity_merge(pool, source, target))
        await until_somebody_waits(writer)
    assert (await merge)["target_entity_id"] == target
    await pool.close()


async def test_a_merge_that_loses_a_deadlock_starts_anew(dsn, embedder):
    # The other transaction has all the patience in the world, so that it is always the merge that gives up.
    impatient = await asyncpg.create_pool(dsn, min_size=1, max_size=2, server_settings={"deadlock_timeout": "10ms"})
    patient = await asyncpg.connect(dsn, server_settings={"deadlock_timeout": "1min"})
    source, target = await new_pair(impatient, 0)
    facts = [NewFact("s", predicate, "x", entity_id=source) for predicate in ("p", "q")]
    first, last = sorted(await store_facts(impatient, facts, embedder))
    async with patient.transaction():
        await patient.fetch("SELECT FROM facts WHERE id = $1 FOR UPDATE", last)
        merge = asyncio.create_task(entity_merge(impatient, source, target))
        await until_somebody_waits(patient)
        await patient.fetch("SELECT FROM facts WHERE id = $1 FOR UPDATE", first)
    assert (await merge)["facts_repointed"] == 2
    await patient.close()
    await impatient.close()
