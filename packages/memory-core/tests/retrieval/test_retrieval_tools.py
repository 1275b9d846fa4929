"""The tools that find memories, as clients call them."""

import pytest
from memory_core import InvalidInputError, MemoryModuleConfig, NewFact, Plugins, Provider, hookimpl, store_facts
from memory_core.retrieval_tools import TOOLS
from memory_core.runtime import Memory


class PreferUnimportant:
    def score(self, components, weights):
        return -components.importance


class OnlyFirst:
    created = 0

    def __init__(self):
        OnlyFirst.created += 1

    async def rerank(self, query, memories):
        return memories[:1]


class SamplePlugin:
    @hookimpl
    def memory_scorers(self):
        return [Provider("unimportant", lambda _options: PreferUnimportant())]

    @hookimpl
    def memory_rerankers(self):
        return [Provider("only_first", lambda _options: OnlyFirst())]


@pytest.fixture
def runtime(pool, embedder):
    def create(**retrieval):
        config = MemoryModuleConfig.model_validate({"retrieval": retrieval})
        plugins = Plugins.from_entry_points()
        plugins.register(SamplePlugin(), "sample")
        return Memory(pool, embedder, config, plugins, {tool.name: tool for tool in TOOLS})

    return create


@pytest.fixture
async def facts(pool, embedder):
    await store_facts(pool, [NewFact(f"s{n}", "drink", "tea", importance=n % 10) for n in range(30)], embedder)


@pytest.mark.scenario("Reading tools registered")
@pytest.mark.scenario("Context tool registered")
def test_parameters_and_defaults_are_those_of_the_specification():
    defaults = {
        tool.name: {
            name: field.get("default", "required")
            for name, field in tool.input_schema["properties"].items()
            if name not in ("request_context", "explain")
        }
        for tool in TOOLS
    }
    assert defaults["memory_search"] == {
        "query": "required",
        "types": None,
        "scope": None,
        "mode": "hybrid",
        "limit": 10,
        "min_confidence": 0.2,
    }
    assert defaults["memory_recall"] == {"topic": "required", "scope": None, "limit": 10}
    assert defaults["memory_context"] == {"trigger_prompt": "required", "butler": "required", "token_budget": None}
    assert defaults["memory_stats"] == {"scope": None}


async def test_ten_results_come_unless_the_caller_or_the_configuration_says_otherwise(runtime, facts):
    assert len(await runtime().call("memory_search", query="tea")) == 10
    assert len(await runtime().call("memory_recall", topic="tea")) == 10
    configured = runtime(default_limit=4)
    assert len(await configured.call("memory_search", query="tea")) == 4
    assert len(await configured.call("memory_recall", topic="tea")) == 4
    assert len(await configured.call("memory_search", query="tea", limit=10)) == 10


async def test_the_configured_mode_is_used_unless_the_caller_chooses(runtime, facts):
    configured = runtime(default_mode="keyword")
    assert await configured.call("memory_search", query="coffee") == []
    assert len(await configured.call("memory_search", query="coffee", mode="hybrid")) == 10


async def test_the_configured_weights_are_used(runtime, facts):
    weights = {"relevance": 0, "importance": 1, "recency": 0, "confidence": 0}
    [best, *_] = await runtime(score_weights=weights).call("memory_recall", topic="tea", explain=True)
    assert best["importance"] == 9
    assert best["composite_score"] == pytest.approx(0.9)
    assert best["explanation"]["weights"] == weights


async def test_the_configured_scorer_and_reranker_decide(runtime, facts):
    unimportant = await runtime(scorer="unimportant").call("memory_recall", topic="tea", limit=3)
    assert [result["importance"] for result in unimportant] == [0, 0, 0]
    memory = runtime(reranker="only_first")
    for _ in range(3):
        assert len(await memory.call("memory_recall", topic="tea")) == 1
    assert OnlyFirst.created == 1


@pytest.mark.scenario("UUID serialization")
@pytest.mark.scenario("Datetime serialization")
async def test_results_are_json_without_vectors(runtime, facts):
    [result, *_] = await runtime().call("memory_search", query="tea", types=["fact"])
    assert isinstance(result["id"], str)
    assert result["created_at"].startswith("20")
    assert not {"embedding", "search_vector"} & set(result)


async def test_context_and_stats_answer_as_text_and_counts(runtime, facts):
    block = await runtime(context_token_budget=50).call("memory_context", trigger_prompt="tea", butler="jeeves")
    assert block.startswith("# Memory Context\n")
    assert len(block) <= 200
    stats = await runtime().call("memory_stats")
    assert stats["facts"]["active"] == 30


async def test_lists_may_come_as_json_text_and_bad_values_are_explained(runtime, facts):
    assert len(await runtime().call("memory_search", query="tea", types='["fact"]')) == 10
    with pytest.raises(InvalidInputError, match="memory_search: mode"):
        await runtime().call("memory_search", query="tea", mode="fuzzy")
    with pytest.raises(InvalidInputError, match="memory_search: limit"):
        await runtime().call("memory_search", query="tea", limit=0)
