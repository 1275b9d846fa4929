import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_agent import MemoryManager, open_database, recall_memory
from memory_agent.crossrefs import _SQL, jaccard_similarity
from memory_agent.tokens import tokenize

WORDS = [f"word{number}" for number in range(40)]


def related(manager, memory):
    return {hit.memory.key: hit.score for hit in manager.get_related(memory.id)}


def test_jaccard_is_the_share_of_common_terms():
    assert jaccard_similarity(["cat", "dog"], ["dog", "owl"]) == pytest.approx(1 / 3)
    assert jaccard_similarity([], []) == 0.0


@given(st.sets(st.sampled_from(WORDS)), st.sets(st.sampled_from(WORDS)))
def test_jaccard_is_symmetric_bounded_and_one_for_equals(a, b):
    assert jaccard_similarity(a, b) == jaccard_similarity(b, a)
    assert 0.0 <= jaccard_similarity(a, b) <= 1.0
    assert jaccard_similarity(a, a) == (1.0 if a else 0.0)


def test_saving_a_memory_refers_it_to_those_about_the_same_thing(manager):
    manager.save("a", "one", "apple cake recipe")
    manager.save("a", "far", "quarterly budget numbers")
    two = manager.save("a", "two", "apple cake dough")
    assert related(manager, two) == {"one": pytest.approx(2 / 6)}


def test_a_reference_is_seen_from_both_sides(manager):
    one = manager.save("a", "one", "apple cake recipe")
    two = manager.save("a", "two", "apple cake dough")
    assert related(manager, one)["two"] == related(manager, two)["one"]


def test_references_stay_within_one_agent(manager):
    one = manager.save("a", "one", "apple cake recipe")
    other = manager.save("b", "two", "apple cake recipe")
    assert manager.get_related(one.id) == manager.get_related(other.id) == []


@pytest.mark.scenario("Invariant 10: Cross-reference threshold")
def test_pairs_at_or_below_the_threshold_are_not_referenced(db, manager):
    # The keys share one term. With nine and ten others it is 1 of 20, which is not above 0.05; 1 of 19 is.
    manager.save("a", "shared", " ".join(WORDS[:9]))
    at_threshold = manager.save("a", "shared x", " ".join(WORDS[20:30]))
    assert manager.get_related(at_threshold.id) == []
    above = manager.save("a", "shared y", " ".join(WORDS[30:39]))
    assert related(manager, above)["shared"] == pytest.approx(1 / 19)


@pytest.mark.scenario("Invariant 10: Cross-reference threshold")
def test_a_memory_refers_to_at_most_its_ten_nearest(db, manager):
    for number in range(15):
        manager.save("a", f"far{number}", "apple pear plum quince")
    for number in range(10):
        manager.save("a", f"near{number}", "apple cake")
    last = manager.save("a", "last", "apple cake")
    targets = db.execute("SELECT target_id FROM memory_cross_refs WHERE source_id = ?", (last.id,)).fetchall()
    assert {target for (target,) in targets} == {recall_memory(db, "a", f"near{number}").id for number in range(10)}
    sources = db.execute("SELECT count(*) FROM memory_cross_refs GROUP BY source_id").fetchall()
    assert max(sources) == (10,)


def test_new_content_brings_new_references_on_both_sides(manager):
    one = manager.save("a", "one", "apple cake recipe")
    two = manager.save("a", "two", "apple cake dough")
    three = manager.save("a", "three", "quarterly budget numbers")
    manager.save("a", "one", "quarterly budget forecast")
    assert related(manager, two) == {}
    assert set(related(manager, three)) == {"one"}
    assert set(related(manager, one)) == {"three"}


def test_references_that_others_hold_are_scored_again(manager):
    one = manager.save("a", "one", "apple cake recipe")
    manager.save("a", "two", "apple cake recipe")
    before = related(manager, one)["two"]
    manager.save("a", "one", "apple cake recipe with very many other words besides")
    assert 0.05 < related(manager, one)["two"] < before


def test_references_that_others_hold_are_kept_when_they_are_not_among_the_ten_nearest(manager):
    hub = manager.save("a", "hub", "apple cake")
    fan = manager.save("a", "fan", "apple cake with cream on a plate")
    for number in range(12):
        manager.save("a", f"near{number}", "apple cake")
    before = related(manager, fan)["hub"]
    manager.save("a", "hub", "apple cake sugar")
    assert "fan" not in {hit.memory.key for hit in manager.get_related(hub.id)[:10]}
    assert 0 < related(manager, fan)["hub"] < before


def test_related_memories_come_nearest_first_and_limited(manager):
    manager.save("a", "near", "apple cake recipe flour")
    manager.save("a", "middle", "apple cake")
    manager.save("a", "far", "apple orchard harvest ladder")
    one = manager.save("a", "one", "apple cake recipe flour")
    assert list(related(manager, one)) == ["near", "middle", "far"]
    assert [hit.memory.key for hit in manager.get_related(one.id, 1)] == ["near"]


def test_archived_memories_are_not_related(db, manager):
    one = manager.save("a", "one", "apple cake recipe")
    manager.save("a", "two", "apple cake recipe")
    db.execute("UPDATE agent_memories SET archived = 1 WHERE key = 'two'")
    assert manager.get_related(one.id) == []


def test_an_unknown_memory_has_no_relations(manager):
    assert manager.get_related("no such id") == []


@pytest.mark.scenario("Error case: Cross-refs table doesn't exist")
def test_without_the_table_nothing_is_related_and_saving_goes_on(db, manager):
    one = manager.save("a", "one", "apple cake")
    db.execute("DROP TABLE memory_cross_refs")
    assert manager.get_related(one.id) == []
    assert manager.save("a", "two", "apple cake").category == "general"


def test_the_bounded_neighbour_search_agrees_with_comparing_all():
    chance = random.Random(3)
    manager = MemoryManager(open_database(":memory:"))
    weights = [1 / (rank + 1) for rank in range(len(WORDS) * 10)]
    vocabulary = [f"term{number}" for number in range(len(weights))]
    texts = {f"key{number}": " ".join(chance.choices(vocabulary, weights, k=15)) for number in range(300)}
    saved = {key: manager.save("a", key, content) for key, content in texts.items()}
    newest = saved["key299"]
    terms = {key: set(tokenize(f"{key} {content}")) for key, content in texts.items()}
    exact = sorted((jaccard_similarity(terms["key299"], terms[key]) for key in list(texts)[:-1]), reverse=True)[:10]
    stored = [hit.score for hit in manager.get_related(newest.id)]
    # Bounded, so not all of the ten nearest must be among them; their likeness must come close.
    assert sum(stored) >= 0.8 * sum(score for score in exact if score > 0.05)
    manager.close()


def test_the_neighbours_of_a_common_term_are_read_newest_first_and_bounded(db):
    explained = db.execute(f"EXPLAIN QUERY PLAN {_SQL['documents_with_term']}", {"expression": "x", "limit": 5})
    plan = [row[3] for row in explained]
    assert not [step for step in plan if "TEMP B-TREE" in step]
