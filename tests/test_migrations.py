"""The migration chain, applied over asyncpg to real databases."""

import asyncio
import json
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import asyncpg
import pytest
from memory_core import MigrationError, ServerError, get_memory, migrate, store_fact, store_rule
from memory_core.database import open_pool
from memory_core.migrating import current_revision, plan
from memory_core.migration_chains import CORE_CHAIN
from memory_entities import entity_create

from tests.schema_snapshot import SNAPSHOT, describe_schema

ROOT = Path(__file__).parent.parent


@pytest.fixture
async def connection(empty_dsn):
    opened = await asyncpg.connect(empty_dsn)
    yield opened
    await opened.close()


@pytest.mark.scenario("Clean database migration")
@pytest.mark.scenario("Required PostgreSQL extensions")
async def test_an_empty_database_gets_every_table_and_extension(connection):
    await migrate(connection)
    tables = {row["tablename"] for row in await connection.fetch("SELECT tablename FROM pg_tables")}
    assert tables >= {
        "episodes",
        "facts",
        "rules",
        "memory_links",
        "memory_events",
        "entities",
        "rule_applications",
        "embedding_versions",
    }
    extensions = {row["extname"]: row["nspname"] for row in await connection.fetch(EXTENSIONS)}
    assert extensions["vector"] == "public"
    available = await connection.fetchval("SELECT count(*) FROM pg_available_extensions WHERE name = 'uuid-ossp'")
    assert ("uuid-ossp" in extensions) == bool(available)


EXTENSIONS = "SELECT extname, nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace"


async def test_the_schema_is_the_one_on_record(connection):
    await migrate(connection)
    assert await describe_schema(connection) == SNAPSHOT.read_text(encoding="utf-8"), (
        "the schema changed: run `uv run python -m tests.schema_snapshot` and review the difference"
    )


async def test_down_to_base_and_up_again_gives_the_same_schema(connection):
    await migrate(connection)
    first = await describe_schema(connection)
    await migrate(connection, "base")
    left = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert left == []
    await migrate(connection)
    assert await describe_schema(connection) == first


async def test_every_single_step_can_be_undone(connection):
    revisions = sorted(path.stem[: len("mem_001")] for path in _versions())
    for before, after in zip([None, *revisions], revisions, strict=False):
        shape = await describe_schema(connection) if before else None
        await migrate(connection, after)
        if before:
            await migrate(connection, before)
            assert await describe_schema(connection) == shape, f"{after} does not undo itself"
            await migrate(connection, after)
    assert await current_revision(connection) == CORE_CHAIN.head


def _versions():
    return (CORE_CHAIN.location / "versions").glob("mem_*.py")


def test_the_head_read_from_the_file_names_is_alembics_head():
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(CORE_CHAIN.location))
    assert script.get_heads() == [CORE_CHAIN.head]
    assert script.get_revision("memory@head").revision == CORE_CHAIN.head


async def test_a_current_database_is_left_alone_without_importing_alembic(dsn):
    program = """
        import asyncio, sys, asyncpg
        from memory_core import migrate
        async def main():
            connection = await asyncpg.connect(sys.argv[1])
            before, after = (await migrate(connection))["memory"]
            assert before == after, (before, after)
            assert "alembic" not in sys.modules and "sqlalchemy" not in sys.modules
        asyncio.run(main())
    """
    await _run(textwrap.dedent(program), dsn)


async def test_ten_processes_starting_together_migrate_once(empty_dsn):
    program = """
        import asyncio, json, sys, asyncpg
        from memory_core import migrate
        async def main():
            connection = await asyncpg.connect(sys.argv[1])
            print(json.dumps((await migrate(connection))["memory"]))
        asyncio.run(main())
    """
    outputs = await asyncio.gather(*(_run(textwrap.dedent(program), empty_dsn) for _ in range(10)))
    changes = [json.loads(output) for output in outputs]
    assert sorted(before is None for before, _ in changes) == [False] * 9 + [True]
    assert {after for _, after in changes} == {CORE_CHAIN.head}


