"""`memory export` and `memory import`."""

import json
import stat

import pytest
from memory_core import store_episode, store_fact
from memory_core.testing import WordHashEmbedder


@pytest.fixture
async def anna(pool):
    """A tenant that has an episode and a fact."""
    await store_episode(pool, "Ana came to dinner.", "home", WordHashEmbedder(), tenant_id="anna")
    await store_fact(pool, "user", "diet", "The user is a vegetarian.", WordHashEmbedder(), tenant_id="anna")
    return "anna"


async def test_a_tenant_moves_to_another_database(run_memory, dsn, empty_dsn, anna, tmp_path):
    file = tmp_path / "anna.jsonl"
    exported = run_memory("--dsn", dsn, "--tenant", anna, "export", str(file), "--no-embeddings")
    assert exported.exit_code == 0
    assert exported.stdout.startswith("exported ")
    assert "episode 1, fact 1" in exported.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, "it holds memories"

    imported = run_memory("--dsn", empty_dsn, "--tenant", "ana", "import", str(file))
    assert imported.exit_code == 0
    assert "fact: 1 inserted, 0 there already" in imported.stdout
    again = json.loads(run_memory("--dsn", empty_dsn, "--tenant", "ana", "import", str(file), "--json").stdout)
    assert again["fact"] == {"inserted": 0, "unchanged": 1, "conflicts": 0}
    assert "vegetarian" in run_memory("--dsn", empty_dsn, "--tenant", "ana", "search", "What may I cook?").stdout


async def test_a_pipe_will_do(run_memory, dsn, empty_dsn, anna):
    exported = run_memory("--dsn", dsn, "--tenant", anna, "export", "-", "--no-embeddings")
    lines = exported.stdout.splitlines()
    assert json.loads(lines[0])["kind"] == "header"
    assert "exported " in exported.stderr
    assert run_memory("--dsn", empty_dsn, "import", "-", stdin=exported.stdout).exit_code == 0


def test_an_export_to_stdout_leaves_no_room_for_json(run_memory, dsn):
    refused = run_memory("--dsn", dsn, "export", "-", "--json")
    assert refused.exit_code == 2
    assert "name a file" in refused.stderr


async def test_an_export_that_fails_leaves_the_file_that_was_there(run_memory, dsn, pool, anna, tmp_path):
    file = tmp_path / "anna.jsonl"
    file.write_text("yesterday's", encoding="utf-8")
    await pool.execute("ALTER TABLE memory_links RENAME TO hidden_links")
    with pytest.raises(Exception, match="memory_links"):
        run_memory("--dsn", dsn, "--tenant", anna, "export", str(file))
    assert file.read_text(encoding="utf-8") == "yesterday's"
    assert [path.name for path in tmp_path.iterdir()] == ["anna.jsonl"]


def test_counts_are_told_as_json_too(run_memory, dsn, tmp_path):
    counts = json.loads(run_memory("--dsn", dsn, "export", str(tmp_path / "none.jsonl"), "--json").stdout)
    assert counts["fact"] == 0
    assert run_memory("--dsn", dsn, "import", str(tmp_path / "none.jsonl")).stdout == "the file holds nothing\n"


def test_a_file_that_is_no_export_is_refused_with_the_line(run_memory, dsn, tmp_path):
    file = tmp_path / "other.jsonl"
    file.write_text('{"hello": 1}\n', encoding="utf-8")
    refused = run_memory("--dsn", dsn, "import", str(file))
    assert refused.exit_code == 2
    assert "line 1 is not the header of a butler-memory export" in refused.stderr
    assert run_memory("--dsn", dsn, "import", str(tmp_path / "absent.jsonl")).exit_code == 2
