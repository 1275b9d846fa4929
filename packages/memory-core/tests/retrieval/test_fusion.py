"""Fusing two rankings."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from memory_core.candidates import Candidate
from memory_core.fusion import Hit, fuse, scale_relevance
from memory_core.vocabulary import MemoryType

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def candidate(number, score=1.0, created_at=NOW):
    id_ = UUID(int=number)
    return Candidate(MemoryType.FACT, id_, created_at, 5.0, 1.0, 0.0, NOW, None, None, "", score)


def ids(hits):
    return [hit.candidate.id.int for hit in hits]


@pytest.mark.scenario("Hybrid search uses Reciprocal Rank Fusion")
def test_scores_add_the_reciprocals_of_both_ranks():
    hits = fuse([candidate(1), candidate(2)], [candidate(2), candidate(1), candidate(3)], limit=5)
    by_id = {hit.candidate.id.int: hit for hit in hits}
    assert by_id[1].rrf_score == pytest.approx(1 / 61 + 1 / 62)
    assert by_id[2].rrf_score == pytest.approx(1 / 62 + 1 / 61)
    assert by_id[3].rrf_score == pytest.approx(1 / 66 + 1 / 63)
    assert (by_id[3].semantic_rank, by_id[3].keyword_rank) == (6, 3)


def test_a_tie_goes_to_the_better_semantic_rank():
    assert ids(fuse([candidate(1), candidate(2)], [candidate(2), candidate(1)], limit=5)) == [1, 2]


def test_a_list_longer_than_the_limit_ranks_what_it_lacks_behind_its_last():
    hits = fuse([candidate(n) for n in range(1, 9)], [candidate(99)], limit=5)
    absent = next(hit for hit in hits if hit.candidate.id.int == 99)
    assert absent.semantic_rank == 9


def test_equal_scores_put_the_newest_first_and_then_the_lowest_id():
    older = NOW - timedelta(days=1)
    hits = fuse([], [candidate(3, created_at=older), candidate(2), candidate(1)], limit=1)
    assert ids(hits) == [3, 2, 1]
    same = [Hit(candidate(3, created_at=older), 0.5), Hit(candidate(2), 0.5), Hit(candidate(1), 0.5)]
    assert scale_relevance(same) == [1.0, 1.0, 1.0]


def test_relevance_spans_the_pool_from_0_to_1():
    pool = [Hit(candidate(1), 0.03), Hit(candidate(2), 0.02), Hit(candidate(3), 0.01)]
    assert scale_relevance(pool) == pytest.approx([1.0, 0.5, 0.0])
    assert scale_relevance([]) == []