async def _run(program, *arguments):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def test_two_schemas_of_one_database_live_side_by_side(empty_dsn, embedder):
    ids = {}
    # A name that is a word of SQL must do, too.
    for schema in ("chef", "user"):
        pool = await open_pool(empty_dsn, schema=schema, max_size=2)
        await migrate(pool, schema=schema)
        ids[schema] = await store_fact(pool, "user", "likes", schema, embedder)
        await pool.close()
    for schema, other in (("chef", "user"), ("user", "chef")):
        pool = await open_pool(empty_dsn, schema=schema, max_size=2)
        assert (await get_memory(pool, "fact", ids[schema]))["content"] == schema
        assert await get_memory(pool, "fact", ids[other]) is None
        async with pool.acquire() as connection:
            assert await describe_schema(connection) == SNAPSHOT.read_text(encoding="utf-8")
        await pool.close()


async def test_behind_a_pooler_the_schema_is_set_in_each_transaction(empty_dsn, embedder):
    pool = await open_pool(empty_dsn, schema="chef", pooler=True, max_size=2)
    await migrate(pool, schema="chef")
    fact_id = await store_fact(pool, "user", "likes", "tea", embedder)
    assert (await get_memory(pool, "fact", fact_id))["content"] == "tea"
    # No state stays on the connection: the next client of the pooler would inherit it.
    assert await pool.fetchval("SHOW search_path") == '"$user", public'
    await pool.close()


async def test_a_schema_with_a_dangerous_name_is_refused(empty_dsn):
    with pytest.raises(ValueError, match="is not a plain identifier"):
        await open_pool(empty_dsn, schema='x"; DROP TABLE facts; --')


async def test_a_database_of_a_newer_version_is_left_alone(connection):
    await migrate(connection)
    before = await describe_schema(connection)
    await connection.execute("UPDATE memory_alembic_version SET version_num = 'mem_999'")
    with pytest.raises(MigrationError, match=r"is at mem_999 .* newer version of the package"):
        await migrate(connection)
    assert await describe_schema(connection) == before


async def test_a_failing_step_changes_nothing(connection):
    await migrate(connection, "mem_003")
    before = await describe_schema(connection)
    await connection.execute("CREATE TABLE rule_applications (id INT)")
    with pytest.raises(MigrationError, match="rule_applications"):
        await migrate(connection)
    await connection.execute("DROP TABLE rule_applications")
    assert await describe_schema(connection) == before
    assert await current_revision(connection) == "mem_003"


async def test_rows_of_the_first_schema_survive_the_upgrade(connection):
    await migrate(connection, "mem_003")
    await connection.execute(
        "INSERT INTO facts (subject, predicate, content, validity) VALUES ('s', 'p', 'old', 'forgotten'),"
        " ('s', 'q', 'dim', 'fading')"
    )
    await connection.execute(
        "INSERT INTO episodes (butler, content, consolidated, retry_count, last_error) VALUES ('b', 'x', true, 2, 'e')"
    )
    await connection.execute("INSERT INTO memory_events (event_type) VALUES ('entity_merge')")
    await migrate(connection)
    facts = await connection.fetch(
        "SELECT validity, metadata ->> 'status' AS status, tenant_id FROM facts ORDER BY predicate"
    )
    assert [tuple(row) for row in facts] == [("retracted", None, "default"), ("active", "fading", "default")]
    episode = await connection.fetchrow(
        "SELECT consolidation_status, consolidation_attempts, last_consolidation_error, consolidated FROM episodes"
    )
    assert tuple(episode) == ("consolidated", 2, "e", True)
    assert await connection.fetchval("SELECT tenant_id FROM memory_events") == "default"


