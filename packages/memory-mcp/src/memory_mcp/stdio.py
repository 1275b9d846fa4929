"""`memory-mcp`: the server on stdin and stdout, as MCP clients start it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from mcp.server.stdio import stdio_server
from memory_core import ConfigError, MemoryModuleError, load_config

from memory_mcp import __version__
from memory_mcp.assembled_server import assemble_server
from memory_mcp.log_lines import log_to_stderr
from memory_mcp.serving import Serving, prepare_serving


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until the client closes stdin; the entry point of the `memory-mcp` script."""
    options = _parser().parse_args(arguments)
    log_to_stderr(options.verbose)
    # What a server does is worth a line: which database it uses, and when that goes away and comes back.
    logging.getLogger("memory_mcp").setLevel(logging.INFO)
    try:
        config = load_config(options.config, overrides={"schema": options.schema, "tenant_id": options.tenant})
        serving = prepare_serving(config, dsn=options.dsn, data_dir=options.data_dir)
        asyncio.run(_serve(serving))
    except MemoryModuleError as error:
        sys.stderr.write(f"memory-mcp cannot start: {error}\n")
        sys.exit(2 if isinstance(error, ConfigError) else 1)


async def _serve(serving: Serving) -> None:
    server = assemble_server(serving.calls, serving.config, lambda _context: serving.config.tenant_id)
    async with serving.runtime:
        _end_in_order(serving)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


def _end_in_order(serving: Serving) -> None:
    """On SIGTERM close the runtime, so that an embedded server does not stay behind, and end."""
    if sys.platform == "win32":
        return
    loop = asyncio.get_running_loop()
    ending: list[asyncio.Task[None]] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: ending.append(loop.create_task(_end(serving))) if not ending else None)


async def _end(serving: Serving) -> None:
    await serving.runtime.__aexit__()
    # A thread still waits for a line from stdin, and would keep the process from ending in any gentler way.
    os._exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memory-mcp",
        description="Durable memory for AI agents, as an MCP server on stdin and stdout.",
        epilog="Without --dsn, MEMORY_DSN or a configured dsn, an embedded PostgreSQL is started.",
    )
    parser.add_argument("--version", action="version", version=f"memory-mcp, version {__version__}")
    parser.add_argument("--config", type=Path, help="a TOML file with [modules.memory]")
    parser.add_argument("--dsn", help="your own PostgreSQL; MEMORY_DSN keeps a password out of the process list")
    parser.add_argument("--data-dir", type=Path, help="where the embedded server keeps its data")
    parser.add_argument("--schema", help="the PostgreSQL schema that holds the tables")
    parser.add_argument("--tenant", help="whose memories are meant")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what is done, and errors with tracebacks")
    return parser


if __name__ == "__main__":
    main()
