"""One embedded server for the whole test run, and a fresh migrated database for each test that asks for one."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from memory_core.embedded import EmbeddedServer
from memory_core.migrating import migrate
from memory_core.testing import WordHashEmbedder

# The rows of tests need not survive a power cut; everything else is as users run it.
TEST_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "max_connections": "100"}

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE '%alembic_version'"

FINGERPRINT = """
    WITH relation AS (
        SELECT oid, relname, reloptions, relpages FROM pg_class WHERE relnamespace = 'public'::regnamespace
    )
    SELECT md5(string_agg(line, ' ' ORDER BY line))
    FROM (
        SELECT concat_ws(' ', 'relation', oid, relname, reloptions) FROM relation
        UNION ALL
        SELECT concat_ws(' ', 'column', attrelid, attname, atttypid, atttypmod, attstorage, attnotnull, attisdropped)
        FROM pg_attribute WHERE attrelid IN (SELECT oid FROM relation)
        UNION ALL
        SELECT concat_ws(' ', 'constraint', oid, conname) FROM pg_constraint
        UNION ALL
        SELECT concat_ws(' ', 'trigger', oid, tgenabled) FROM pg_trigger
        UNION ALL
        SELECT concat_ws(' ', 'function', oid, md5(prosrc)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL
        SELECT concat_ws(' ', 'schema', oid, nspname) FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
        UNION ALL
        SELECT concat_ws(' ', 'statistics', starelid, staattnum) FROM pg_statistic
        WHERE starelid IN (SELECT oid FROM relation)
        UNION ALL
        SELECT concat_ws(' ', 'large', oid) FROM relation WHERE pg_relation_size(oid) > 1048576
        UNION ALL
        SELECT concat_ws(' ', 'revision', version_num) FROM memory_alembic_version
    ) AS described (line)
"""


def _database_url(url: str, database: str) -> str:
    return url.replace("/memory?", f"/{database}?")


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    # Not pytest's own directory: for root the server runs as another user, who may not enter that.
    data_dir = Path(tempfile.mkdtemp(prefix="memory-tests-"))
    with EmbeddedServer(data_dir, settings=TEST_SETTINGS) as running:
        yield running
    shutil.rmtree(data_dir, ignore_errors=True)


@pytest.fixture(scope="session")
async def template_database(server: EmbeddedServer) -> str:
    admin = await asyncpg.connect(server.dsn)
    await admin.execute("CREATE DATABASE memory_template")
    await admin.close()
    connection = await asyncpg.connect(_database_url(server.dsn, "memory_template"))
    await migrate(connection)
    await connection.close()
    return "memory_template"


async def _create_database(server: EmbeddedServer, template: str) -> str:
    name = f"test_{uuid4().hex}"
    admin = await asyncpg.connect(server.dsn)
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    await admin.close()
    return _database_url(server.dsn, name)


async def _drop_database(server: EmbeddedServer, url: str) -> None:
    name = url.partition("?")[0].rpartition("/")[2]
    admin = await asyncpg.connect(server.dsn)
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


async def _fingerprint(url: str) -> str:
    """Return what must not differ between two tests that share a database: its schema, statistics and size."""
    connection = await asyncpg.connect(url)
    try:
        return str(await connection.fetchval(FINGERPRINT))
    except asyncpg.PostgresError:
        return "not even readable"
    finally:
        await connection.close()


async def _emptied(url: str) -> bool:
    """Remove all rows, and tell whether that was possible: a test may have left a lock or changed a table."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET lock_timeout = '1s'")
        # As a replica would: the audit stream refuses to be emptied otherwise.
        await connection.execute("SET session_replication_role = replica")
        for table in await connection.fetch(TABLES):
            await connection.execute(f"DELETE FROM {table['tablename']}")
        return True
    except asyncpg.PostgresError:
        return False
    finally:
        await connection.close()


@pytest.fixture
async def empty_dsn(server: EmbeddedServer) -> AsyncIterator[str]:
    """A new database without any table."""
    url = await _create_database(server, "template0")
    yield url
    await _drop_database(server, url)


@pytest.fixture(scope="session")
def clean_databases() -> list[str]:
    """Databases that earlier tests left as they found them: making one takes a hundred times as long as emptying it."""
    return []


@pytest.fixture
async def dsn(server: EmbeddedServer, template_database: str, clean_databases: list[str]) -> AsyncIterator[str]:
    """A migrated database without rows."""
    url = clean_databases.pop() if clean_databases else await _create_database(server, template_database)
    before = await _fingerprint(url)
    yield url
    if await _emptied(url) and await _fingerprint(url) == before:
        clean_databases.append(url)
    else:
        await _drop_database(server, url)


@pytest.fixture
async def pool(dsn: str) -> "AsyncIterator[asyncpg.Pool[asyncpg.Record]]":
    """A pool on a new migrated database, without any codec, as hosts hand it over."""
    opened = await asyncpg.create_pool(dsn, min_size=1, max_size=20)
    yield opened
    await asyncio.wait_for(opened.close(), timeout=10)


@pytest.fixture
def embedder() -> WordHashEmbedder:
    return WordHashEmbedder()
