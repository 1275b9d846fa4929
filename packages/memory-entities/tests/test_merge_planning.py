"""What a merge decides about facts and names, without a database."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from memory_entities.merge_planning import ClaimedKey, added_aliases, plan_fact_merge


def claim(number, predicate, confidence, scope="global"):
    return ClaimedKey(UUID(int=number), scope, predicate, confidence)


def test_a_fact_without_rival_is_repointed():
    plan = plan_fact_merge([claim(1, "email", 0.5)], [claim(2, "phone", 1.0)])
    assert (plan.repointed, plan.superseded) == ([UUID(int=1)], {})


def test_the_same_predicate_in_another_scope_is_no_rival():
    plan = plan_fact_merge([claim(1, "email", 0.5, "chef")], [claim(2, "email", 1.0)])
    assert plan.superseded == {}


def test_the_surer_source_fact_replaces_the_targets():
    plan = plan_fact_merge([claim(1, "email", 0.9)], [claim(2, "email", 0.8)])
    assert (plan.repointed, plan.superseded) == ([UUID(int=1)], {UUID(int=2): UUID(int=1)})


def test_the_targets_fact_stays_where_both_are_equally_sure():
    plan = plan_fact_merge([claim(1, "email", 0.8)], [claim(2, "email", 0.8)])
    assert (plan.repointed, plan.superseded) == ([], {UUID(int=1): UUID(int=2)})


def claims(first):
    keys = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["x", "y"])), unique=True)
    return st.tuples(keys, st.lists(st.floats(0, 1), min_size=12, max_size=12)).map(
        lambda drawn: [
            claim(first + place, predicate, drawn[1][place], scope) for place, (predicate, scope) in enumerate(drawn[0])
        ]
    )


@given(claims(1), claims(100))
def test_after_any_merge_each_key_has_exactly_its_surest_fact(source, target):
    plan = plan_fact_merge(source, target)
    left = [fact for fact in target if fact.id not in plan.superseded]
    left += [fact for fact in source if fact.id in plan.repointed]
    held = {(fact.scope, fact.predicate): fact.confidence for fact in left}
    everything = source + target
    assert len(held) == len(left)
    assert held == {
        key: max(fact.confidence for fact in everything if (fact.scope, fact.predicate) == key)
        for key in {(fact.scope, fact.predicate) for fact in everything}
    }
    assert set(plan.superseded.values()) <= {fact.id for fact in left}


def test_the_source_gives_its_name_and_aliases_that_the_target_lacks():
    source = {"canonical_name": "Bob Smith", "aliases": ["bobby", "ROBERT SMITH", "B."]}
    target = {"canonical_name": "Robert Smith", "aliases": ["Bobby"]}
    assert added_aliases(source, target) == ["Bob Smith", "B."]
