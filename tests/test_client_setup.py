"""The README's ways to connect an agent work as they are written, and server.json describes the package."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from memory_core.config_sources import load_config

from tests.markdown_blocks import ROOT, blocks

README = ROOT / "README.md"


@pytest.fixture
def data_dir() -> Iterator[str]:
    # Not pytest's own directory: for root the server runs as another user, who may not enter that.
    directory = tempfile.mkdtemp(prefix="memory-client-")
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


async def served(command: str, arguments: list[str], data_dir: str) -> int:
    here = [argument.replace("/path/to/butler-memory", str(ROOT)) for argument in arguments]
    # The environment is there already: nothing is to be fetched for a test.
    environment = {**os.environ, "MEMORY_DATA_DIR": data_dir, "UV_OFFLINE": "1", "UV_NO_SYNC": "1"}
    parameters = StdioServerParameters(command=command, args=here, env=environment)
    async with stdio_client(parameters) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        await session.initialize()
        return len((await session.list_tools()).tools)


@pytest.mark.skipif(shutil.which("uv") is None, reason="the README's command is uv's")
async def test_the_json_for_desktop_clients_starts_a_server(data_dir):
    stdio, http = (json.loads(block.code)["mcpServers"]["memory"] for block in blocks(README, "json"))
    assert await served(stdio["command"], stdio["args"], data_dir) == 19
    assert http["url"].endswith("/mcp")
    assert http["headers"]["Authorization"].startswith("Bearer mem_")


def test_what_claude_code_is_told_to_start_is_what_desktop_clients_start():
    text = README.read_text(encoding="utf-8")
    [told] = re.findall(r"claude mcp add memory -- (.*)", text)
    stdio = json.loads(blocks(README, "json")[0].code)["mcpServers"]["memory"]
    assert told.split() == [stdio["command"], *stdio["args"]]


def test_server_json_describes_the_package_as_it_is(monkeypatch):
    described = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    [package] = described["packages"]
    assert described["version"] == package["version"] == version("memory-mcp")
    assert len(described["description"]) <= 100, "the registry takes no more"
    readme = Path(ROOT / "packages" / package["identifier"] / "README.md").read_text(encoding="utf-8")
    assert f"mcp-name: {described['name']}" in readme, "the registry looks for it in the package"
    for variable in package["environmentVariables"]:
        load_config(environ={variable["name"]: variable.get("default") or variable.get("choices", ["/x"])[0]})


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, f"docs/README.md does not name {page.name}"
