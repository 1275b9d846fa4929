"""Which stored fact an action means."""

from uuid import uuid4

import pytest
from memory_consolidate import UpdatedFact
from memory_consolidate.fact_resolution import allowed_scope, fact_to_store, names_same_fact


def update(subject="user", predicate="home_city", **given):
    return UpdatedFact(target_id=str(uuid4()), subject=subject, predicate=predicate, content="Rome", **given)


def target(subject="user", predicate="home_city", entity_id=None):
    return {
        "subject": subject,
        "predicate": predicate,
        "entity_id": entity_id,
        "scope": "home",
        "importance": 9.0,
        "permanence": "stable",
        "tags": ["t"],
        "metadata": {"status": "fading", "kept": 1},
    }


@pytest.mark.parametrize(
    ("known", "same"),
    [
        (target(), True),
        (target("User", "Home City"), True),
        (target("user", "home-city"), True),
        (target("user", "city"), False),
        (target("Anna", "home_city"), False),
        (target("Anna", "home_city", entity_id=uuid4()), True),
        (target("Anna", "age", entity_id=uuid4()), False),
    ],
)
def test_spelling_does_not_make_another_fact_and_a_wrong_id_does(known, same):
    assert names_same_fact(update(), known) is same


def test_what_an_update_leaves_out_is_kept_but_not_the_mark_of_decay():
    fact = fact_to_store(update(), target(), butler="home", scope="global", evidence=[])
    assert (fact.importance, fact.permanence, fact.tags, fact.scope) == (9.0, "stable", ["t"], "home")
    assert fact.metadata == {"kept": 1}


def test_without_a_target_the_defaults_hold():
    fact = fact_to_store(update(tags=["x"]), None, butler="home", scope="global", evidence=[])
    assert (fact.importance, fact.permanence, fact.tags, fact.scope) == (5.0, "standard", ("x",), "global")


@pytest.mark.parametrize(
    ("asked", "given_scope"), [(None, "default"), ("global", "global"), ("home", "home"), ("work", "default")]
)
def test_a_model_may_ask_for_two_scopes(asked, given_scope):
    assert allowed_scope(asked, "home", "default") == given_scope
