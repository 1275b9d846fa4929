"""`memory serve` over real HTTP, spoken to by the SDK's own client."""

import asyncio
import json

import asyncpg
import httpx2
import pytest

POST = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def call_body(name: str, **arguments) -> dict:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def answer_in(response: httpx2.Response) -> dict:
    [line] = [line for line in response.text.splitlines() if line.startswith("data: ")]
    return json.loads(line.removeprefix("data: "))


async def test_every_tool_answers_a_good_and_a_bad_call_in_both_eras(shared, speak, every_call):
    for mode in ("legacy", "auto"):
        # A tenant of its own for each, so that the second begins with an empty memory.
        async with shared.connect(shared.tokens.create(mode)[1], mode) as client:
            assert len((await client.list_tools()).tools) == 19
            call = speak(client)
            every_call.assert_good_answers(await every_call.make_every_good_call(call, tenant_id=mode))
            for name, (arguments, part) in every_call.BAD_CALLS.items():
                own = {"tenant_id": mode} if "tenant_id" in arguments else {}
                failed, text = await call(name, {**arguments, **own})
                assert failed, name
                assert part in json.loads(text)["message"]


async def test_on_a_loopback_address_the_configured_tenant_needs_no_token(serve, pool):
    async with serve(MEMORY_TENANT_ID="home") as server, server.connect() as client:
        await client.call_tool("memory_store_rule", {"content": "Warm the pot"})
    assert await pool.fetchval("SELECT tenant_id FROM rules") == "home"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_two_tokens_at_once_never_see_each_others_memories(shared, mode):
    tenants = (f"acme-{mode}", f"globex-{mode}")
    owners = {tenant: shared.tokens.create(tenant)[1] for tenant in tenants}

    async def work(tenant: str, other: str, number: int) -> None:
        async with shared.connect(owners[tenant], mode) as client, shared.connect(owners[other], mode) as stranger:
            stored = await client.call_tool("memory_store_rule", {"content": f"The secret of {tenant} number {number}"})
            found = await client.call_tool("memory_search", {"query": "the secret number", "limit": 50})
            contents = [memory["content"] for memory in found.structured_content["result"]]
            assert contents
            assert all(tenant in content for content in contents), contents
            wanted = {"memory_type": "rule", "memory_id": stored.structured_content["id"]}
            assert (await stranger.call_tool("memory_get", wanted)).structured_content["found"] is False
            assert (await stranger.call_tool("memory_forget", wanted)).structured_content["found"] is False

    first, second = tenants
    pairs = ((first, second), (second, first))
    await asyncio.gather(*(work(tenant, other, number) for number in range(4) for tenant, other in pairs))


async def test_wrong_revoked_and_expired_tokens_are_refused_at_once(shared):
    record, token = shared.tokens.create("acme")
    _, brief = shared.tokens.create("acme", days=1 / 86_400_000)
    async with httpx2.AsyncClient(headers=POST) as web:

        async def status(value: str) -> int:
            header = {"Authorization": value}
            return (await web.post(shared.url, json=call_body("memory_stats"), headers=header)).status_code

        assert await status(f"Bearer {token}") == 200
        for refused in (f"Bearer {token}x", f"Bearer mem_{record.id}_", "Bearer x", "Basic YTpi", f"Bearer {brief}"):
            assert await status(refused) == 401, refused
        shared.tokens.revoke(record.id)
        assert await status(f"Bearer {token}") == 401


async def test_beyond_this_machine_a_token_is_always_needed(serve, tokens):
    _, token = tokens.create("acme")
    async with serve("--host=0.0.0.0") as server, httpx2.AsyncClient(headers=POST) as web:
        refused = await web.post(server.url, json=call_body("memory_stats"))
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer ")
        allowed = await web.post(
            server.url, json=call_body("memory_stats"), headers={"Authorization": f"Bearer {token}"}
        )
        assert allowed.status_code == 200


@pytest.mark.parametrize(
    "variables",
    [{"MEMORY_SERVE__HOST": "0.0.0.0"}, {"MEMORY_SERVE__ALLOWED_HOSTS": '["memory.example.org"]'}],
    ids=["every address", "behind a proxy"],
)
def test_a_server_that_needs_tokens_and_has_none_does_not_start(run_memory, tmp_path, variables):
    completed = run_memory("serve", "--port=0", MEMORY_SERVE__TOKEN_FILE=str(tmp_path / "t.json"), **variables)
    assert completed.exit_code == 2
    assert "needs tokens" in completed.stderr
    assert "`memory token create`" in completed.stderr


