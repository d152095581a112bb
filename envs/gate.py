"""The server's door: who may come in at all, before any route is looked at.

The agent plane has tokens of its own, one per episode, and is let through. All else is the control plane: it
resets, steps and scores, so it is for the trainer alone.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

MAX_BODY_BYTES = 4 * 1024 * 1024
"""The largest body of a request, and the largest message of a control connection."""

_BODY_S = 30.0
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_PUBLIC_PATHS = frozenset({"/health"})


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the control plane."""

    token: str | None = field(default=None, repr=False)
    """The bearer token that the control plane asks for; None: it asks for none."""
    anyone: bool = False
    """Without a token: serve others than this machine, too."""
    hosts: frozenset[str] = frozenset()
    """Names of this server, besides those of the loopback, that a request without a token may ask for."""


class Gate:
    """Refuses requests that have no business here; bounds the rest in size and time."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request or one connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(HTTPConnection(scope))
        if refusal is None:
            await self._app(scope, _bounded(receive) if scope["type"] == "http" else receive, send)
        elif scope["type"] == "http":
            await refusal(scope, receive, send)
        else:
            await WebSocket(scope, receive, send).send_denial_response(refusal)

    def _refusal(self, connection: HTTPConnection) -> Response | None:
        if not _is_own_origin(connection.headers):
            return _refuse(403, "requests from web pages of other origins are refused")
        if connection.url.path in _PUBLIC_PATHS or _is_agent_plane(connection.url.path):
            return None
        if self._access.token is not None:
            return None if self._knows_token(connection.headers) else _unauthorized()
        if self._access.anyone:
            return None
        if not _is_loopback(connection.client.host if connection.client else ""):
            return _refuse(403, "this server has no control token, and so serves its own machine only")
        name = _host_name(connection.headers.get("host", ""))
        if name not in _LOOPBACK_NAMES and name not in self._access.hosts:
            return _refuse(403, f"this server is not called {name!r:.80}")
        return None

    def _knows_token(self, headers: Headers) -> bool:
        assert self._access.token is not None
        return hmac.compare_digest(bearer_token(headers).encode(), self._access.token.encode())


def bearer_token(headers: Headers) -> str:
    """The token of the Authorization header; empty if there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _is_agent_plane(path: str) -> bool:
    parts = path.split("/")
    return len(parts) == 4 and parts[1] == "sessions" and parts[3] == "mcp"


def _is_own_origin(headers: Headers) -> bool:
    """Whether a browser, which always names the page's origin, asks on behalf of a page of ours."""
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)


def _bounded(receive: Receive) -> Receive:
    """A body of bounded size that arrives in bounded time; what is more reads as a vanished client."""
    left = MAX_BODY_BYTES
    ends: float | None = asyncio.get_running_loop().time() + _BODY_S

    async def receive_bounded() -> MutableMapping[str, Any]:
        nonlocal left, ends
        if ends is None:
            return await receive()
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        left -= len(message.get("body", b""))
        if left < 0:
            return {"type": "http.disconnect"}
        if not message.get("more_body", False):
            ends = None  # from here on, the application waits for the client to leave
        return message

    return receive_bounded


def _unauthorized() -> Response:
    return JSONResponse(
        {"error": "the control plane needs its token: send 'Authorization: Bearer …'"},
        status_code=401,
        headers={"WWW-Authenticate": "Bearer"},
    )


def _refuse(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)
