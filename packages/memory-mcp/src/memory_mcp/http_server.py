"""`memory serve`: the server over Streamable HTTP, for clients of many tenants."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memory_mcp import __version__
from memory_mcp.assembled_server import assemble_server
from memory_mcp.http_access import (
    RequireBodyInTime,
    RequireToken,
    TenantTokens,
    are_tokens_optional,
    tenant_of_request,
    transport_security,
)
from memory_mcp.serving import Serving
from memory_mcp.tokens import TokenFile

logger = logging.getLogger(__name__)

PATH = "/mcp"


def http_app(serving: Serving, tokens: TokenFile, host: str) -> Starlette:
    """Return the application: the protocol at /mcp, and whether it can answer at /healthz."""
    serve = serving.config.serve
    server = assemble_server(serving.calls, serving.config, lambda context: tenant_of_request(context, serving.config))
    # Without sessions any replica can answer any request, and no session can be taken over.
    sessions = StreamableHTTPSessionManager(
        app=server,
        stateless=True,
        security_settings=transport_security(serve, host),
        max_request_body_size=serve.max_body_bytes,
    )
    protocol = RequireToken(StreamableHTTPASGIApp(sessions), optional=are_tokens_optional(serve, host))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with serving.runtime, sessions.run():
            yield

    async def health(_request: Request) -> Response:
        state = serving.runtime.state
        return JSONResponse({"status": state, "version": __version__}, status_code=200 if state == "ready" else 503)

    return Starlette(
        # Only POST: without sessions there is no stream to listen on, which a GET would hold open for nothing.
        routes=[
            Route(PATH, endpoint=protocol, methods=["POST"]),
            Route("/healthz", endpoint=health, methods=["GET"]),
        ],
        middleware=[
            Middleware(RequireBodyInTime),
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(TenantTokens(tokens))),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lifespan,
    )


def http_server(app: Starlette, host: str, port: int) -> uvicorn.Server:
    """Return a server for the application; its `serve()` runs until the process is told to end."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=1000,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=10,
        )
    )
