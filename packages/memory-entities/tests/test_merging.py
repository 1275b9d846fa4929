"""Merging two entities: facts, names, metadata, tombstone, audit, refusals."""

import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from memory_core import InvalidTransitionError, forget_memory, get_links, store_fact
from memory_entities import entity_create, entity_get, entity_merge

NOW = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)


@pytest.fixture
async def pair(pool):
    return await entity_create(pool, "Bob", "person"), await entity_create(pool, "Robert", "person")


async def fact_row(pool, fact_id):
    return await pool.fetchrow("SELECT entity_id, validity, supersedes_id FROM facts WHERE id = $1", fact_id)


async def events(pool, event_type):
    rows = await pool.fetch(
        "SELECT entity_type, entity_id, request_id, payload FROM memory_events"
        " WHERE event_type = $1 ORDER BY entity_id",
        event_type,
    )
    return [(row["entity_type"], row["entity_id"], row["request_id"], json.loads(row["payload"])) for row in rows]


@pytest.mark.scenario("Fact re-pointing without conflict")
async def test_a_fact_without_rival_moves_to_the_target(pool, embedder, pair):
    source, target = pair
    fact = await store_fact(pool, "Bob", "email", "b@x.org", embedder, entity_id=source)
    merged = await entity_merge(pool, source, target)
    assert tuple(await fact_row(pool, fact)) == (target, "active", None)
    assert merged == {
        "source_entity_id": source,
        "target_entity_id": target,
        "facts_repointed": 1,
        "facts_superseded": 0,
        "history_repointed": 0,
        "aliases_added": 1,
    }
    assert await events(pool, "fact_repointed") == [
        ("fact", fact, None, {"from_entity_id": str(source), "to_entity_id": str(target)})
    ]


@pytest.mark.scenario("Fact conflict resolution by confidence")
@pytest.mark.parametrize(
    ("source_confidence", "target_confidence", "source_wins"), [(0.9, 0.8, True), (0.8, 0.9, False), (0.8, 0.8, False)]
)
async def test_of_two_facts_with_one_key_the_surer_one_stays_active(
    pool, embedder, pair, source_confidence, target_confidence, source_wins
):
    source, target = pair
    of_source = await store_fact(
        pool, "Bob", "email", "b@x.org", embedder, entity_id=source, confidence=source_confidence
    )
    of_target = await store_fact(
        pool, "Robert", "email", "r@x.org", embedder, entity_id=target, confidence=target_confidence
    )
    merged = await entity_merge(pool, source, target)

    winner, loser = (of_source, of_target) if source_wins else (of_target, of_source)
    assert tuple(await fact_row(pool, winner)) == (target, "active", loser)
    assert tuple(await fact_row(pool, loser)) == (target, "superseded", None)
    assert (merged["facts_repointed"], merged["facts_superseded"]) == (int(source_wins), 1)
    [link] = await get_links(pool, "fact", winner, direction="outgoing")
    assert (link["relation"], link["target_id"]) == ("supersedes", loser)
    assert await events(pool, "fact_superseded") == [
        ("fact", loser, None, {"superseded_by": str(winner), "reason": "entity_merge"})
    ]


async def test_the_same_predicate_in_two_scopes_is_no_conflict(pool, embedder, pair):
    source, target = pair
    await store_fact(pool, "Bob", "email", "b@x.org", embedder, entity_id=source, scope="chef")
    await store_fact(pool, "Robert", "email", "r@x.org", embedder, entity_id=target)
    assert (await entity_merge(pool, source, target))["facts_superseded"] == 0


async def test_history_moves_along_and_a_winner_keeps_its_own_predecessor(pool, embedder, pair):
    source, target = pair
    old = await store_fact(pool, "Bob", "email", "old", embedder, entity_id=source)
    new = await store_fact(pool, "Bob", "email", "new", embedder, entity_id=source)
    gone = await store_fact(pool, "Bob", "phone", "1", embedder, entity_id=source)
    await forget_memory(pool, "fact", gone)
    rival = await store_fact(pool, "Robert", "email", "r", embedder, entity_id=target, confidence=0.5)
    merged = await entity_merge(pool, source, target)
    assert (merged["facts_repointed"], merged["history_repointed"]) == (1, 2)
    assert tuple(await fact_row(pool, old)) == (target, "superseded", None)
    assert tuple(await fact_row(pool, gone)) == (target, "retracted", None)
    assert tuple(await fact_row(pool, new)) == (target, "active", old)
    linked = {link["target_id"] for link in await get_links(pool, "fact", new, direction="outgoing")}
    assert linked == {old, rival}
    assert await pool.fetchval("SELECT count(*) FROM facts WHERE entity_id = $1", source) == 0


