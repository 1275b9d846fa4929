import math
from datetime import timedelta

import pytest
from memory_agent import InvalidInputError, SearchOptions, fast_search, save_memory, search
from memory_agent.fast import positional_score


def found(hits):
    return [hit.memory.key for hit in hits]


def save_all(manager, **contents):
    for key, content in contents.items():
        manager.save("a", key, content)


@pytest.mark.scenario("Agent-scoped search isolation")
def test_two_agents_with_the_same_topic_find_only_their_own(db, manager):
    manager.save("agent1", "k8s", "Kubernetes runs the first cluster")
    manager.save("agent2", "k8s", "Kubernetes runs the second cluster")
    assert [hit.memory.agent_id for hit in fast_search(db, "agent1", "Kubernetes")] == ["agent1"]


@pytest.mark.scenario("Error case: Search with no FTS5 matches")
def test_words_that_nothing_holds_find_nothing(db, manager):
    manager.save("a", "fruit", "pineapple")
    assert fast_search(db, "a", "zebra") == []
    assert fast_search(db, "a", "apple") == []
    assert fast_search(db, "a", "?!") == []
    assert fast_search(db, "stranger", "pineapple") == []


@pytest.mark.parametrize(
    ("place", "count", "score"), [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 0.55), (0, 10, 1.0), (9, 10, 0.19)]
)
def test_the_place_among_the_hits_gives_a_score(place, count, score):
    assert positional_score(place, count) == pytest.approx(score)


@pytest.mark.scenario("Invariant 17: Fast search scoring blend")
def test_scores_blend_two_fifths_of_place_with_three_fifths_of_tfidf(db, manager, now):
    save_all(manager, one="red apple", two="green pear", three="blue plum")
    [hit] = fast_search(db, "a", "apple", now=now)
    # Of the three terms of "one red apple" all are unique to it: the query's term is one of three equal weights.
    assert hit.score == pytest.approx(0.4 * 1.0 + 0.6 / math.sqrt(3))
    assert hit.source == "combined"


@pytest.mark.scenario("Invariant 17: Fast search scoring blend")
def test_the_place_alone_counts_where_tfidf_says_nothing(db, manager, now):
    save_all(manager, one="apple", two="apple")
    hits = fast_search(db, "a", "apple", now=now)
    # Both hold the word, so its idf is zero.
    assert [(hit.score, hit.source) for hit in hits] == [(1.0, "fts5"), (pytest.approx(0.55), "fts5")]


def test_a_query_without_ascii_words_is_ranked_by_place(db, manager, now):
    save_all(manager, one="привет мир", two="other words")
    [hit] = fast_search(db, "a", "привет", now=now)
    assert (hit.score, hit.source) == (1.0, "fts5")


def test_tfidf_lifts_the_memory_that_is_about_the_words(db, manager, now):
    save_all(manager, other="unrelated words entirely", another="still something else")
    manager.save("a", "about", "apple orchard")
    manager.save("a", "passing", "apple " + " ".join(f"word{number}" for number in range(40)))
    hits = fast_search(db, "a", "apple", now=now)
    assert found(hits) == ["about", "passing"]
    assert hits[0].score > 2 * hits[1].score


@pytest.mark.scenario("Invariant 3: Search results ranked by relevance")
def test_results_are_sorted_by_their_decayed_score(db, now):
    save_memory(db, "a", "old", "apple one", now=now - timedelta(days=200))
    save_memory(db, "a", "month", "apple two", now=now - timedelta(days=40))
    save_memory(db, "a", "fresh", "apple six", now=now)
    save_memory(db, "a", "other", "pear", now=now)
    hits = fast_search(db, "a", "apple", now=now)
    assert found(hits) == ["fresh", "month", "old"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_threshold_is_compared_before_decay(db, manager, now):
    save_memory(db, "a", "old", "apple", now=now - timedelta(days=200))
    [hit] = fast_search(db, "a", "apple", SearchOptions(min_similarity=0.9), now=now)
    assert hit.score == pytest.approx(0.4)


def test_hits_below_the_threshold_are_left_out(db, manager, now):
    save_all(manager, one="apple", two="apple")
    assert len(fast_search(db, "a", "apple", SearchOptions(min_similarity=0.6), now=now)) == 1


def test_the_limit_cuts_after_the_ranking(db, manager, now):
    for number in range(15):
        manager.save("a", f"k{number}", f"apple {number}")
    assert len(fast_search(db, "a", "apple", now=now)) == 10
    assert len(fast_search(db, "a", "apple", SearchOptions(limit=3), now=now)) == 3


def test_a_category_narrows_the_search(db, manager):
    save_all(manager, password="apple", lunch="apple")
    assert found(fast_search(db, "a", "apple", SearchOptions(category="credential"))) == ["password"]


def test_a_category_is_looked_for_among_all_matches_not_just_the_best(db, manager):
    manager.save("a", "password", "apple " + " ".join(f"word{number}" for number in range(30)))
    for number in range(60):
        manager.save("a", f"k{number}", "apple")
    assert found(fast_search(db, "a", "apple", SearchOptions(limit=5, category="credential"))) == ["password"]


@pytest.mark.scenario("Invariant 18: Category fallback in search")
def test_a_category_that_no_match_has_is_dropped(db, manager):
    save_all(manager, lunch="apple")
    assert found(fast_search(db, "a", "apple", SearchOptions(category="task"))) == ["lunch"]


def test_a_category_without_its_table_is_dropped(db, manager):
    save_all(manager, lunch="apple")
    db.execute("DROP TABLE memory_categories")
    assert found(fast_search(db, "a", "apple", SearchOptions(category="task"))) == ["lunch"]


def test_idf_follows_every_save_replacement_and_archiving(db, manager, now):
    save_all(manager, one="apple", two="apple", three="pear")
    assert fast_search(db, "a", "apple", now=now)[0].source == "combined"
    manager.save("a", "three", "apple")
    assert fast_search(db, "a", "apple", now=now)[0].source == "fts5"
    db.execute("UPDATE agent_memories SET content = 'plum' WHERE key = 'three'")
    db.execute("UPDATE agent_memories SET archived = 1 WHERE key = 'two'")
    terms = dict(db.execute("SELECT term, documents FROM memory_terms").fetchall())
    assert terms == {"one": 1, "apple": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SearchOptions(limit=0), "limit 0 is not a whole number from 1 to 1,000,000; pass for example 10"),
        (SearchOptions(limit=10**19), "limit 1.* is not a whole number from 1 to 1,000,000"),
        (SearchOptions(category="colour"), "category 'colour' is not one of: config, code, person"),
        (SearchOptions(min_similarity=1.5), "min_similarity 1.5 is not a number from 0 to 1"),
        (SearchOptions(min_similarity=math.nan), "min_similarity nan is not a number from 0 to 1"),
        (SearchOptions(mode="slow"), "mode 'slow' is not one of: fast, deep"),
    ],
)
async def test_bad_options_are_refused_whatever_the_mode(db, options, message):
    with pytest.raises(InvalidInputError, match=message):
        await search(db, "a", "apple", options)


def test_a_query_that_is_no_text_is_refused(db):
    with pytest.raises(InvalidInputError, match="query None is not a string; pass text"):
        fast_search(db, "a", None)


def test_a_large_memory_is_searched_through_the_index_in_rank_order(db):
    from memory_agent.fast import _SQL

    params = {"expression": '"1xapple"*', "agent_id": "a", "limit": 30, "category": "task"}
    for query in ("candidates", "candidates_of_category"):
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {_SQL[query]}", params)]
        assert not [step for step in plan if "TEMP B-TREE" in step or step == "SCAN m"]
