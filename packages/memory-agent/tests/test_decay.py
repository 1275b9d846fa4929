from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_agent import AgentMemory, ScoredMemory, apply_decay, compute_decay_multiplier

NOW = datetime(2026, 6, 15, 12, 0, tzinfo=UTC)


def stamp(**age):
    return (NOW - timedelta(**age)).strftime("%Y-%m-%d %H:%M:%S")


def scored(key, score, **age):
    memory = AgentMemory(key, "agent", key, "content", None, "pending", False, stamp(**age), stamp(**age))
    return ScoredMemory(memory, score, "fts5")


@pytest.mark.parametrize(
    ("age", "multiplier"),
    [
        ({"days": 0}, 1.0),
        ({"days": 6, "hours": 23}, 1.0),
        ({"days": 7}, 0.8),
        ({"days": 29, "hours": 23}, 0.8),
        ({"days": 30}, 0.6),
        ({"days": 89, "hours": 23}, 0.6),
        ({"days": 90}, 0.4),
        ({"days": 4000}, 0.4),
    ],
)
def test_decay_falls_in_half_open_steps(age, multiplier):
    assert compute_decay_multiplier(stamp(**age), NOW) == multiplier


def test_a_future_time_does_not_decay():
    assert compute_decay_multiplier(stamp(days=-3), NOW) == 1.0


def test_an_unparsable_time_decays_to_the_floor():
    assert compute_decay_multiplier("last summer", NOW) == 0.4


def test_a_naive_time_is_utc():
    in_tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    assert compute_decay_multiplier(stamp(days=6, hours=20), in_tokyo) == 1.0
    assert compute_decay_multiplier(stamp(days=7, hours=1), NOW.replace(tzinfo=None)) == 0.8


def test_times_with_a_zone_are_read_as_well():
    assert compute_decay_multiplier("2026-06-08T13:00:00Z", NOW) == 1.0
    assert compute_decay_multiplier("2026-06-08T13:00:00+02:00", NOW) == 0.8


def test_without_a_moment_the_present_counts():
    assert compute_decay_multiplier(datetime.now(UTC).isoformat()) == 1.0


@pytest.mark.scenario("Invariant 2: Decay floor of 0.4")
@given(st.text() | st.datetimes().map(str))
def test_no_time_decays_below_the_floor(updated_at):
    assert 0.4 <= compute_decay_multiplier(updated_at, NOW) <= 1.0


@pytest.mark.scenario("Temporal decay re-ranking")
def test_a_recent_memory_overtakes_an_old_one_of_twice_its_score():
    ranked = apply_decay([scored("old", 1.0, days=180), scored("recent", 0.5, days=2)], NOW)
    assert [(hit.memory.key, hit.score) for hit in ranked] == [("recent", 0.5), ("old", 0.4)]


def test_equal_scores_keep_their_order():
    ranked = apply_decay([scored("first", 0.5, days=1), scored("second", 0.5, days=2)], NOW)
    assert [hit.memory.key for hit in ranked] == ["first", "second"]


def test_decay_of_nothing_is_nothing():
    assert apply_decay([], NOW) == []
