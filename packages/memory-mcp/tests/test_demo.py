"""`memory demo`, with the real model and a real embedded server."""

import os
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

SCRIPT = Path(sys.executable).with_name("memory")


@pytest.fixture(scope="module")
def tour(tmp_path_factory) -> subprocess.CompletedProcess[str]:
    """The demo as a user runs it: a process of its own, nothing configured but a server that must not be touched."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    return subprocess.run(
        [SCRIPT, "demo"],
        env={**inherited, "COLUMNS": "120", "MEMORY_DSN": "postgresql://127.0.0.1:1/production"},
        cwd=tmp_path_factory.mktemp("elsewhere"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def chapter(tour: subprocess.CompletedProcess[str], title: str) -> str:
    _, _, rest = tour.stdout.partition(f". {title}\n")
    return rest.partition("\n\n")[2].partition("\n\n")[0]


def test_the_demo_succeeds_and_says_where_its_memory_was(tour):
    assert tour.returncode == 0, tour.stderr
    assert "memory is in the embedded server in " in tour.stderr
    assert "Traceback" not in tour.stderr


def test_nothing_is_left_behind(tour):
    [line] = [line for line in tour.stderr.splitlines() if line.startswith("memory is in the embedded server in ")]
    assert not Path(line.rpartition(" ")[2]).exists()


def test_a_fact_that_changed_is_superseded_and_told_again_confirmed(tour):
    told = chapter(tour, "Facts change")
    assert "-> superseded: The user lives in Lisbon, in Alfama." in told
    assert "-> active: The user has moved to Porto, near the river." in told
    assert "-> told again: the same fact, now confirmed" in told


def test_questions_find_answers_that_share_no_words_with_them(tour):
    lines = [line.split(maxsplit=2) for line in chapter(tour, "Search").splitlines()]
    asked = {line[0] + line[1]: index for index, line in enumerate(lines) if line[0].startswith("memory_search")}
    best = [lines[index + 1] for index in asked.values()]
    assert [line[1] for line in best] == ["episode", "fact"]
    assert "no meat" in best[0][2]
    assert "Porto" in best[1][2]


def test_the_rule_is_recalled_first_when_a_bill_is_paid(tour):
    assert "-> the rule from above is there when it is needed" in chapter(tour, "Recall")


def test_what_is_forgotten_is_found_no_more(tour):
    assert "-> forgotten: no search finds it" in chapter(tour, "Forget")


def test_the_count_matches_the_story(tour):
    counted = chapter(tour, "Count")
    assert "3 total, 3 unconsolidated" in counted
    assert "4 total, 2 active, 1 superseded, 1 retracted" in counted
    assert "1 total, 1 candidate" in counted


async def test_with_a_place_named_the_memories_stay_there_as_a_tenant_of_their_own(run_memory, dsn):
    completed = run_memory("--dsn", dsn, "demo")
    assert completed.exit_code == 0
    assert "The memories are kept: memory --tenant demo call memory_stats" in completed.stdout
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch("SELECT tenant_id, count(*) AS facts FROM facts GROUP BY tenant_id")
    await connection.close()
    assert [dict(row) for row in rows] == [{"tenant_id": "demo", "facts": 4}]
