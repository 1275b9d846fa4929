"""The module on a FastMCP server; `uv run nox -s fastmcp` brings FastMCP along."""

import asyncio
from types import SimpleNamespace

import asyncpg
import pytest
from memory_core import MemoryModuleConfig
from memory_mcp import MemoryModule

fastmcp = pytest.importorskip("fastmcp", reason="FastMCP is not part of the workspace: run `uv run nox -s fastmcp`")


@pytest.fixture
async def client(empty_dsn, tmp_path):
    config = MemoryModuleConfig.model_validate({"spool": {"directory": str(tmp_path)}})
    pool = await asyncpg.create_pool(empty_dsn, min_size=1, max_size=4)
    module, server, db = MemoryModule(), fastmcp.FastMCP("host"), SimpleNamespace(pool=pool)
    await module.on_startup(config, db)
    await module.register_tools(server, config, db, butler_name="jeeves")
    async with fastmcp.Client(server) as connected:
        yield connected
    await module.on_shutdown()
    await asyncio.wait_for(pool.close(), 10)


async def test_all_tools_are_there_with_their_parameters(client):
    tools = {tool.name: tool for tool in await client.list_tools()}
    assert len(tools) == 19
    schema = getattr(tools["memory_store_fact"], "input_schema", None) or tools["memory_store_fact"].inputSchema
    assert schema["required"] == ["subject", "predicate", "content"]
    assert schema["properties"]["importance"]["default"] == 5.0


async def test_a_stored_fact_is_found_and_a_wrong_call_says_what_to_do(client):
    await client.call_tool("memory_store_fact", {"subject": "user", "predicate": "pet", "content": "a cat named Miso"})
    found = await client.call_tool("memory_search", {"query": "animal"})
    assert "Miso" in str(found.content)
    with pytest.raises(fastmcp.exceptions.ToolError, match="recovery"):
        await client.call_tool("memory_confirm", {"memory_type": "episode", "memory_id": "7" * 32})
