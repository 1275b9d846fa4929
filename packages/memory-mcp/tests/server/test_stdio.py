"""`memory-mcp` over a real pipe, spoken to by the SDK's own client."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from memory_core.embedded import EmbeddedServer

SCRIPT = Path(sys.executable).with_name("memory-mcp")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_every_tool_answers_a_good_and_a_bad_call(connect, speak, every_call, mode):
    async with connect(mode) as client:
        call = speak(client)
        every_call.assert_good_answers(await every_call.make_every_good_call(call))
        for name, (arguments, part) in every_call.BAD_CALLS.items():
            failed, text = await call(name, arguments)
            assert failed, name
            failure = json.loads(text)
            assert failure.keys() == {"error", "message", "recovery"}
            assert part in failure["message"], failure
            assert failure["error"] == "invalid_input"


async def test_structured_answers_say_the_same_as_the_text(connect):
    async with connect() as client:
        stored = await client.call_tool("memory_store_rule", {"content": "Warm the pot"})
        assert json.loads(stored.content[0].text) == stored.structured_content
        found = await client.call_tool("memory_search", {"query": "pot"})
        assert json.loads(found.content[0].text) == found.structured_content["result"]
        block = await client.call_tool("memory_context", {"trigger_prompt": "tea", "butler": "jeeves"})
        assert block.content[0].text == block.structured_content["result"]


async def test_every_answer_carries_the_id_of_its_request(connect):
    context = {"request_context": {"request_id": "r-9"}}
    async with connect() as client:
        stored = await client.call_tool("memory_store_rule", {"content": "Warm the pot", **context})
        found = await client.call_tool(
            "memory_search", {"query": "pot", "request_context": json.dumps({"request_id": "r-9"})}
        )
        block = await client.call_tool("memory_context", {"trigger_prompt": "tea", "butler": "jeeves", **context})
        plain = await client.call_tool("memory_search", {"query": "pot"})
    assert [answer.structured_content["request_id"] for answer in (stored, found, block)] == ["r-9"] * 3
    assert "request_id" not in plain.structured_content


async def test_an_unknown_tool_is_answered_with_the_names_there_are(connect, speak):
    async with connect() as client:
        failed, text = await speak(client)("memory_erase_everything", {})
    assert failed
    assert "'memory_erase_everything' is not one of: memory_store_episode, " in json.loads(text)["message"]


async def test_another_tenant_cannot_be_named(connect, speak):
    async with connect() as client:
        call = speak(client)
        arguments = {"content": "x", "butler": "b", "request_context": {"tenant_id": "other"}}
        failed, text = await call("memory_store_episode", arguments)
        assert failed
        assert json.loads(text)["error"] == "wrong_tenant"
        failed, text = await call(
            "entity_create", {"canonical_name": "Ann", "entity_type": "person", "tenant_id": "other"}
        )
        assert failed
        assert json.loads(text)["error"] == "wrong_tenant"


async def test_the_configured_tenant_is_served(connect, pool):
    async with connect(MEMORY_TENANT_ID="acme") as client:
        await client.call_tool("memory_store_rule", {"content": "Warm the pot"})
    assert await pool.fetchval("SELECT tenant_id FROM rules") == "acme"


async def test_an_answer_that_is_too_large_for_clients_is_refused_with_a_way_out(connect, speak):
    async with connect(MEMORY_SERVE__MAX_RESULT_BYTES="2000") as client:
        call = speak(client)
        _, text = await call("memory_store_rule", {"content": "tea " * 600})
        failed, text = await call("memory_get", {"memory_type": "rule", "memory_id": json.loads(text)["id"]})
    assert failed
    assert json.loads(text)["error"] == "answer_too_large"


async def test_calls_of_one_client_are_answered_side_by_side(connect):
    async with connect() as client:
        results = await asyncio.gather(
            *(client.call_tool("memory_store_rule", {"content": f"Rule number {n}"}) for n in range(20))
        )
        stats = await client.call_tool("memory_stats", {})
    assert not any(result.is_error for result in results)
    assert stats.structured_content["rules"]["total"] == 20


async def test_nothing_but_the_protocol_is_written_to_stdout(dsn, tmp_path):
    environment = {**os.environ, "MEMORY_DSN": dsn, "MEMORY_SPOOL__DIRECTORY": str(tmp_path)}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}},
    ]  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        SCRIPT, "--verbose", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    process.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    answers = [json.loads(await asyncio.wait_for(process.stdout.readline(), 30)) for _ in range(2)]
    process.stdin.close()
    rest, errors = await asyncio.wait_for(process.communicate(), 30)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert rest == b""
    assert process.returncode == 0
    assert b"memory is in postgresql://" in errors


@pytest.fixture
def data_dir():
    path = Path(tempfile.mkdtemp(prefix="memory-stdio-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


async def test_two_servers_share_one_embedded_database_and_the_last_one_stops_it(connect, data_dir):
    variables = {"MEMORY_DSN": "", "MEMORY_DATA_DIR": str(data_dir)}
    async with connect(**variables) as first:
        async with connect(**variables) as second:
            stored, other = await asyncio.gather(
                first.call_tool("memory_store_rule", {"content": "Warm the pot"}),
                second.call_tool("memory_store_rule", {"content": "Cold milk last"}),
            )
            assert not stored.is_error
            assert not other.is_error
            wanted = {"memory_type": "rule", "memory_id": stored.structured_content["id"]}
            assert (await second.call_tool("memory_get", wanted)).structured_content["found"]
            assert len(EmbeddedServer(data_dir).status().client_pids) == 2
        stats = await first.call_tool("memory_stats", {})
        assert stats.structured_content["rules"]["total"] == 2
    assert not EmbeddedServer(data_dir).status().running


async def test_a_terminated_server_leaves_no_database_running(data_dir, tmp_path):
    environment = {**os.environ, "MEMORY_DATA_DIR": str(data_dir), "MEMORY_DSN": ""}
    process = await asyncio.create_subprocess_exec(
        SCRIPT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    line = await asyncio.wait_for(process.stderr.readline(), 60)
    assert b"memory is in the embedded server" in line
    assert EmbeddedServer(data_dir).status().running
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), 30)
    assert not EmbeddedServer(data_dir).status().running
