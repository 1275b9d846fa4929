"""`memory doctor`."""

import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from memory_core import store_episode
from memory_core.config_sources import parse_config
from memory_core.lifecycle_workers import DecaySweepWorker
from memory_core.testing import WordHashEmbedder
from memory_core.worker_runs import WorkerRun
from memory_mcp.database_checks import judge_consolidation, judge_pgvector, judge_trigrams, judge_worker
from memory_mcp.episode_spool import EpisodeSpool, WaitingEpisode
from memory_mcp.installation_checks import check_spool, check_tokens
from memory_mcp.tokens import TokenFile

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def examine(run_memory, dsn, tmp_path):
    """Return what the doctor finds, by what was looked at, and the exit code."""

    def run(**variables: str) -> tuple[dict[str, list[dict[str, str]]], int]:
        completed = run_memory("--dsn", dsn, "doctor", "--json", MEMORY_DATA_DIR=str(tmp_path / "state"), **variables)
        answer = json.loads(completed.stdout)
        assert answer["ok"] == (completed.exit_code == 0)
        found: dict[str, list[dict[str, str]]] = {}
        for finding in answer["findings"]:
            found.setdefault(finding["what"], []).append(finding)
        return found, completed.exit_code

    return run


def test_a_good_installation_has_no_failure_and_every_part_is_told(examine):
    found, exit_code = examine()
    assert exit_code == 0
    assert list(found) == [
        "configuration",
        "plugins",
        "model",
        "server",
        "extensions",
        "schema",
        "vectors",
        "workers",
        "consolidation",
        "spool",
        "tokens",
    ]
    assert found["server"][0]["told"].startswith("PostgreSQL 18.")
    assert found["model"][0]["told"].startswith("all-MiniLM-L6-v2 (")
    assert {finding["status"] for finding in found["schema"]} == {"ok"}


def test_people_get_a_line_each_and_a_remedy_below_what_needs_one(run_memory, dsn):
    completed = run_memory("--dsn", dsn, "doctor")
    assert completed.exit_code == 0
    lines = [line.split(maxsplit=2) for line in completed.stdout.splitlines()]
    assert ["ok", "extensions"] in [line[:2] for line in lines]
    assert "-> a running server runs it; at once: `memory worker run decay_sweep`" in completed.stdout


def test_a_database_without_tables_is_told_and_left_without_them(run_memory, empty_dsn):
    for _ in range(2):
        answer = json.loads(run_memory("--dsn", empty_dsn, "doctor", "--json").stdout)
        [schema] = [finding for finding in answer["findings"] if finding["what"] == "schema"]
        assert schema["status"] == "warn"
        assert schema["told"].startswith("memory is not made yet, the newest is mem_")
        assert "workers" not in {finding["what"] for finding in answer["findings"]}


async def test_a_schema_of_a_newer_version_fails(examine, pool):
    ours = await pool.fetchval("UPDATE memory_alembic_version SET version_num = 'mem_999' RETURNING OLD.version_num")
    found, exit_code = examine()
    # The next test may get this database, emptied but for its revision.
    await pool.execute("UPDATE memory_alembic_version SET version_num = $1", ours)
    assert exit_code == 1
    assert "install" in found["schema"][0]["remedy"]


async def test_vectors_of_another_model_fail_with_the_way_out(examine, pool):
    await store_episode(pool, "Tea at five.", "home", WordHashEmbedder())
    found, exit_code = examine()
    assert exit_code == 1
    assert found["vectors"][0]["told"].startswith("stored by word-hash (1, 384 dimensions), configured is all-MiniLM")
    assert found["vectors"][0]["remedy"] == "configure that model, or `memory reembed`"


async def test_an_index_that_was_never_finished_is_told(examine, pool):
    await pool.execute("CREATE INDEX facts_torn_idx ON facts USING hnsw (embedding vector_cosine_ops)")
    await pool.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'facts_torn_idx'::regclass")
    found, _ = examine()
    assert [finding["told"] for finding in found["vectors"][1:]] == ["facts has an index that was never finished"]


async def test_tables_that_may_not_be_read_fail_instead_of_the_command(examine, pool):
    await pool.execute("ALTER TABLE worker_runs RENAME TO hidden_runs")
    found, exit_code = examine()
    assert exit_code == 1
    assert found["server"][1]["told"].startswith("UndefinedTableError: ")


def test_a_server_that_does_not_answer_fails_and_the_rest_is_still_told(run_memory):
    completed = run_memory("doctor", "--json", MEMORY_DSN="postgresql://jeeves:s3cret@127.0.0.1:1/memory")
    assert completed.exit_code == 1
    findings = {finding["what"]: finding for finding in json.loads(completed.stdout)["findings"]}
    assert findings["server"]["status"] == "fail"
    assert findings["model"]["status"] == "ok"
    assert "tokens" in findings
    assert "s3cret" not in completed.stdout + completed.stderr


