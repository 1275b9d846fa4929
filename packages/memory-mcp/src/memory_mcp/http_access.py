"""Who may talk to the HTTP server: tokens, hosts, origins, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.transport_security import TransportSecuritySettings
from memory_core import ConfigError, MemoryModuleConfig, TenantMismatchError
from memory_core.config import ServeConfig
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_mcp.tokens import TokenFile

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
# A request's headers are there when it arrives here; its body has this long.
BODY_SECONDS = 30.0


class TenantTokens:
    """Lets the SDK's bearer authentication look tokens up."""

    def __init__(self, tokens: TokenFile) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who a token stands for: the token as the client, its tenant as the subject."""
        record = self._tokens.verify(token)
        if record is None:
            return None
        # The token itself is not handed on: nothing after this point needs it.
        return AccessToken(token=record.id, client_id=record.id, scopes=[], subject=record.tenant_id)


class RequireToken:
    """Refuses requests without a valid token; where tokens are optional, a wrong one is refused all the same."""

    def __init__(self, app: ASGIApp, *, optional: bool) -> None:
        self._app = app
        self._optional = optional

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401."""
        has_token = "authorization" in Headers(scope=scope)
        if isinstance(scope.get("user"), AuthenticatedUser) or (self._optional and not has_token):
            await self._app(scope, receive, send)
            return
        description = "The token is not valid" if has_token else "A bearer token is required"
        refusal = JSONResponse(
            {"error": "invalid_token", "error_description": f"{description}; `memory token create` makes one"},
            status_code=401,
            headers={"WWW-Authenticate": f'Bearer error="invalid_token", error_description="{description}"'},
        )
        await refusal(scope, receive, send)


class RequireBodyInTime:
    """Answers 408 where a request's body does not arrive in time, so that slow senders cannot pile up."""

    def __init__(self, app: ASGIApp, seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a deadline on its body."""
        deadline = asyncio.get_running_loop().time() + self._seconds
        is_complete = False

        async def receive_in_time() -> Message:
            nonlocal is_complete
            # After the body only the client's leaving is received, which may take as long as the answer does.
            if is_complete:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise _TooSlowError from None
            is_complete = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._app(scope, receive_in_time, send)
        except _TooSlowError:
            await JSONResponse({"error": "request_timeout"}, status_code=408)(scope, receive, send)


class _TooSlowError(Exception):
    pass


def tenant_of_request(context: ServerRequestContext[Any, Any], config: MemoryModuleConfig) -> str:
    """Return the tenant of a request: its token's, or the configured one where it came without a token.

    Raises:
        TenantMismatchError: the request cannot be attributed to anybody.
    """
    request = context.request
    if request is None:
        raise TenantMismatchError("the request carries no connection that could tell whose it is; connect again")
    user = request.scope.get("user")
    if isinstance(user, AuthenticatedUser):
        if user.access_token.subject is None:
            raise TenantMismatchError("the token names no tenant; make a new one with `memory token create`")
        return user.access_token.subject
    return config.tenant_id


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def are_tokens_optional(serve: ServeConfig, host: str) -> bool:
    """Tell whether requests without a token are answered: only where nobody but this machine's users can send them."""
    # A name from outside among the allowed hosts means that a proxy forwards requests from there.
    local = all(_is_loopback_name(name) for name in serve.allowed_hosts)
    return is_loopback(host) and local and not serve.require_token


def require_tokens_where_needed(serve: ServeConfig, host: str, tokens: TokenFile) -> None:
    """Refuse to start a server that nobody could use, or that everybody could.

    Raises:
        ConfigError: tokens are needed here and there is none.
    """
    if not are_tokens_optional(serve, host) and not tokens.records():
        raise ConfigError(
            f"a server on {host} needs tokens, and {str(tokens.path)!r} has none; "
            "make one with `memory token create`, or listen on 127.0.0.1"
        )


def transport_security(serve: ServeConfig, host: str) -> TransportSecuritySettings:
    """Return which Host and Origin headers are answered: its own, the loopback names, and the configured ones."""
    own = f"[{host}]" if ":" in host.strip("[]") and not host.startswith("[") else host
    names = list(dict.fromkeys([*LOOPBACK_NAMES, own]))
    hosts = [*names, *(f"{name}:*" for name in names), *serve.allowed_hosts]
    origins = [
        f"{scheme}://{name}{port}" for name in LOOPBACK_NAMES for scheme in ("http", "https") for port in ("", ":*")
    ]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[*origins, *serve.allowed_origins])


def _is_loopback_name(allowed: str) -> bool:
    name = allowed.removesuffix(":*")
    host, _, port = name.rpartition(":")
    return is_loopback(name) or (port.isdigit() and is_loopback(host))
