import asyncio
import logging
import math
from datetime import timedelta

import pytest
from memory_agent import (
    MemoryManager,
    MemoryManagerOptions,
    ScoredMemory,
    SearchOptions,
    deep_search,
    fast_search,
    save_memory,
    search,
)


@pytest.fixture
def fruit(db, now):
    for number in range(30):
        save_memory(db, "a", f"k{number}", f"apple variety {number}", now=now - timedelta(seconds=number))
    return db


def found(hits):
    return [hit.memory.key for hit in hits]


class Model:
    """Ranks candidates by the number in their key, the highest first, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    async def __call__(self, query, candidates, limit):
        self.asked.append((query, list(candidates), limit))
        return [ScoredMemory(memory, int(memory.key[1:]) / 100, "llm") for memory in candidates]


async def test_a_model_decides_the_order(fruit, now):
    hits = await deep_search(fruit, "a", "apple", SearchOptions(limit=10), Model(), now=now)
    assert found(hits) == [f"k{number}" for number in range(29, 19, -1)]
    assert {hit.source for hit in hits} == {"llm"}


@pytest.mark.parametrize(("limit", "offered"), [(1, 3), (5, 15), (10, 30)])
async def test_a_model_gets_three_candidates_per_result(fruit, limit, offered, now):
    model = Model()
    await deep_search(fruit, "a", "apple", SearchOptions(limit=limit), model, now=now)
    [(query, candidates, asked_limit)] = model.asked
    assert (query, len(candidates), asked_limit) == ("apple", offered, limit)


async def test_a_model_never_gets_more_than_sixty_candidates(db, now):
    for number in range(70):
        save_memory(db, "a", f"k{number}", f"apple {number}", now=now)
    model = Model()
    await deep_search(db, "a", "apple", SearchOptions(limit=50), model, now=now)
    assert len(model.asked[0][1]) == 60


@pytest.mark.scenario("Deep search without LLM callback")
@pytest.mark.scenario("Invariant 15: Deep search graceful degradation")
async def test_without_a_model_the_fast_results_stand(fruit, now):
    manager = MemoryManager(fruit, clock=lambda: now)
    result = await manager.search("a", "apple", SearchOptions(mode="deep"))
    assert result.memories == fast_search(fruit, "a", "apple", now=now)
    assert (result.mode, result.total_candidates) == ("deep", 30)


@pytest.mark.scenario("Error case: Deep search LLM callback throws")
@pytest.mark.scenario("Invariant 15: Deep search graceful degradation")
async def test_a_model_that_raises_leaves_the_fast_results_and_a_warning(fruit, caplog, now):
    async def broken(_query, _candidates, _limit):
        raise TimeoutError("the model did not answer")

    with caplog.at_level(logging.WARNING, logger="memory_agent"):
        hits = await deep_search(fruit, "a", "apple", None, broken, now=now)
    assert hits == fast_search(fruit, "a", "apple", now=now)
    [record] = caplog.records
    assert (record.levelname, record.exc_info[0]) == ("WARNING", TimeoutError)


@pytest.mark.parametrize("answer", [None, "k1, k2", 7, [{"id": "k1"}]])
async def test_an_answer_of_another_shape_counts_as_failure(fruit, caplog, answer, now):
    async def confused(_query, _candidates, _limit):
        return answer

    assert await deep_search(fruit, "a", "apple", None, confused, now=now) == fast_search(fruit, "a", "apple", now=now)
    assert "the fast results stand" in caplog.text


async def test_a_cancelled_search_stays_cancelled(fruit):
    async def cancelled(_query, _candidates, _limit):
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await deep_search(fruit, "a", "apple", None, cancelled)


async def test_unknown_memories_are_dropped_and_known_ones_keep_their_own_text(fruit, now):
    stranger = save_memory(fruit, "b", "k999", "apple of another agent")

    async def inventive(_query, candidates, _limit):
        forged = [ScoredMemory(stranger, 1.0, "llm")]
        return forged + [ScoredMemory(memory, 0.5, "fts5") for memory in candidates[:2]]

    hits = await deep_search(fruit, "a", "apple", None, inventive, now=now)
    assert [(hit.memory.agent_id, hit.source) for hit in hits] == [("a", "llm"), ("a", "llm")]


async def test_a_memory_named_twice_counts_once_with_its_better_score(fruit, now):
    async def stammering(_query, candidates, _limit):
        return [ScoredMemory(candidates[0], score, "llm") for score in (0.2, 0.9, math.nan)]

    [hit] = await deep_search(fruit, "a", "apple", None, stammering, now=now)
    assert hit.score == 0.9


async def test_an_answer_of_strangers_alone_counts_as_failure(fruit, now):
    stranger = save_memory(fruit, "b", "k1", "apple")

    async def lost(_query, _candidates, _limit):
        return [ScoredMemory(stranger, 1.0, "llm")]

    assert await deep_search(fruit, "a", "apple", None, lost, now=now) == fast_search(fruit, "a", "apple", now=now)


async def test_a_model_may_find_nothing_relevant(fruit):
    async def strict(_query, _candidates, _limit):
        return []

    assert await deep_search(fruit, "a", "apple", None, strict) == []


async def test_a_models_scores_decay_too(db, now):
    save_memory(db, "a", "k9", "apple", now=now - timedelta(days=200))
    save_memory(db, "a", "k5", "apple", now=now)
    hits = await deep_search(db, "a", "apple", None, Model(), now=now)
    assert [(hit.memory.key, hit.score) for hit in hits] == [("k5", 0.05), ("k9", pytest.approx(0.036))]


async def test_a_model_is_not_asked_about_nothing(fruit):
    model = Model()
    assert await deep_search(fruit, "a", "zebra", None, model) == []
    assert model.asked == []


async def test_the_mode_decides_who_searches(fruit, now):
    model = Model()
    fast = await search(fruit, "a", "apple", SearchOptions(mode="fast"), model, now=now)
    assert (fast, model.asked) == (fast_search(fruit, "a", "apple", now=now), [])
    deep = await search(fruit, "a", "apple", SearchOptions(mode="deep"), model, now=now)
    assert found(deep)[0] == "k29"


async def test_a_manager_takes_its_model_at_birth_or_later(fruit, now):
    born_with = MemoryManager(fruit, MemoryManagerOptions(deep_search_fn=Model()), clock=lambda: now)
    later = MemoryManager(fruit, clock=lambda: now)
    later.set_deep_search_fn(Model())
    for manager in (born_with, later):
        result = await manager.search("a", "apple", SearchOptions(mode="deep"))
        assert result.memories[0].source == "llm"
