import json
import sys

import pytest
from memory_agent import AgentMemoryError, MemoryManager, promote, save_memory

EPISODES = "SELECT id, tenant_id, butler, content, importance, metadata::text, created_at FROM episodes"


async def test_a_promoted_memory_is_an_episode_that_knows_its_origin(db, pool, embedder, now):
    memory = MemoryManager(db, clock=lambda: now).save("agent-7", "project:alpha", "uses Rust")
    episode_id = await promote(memory, pool, embedder, butler="jeeves", tenant_id="acme", importance=7.0, now=now)
    [episode] = await pool.fetch(EPISODES)
    assert (episode["id"], episode["tenant_id"], episode["butler"]) == (episode_id, "acme", "jeeves")
    assert (episode["content"], episode["importance"], episode["created_at"]) == ("project:alpha: uses Rust", 7.0, now)
    assert json.loads(episode["metadata"])["agent_memory"] == {
        "id": memory.id,
        "agent_id": "agent-7",
        "key": "project:alpha",
        "updated_at": "2026-06-15 12:00:00.000",
        "category": "project",
    }


async def test_a_memory_of_the_core_is_promoted_without_a_category(db, pool, embedder):
    memory = save_memory(db, "a", "k", "apple")
    await promote(memory, pool, embedder, butler="jeeves")
    [episode] = await pool.fetch(EPISODES)
    assert "category" not in json.loads(episode["metadata"])["agent_memory"]
    assert episode["tenant_id"] == "default"


async def test_a_promotion_is_recorded_with_its_request(db, pool, embedder):
    memory = save_memory(db, "a", "k", "apple")
    episode_id = await promote(memory, pool, embedder, butler="jeeves", request_context={"request_id": "r-1"})
    [event] = await pool.fetch("SELECT event_type, entity_id, request_id FROM memory_events")
    assert tuple(event) == ("episode_created", episode_id, "r-1")


async def test_the_rules_of_the_main_system_hold(db, pool, embedder):
    memory = save_memory(db, "a", "k", "apple")
    with pytest.raises(ValueError, match="butler"):
        await promote(memory, pool, embedder, butler=" ")
    assert await pool.fetch(EPISODES) == []


async def test_without_memory_core_the_error_says_what_to_install(db, monkeypatch):
    memory = save_memory(db, "a", "k", "apple")
    monkeypatch.setitem(sys.modules, "memory_core", None)
    with pytest.raises(AgentMemoryError, match="promoting a memory needs memory-core; install it"):
        await promote(memory, None, None, butler="jeeves")
