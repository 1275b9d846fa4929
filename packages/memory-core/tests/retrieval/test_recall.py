"""Recalling what matters about a topic."""

from datetime import UTC, datetime, timedelta

import pytest
from memory_core import InvalidInputError, NewFact, recall, store_episode, store_fact, store_facts, store_rule
from memory_core.scoring import ScoreWeights

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_relevance_importance_recency_and_confidence_make_the_score(pool, embedder):
    await store_fact(pool, "user", "drink", "tea", embedder, importance=8, confidence=0.9, now=NOW)
    await store_fact(pool, "user", "pet", "cat", embedder, now=NOW)
    later = NOW + timedelta(days=10)

    results = await recall(pool, "drink tea", embedder, explain=True, now=later)

    best = results[0]
    assert best["content"] == "tea"
    confidence = 0.9 * 2.718281828 ** (-0.008 * 10)
    assert best["composite_score"] == pytest.approx(0.4 * 1.0 + 0.3 * 0.8 + 0.2 * 0.0 + 0.1 * confidence)
    assert best["explanation"]["components"] == pytest.approx(
        {"relevance": 1.0, "importance": 8.0, "recency": 0.0, "confidence": confidence}
    )
    assert best["explanation"]["weights"] == {"relevance": 0.4, "importance": 0.3, "recency": 0.2, "confidence": 0.1}
    assert (best["explanation"]["semantic_rank"], best["explanation"]["keyword_rank"]) == (1, 1)


@pytest.mark.scenario("Recall bumps reference counts")
async def test_recall_counts_a_reference_to_each_result_and_to_no_other(pool, embedder):
    await store_facts(pool, [NewFact("user", f"drink {n}", "tea") for n in range(4)], embedder, now=NOW)
    await store_episode(pool, "tea was had", "jeeves", embedder, now=NOW)
    await store_rule(pool, "offer tea", embedder, now=NOW)
    later = NOW + timedelta(hours=1)

    results = await recall(pool, "tea", embedder, limit=3, now=later)

    assert [result["reference_count"] for result in results] == [1, 1, 1]
    assert {result["last_referenced_at"] for result in results} == {later}
    counts = "SELECT sum(n) FROM (SELECT reference_count FROM facts UNION ALL SELECT reference_count FROM episodes"
    assert await pool.fetchval(counts + " UNION ALL SELECT reference_count FROM rules) AS c (n)") == 3


async def test_a_memory_that_was_recalled_lately_comes_up_before_its_equals(pool, embedder):
    facts = [NewFact(f"s{n}", "drink", "tea") for n in range(4)]
    ids = await store_facts(pool, facts, embedder, now=NOW)
    await pool.execute("UPDATE facts SET last_referenced_at = $2 WHERE id = $1", ids[2], NOW)
    results = await recall(pool, "tea", embedder, mode="keyword", now=NOW)
    assert results[0]["id"] == ids[2]


async def test_rules_count_as_of_importance_five_and_episodes_as_certain(pool, embedder):
    await store_rule(pool, "offer tea", embedder, now=NOW)
    await store_episode(pool, "tea was had", "jeeves", embedder, importance=2, now=NOW)
    results = {r["memory_type"]: r for r in await recall(pool, "tea", embedder, explain=True, now=NOW)}
    assert results["rule"]["explanation"]["components"]["importance"] == 5.0
    assert results["rule"]["explanation"]["components"]["confidence"] == pytest.approx(0.5)
    assert results["episode"]["explanation"]["components"]["confidence"] == 1.0


async def test_weights_decide_the_order(pool, embedder):
    await store_fact(pool, "a", "p", "tea tea tea", embedder, importance=1, now=NOW)
    await store_fact(pool, "b", "p", "something with tea", embedder, importance=10, now=NOW)
    relevant = await recall(pool, "tea", embedder, weights=ScoreWeights(1, 0, 0, 0), now=NOW)
    important = await recall(pool, "tea", embedder, weights={"relevance": 0, "importance": 1}, now=NOW)
    assert [result["subject"] for result in relevant] == ["a", "b"]
    assert [result["subject"] for result in important] == ["b", "a"]


@pytest.mark.scenario("Deterministic ordering with tie-breaking")
async def test_equal_scores_put_the_newest_first_then_the_lowest_id(pool, embedder):
    await store_facts(pool, [NewFact(f"s{n}", "p", "tea") for n in range(3)], embedder, now=NOW)
    await store_fact(pool, "s9", "p", "tea", embedder, now=NOW + timedelta(minutes=1))
    weights = {"relevance": 0, "importance": 1, "recency": 0, "confidence": 0}
    results = await recall(pool, "tea", embedder, weights=weights, now=NOW + timedelta(hours=1))
    assert results[0]["subject"] == "s9"
    ids = [str(result["id"]) for result in results[1:]]
    assert ids == sorted(ids)


class UnimportantFirst:
    def score(self, components, weights):
        return -components.importance


class Backwards:
    async def rerank(self, query, memories):
        assert query == "tea"
        stranger = {**memories[0], "id": "00000000-0000-0000-0000-000000000000"}
        return [*reversed(memories), stranger, memories[0]]


async def test_another_scorer_can_decide(pool, embedder):
    await store_facts(pool, [NewFact(f"s{n}", "p", "tea", importance=n) for n in (3, 1, 2)], embedder, now=NOW)
    results = await recall(pool, "tea", embedder, scorer=UnimportantFirst(), now=NOW)
    assert [result["importance"] for result in results] == [1, 2, 3]


async def test_a_reranker_has_the_last_word_but_can_add_nothing(pool, embedder):
    await store_facts(pool, [NewFact(f"s{n}", "p", "tea", importance=n) for n in (1, 2, 3)], embedder, now=NOW)
    weights = {"relevance": 0, "importance": 1}
    results = await recall(pool, "tea", embedder, weights=weights, reranker=Backwards(), limit=2, now=NOW)
    assert [result["importance"] for result in results] == [1, 2]
    assert await pool.fetchval("SELECT sum(reference_count) FROM facts") == 2


async def test_recall_leaves_out_what_has_faded(pool, embedder):
    await store_fact(pool, "user", "drink", "tea", embedder, now=NOW - timedelta(days=400))
    assert await recall(pool, "tea", embedder, now=NOW) == []
    assert len(await recall(pool, "tea", embedder, min_confidence=0.01, now=NOW)) == 1


async def test_an_empty_topic_recalls_nothing_and_a_bad_limit_is_refused(pool, embedder):
    assert await recall(pool, " ", embedder) == []
    with pytest.raises(InvalidInputError, match="limit 0 is not a whole number"):
        await recall(pool, "tea", embedder, limit=0)
