"""`memory serve`: serve the tools over HTTP."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING

import click

from memory_mcp.failures import Failed
from memory_mcp.invocation import Invocation
from memory_mcp.state_files import token_file
from memory_mcp.tokens import TokenFile

if TYPE_CHECKING:
    import uvicorn


@click.command()
@click.option("--host", help="The address to listen on; 127.0.0.1 unless configured.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; 8765 unless configured, 0 for any free one.")
@click.option("--no-workers", is_flag=True, help="Leave consolidation, decay and cleanup to another process.")
@click.pass_obj
def serve(invocation: Invocation, host: str | None, port: int | None, no_workers: bool) -> None:
    """Serve the tools over HTTP, and run the workers on their schedule.

    On 127.0.0.1 anybody on this machine may connect; anywhere else a token is needed, which `memory token create`
    makes. The database starts in the background; /healthz tells when it is there.
    """
    asyncio.run(_serve(invocation, host, port, no_workers))


async def _serve(invocation: Invocation, host: str | None, port: int | None, no_workers: bool) -> None:
    # Imported here: the other commands need no web server, which takes half a second to import.
    from memory_mcp.http_access import require_tokens_where_needed
    from memory_mcp.http_server import http_app, http_server
    from memory_mcp.serving import prepare_serving

    logging.getLogger("memory_mcp").setLevel(logging.INFO)
    config = invocation.config()
    address = host or config.serve.host
    tokens = TokenFile(token_file(config, invocation.data_dir))
    require_tokens_where_needed(config.serve, address, tokens)
    serving = prepare_serving(
        config, dsn=invocation.dsn, data_dir=invocation.data_dir, workers=False if no_workers else None
    )
    server = http_server(http_app(serving, tokens, address), address, config.serve.port if port is None else port)
    with _listening(server) as listener:
        _say_how_to_connect(address, listener.getsockname()[1], len(serving.calls.tools), len(tokens.records()))
        await server.serve(sockets=[listener])


def _listening(server: uvicorn.Server) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in server.config.host else socket.AF_INET
        return socket.create_server((server.config.host.strip("[]"), server.config.port), family=family, backlog=2048)
    except OSError as error:
        raise Failed(
            f"cannot listen on {server.config.host} port {server.config.port}: {error.strerror}; "
            "another server may run there: choose another --port"
        ) from error


def _say_how_to_connect(host: str, port: int, tools: int, tokens: int) -> None:
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    url = f"http://{name}:{port}/mcp"
    header = ' --header "Authorization: Bearer <token>"' if tokens else ""
    lines = [
        f"serving {tools} tools at {url} (health: http://{name}:{port}/healthz)",
        f"connect with: claude mcp add --transport http memory {url}{header}",
        f"tokens: {tokens}; `memory token create` makes one, each for one tenant",
    ]
    for line in lines:
        click.secho(line, err=True)
