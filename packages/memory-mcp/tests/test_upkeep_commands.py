"""`sweep`, `cleanup`, `consolidate`, `requeue`, `reembed`, `worker`, `purge`: what keeps a memory in order."""

import json
import sys
from datetime import UTC, datetime, timedelta

import pytest
from memory_core import store_episode, store_fact
from memory_core.testing import WordHashEmbedder
from memory_mcp.commands import consolidate as consolidation

LONG_AGO = datetime.now(UTC) - timedelta(days=3000)
ANSWER = {"new_facts": [{"subject": "user", "predicate": "city", "content": "The user lives in Paris."}]}


@pytest.fixture
def run_here(run_memory, dsn):
    """Run a command on a fresh database."""

    def run(*arguments: str, **options: str):
        return run_memory("--dsn", dsn, *arguments, **options)

    return run


@pytest.fixture
def model(tmp_path):
    """Options that make a program of ours the language model; its answer can be changed."""
    program = tmp_path / "model.py"
    program.write_text(f"import sys\nsys.stdin.read()\nprint({json.dumps(ANSWER)!r})\n", encoding="utf-8")
    return {
        "MEMORY_CONSOLIDATION__SPAWNER": "command",
        "MEMORY_PLUGINS__COMMAND": json.dumps({"command": [sys.executable, str(program)]}),
    }


async def stored_episode(pool, text: str = "I moved to Paris.", **options: object) -> str:
    return str(await store_episode(pool, text, "home", WordHashEmbedder(), **options))


async def test_a_sweep_lets_old_facts_of_the_tenant_end(run_here, pool):
    for tenant in ("default", "else"):
        fact = ("user", "city", "Paris")
        await store_fact(pool, *fact, WordHashEmbedder(), tenant_id=tenant, now=LONG_AGO)
    assert run_here("sweep").stdout == "1 facts expired\n"
    assert json.loads(run_here("sweep", "--json").stdout)["facts_expired"] == 0
    assert await pool.fetchval("SELECT validity FROM facts WHERE tenant_id = 'else'") == "active"


async def test_a_cleanup_deletes_what_has_expired_and_keeps_as_many_as_configured(run_here, pool):
    await stored_episode(pool, now=LONG_AGO)
    kept = [await stored_episode(pool, f"episode {n}") for n in range(3)]
    await pool.execute("UPDATE episodes SET consolidation_status = 'consolidated'")
    done = run_here("cleanup", MEMORY_EPISODES__MAX_ENTRIES="2")
    assert done.stdout == "1 expired and 1 surplus episodes deleted, 2 remain\n"
    assert json.loads(run_here("cleanup", "--max-entries", "0", "--json").stdout) == {
        "expired_deleted": 0,
        "capacity_deleted": 2,
        "remaining": 0,
    }
    assert len(kept) == 3


async def test_episodes_are_consolidated_and_the_counts_told(run_here, pool, model):
    run_here("store", "episode", "I moved to Paris.", "--butler", "home")
    assert run_here("consolidate", "--dry-run").stdout == "1 episodes wait: 1 of home\n"
    done = run_here("consolidate", **model)
    assert (done.exit_code, done.stdout) == (
        0,
        "1 episodes waiting, 1 groups, 1 batches, 1 episodes consolidated, 1 facts created, 1 links created\n",
    )
    assert await pool.fetchval("SELECT content FROM facts") == "The user lives in Paris."
    assert json.loads(run_here("consolidate", "--json", **model).stdout)["counts"]["batches"] == 0


def test_what_the_model_cost_is_told(capsys):
    counts = {"episodes_waiting": 2, "facts_created": 3, "input_tokens": 40210, "output_tokens": 812, "errors": 0}
    consolidation.show({"dry_run": False, "waiting": {"home": 2}, "counts": counts, "errors": []})
    assert capsys.readouterr().out == (
        "2 episodes waiting, 3 facts created\n40,210 tokens read and 812 written by the model\n"
    )


async def test_a_consolidation_that_fails_says_why_and_its_dead_letters_can_be_requeued(
    run_here, pool, model, tmp_path
):
    await stored_episode(pool)
    (tmp_path / "model.py").write_text("print('I cannot help with that.')\n", encoding="utf-8")
    failed = run_here("consolidate", MEMORY_CONSOLIDATION__MAX_ATTEMPTS="1", **model)
    assert failed.exit_code == 1
    assert "1 dead letters" in failed.stdout
    assert "! home: " in failed.stdout
    assert "Error: 1 episodes could not be consolidated" in failed.stderr
    assert run_here("requeue", "--butler", "work").stdout == "0 episodes will be tried again\n"
    assert json.loads(run_here("requeue", "--json").stdout) == {"requeued": 1}
    assert await pool.fetchval("SELECT consolidation_status FROM episodes") == "pending"