async def test_hosts_and_origins_of_strangers_are_refused(shared):
    async with httpx2.AsyncClient(headers=POST) as web:

        async def status(**headers: str) -> int:
            return (await web.post(shared.url, json=call_body("memory_stats"), headers=headers)).status_code

        assert await status() == 200
        assert await status(Host="evil.example") == 421
        assert await status(Host="127.0.0.1.evil.example:80") == 421
        assert await status(Origin="https://evil.example") == 403
        assert await status(Origin="null") == 403
        assert await status(Origin="http://localhost:3000") == 200


async def test_a_body_above_the_limit_is_refused_before_it_is_read(serve):
    async with serve(MEMORY_SERVE__MAX_BODY_BYTES="2048") as server, httpx2.AsyncClient(headers=POST) as web:
        refused = await web.post(server.url, json=call_body("memory_store_rule", content="x" * 5000))
        assert refused.status_code == 413
        assert (await web.post(server.url, json=call_body("memory_stats"))).status_code == 200


async def test_failures_tell_no_statement_path_or_trace(shared, shared_dsn):
    admin = await asyncpg.connect(shared_dsn)
    await admin.execute("ALTER TABLE rules ADD CONSTRAINT no_kettles CHECK (content NOT LIKE '%kettle%')")
    await admin.close()
    async with httpx2.AsyncClient(headers=POST) as web:
        response = await web.post(shared.url, json=call_body("memory_store_rule", content="Fill the kettle"))
    result = answer_in(response)["result"]
    assert result["isError"] is True
    failure = json.loads(result["content"][0]["text"])
    assert failure["error"] == "database_error"
    for told in ("no_kettles", "INSERT", "Traceback", "/", "rules", "asyncpg"):
        assert told not in failure["message"]
    reference = failure["message"].rpartition(" ")[2]
    assert reference in shared.log.read_text()


async def test_fifty_clients_at_once_are_all_answered(shared):
    _, token = shared.tokens.create("fifty")

    async def remember(number: int) -> bool:
        async with shared.connect(token, "legacy" if number % 2 else "auto") as client:
            stored = await client.call_tool("memory_store_episode", {"content": f"Visit {number}", "butler": "b"})
            found = await client.call_tool("memory_search", {"query": f"Visit {number}"})
            return not stored.is_error and not found.is_error

    async with asyncio.timeout(60):
        assert all(await asyncio.gather(*(remember(number) for number in range(50))))
    async with shared.connect(token) as client:
        stats = await client.call_tool("memory_stats", {})
    assert stats.structured_content["episodes"]["total"] == 50


async def test_a_client_that_leaves_in_the_middle_of_a_call_harms_nobody(shared, shared_dsn):
    body = call_body("memory_store_rule", content="Half told")
    holder = await asyncpg.connect(shared_dsn)
    async with holder.transaction():
        # Both calls wait for this lock when their clients go away: one by closing, one by cancelling.
        await holder.execute("LOCK TABLE rules IN ACCESS EXCLUSIVE MODE")
        async with httpx2.AsyncClient(headers=POST) as web:
            with pytest.raises(httpx2.ReadTimeout):
                await web.post(shared.url, json=body, timeout=0.5)
        async with shared.connect() as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.call_tool("memory_store_rule", {"content": "Half told too"}), 0.5)
    await holder.close()
    async with shared.connect() as client:
        assert not (await client.call_tool("memory_store_rule", {"content": "Told in full"})).is_error
        # As many as there are connections: none of them is still held by a call that nobody waits for.
        counted = await asyncio.gather(*(client.call_tool("memory_stats", {}) for _ in range(20)))
        assert not any(result.is_error for result in counted)


async def test_health_tells_the_state_and_nothing_else(shared):
    async with httpx2.AsyncClient() as web:
        response = await web.get(shared.url.replace("/mcp", "/healthz"))
        assert response.status_code == 200
        assert response.json().keys() == {"status", "version"}
        assert response.json()["status"] == "ready"
        assert "server" not in response.headers
        assert (await web.get(shared.url.replace("/mcp", "/docs"))).status_code == 404
        assert (await web.get(shared.url, headers={"accept": "text/event-stream"})).status_code == 405


async def test_the_start_says_where_it_is_and_how_to_connect(shared):
    printed = shared.log.read_text()
    assert f"serving 19 tools at {shared.url}" in printed
    assert f"claude mcp add --transport http memory {shared.url}" in printed
    assert "memory is in postgresql://" in printed


def test_a_taken_port_is_told_in_one_line(run_memory, tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        completed = run_memory("serve", f"--port={taken.getsockname()[1]}", MEMORY_DATA_DIR=str(tmp_path))
    assert completed.exit_code == 1
    assert "cannot listen on 127.0.0.1 port" in completed.stderr
    assert "choose another --port" in completed.stderr
