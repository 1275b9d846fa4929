"""One good and one bad call of each of the 19 tools, for whoever speaks to a server: `call(name, arguments)`."""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

Call = Callable[[str, dict[str, Any]], Awaitable[tuple[bool, str]]]

NOBODY = "00000000-0000-4000-8000-000000000000"

# What is wrong with each, and a part of the message that says so.
BAD_CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "memory_store_episode": ({"content": " ", "butler": "jeeves"}, "content"),
    "memory_store_fact": (
        {"subject": "u", "predicate": "p", "content": "c", "permanence": "forever"},
        "permanence",
    ),
    "memory_store_rule": ({"content": ""}, "content"),
    "memory_search": ({"query": "tea", "mode": "psychic"}, "mode"),
    "memory_recall": ({"topic": "tea", "limit": 0}, "limit"),
    "memory_get": ({"memory_type": "fact", "memory_id": "seven"}, "memory_id"),
    "memory_confirm": ({"memory_type": "episode", "memory_id": NOBODY}, "episode"),
    "memory_mark_helpful": ({"rule_id": "seven"}, "rule_id"),
    "memory_mark_harmful": ({"rule_id": NOBODY, "because": "x"}, "because is not a parameter"),
    "memory_forget": ({"memory_type": "wish", "memory_id": NOBODY}, "memory_type"),
    "memory_stats": ({"scope": 7}, "scope"),
    "memory_context": ({"trigger_prompt": "tea"}, "butler is missing"),
    "entity_create": ({"canonical_name": "Ann", "entity_type": "ghost", "tenant_id": "default"}, "entity_type"),
    "entity_get": ({"entity_id": "seven"}, "entity_id"),
    "entity_update": ({"entity_id": NOBODY, "aliases": 7}, "aliases"),
    "entity_resolve": ({"name": " "}, "name"),
    "entity_merge": ({"source_entity_id": NOBODY, "target_entity_id": NOBODY}, "itself"),
    "memory_run_consolidation": ({"dry_run": "perhaps"}, "dry_run"),
    "memory_run_episode_cleanup": ({"max_entries": -1}, "max_entries"),
}


async def make_every_good_call(call: Call, tenant_id: str = "default") -> dict[str, Any]:
    """Call each tool as it is meant and return the answers by tool."""
    answers: dict[str, Any] = {}

    async def good(name: str, /, **arguments: Any) -> Any:
        failed, text = await call(name, arguments)
        assert not failed, f"{name}: {text}"
        answers[name] = text if name == "memory_context" else json.loads(text)
        return answers[name]

    await good("memory_store_episode", content="The user asked for tea", butler="jeeves", session_id=str(uuid4()))
    ann = await good("entity_create", canonical_name="Ann Smith", entity_type="person", tenant_id=tenant_id)
    twin = await good("entity_create", canonical_name="Annie Smith", entity_type="person", tenant_id=tenant_id)
    fact = await good(
        "memory_store_fact",
        subject="Ann",
        predicate="drink",
        content="Ann drinks green tea",
        tags='["tea", "taste"]',
        entity_id=ann["entity_id"],
        request_context={"request_id": "r-1"},
    )
    rule = await good("memory_store_rule", content="Warm the pot before the tea", tags=["tea"])
    await good("memory_search", query="green tea", types=["fact"], limit=3)
    await good("memory_recall", topic="making tea")
    await good("memory_get", memory_type="fact", memory_id=fact["id"])
    await good("memory_confirm", memory_type="fact", memory_id=fact["id"])
    await good("memory_mark_helpful", rule_id=rule["id"])
    await good("memory_mark_harmful", rule_id=rule["id"], reason="it cracked")
    await good("memory_context", trigger_prompt="Make tea for Ann", butler="jeeves", token_budget=500)
    await good("entity_get", entity_id=ann["entity_id"])
    await good("entity_update", entity_id=ann["entity_id"], aliases=["Annette"])
    await good("entity_resolve", name="Annette")
    await good("entity_merge", source_entity_id=twin["entity_id"], target_entity_id=ann["entity_id"])
    await good("memory_run_consolidation", dry_run=True)
    await good("memory_run_episode_cleanup")
    await good("memory_forget", memory_type="rule", memory_id=rule["id"])
    await good("memory_stats")
    return answers


def assert_good_answers(answers: dict[str, Any]) -> None:
    """Check what the answers say, beyond having come."""
    fact_id = answers["memory_store_fact"]["id"]
    assert answers["memory_store_fact"]["request_id"] == "r-1"
    assert [found["id"] for found in answers["memory_search"]] == [fact_id]
    assert fact_id in {found["id"] for found in answers["memory_recall"]}
    assert answers["memory_get"]["memory"]["tags"] == ["tea", "taste"]
    assert "embedding" not in json.dumps(answers)
    assert "- [Ann] [drink]: Ann drinks green tea (confidence: 1.00)" in answers["memory_context"]
    assert answers["entity_resolve"][0]["entity_id"] == answers["entity_get"]["entity"]["id"]
    assert answers["memory_mark_harmful"]["applied_count"] == 2
    assert answers["memory_run_consolidation"]["waiting"] == {"jeeves": 1}
    assert answers["memory_stats"]["facts"]["active"] == 1
    assert answers["memory_stats"]["rules"]["forgotten"] == 1
