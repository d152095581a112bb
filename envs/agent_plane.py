"""The agent plane: one MCP endpoint per session, made with the official SDK, showing the world's tools only.

`POST /sessions/{id}/mcp` with the episode's bearer token. Requests stand alone (the SDK's stateless mode), so
an agent that vanishes leaves nothing behind. There is no stream to GET, since a world never speaks first.
"""

from __future__ import annotations

import contextvars
import json
from collections.abc import MutableMapping
from typing import Any, cast

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..scenarios.tool import ToolResult
from .episode import Episode, EpisodeRefused, EpisodeService
from .gate import bearer_token

MAX_REQUEST_BYTES = 1024 * 1024
"""The largest request body an agent may send."""

_SAFE_DEPTH = 200

_episode: contextvars.ContextVar[Episode] = contextvars.ContextVar("episode")


class AgentPlane:
    """Serves every session's MCP endpoint. Run `sessions.run()` around the server's life."""

    def __init__(self, service: EpisodeService) -> None:
        self._service = service
        server: Server[Any, Any] = Server("subworlds")
        server.request_handlers[types.ListToolsRequest] = _list_tools
        server.request_handlers[types.CallToolRequest] = _call_tool
        self.sessions = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAX_REQUEST_BYTES
        )

    def route(self) -> Route:
        """The route to mount at the root of the server."""
        return Route("/sessions/{session_id}/mcp", _Endpoint(self), include_in_schema=False)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: refuse it, or hand it to the SDK in the name of its episode."""
        request = Request(scope, receive)
        episode = self._service.find(request.path_params["session_id"], bearer_token(request.headers))
        if episode is None:
            await _refuse(401, "unknown session or wrong token", {"WWW-Authenticate": "Bearer"})(
                scope, receive, send
            )
        elif request.method != "POST":
            await _refuse(405, "send JSON-RPC by POST", {"Allow": "POST"})(scope, receive, send)
        elif (body := await _read_body(request)) is None:
            await _refuse(413, f"a message may have {MAX_REQUEST_BYTES} bytes", {})(scope, receive, send)
        elif _too_deep(body):
            await _refuse(400, "the message is nested too deeply", {})(scope, receive, send)
        else:
            _episode.set(episode)
            await self.sessions.handle_request(scope, _replay(body), send)


class _Endpoint:
    """An ASGI application for Starlette's Route, which would wrap a bare function."""

    def __init__(self, plane: AgentPlane) -> None:
        self._plane = plane

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._plane.serve(scope, receive, send)


async def _list_tools(_: types.ListToolsRequest) -> types.ServerResult:
    tools = [
        types.Tool(name=tool.name, description=tool.description, inputSchema=tool.input_schema)
        for tool in _episode.get().tools
    ]
    return types.ServerResult(types.ListToolsResult(tools=tools))


async def _call_tool(request: types.CallToolRequest) -> types.ServerResult:
    try:
        outcome = await _episode.get().call(request.params.name, request.params.arguments or {})
    except EpisodeRefused as refused:
        return types.ServerResult(_result(str(refused), is_error=True))
    return types.ServerResult(_read(outcome))


def _read(outcome: ToolResult) -> types.CallToolResult:
    if outcome.failure is not None:
        return _result(f"{outcome.failure.kind}: {outcome.failure.message}", is_error=True)
    value = outcome.result
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _result(text, structured=cast("dict[str, Any]", value) if isinstance(value, dict) else None)


def _result(
    text: str, *, is_error: bool = False, structured: dict[str, Any] | None = None
) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structuredContent=structured, isError=is_error)


async def _read_body(request: Request) -> bytes | None:
    """The request's body, or None if it is over the limit."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_REQUEST_BYTES:
            return None
    return bytes(body)


def _too_deep(body: bytes) -> bool:
    """Whether Python's JSON reader, which the SDK uses, would run out of stack."""
    if body.count(b"[") + body.count(b"{") <= _SAFE_DEPTH:
        return False
    try:
        json.loads(body)
    except RecursionError:
        return True
    except ValueError:
        return False
    return False


def _replay(body: bytes) -> Receive:
    """The body once more, for the SDK to read."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> MutableMapping[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    return receive


def _refuse(status: int, message: str, headers: dict[str, str]) -> Response:
    return JSONResponse({"error": message}, status_code=status, headers=headers)
