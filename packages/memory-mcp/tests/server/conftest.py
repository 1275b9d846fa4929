"""Starts `memory-mcp` as a client would: the installed script, a process of its own, a pipe to it."""

import importlib.util
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

SCRIPT = str(Path(sys.executable).with_name("memory-mcp"))

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def connect(dsn: str, tmp_path: Path) -> Connect:
    """Return a function that starts a server on a fresh database and connects to it."""

    @asynccontextmanager
    async def connected(mode: str = "auto", **variables: str) -> AsyncIterator[Client]:
        env = {"MEMORY_DSN": dsn, "MEMORY_SPOOL__DIRECTORY": str(tmp_path / "spool"), **variables}
        server = StdioServerParameters(command=SCRIPT, env=env, cwd=tmp_path)
        with (tmp_path / "stderr.txt").open("a") as errors:
            async with Client(stdio_client(server, errlog=errors), mode=mode, read_timeout_seconds=60) as client:
                yield client

    return connected


@pytest.fixture(scope="session")
def every_call() -> ModuleType:
    """One good and one bad call of each tool; a fixture, because tests are not a package that can be imported from."""
    spec = importlib.util.spec_from_file_location("every_call", Path(__file__).with_name("every_call.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def speak() -> Callable[[Client], Callable[[str, dict[str, Any]], Awaitable[tuple[bool, str]]]]:
    """Return what makes a client's calls answer `(failed, text)`."""

    def speaking(client: Client) -> Callable[[str, dict[str, Any]], Awaitable[tuple[bool, str]]]:
        async def call(name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            result = await client.call_tool(name, arguments)
            [block] = result.content
            return bool(result.is_error), block.text

        return call

    return speaking
