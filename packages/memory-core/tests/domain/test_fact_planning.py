"""What storing facts means for the active ones, decided without a database."""

from itertools import count
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from memory_core.fact_planning import ActiveFact, NewFact, plan_fact_writes


def _ids():
    numbers = count(100)
    return lambda: UUID(int=next(numbers))


def _fact(predicate="city", content="Rome", **values):
    return NewFact("user", predicate, content, **values).checked()


def test_a_new_key_is_inserted():
    plan = plan_fact_writes({}, [_fact()], _ids())
    assert [row.supersedes_id for row in plan.inserts] == [None]
    assert (plan.superseded, plan.confirmed) == ({}, [])


def test_an_equal_fact_is_confirmed_even_while_it_fades():
    held = _fact(metadata={"status": "fading"})
    plan = plan_fact_writes({held.key: ActiveFact(UUID(int=1), held)}, [_fact()], _ids())
    assert (plan.ids, plan.confirmed, plan.inserts) == ([UUID(int=1)], [UUID(int=1)], [])


def test_an_entity_stands_in_for_the_subject_in_the_key():
    entity = UUID(int=7)
    one, other = _fact(entity_id=entity), NewFact("someone", "city", "Oslo", entity_id=entity).checked()
    assert one.key == other.key
    assert one.key != _fact().key


facts = st.builds(_fact, st.sampled_from(["city", "job"]), st.sampled_from(["a", "b", "c"]))


@given(st.lists(facts, max_size=12))
def test_a_batch_plans_what_single_writes_would(batch):
    """The reference stores one by one in a dictionary."""
    plan = plan_fact_writes({}, batch, _ids())
    active, expected_ids, new_id = {}, [], _ids()
    for fact in batch:
        held = active.get(fact.key)
        if held is None or held[1].content != fact.content:
            active[fact.key] = held = (new_id(), fact)
        expected_ids.append(held[0])
    assert plan.ids == expected_ids
    assert {row.id for row in plan.inserts if row.validity == "active"} == {id_ for id_, _ in active.values()}
    assert all(row.supersedes_id is None or plan.superseded[row.supersedes_id] == row.id for row in plan.inserts)
