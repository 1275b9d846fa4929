"""The tools for feedback and cleanup, as a model calls them."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from memory_core import InvalidInputError, MemoryModuleConfig, builtin, store_episode, store_rule
from memory_core.lifecycle_tools import TOOLS

PAST = datetime.now(UTC) - timedelta(days=40)


def test_the_tools_have_the_parameters_and_defaults_of_the_specification():
    parameters = {
        tool.name: {name: told.default for name, told in tool.parameters.items() if name != "request_context"}
        for tool in TOOLS
    }
    required = TOOLS[0].parameters["rule_id"].empty
    assert parameters == {
        "memory_mark_helpful": {"rule_id": required},
        "memory_mark_harmful": {"rule_id": required, "reason": None},
        "memory_run_episode_cleanup": {"max_entries": 10_000},
    }


def test_no_tool_can_name_a_tenant_or_reach_all_of_them():
    names = {parameter for tool in TOOLS for parameter in tool.parameters}
    assert names == {"rule_id", "reason", "max_entries", "request_context"}
    offered = {tool.name for provider in builtin.memory_tools() for tool in provider.create({})}
    assert not {name for name in offered if "purge" in name or "import" in name or "sweep" in name}


async def test_marks_answer_with_the_rules_standing_and_say_when_an_inversion_is_due(memory, pool, embedder):
    rule_id = await store_rule(pool, "Reply at once", embedder)
    assert await memory.call("memory_mark_helpful", rule_id=str(rule_id)) == {
        "id": str(rule_id),
        "found": True,
        "maturity": "candidate",
        "effectiveness_score": 1.0,
        "applied_count": 1,
        "success_count": 1,
        "harmful_count": 0,
        "needs_inversion": False,
    }
    for _ in range(3):
        answer = await memory.call("memory_mark_harmful", rule_id=str(rule_id), reason="too hasty")
    assert (answer["harmful_count"], answer["needs_inversion"]) == (3, True)


async def test_a_rule_of_another_tenant_is_not_found(memory, pool, embedder):
    rule_id = await store_rule(pool, "Reply at once", embedder, tenant_id="other")
    for tool in ("memory_mark_helpful", "memory_mark_harmful"):
        answer = await memory.call(tool, rule_id=str(rule_id))
        assert (answer["found"], answer["maturity"], answer["needs_inversion"]) == (False, None, False)
    assert (await memory.call("memory_mark_helpful", rule_id=str(uuid4())))["found"] is False


async def test_marks_follow_the_configured_policy(memory, pool, embedder):
    object.__setattr__(
        memory, "config", MemoryModuleConfig.model_validate({"rules": {"promote_to_established": {"min_successes": 1}}})
    )
    rule_id = await store_rule(pool, "Greet politely", embedder)
    assert (await memory.call("memory_mark_helpful", rule_id=str(rule_id)))["maturity"] == "established"


async def test_the_cleanup_tool_cleans_only_the_callers_tenant(memory, pool, embedder):
    for tenant in ("default", "other"):
        await store_episode(pool, "long ago", "jeeves", embedder, tenant_id=tenant, now=PAST)
    answer = await memory.call("memory_run_episode_cleanup")
    assert answer == {"expired_deleted": 1, "capacity_deleted": 0, "remaining": 0}
    assert await pool.fetchval("SELECT count(*) FROM episodes") == 1


async def test_bad_arguments_are_refused(memory):
    with pytest.raises(InvalidInputError, match="max_entries: Input should be greater than or equal to 0"):
        await memory.call("memory_run_episode_cleanup", max_entries=-1)
    with pytest.raises(InvalidInputError, match="rule_id: Input should be a valid UUID"):
        await memory.call("memory_mark_helpful", rule_id="nope")
