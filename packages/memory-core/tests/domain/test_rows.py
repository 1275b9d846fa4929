"""Rows as dictionaries and as JSON."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from memory_core.rows import memory_state, row_to_dict, to_json
from memory_core.vocabulary import MemoryType


@pytest.mark.scenario("UUID serialization")
def test_an_id_becomes_its_text():
    assert to_json({"id": UUID(int=5)}) == {"id": "00000000-0000-0000-0000-000000000005"}


@pytest.mark.scenario("Datetime serialization")
def test_a_time_becomes_iso_8601():
    assert to_json([datetime(2026, 1, 2, tzinfo=UTC)]) == ["2026-01-02T00:00:00+00:00"]


def test_vectors_are_never_shown_and_everything_is_json():
    value = {"embedding": [1.0], "search_vector": "x", "a": {"embedding": [1], "b": (float("inf"), 1.5)}}
    assert json.loads(json.dumps(to_json(value), allow_nan=False)) == {"a": {"b": [None, 1.5]}}


def test_jsonb_is_read_from_text_and_from_decoded_values_alike():
    assert row_to_dict({"metadata": '{"a": 1}', "tags": ["x"], "embedding": "[1]"}) == {
        "metadata": {"a": 1},
        "tags": ["x"],
    }


@pytest.mark.parametrize(
    ("kind", "memory", "state"),
    [
        ("fact", {"validity": "active", "metadata": {}}, "active"),
        ("fact", {"validity": "active", "metadata": {"status": "fading"}}, "fading"),
        ("fact", {"validity": "superseded", "metadata": {"status": "fading"}}, "superseded"),
        ("rule", {"maturity": "proven", "metadata": {}}, "proven"),
        ("rule", {"maturity": "proven", "metadata": {"status": "fading"}}, "fading"),
        ("rule", {"maturity": "proven", "metadata": {"forgotten": True}}, "forgotten"),
        ("episode", {"consolidation_status": "pending", "metadata": {}}, "pending"),
    ],
)
def test_a_memory_is_in_one_canonical_state(kind, memory, state):
    assert memory_state(MemoryType(kind), memory) == state