async def test_two_active_facts_of_one_key_become_one_on_the_way_up(connection):
    """The first revisions kept nobody from storing a key twice, and a fading fact did not count as active."""
    await migrate(connection, "mem_001")
    await connection.execute(
        "INSERT INTO facts (subject, predicate, content, created_at) VALUES"
        " ('s', 'p', 'older', '2025-01-01'), ('s', 'p', 'newer', '2025-02-01')"
    )
    await migrate(connection, "mem_004")
    await connection.execute(
        "INSERT INTO facts (subject, predicate, content, validity, created_at) VALUES"
        " ('s', 'p', 'dim', 'fading', '2025-03-01'),"
        " ('s', 'q', 'dim', 'fading', '2025-01-01'), ('s', 'q', 'newer and dim', 'fading', '2025-02-01')"
    )
    await migrate(connection)
    active = await connection.fetch("SELECT content FROM facts WHERE validity = 'active' ORDER BY predicate")
    assert [row["content"] for row in active] == ["newer", "newer and dim"]
    assert await connection.fetchval("SELECT count(*) FROM facts WHERE validity = 'superseded'") == 3


@pytest.mark.parametrize("target", ["mem_003", "mem_001"])
async def test_what_tenants_and_entities_kept_apart_survives_the_way_down_and_up_again(pool, embedder, target):
    for tenant in ("chef", "gardener"):
        entity = await entity_create(pool, "Ada", "person", tenant_id=tenant)
        await store_fact(pool, "ada", "likes", f"{tenant}'s tea", embedder, tenant_id=tenant)
        await store_fact(pool, "ada", "likes", "roses", embedder, entity_id=entity, tenant_id=tenant)
        await store_rule(pool, "Ask first.", embedder, tenant_id=tenant)
    await migrate(pool, target)
    await migrate(pool)
    assert await pool.fetchval("SELECT count(*) FROM facts") == 4
    assert await pool.fetchval("SELECT count(*) FROM rules") == 2
    by_name = await pool.fetch("SELECT content FROM facts WHERE entity_id IS NULL AND validity = 'active'")
    # The newest of what now shares one key holds it.
    assert [row["content"] for row in by_name] == ["gardener's tea" if target == "mem_003" else "roses"]


async def test_everything_can_be_undone_while_there_are_rows(pool, embedder):
    for tenant in ("chef", "gardener"):
        await store_fact(pool, "ada", "likes", "tea", embedder, tenant_id=tenant)
    await migrate(pool, "base")
    assert await pool.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


async def test_a_database_of_another_encoding_is_refused(server):
    admin = await asyncpg.connect(server.dsn)
    await admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    latin = await asyncpg.connect(server.dsn.replace("/memory?", "/latin?"))
    with pytest.raises(ServerError, match=r"encoding is LATIN1, .* make one with CREATE DATABASE .* ENCODING 'UTF8'"):
        await migrate(latin)
    await latin.close()
    await admin.execute("DROP DATABASE latin")
    await admin.close()


async def test_a_role_that_may_not_create_the_extension_is_told_who_can(empty_dsn):
    database = empty_dsn.partition("?")[0].rpartition("/")[2]
    admin = await asyncpg.connect(empty_dsn)
    await admin.execute(f"CREATE ROLE {database} LOGIN")
    await admin.execute(f"ALTER DATABASE {database} OWNER TO {database}")
    await admin.execute(f"SET SESSION AUTHORIZATION {database}")
    with pytest.raises(MigrationError, match=r"CREATE EXTENSION .* vector .*; let an administrator run that statement"):
        await migrate(admin)
    await admin.execute("RESET SESSION AUTHORIZATION")
    await admin.execute("CREATE EXTENSION vector")
    await admin.execute(f"SET SESSION AUTHORIZATION {database}")
    assert (await migrate(admin))["memory"] == (None, CORE_CHAIN.head)
    await admin.close()


async def test_a_server_without_pgvector_is_named_as_the_problem(connection, monkeypatch):
    monkeypatch.setattr("memory_core.migrating.MINIMUM_PGVECTOR", (99, 0))
    with pytest.raises(ServerError, match=r"pgvector .* is too old; version"):
        await migrate(connection)


def test_a_plan_has_one_statement_per_step_and_no_doubled_percent_sign():
    statements = plan(CORE_CHAIN, None, "head")
    assert statements[0].startswith("CREATE TABLE memory_alembic_version")
    assert not [statement for statement in statements if "%%" in statement]


