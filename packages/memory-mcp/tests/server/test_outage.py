"""The database goes away in the middle of a session: the session goes on, and no episode is lost."""

import asyncio
import json
import os
import shutil
import signal
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest
from memory_core.embedded import EmbeddedServer

CONTEXT = {"trigger_prompt": "Make tea", "butler": "jeeves"}
EMPTY = "# Memory Context\n"


@pytest.fixture
def data_dir():
    path = Path(tempfile.mkdtemp(prefix="memory-outage-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def database(data_dir):
    """A server of our own that can be stopped and started again."""
    own = EmbeddedServer(data_dir, settings={"fsync": "off"})
    own.start()
    yield own
    own.stop()


async def stored_episodes(dsn: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetch(
            "SELECT id::text, content, created_at, tenant_id FROM episodes ORDER BY created_at"
        )
    finally:
        await connection.close()


async def until_stored(dsn: str, count: int) -> list[asyncpg.Record]:
    async with asyncio.timeout(60):
        while len(rows := await stored_episodes(dsn)) < count:
            await asyncio.sleep(0.1)
    return rows


@pytest.mark.scenario("Memory storage failure during session completion")
async def test_with_the_database_stopped_the_session_goes_on_and_episodes_are_stored_later(connect, database, tmp_path):
    dsn = database.dsn
    async with connect(MEMORY_DSN=dsn) as client:
        await client.call_tool("memory_store_episode", {"content": "before", "butler": "jeeves"})
        await client.call_tool("memory_store_rule", {"content": "Warm the pot before making tea"})
        assert "Warm the pot" in (await client.call_tool("memory_context", CONTEXT)).content[0].text
        await asyncio.to_thread(database.stop)

        block = await client.call_tool("memory_context", CONTEXT)
        assert not block.is_error
        assert block.content[0].text == EMPTY
        began = datetime.now(UTC)
        arguments = {"content": "during", "butler": "jeeves", "request_context": {"request_id": "r-7"}}
        spooled = await client.call_tool("memory_store_episode", arguments)
        ended = datetime.now(UTC)
        assert not spooled.is_error
        assert spooled.structured_content["spooled"] is True
        assert spooled.structured_content["request_id"] == "r-7"
        refused = await client.call_tool("memory_store_episode", {"content": " ", "butler": "jeeves"})
        assert json.loads(refused.content[0].text)["error"] == "invalid_input"
        failed = await client.call_tool("memory_store_rule", {"content": "lost"})
        assert json.loads(failed.content[0].text)["error"] == "unavailable"
        assert "postgresql" not in failed.content[0].text
        log = (tmp_path / "stderr.txt").read_text()
        assert "an episode waits in the spool" in log
        assert "begins without memories" in log

        assert await asyncio.to_thread(database.start) == dsn
        before, during = await until_stored(dsn, 2)
        assert (before["content"], during["content"]) == ("before", "during")
        assert during["id"] == spooled.structured_content["id"]
        assert began <= during["created_at"] <= ended
        async with asyncio.timeout(30):
            while (await client.call_tool("memory_store_rule", {"content": "Back again"})).is_error:
                await asyncio.sleep(0.1)
        assert not list((tmp_path / "spool").rglob("*.jsonl"))


async def test_what_a_killed_process_left_in_the_spool_is_stored_by_the_next(connect, database, tmp_path):
    dsn = database.dsn
    async with connect(MEMORY_DSN=dsn) as client:
        assert not (await client.call_tool("memory_stats", {})).is_error
        await asyncio.to_thread(database.stop)
        for content in ("one", "two"):
            await client.call_tool("memory_store_episode", {"content": content, "butler": "jeeves"})
        [waiting] = (tmp_path / "spool").rglob("*.jsonl")
        os.kill(int(waiting.name.partition("-")[0]), signal.SIGKILL)
    # The end of a line that the power cut tore.
    with waiting.open("a") as file:
        file.write('{"episode_id": "')
    await asyncio.to_thread(database.start)
    async with connect(MEMORY_DSN=dsn):
        rows = await until_stored(dsn, 2)
    assert [row["content"] for row in rows] == ["one", "two"]


async def test_a_start_without_a_database_serves_what_can_be_served(connect):
    nowhere = "postgresql://jeeves:s3cret@127.0.0.1:1/memory"
    async with connect(MEMORY_DSN=nowhere) as client:
        assert len((await client.list_tools()).tools) == 19
        assert (await client.call_tool("memory_context", CONTEXT)).content[0].text == EMPTY
        small = await client.call_tool("memory_context", {**CONTEXT, "token_budget": 1})
        assert small.content[0].text == ""
        stored = await client.call_tool("memory_store_episode", {"content": "x", "butler": "jeeves"})
        assert stored.structured_content["spooled"] is True
        failed = await client.call_tool("memory_stats", {})
        failure = json.loads(failed.content[0].text)
        assert failure["error"] == "unavailable"
        assert "127.0.0.1" not in failure["message"]


async def test_a_killed_embedded_server_comes_back_by_itself(connect, data_dir, tmp_path):
    async with connect(MEMORY_DSN="", MEMORY_DATA_DIR=str(data_dir)) as client:
        assert not (await client.call_tool("memory_store_episode", {"content": "before", "butler": "b"})).is_error
        os.kill(EmbeddedServer(data_dir).status().pid, signal.SIGKILL)

        block = await client.call_tool("memory_context", CONTEXT)
        assert block.content[0].text == EMPTY
        stored = await client.call_tool("memory_store_episode", {"content": "during", "butler": "b"})
        assert not stored.is_error
        async with asyncio.timeout(60):
            while (await client.call_tool("memory_stats", {})).is_error:
                await asyncio.sleep(0.1)
            while (stats := await client.call_tool("memory_stats", {})).structured_content["episodes"]["total"] < 2:
                await asyncio.sleep(0.1)
    assert stats.structured_content["episodes"]["total"] == 2


async def test_a_full_spool_says_that_the_episode_is_not_kept(connect):
    nowhere = "postgresql://127.0.0.1:1/memory"
    async with connect(MEMORY_DSN=nowhere, MEMORY_SPOOL__MAX_BYTES="1000") as client:
        first = await client.call_tool("memory_store_episode", {"content": "short", "butler": "jeeves"})
        assert not first.is_error
        second = await client.call_tool("memory_store_episode", {"content": "long " * 400, "butler": "jeeves"})
    assert second.is_error
    assert json.loads(second.content[0].text)["error"] == "spool_full"


async def test_nothing_waits_for_a_database_that_never_answers_beyond_the_bound(connect):
    async def say_nothing(reader, writer):
        await reader.read()
        writer.close()
        await writer.wait_closed()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    variables = {"MEMORY_SERVE__START_WAIT_SECONDS": "0.3"}
    async with connect(MEMORY_DSN=f"postgresql://127.0.0.1:{port}/memory", **variables) as client:
        assert len((await client.list_tools()).tools) == 19
        failed = await client.call_tool("memory_stats", {})
        assert "still starting after 0.3 seconds of waiting" in json.loads(failed.content[0].text)["message"]
        assert (await client.call_tool("memory_context", CONTEXT)).content[0].text == EMPTY
    silent.close()
    await asyncio.wait_for(silent.wait_closed(), 10)


async def test_a_call_that_takes_too_long_is_stopped_and_told(connect, pool):
    async with connect(MEMORY_SERVE__CALL_TIMEOUT_SECONDS="1") as client:
        assert not (await client.call_tool("memory_stats", {})).is_error
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE rules IN ACCESS EXCLUSIVE MODE")
            stopped = await client.call_tool("memory_store_rule", {"content": "Warm the pot"})
            assert json.loads(stopped.content[0].text)["error"] == "timeout"
        assert not (await client.call_tool("memory_store_rule", {"content": "Warm the pot"})).is_error


async def test_an_episode_is_kept_when_the_database_hangs_and_stored_once_it_does_not(connect, pool, dsn):
    async with connect(MEMORY_SERVE__CALL_TIMEOUT_SECONDS="1") as client:
        assert not (await client.call_tool("memory_stats", {})).is_error
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE episodes IN ACCESS EXCLUSIVE MODE")
            kept = await client.call_tool("memory_store_episode", {"content": "during", "butler": "jeeves"})
            assert kept.structured_content["spooled"] is True
        # Another episode that has to wait, or the next look at the database, brings the replay about.
        again = await client.call_tool("memory_context", {"trigger_prompt": "x", "butler": "nobody"})
        assert again.content[0].text == EMPTY
        rows = await until_stored(dsn, 1)
    assert [row["id"] for row in rows] == [kept.structured_content["id"]]
