"""`memory migrate`."""

import json

import asyncpg
from memory_core.migration_chains import CORE_CHAIN


async def tables(dsn: str, schema: str = "public") -> set[str]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1", schema)
    finally:
        await connection.close()
    return {row["tablename"] for row in rows}


async def test_an_empty_database_is_brought_to_the_newest_revision_and_a_second_time_nothing_is_done(
    run_memory, empty_dsn
):
    first = run_memory("--dsn", empty_dsn, "migrate")
    assert (first.exit_code, first.stdout) == (0, f"memory: base -> {CORE_CHAIN.head}\n")
    assert first.stderr.startswith("memory is in postgresql://")
    assert {"episodes", "facts", "rules"} <= await tables(empty_dsn)
    assert run_memory("--dsn", empty_dsn, "migrate").stdout == f"memory: {CORE_CHAIN.head}, nothing to do\n"


async def test_a_dry_run_prints_sql_that_does_the_same_and_changes_nothing(run_memory, empty_dsn):
    completed = run_memory("--dsn", empty_dsn, "migrate", "--dry-run")
    assert completed.exit_code == 0
    assert await tables(empty_dsn) == set()
    connection = await asyncpg.connect(empty_dsn)
    await connection.execute(completed.stdout)
    await connection.close()
    assert run_memory("--dsn", empty_dsn, "migrate").stdout == f"memory: {CORE_CHAIN.head}, nothing to do\n"


async def test_a_dry_run_for_a_schema_that_is_not_there_plans_from_the_beginning(run_memory, dsn):
    completed = run_memory("--dsn", dsn, "--schema", "jeeves", "migrate", "--dry-run")
    assert 'CREATE SCHEMA IF NOT EXISTS "jeeves";\nSET LOCAL search_path TO "jeeves", public;' in completed.stdout
    assert "-- memory: base -> head" in completed.stdout
    connection = await asyncpg.connect(dsn)
    await connection.execute(completed.stdout)
    await connection.close()
    assert "facts" in await tables(dsn, "jeeves")


def test_json_tells_the_revisions_and_the_statements(run_memory, empty_dsn):
    planned = json.loads(run_memory("--dsn", empty_dsn, "migrate", "--dry-run", "--json").stdout)
    assert planned["memory"]["before"] is None
    assert any("CREATE TABLE" in statement for statement in planned["memory"]["statements"])
    done = json.loads(run_memory("--dsn", empty_dsn, "migrate", "--json").stdout)
    assert done == {"memory": {"before": None, "after": CORE_CHAIN.head}}


async def test_going_back_is_asked_about_and_refused_by_default(run_memory, dsn):
    refused = run_memory("--dsn", dsn, "migrate", "--to", "base", stdin="\n")
    assert refused.exit_code == 1
    assert "Going back to base deletes what later revisions hold. Continue? [y/N]" in refused.stderr
    assert "facts" in await tables(dsn)

    agreed = run_memory("--dsn", dsn, "migrate", "--to", "mem_002", "--yes")
    assert agreed.stdout == f"memory: {CORE_CHAIN.head} -> mem_002\n"
    assert "memory_events" not in await tables(dsn)

    assert run_memory("--dsn", dsn, "migrate", "--to", "mem_003").exit_code == 0, "forward needs no answer"


def test_a_revision_that_no_chain_has_is_an_error_that_lists_them(run_memory, dsn):
    completed = run_memory("--dsn", dsn, "migrate", "--to", "mem_999")
    assert completed.exit_code == 1
    assert "Error: revision 'mem_999' is not one of: head, base, mem_001, mem_002" in completed.stderr