def test_a_wrong_configuration_is_a_finding_too(run_memory):
    completed = run_memory("doctor", "--json", MEMORY_EPISODES__MAX_ENTRIES="many")
    assert completed.exit_code == 1
    [finding] = json.loads(completed.stdout)["findings"]
    assert (finding["what"], finding["status"]) == ("configuration", "fail")


def test_what_the_configuration_names_in_vain_and_a_model_that_is_not_there_fail(examine, tmp_path):
    found, exit_code = examine(
        MEMORY_RETRIEVAL__RERANKER="absent", MEMORY_PLUGINS__ONNX=json.dumps({"model_path": str(tmp_path)})
    )
    assert exit_code == 1
    assert "modules.memory.retrieval.reranker names 'absent'" in found["plugins"][1]["told"]
    assert found["model"][0]["status"] == "fail"
    assert "model.safetensors does not exist" in found["model"][0]["told"]


@pytest.mark.parametrize(
    ("extension", "status"),
    [
        (None, "fail"),
        ({"installed_version": None, "default_version": "0.6.2"}, "fail"),
        ({"installed_version": "0.5.1", "default_version": "0.8.0"}, "fail"),
        ({"installed_version": None, "default_version": "0.8.0"}, "ok"),
        ({"installed_version": "0.7.0", "default_version": "0.8.0"}, "ok"),
    ],
)
def test_pgvector_must_be_there_and_new_enough(extension, status):
    assert judge_pgvector(extension).status == status


def test_without_trigrams_misspelt_names_are_not_found_which_is_a_warning():
    assert judge_trigrams(None).status == "warn"
    assert judge_trigrams({"installed_version": None, "default_version": "1.6"}).status == "ok"


def ran(ago: timedelta, status: str = "succeeded", error: str | None = None) -> WorkerRun:
    return WorkerRun(uuid4(), "decay_sweep", status, None, NOW - ago, error=error)


@pytest.mark.parametrize(
    ("line", "last", "status", "told"),
    [
        ("", None, "ok", "is turned off"),
        ("0 3 * * *", None, "warn", "has never run"),
        ("0 3 * * *", ran(timedelta(hours=9)), "ok", "succeeded at 2026-03-10 03:00 UTC"),
        ("0 3 * * *", ran(timedelta(hours=30)), "ok", "succeeded"),
        ("0 3 * * *", ran(timedelta(hours=50)), "warn", "has missed its moments since"),
        ("0 3 * * *", ran(timedelta(hours=9), "failed", "KeyError: x"), "warn", "failed at 2026-03-10 03:00 UTC: KeyE"),
    ],
)
def test_a_worker_is_judged_by_its_last_run(line, last, status, told):
    finding = judge_worker(DecaySweepWorker(), line, last, NOW)
    assert finding.status == status
    assert told in finding.told


def test_without_a_language_model_and_with_dead_letters_consolidation_deserves_a_look():
    episodes = {"unconsolidated": 3, "failed": 1, "dead_letter": 0}
    assert [finding.status for finding in judge_consolidation("claude", episodes)] == ["ok"]
    [warning] = judge_consolidation(None, episodes)
    assert "4 episodes wait" in warning.told
    told = [finding.remedy for finding in judge_consolidation("claude", {**episodes, "dead_letter": 2})]
    assert told == [None, "mend the cause (last_consolidation_error), then `memory requeue`"]


def test_episodes_that_wait_in_the_spool_are_counted(tmp_path):
    spool = EpisodeSpool(tmp_path / "spool", 10_000)
    assert check_spool(spool).status == "ok"
    assert "turned off" in check_spool(None).told
    spool.append(WaitingEpisode(str(uuid4()), "default", "Tea.", "home", None, 5.0, 7.0, NOW.isoformat(), None))
    waiting = check_spool(spool)
    spool.release()
    assert (waiting.status, waiting.told) == ("warn", "1 episodes wait")


def test_tokens_are_needed_beyond_this_machine_and_expire(tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    outside = parse_config({"serve": {"host": "0.0.0.0"}})
    assert check_tokens(tokens, parse_config({}), NOW).status == "ok"
    assert "has none" in check_tokens(tokens, outside, NOW).told
    tokens.create("anna", days=30, now=NOW)
    assert check_tokens(tokens, outside, NOW).status == "ok"
    assert check_tokens(tokens, outside, NOW + timedelta(days=31)).told == "1 of 1 have expired"
    tokens.path.chmod(0o666)
    assert check_tokens(TokenFile(tokens.path), outside, NOW).status == "fail"
