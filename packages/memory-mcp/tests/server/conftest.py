"""Starts the servers as strangers would, the installed scripts in processes of their own, and speaks to them."""

import asyncio
import importlib.util
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from memory_core.embedded import EmbeddedServer
from memory_mcp.tokens import TokenFile

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


@dataclass
class HttpServer:
    """A running `memory serve`, and how to speak to it."""

    url: str
    log: Path
    tokens: TokenFile

    @asynccontextmanager
    async def connect(self, token: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as web,
            Client(streamable_http_client(self.url, http_client=web), mode=mode, read_timeout_seconds=60) as client,
        ):
            yield client

    async def ready(self) -> None:
        """Wait until the database is there."""
        async with httpx2.AsyncClient() as web, asyncio.timeout(60):
            while (await web.get(self.url.replace("/mcp", "/healthz"))).status_code != 200:
                await asyncio.sleep(0.05)


@asynccontextmanager
async def run_serve(directory: Path, *options: str, **variables: str) -> AsyncIterator[HttpServer]:
    """Run `memory serve` on a free port of this machine until the block ends."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    places = {
        "MEMORY_SPOOL__DIRECTORY": str(directory / "spool"),
        "MEMORY_SERVE__TOKEN_FILE": str(directory / "t.json"),
    }
    log = directory / "serve.txt"
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("memory")),
            "serve",
            "--port=0",
            *options,
            stderr=errors,
            cwd=directory,
            env={**kept, **places, **variables},
        )
        try:
            async with asyncio.timeout(60):
                while not (found := re.search(r"at (http://\S+)", log.read_text())):
                    assert process.returncode is None, log.read_text()
                    await asyncio.sleep(0.05)
            server = HttpServer(found[1].replace("0.0.0.0", "127.0.0.1"), log, TokenFile(directory / "t.json"))
            await server.ready()
            yield server
        finally:
            if process.returncode is None:
                process.terminate()
            await asyncio.wait_for(process.wait(), 30)


Serve = Callable[..., AbstractAsyncContextManager[HttpServer]]


@pytest.fixture
def serve(dsn: str, tmp_path: Path) -> Serve:
    """Return a function that runs `memory serve` on a fresh database."""
    return lambda *options, **variables: run_serve(tmp_path, *options, **{"MEMORY_DSN": dsn, **variables})


@pytest.fixture(scope="module")
async def shared_dsn(server: EmbeddedServer, template_database: str) -> str:
    """A new migrated database for all tests of a module."""
    name = f"shared_{uuid4().hex}"
    admin = await asyncpg.connect(server.dsn)
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template_database}")
    await admin.close()
    return server.dsn.replace("/memory?", f"/{name}?")


@pytest.fixture(scope="module")
async def shared(shared_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HttpServer]:
    """One `memory serve` for all tests of a module; each takes tenants of its own."""
    async with run_serve(tmp_path_factory.mktemp("serve"), MEMORY_DSN=shared_dsn) as running:
        yield running


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    """The tokens of a server that `serve` runs."""
    return TokenFile(tmp_path / "t.json")