async def test_facts_of_others_and_of_nobody_stay_where_they_are(pool, embedder, pair):
    source, target = pair
    bystander = await entity_create(pool, "Carol", "person")
    of_other = await store_fact(pool, "Carol", "email", "c", embedder, entity_id=bystander)
    of_nobody = await store_fact(pool, "Bob", "email", "b", embedder)
    await entity_merge(pool, source, target)
    assert tuple(await fact_row(pool, of_other)) == (bystander, "active", None)
    assert tuple(await fact_row(pool, of_nobody)) == (None, "active", None)


async def test_a_fact_stored_on_a_merged_entity_goes_to_the_survivor(pool, embedder, pair):
    source, target = pair
    await entity_merge(pool, source, target)
    fact = await store_fact(pool, "Bob", "email", "b@x.org", embedder, entity_id=source)
    assert (await fact_row(pool, fact))["entity_id"] == target


@pytest.mark.scenario("Alias and metadata merging")
async def test_names_are_appended_without_repeats_and_the_targets_metadata_win(pool):
    source = await entity_create(
        pool, "Bob", "person", aliases=["BOBBY", "B.", "robert"], metadata={"born": 1960, "city": "Rome"}
    )
    target = await entity_create(pool, "Robert", "person", aliases=["Bobby"], metadata={"born": 1961, "job": "cook"})
    merged = await entity_merge(pool, source, target, now=NOW)
    survivor = await entity_get(pool, target)
    assert survivor["aliases"] == ["Bobby", "Bob", "B."]
    assert survivor["metadata"] == {"born": 1961, "city": "Rome", "job": "cook"}
    assert (survivor["canonical_name"], survivor["updated_at"]) == ("Robert", NOW)
    assert merged["aliases_added"] == 2


@pytest.mark.scenario("Source entity tombstoning")
async def test_the_source_stays_as_a_tombstone_that_points_to_the_target(pool, pair):
    source, target = pair
    await entity_merge(pool, source, target, now=NOW)
    row = await pool.fetchrow(
        "SELECT metadata ->> 'merged_into' AS into, updated_at FROM entities WHERE id = $1", source
    )
    assert tuple(row) == (str(target), NOW)


@pytest.mark.scenario("Audit event for merge")
async def test_a_merge_is_one_event_with_ids_and_counts_and_the_request(pool, embedder, pair):
    source, target = pair
    for predicate, owner in (("email", source), ("phone", source), ("email", target)):
        await store_fact(pool, "Bob", predicate, "secret", embedder, entity_id=owner)
    await entity_merge(pool, source, target, request_context={"request_id": "r-7"})
    assert await events(pool, "entity_merge") == [
        (
            "entity",
            target,
            "r-7",
            {
                "source_entity_id": str(source),
                "target_entity_id": str(target),
                "facts_repointed": 1,
                "facts_superseded": 1,
                "history_repointed": 1,
                "aliases_added": 1,
            },
        )
    ]


@pytest.mark.scenario("Merge validation")
async def test_a_merge_that_makes_no_sense_is_refused_and_changes_nothing(pool, pair):
    source, target = pair
    third = await entity_create(pool, "Carol", "person")
    foreign = await entity_create(pool, "Dave", "person", tenant_id="acme")
    missing = uuid4()
    refusals = [
        (source, source, f"entity '{source}' cannot be merged into itself"),
        (missing, target, f"source_entity_id '{missing}' does not exist"),
        (source, missing, f"target_entity_id '{missing}' does not exist"),
        (foreign, target, f"source_entity_id '{foreign}' does not exist"),
        (source, foreign, f"target_entity_id '{foreign}' does not exist"),
        ("x", target, "source_entity_id 'x' is not a UUID"),
        (source, None, "target_entity_id 'None' is not a UUID"),
    ]
    for bad_source, bad_target, problem in refusals:
        with pytest.raises(ValueError, match=problem):
            await entity_merge(pool, bad_source, bad_target)
    await entity_merge(pool, source, target)
    with pytest.raises(ValueError, match=f"source_entity_id '{source}' was merged into '{target}' before"):
        await entity_merge(pool, source, third)
    with pytest.raises(InvalidTransitionError, match=f"target_entity_id '{source}' was merged into '{target}' before"):
        await entity_merge(pool, third, source)
    assert len(await events(pool, "entity_merge")) == 1


async def test_a_merge_inside_a_callers_transaction_is_undone_with_it(pool, embedder, pair):
    source, target = pair
    fact = await store_fact(pool, "Bob", "email", "b@x.org", embedder, entity_id=source)
    async with pool.acquire() as connection:
        undone = connection.transaction()
        await undone.start()
        await entity_merge(connection, source, target)
        await undone.rollback()
    assert (await fact_row(pool, fact))["entity_id"] == source
    assert (await entity_get(pool, source))["merged_from"] is None
    assert await events(pool, "entity_merge") == []
