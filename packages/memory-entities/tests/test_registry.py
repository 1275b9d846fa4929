"""Creating, reading and changing entities."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import uuid4

import pytest
from memory_core import InvalidInputError, InvalidTransitionError, TenantMismatchError
from memory_entities import entity_create, entity_get, entity_merge, entity_resolve, entity_update

NOW = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)


async def events(pool, *types):
    rows = await pool.fetch("SELECT * FROM memory_events WHERE event_type = ANY($1) ORDER BY event_type, id", types)
    return [{**row, "payload": json.loads(row["payload"])} for row in rows]


@pytest.mark.scenario("Entity schema")
async def test_a_created_entity_is_read_back_with_every_field(pool):
    entity_id = await entity_create(
        pool, "Ada Lovelace", "person", aliases=["Countess"], metadata={"born": 1815}, tenant_id="acme", now=NOW
    )
    assert await entity_get(pool, entity_id, tenant_id="acme") == {
        "id": entity_id,
        "tenant_id": "acme",
        "canonical_name": "Ada Lovelace",
        "entity_type": "person",
        "aliases": ["Countess"],
        "metadata": {"born": 1815},
        "created_at": NOW,
        "updated_at": NOW,
        "merged_from": None,
    }


async def test_a_new_entity_has_no_aliases_and_no_metadata_unless_given(pool):
    entity = await entity_get(pool, await entity_create(pool, "Ada", "other"))
    assert (entity["aliases"], entity["metadata"], entity["tenant_id"]) == ([], {}, "default")


@pytest.mark.scenario("Uniqueness constraint on entities")
async def test_a_second_entity_of_the_same_name_and_type_is_refused_and_the_first_is_named(pool):
    first = await entity_create(pool, "Paris", "place")
    with pytest.raises(ValueError, match=f"'Paris' is a duplicate: .* already exists, its id is '{first}'"):
        await entity_create(pool, "Paris", "place")


async def test_the_same_name_is_free_for_another_type_and_another_tenant(pool):
    await entity_create(pool, "Paris", "place")
    await entity_create(pool, "Paris", "person")
    await entity_create(pool, "Paris", "place", tenant_id="acme")


async def test_a_decomposed_spelling_is_the_same_name(pool):
    await entity_create(pool, "José", "person")
    with pytest.raises(InvalidInputError, match="is a duplicate"):
        await entity_create(pool, "Jose\u0301", "person")


@pytest.mark.scenario("Entity type validation")
async def test_an_unknown_type_is_refused_with_the_valid_ones(pool):
    with pytest.raises(ValueError, match="entity_type 'robot' is not one of: person, organization, place, other"):
        await entity_create(pool, "HAL", "robot")


async def test_creation_and_update_are_in_the_audit_with_the_request_but_without_content(pool):
    context = {"request_id": "r-1", "actor": "chef"}
    entity_id = await entity_create(pool, "Secret Name", "person", request_context=context, now=NOW)
    await entity_update(pool, entity_id, aliases=["Hidden Alias"], request_context=context, now=NOW)
    created, updated = await events(pool, "entity_created", "entity_updated")
    assert created["payload"] == {"entity_type": "person"}
    assert updated["payload"] == {"fields": ["aliases"]}
    for event in (created, updated):
        assert (event["entity_type"], event["entity_id"]) == ("entity", entity_id)
        assert (event["request_id"], event["actor"], event["occurred_at"]) == ("r-1", "chef", NOW)


async def test_a_refused_creation_leaves_no_event(pool):
    await entity_create(pool, "Paris", "place")
    with pytest.raises(InvalidInputError):
        await entity_create(pool, "Paris", "place")
    assert len(await events(pool, "entity_created")) == 1


async def test_a_refused_creation_leaves_the_callers_own_transaction_usable(pool):
    await entity_create(pool, "Paris", "place")
    async with pool.acquire() as connection, connection.transaction():
        with pytest.raises(InvalidInputError):
            await entity_create(connection, "Paris", "place")
        entity_id = await entity_create(connection, "London", "place")
    assert await entity_get(pool, entity_id)


@pytest.mark.scenario("Entity update semantics")
async def test_an_update_replaces_name_and_aliases_and_merges_metadata(pool):
    entity_id = await entity_create(
        pool, "Ada", "person", aliases=["A.", "Countess"], metadata={"born": 1815, "job": "poet"}, now=NOW
    )
    later = NOW + timedelta(hours=1)
    updated = await entity_update(
        pool,
        entity_id,
        canonical_name="Ada Lovelace",
        aliases=["Countess of Lovelace"],
        metadata={"job": "programmer", "died": 1852},
        now=later,
    )
    assert updated["canonical_name"] == "Ada Lovelace"
    assert updated["aliases"] == ["Countess of Lovelace"]
    assert updated["metadata"] == {"born": 1815, "job": "programmer", "died": 1852}
    assert (updated["created_at"], updated["updated_at"]) == (NOW, later)


async def test_what_an_update_does_not_name_stays(pool):
    entity_id = await entity_create(pool, "Ada", "person", aliases=["A."], metadata={"born": 1815})
    await entity_update(pool, entity_id, metadata={"x": None})
    entity = await entity_get(pool, entity_id)
    assert (entity["canonical_name"], entity["aliases"]) == ("Ada", ["A."])
    assert entity["metadata"] == {"born": 1815, "x": None}
    assert (await entity_update(pool, entity_id, aliases=[]))["aliases"] == []


async def test_an_entity_can_be_renamed_to_another_case_of_its_own_name(pool):
    entity_id = await entity_create(pool, "ada", "person")
    assert (await entity_update(pool, entity_id, canonical_name="Ada"))["canonical_name"] == "Ada"


async def test_a_rename_to_a_taken_name_is_refused_and_changes_nothing(pool):
    await entity_create(pool, "Ada", "person")
    other = await entity_create(pool, "Eva", "person", now=NOW)
    with pytest.raises(InvalidInputError, match="canonical_name 'Ada' is a duplicate: an entity of type 'person'"):
        await entity_update(pool, other, canonical_name="Ada", aliases=["x"])
    assert (await entity_get(pool, other))["updated_at"] == NOW


async def test_the_metadata_cannot_grow_past_the_limit_by_many_updates(pool):
    entity_id = await entity_create(pool, "Ada", "person", metadata={"a": "x" * 200_000})
    with pytest.raises(InvalidInputError, match=r"metadata is .* bytes long, at most 262,144"):
        await entity_update(pool, entity_id, metadata={"b": "x" * 200_000})


@pytest.mark.parametrize("key", ["merged_into", "merged_name"])
async def test_nobody_can_write_the_marks_of_a_merge_by_hand(pool, key):
    with pytest.raises(InvalidInputError, match=f"metadata key '{key}' is reserved for merges; use entity_merge"):
        await entity_create(pool, "Ada", "person", metadata={key: str(uuid4())})
    entity_id = await entity_create(pool, "Ada", "person")
    with pytest.raises(InvalidInputError, match=f"metadata key '{key}' is reserved"):
        await entity_update(pool, entity_id, metadata={key: str(uuid4())})


async def test_a_missing_entity_is_none_and_a_malformed_id_is_refused(pool):
    assert await entity_get(pool, uuid4()) is None
    assert await entity_update(pool, uuid4(), canonical_name="x") is None
    with pytest.raises(ValueError, match="entity_id 'nope' is not a UUID"):
        await entity_get(pool, "nope")
    with pytest.raises(ValueError, match="entity_id 'nope' is not a UUID"):
        await entity_update(pool, "nope")


async def test_another_tenants_entity_can_be_neither_read_nor_changed(pool):
    entity_id = await entity_create(pool, "Ada", "person", tenant_id="acme")
    assert await entity_get(pool, entity_id) is None
    assert await entity_update(pool, entity_id, canonical_name="Eve") is None
    assert (await entity_get(pool, entity_id, tenant_id="acme"))["canonical_name"] == "Ada"


async def test_a_request_context_of_another_tenant_is_refused(pool):
    with pytest.raises(TenantMismatchError):
        await entity_create(pool, "Ada", "person", request_context={"tenant_id": "acme"})


async def test_a_merged_id_is_read_as_its_survivor_at_the_end_of_any_chain(pool):
    ids = [await entity_create(pool, name, "person") for name in ("A", "B", "C", "D")]
    for source, target in pairwise(ids):
        await entity_merge(pool, source, target)
    for merged in ids[:-1]:
        entity = await entity_get(pool, merged)
        assert (entity["id"], entity["merged_from"]) == (ids[-1], merged)
    assert (await entity_get(pool, ids[-1]))["merged_from"] is None


async def test_a_merged_entity_cannot_be_updated_and_the_survivor_is_named(pool):
    source, target = await entity_create(pool, "A", "person"), await entity_create(pool, "B", "person")
    await entity_merge(pool, source, target)
    with pytest.raises(InvalidTransitionError, match=f"was merged into '{target}' and cannot be updated"):
        await entity_update(pool, source, aliases=["x"])


async def test_a_tombstone_does_not_block_creating_its_name_again(pool):
    source, target = await entity_create(pool, "Bob", "person"), await entity_create(pool, "Robert", "person")
    await entity_merge(pool, source, target)
    again = await entity_create(pool, "Bob", "person")
    assert again not in (source, target)
    found = await entity_resolve(pool, "bob")
    assert [(result["entity_id"], result["name_match"]) for result in found] == [(again, "exact"), (target, "alias")]
    assert (await entity_get(pool, source))["id"] == target
    tombstone = await pool.fetchrow("SELECT canonical_name, metadata FROM entities WHERE id = $1", source)
    assert tombstone["canonical_name"] == f"Bob [merged {source}]"
    assert json.loads(tombstone["metadata"]) == {"merged_into": str(target), "merged_name": "Bob"}


async def test_a_tombstone_does_not_block_renaming_to_its_name(pool):
    source, target = await entity_create(pool, "Bob", "person"), await entity_create(pool, "Robert", "person")
    await entity_merge(pool, source, target)
    assert (await entity_update(pool, target, canonical_name="Bob"))["canonical_name"] == "Bob"


async def test_a_name_can_be_merged_away_and_created_again_and_again(pool):
    target = await entity_create(pool, "Robert", "person")
    for _ in range(4):
        await entity_merge(pool, await entity_create(pool, "Bob", "person"), target)
    assert (await entity_get(pool, target))["aliases"] == ["Bob"]


async def test_the_unique_constraint_of_the_specification_stands(pool):
    definition = await pool.fetchval(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'entities_name_key' AND contype = 'u'"
    )
    assert definition == "UNIQUE (tenant_id, canonical_name, entity_type)"
