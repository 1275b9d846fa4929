"""Links between memories."""

from uuid import uuid4

import asyncpg
import pytest
from memory_core import create_link, get_links, store_episode, store_fact


@pytest.fixture
async def fact(pool, embedder):
    return await store_fact(pool, "user", "drinks", "tea", embedder)


@pytest.fixture
async def episode(pool, embedder):
    return await store_episode(pool, "The user drank tea", "jeeves", embedder)


@pytest.mark.scenario("Link created between episode and derived fact")
async def test_a_fact_is_linked_to_the_episode_it_was_derived_from(pool, fact, episode):
    assert await create_link(pool, "fact", fact, "episode", episode, "derived_from")
    [link] = await get_links(pool, "fact", fact)
    assert (link["source_type"], link["target_type"], link["relation"]) == ("fact", "episode", "derived_from")
    assert await pool.fetchval("SELECT count(*) FROM memory_events WHERE event_type = 'link_created'") == 1


@pytest.mark.scenario("Idempotent link creation")
async def test_creating_a_link_again_succeeds_and_changes_nothing(pool, fact, episode):
    for _ in range(2):
        assert await create_link(pool, "fact", fact, "episode", episode, "derived_from")
    assert await pool.fetchval("SELECT count(*) FROM memory_links") == 1
    assert await pool.fetchval("SELECT count(*) FROM memory_events WHERE event_type = 'link_created'") == 1


@pytest.mark.scenario("Duplicate link rejected")
async def test_the_primary_key_refuses_a_second_link_between_the_same_memories(pool, fact, episode):
    insert = (
        "INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation)"
        " VALUES ('default', 'fact', $1, 'episode', $2, 'supports')"
    )
    await pool.execute(insert, fact, episode)
    with pytest.raises(asyncpg.UniqueViolationError):
        await pool.execute(insert, fact, episode)


@pytest.mark.scenario("Memory link creation with validation")
@pytest.mark.parametrize(
    ("source_type", "target_type", "relation", "message"),
    [
        ("fact", "episode", "causes", "relation 'causes' is not one of: derived_from, supports, contradicts"),
        ("dream", "episode", "supports", "source_type 'dream' is not one of: episode, fact, rule"),
        ("fact", "dream", "supports", "target_type 'dream' is not one of: episode, fact, rule"),
    ],
)
async def test_unknown_words_are_refused(pool, fact, episode, source_type, target_type, relation, message):
    with pytest.raises(ValueError, match=message):
        await create_link(pool, source_type, fact, target_type, episode, relation)
    assert await get_links(pool, "fact", fact) == []


async def test_a_link_to_a_memory_that_is_not_there_is_not_made(pool, fact):
    assert not await create_link(pool, "fact", fact, "episode", uuid4(), "derived_from")
    assert await get_links(pool, "fact", fact) == []


async def test_a_link_to_another_tenants_memory_is_not_made(pool, embedder, fact):
    theirs = await store_episode(pool, "secret", "b", embedder, tenant_id="other")
    assert not await create_link(pool, "fact", fact, "episode", theirs, "derived_from")


async def test_a_memory_cannot_be_linked_to_itself(pool, fact):
    with pytest.raises(ValueError, match="cannot be linked to itself"):
        await create_link(pool, "fact", fact, "fact", fact, "related_to")


@pytest.mark.scenario("Link query by direction")
async def test_links_are_found_in_the_asked_direction(pool, embedder, fact, episode):
    other = await store_fact(pool, "user", "eats", "cake", embedder)
    await create_link(pool, "fact", fact, "episode", episode, "derived_from")
    await create_link(pool, "fact", other, "fact", fact, "related_to")

    outgoing = await get_links(pool, "fact", fact, direction="outgoing")
    incoming = await get_links(pool, "fact", fact, direction="incoming")
    assert [link["target_id"] for link in outgoing] == [episode]
    assert [link["source_id"] for link in incoming] == [other]
    assert len(await get_links(pool, "fact", fact)) == 2
    with pytest.raises(ValueError, match="direction 'up' is not one of: outgoing, incoming, both"):
        await get_links(pool, "fact", fact, direction="up")


async def test_links_are_invisible_to_other_tenants(pool, fact, episode):
    await create_link(pool, "fact", fact, "episode", episode, "derived_from")
    assert await get_links(pool, "fact", fact, tenant_id="other") == []