async def test_the_chain_ships_inside_the_wheel_and_runs_from_it(empty_dsn, tmp_path):
    package = ROOT / "packages" / "memory-core"
    subprocess.run(["uv", "build", "--quiet", "--out-dir", str(tmp_path), str(package)], check=True, cwd=ROOT)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "memory_core/migrations/versions/mem_001_baseline.py" in names
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    program = """
        import asyncio, sys
        sys.path.insert(0, sys.argv[2])
        import asyncpg, memory_core
        assert memory_core.__file__.startswith(sys.argv[2]), memory_core.__file__
        async def main():
            connection = await asyncpg.connect(sys.argv[1])
            print((await memory_core.migrate(connection))["memory"][1])
        asyncio.run(main())
    """
    output = await _run(textwrap.dedent(program), empty_dsn, str(site))
    assert output.strip() == CORE_CHAIN.head


# The union of the indexes and constraints that both seeds ask for, each as PostgreSQL prints it.
@pytest.mark.scenario("Episodes table indexes")
@pytest.mark.scenario("Facts table indexes")
@pytest.mark.scenario("Entity-keyed fact uniqueness (partial unique indexes)")
@pytest.mark.scenario("Memory links table")
@pytest.mark.scenario("Entities table indexes and constraints")
@pytest.mark.scenario("Memory events table")
@pytest.mark.parametrize(
    "needed",
    [
        "ON episodes USING btree (butler, created_at DESC)",
        "ON episodes USING btree (tenant_id, butler, created_at)",
        "ON episodes USING btree (expires_at) WHERE (expires_at IS NOT NULL)",
        "ON episodes USING btree (butler, created_at) WHERE ((consolidation_status)::text = 'pending'::text)",
        "ON episodes USING gin (search_vector)",
        "ON episodes USING ivfflat (embedding vector_cosine_ops) WITH (lists='20')",
        "ON facts USING btree (scope, validity) WHERE (validity = 'active'::text)",
        "ON facts USING btree (tenant_id, scope, validity) WHERE (validity = 'active'::text)",
        "ON facts USING btree (subject, predicate)",
        "ON facts USING btree (tenant_id, subject, predicate)",
        "ON facts USING gin (search_vector)",
        "ON facts USING gin (tags)",
        "ON facts USING ivfflat (embedding vector_cosine_ops) WITH (lists='20')",
        "UNIQUE INDEX facts_active_entity_key ON facts USING btree (tenant_id, entity_id, scope, predicate)"
        " WHERE ((entity_id IS NOT NULL) AND (validity = 'active'::text))",
        "UNIQUE INDEX facts_active_subject_key ON facts USING btree (tenant_id, scope, subject, predicate)"
        " WHERE ((entity_id IS NULL) AND (validity = 'active'::text))",
        "ON rules USING btree (tenant_id, scope, maturity)",
        "ON rules USING gin (search_vector)",
        "ON rules USING ivfflat (embedding vector_cosine_ops) WITH (lists='20')",
        "PRIMARY KEY (tenant_id, source_type, source_id, target_type, target_id)",
        "CHECK ((relation = ANY (ARRAY['derived_from'::text, 'supports'::text, 'contradicts'::text,"
        " 'supersedes'::text, 'related_to'::text])))",
        "ON memory_links USING btree (target_type, target_id)",
        "ON memory_links USING btree (tenant_id, target_type, target_id)",
        "ON entities USING btree (tenant_id, canonical_name)",
        "ON entities USING gin (aliases)",
        "ON entities USING gin (metadata)",
        "FOREIGN KEY (entity_id) REFERENCES entities(id) ON DELETE RESTRICT",
        "FOREIGN KEY (source_episode_id) REFERENCES episodes(id) ON DELETE SET NULL",
        "FOREIGN KEY (supersedes_id) REFERENCES facts(id) ON DELETE SET NULL",
        "ON memory_events USING btree (event_type, created_at DESC)",
        "ON memory_events USING btree (tenant_id, created_at DESC)",
        "ON memory_events USING btree (tenant_id, occurred_at)",
        "memory_events.payload jsonb not null default '{}'::jsonb",
    ],
)
def test_the_schema_on_record_has_what_the_seeds_ask_for(needed):
    assert needed in SNAPSHOT.read_text(encoding="utf-8")
