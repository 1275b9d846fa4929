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


@pytest.fixture
async def empty_dsn(server: EmbeddedServer) -> AsyncIterator[str]:
    """A new database without any table."""
    url = await _create_database(server, "template0")
    yield url
    await _drop_database(server, url)


@pytest.fixture
async def dsn(server: EmbeddedServer, template_database: str) -> AsyncIterator[str]:
    """A new migrated database."""
    url = await _create_database(server, template_database)
    yield url
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