async def test_vectors_are_moved_to_the_configured_model(run_here, pool):
    await stored_episode(pool)
    refused = run_here("search", "Paris")
    assert refused.exit_code == 1
    assert "run `memory reembed`" in refused.stderr
    moved = run_here("reembed")
    assert moved.stdout.startswith("1 memories moved from word-hash (1, 384 dimensions) to all-MiniLM-L6-v2 (")
    assert "Paris" in run_here("search", "Which city?").stdout
    assert run_here("reembed").stdout.endswith("nothing to do\n")
    again = json.loads(run_here("reembed", "--json").stdout)
    assert (again["before"], again["memories"]) == (again["after"], 0)


async def test_vectors_of_another_length_must_be_asked_for(run_here, pool):
    for table in ("episodes", "facts", "rules"):
        await pool.execute(f"ALTER TABLE {table} ALTER COLUMN embedding TYPE vector(8)")
    refused = run_here("reembed")
    assert refused.exit_code == 1
    assert "--change-dimensions" in refused.stderr


async def test_workers_are_listed_run_and_recorded(run_here, pool):
    before = run_here("worker", "list", MEMORY_SCHEDULE__EPISODE_CLEANUP="")
    [sweep] = [line for line in before.stdout.splitlines() if line.startswith("decay_sweep")]
    assert "0 3 * * *" in sweep
    assert sweep.rstrip().endswith("never")
    assert any("turned off" in line for line in before.stdout.splitlines() if line.startswith("episode_cleanup"))
    await stored_episode(pool, now=LONG_AGO)
    await stored_episode(pool, now=LONG_AGO, tenant_id="else")
    assert run_here("worker", "run", "episode_cleanup").stdout == "episode_cleanup: 2 expired deleted\n"
    rows = {row["name"]: row for row in json.loads(run_here("worker", "list", "--json").stdout)}
    assert rows["episode_cleanup"]["last_run"]["status"] == "succeeded"
    assert rows["decay_sweep"]["last_run"] is None
    assert "succeeded" in run_here("worker", "list").stdout


async def test_a_worker_that_fails_or_does_not_exist_is_an_error(run_here, pool):
    unknown = run_here("worker", "run", "dust")
    assert unknown.exit_code == 2
    assert "worker 'dust' is not one of: consolidate, decay_sweep" in unknown.stderr
    await stored_episode(pool)
    await pool.execute("UPDATE embedding_versions SET model = 'another'")
    await pool.execute("DROP TABLE rules CASCADE")
    failed = run_here("worker", "run", "decay_sweep", "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["status"] == "failed"
    assert "Error: worker 'decay_sweep' failed: UndefinedTableError" in failed.stderr


async def test_a_memory_is_erased_after_a_question(run_here, pool):
    episode = await stored_episode(pool)
    kept = run_here("purge", "memory", "episode", episode, stdin="n\n")
    assert kept.exit_code == 1
    assert f"Erase the episode {episode} for good? [y/N]" in kept.stderr
    assert await pool.fetchval("SELECT count(*) FROM episodes") == 1
    assert run_here("purge", "memory", "episode", episode, stdin="y\n").stdout == f"episode {episode} is erased\n"
    assert await pool.fetchval("SELECT count(*) FROM episodes") == 0
    again = run_here("purge", "memory", "episode", episode, "--yes", "--json")
    assert (again.exit_code, json.loads(again.stdout)["found"]) == (1, False)


async def test_all_that_a_tenant_has_is_erased_and_nothing_of_another(run_here, pool):
    await stored_episode(pool, tenant_id="anna")
    await stored_episode(pool)
    assert run_here("purge", "tenant", "anna", stdin="\n").exit_code == 1
    assert "1 episodes" in run_here("purge", "tenant", "anna", "--yes").stdout
    assert json.loads(run_here("purge", "tenant", "anna", "--yes", "--json").stdout)["episodes"] == 0
    assert await pool.fetchval("SELECT tenant_id FROM episodes") == "default"
