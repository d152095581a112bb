"""One tool call as one request through the app's own ASGI door, and the response as a result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import quote, unquote, urlencode

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Match

from .json_values import is_array, is_object
from .tool import FailureKind, ToolFailure
from .toolset import Endpoint


class UnreachableRoute(Exception):
    """The arguments make a path that does not lead to the tool's own route."""


@dataclass(frozen=True, slots=True)
class Response:
    """What the app answered: an HTTP status and the body's bytes."""

    status: int
    content_type: str
    body: bytes


async def request(
    app: FastAPI, endpoint: Endpoint, arguments: Mapping[str, Any], state: Mapping[str, Any]
) -> Response:
    """Send one call through the app. What the app raises and does not handle itself, it raises here.

    Args:
        state: what the app's lifespan yielded.

    Raises:
        UnreachableRoute: an argument of the path is empty, or holds a slash.
    """
    body = _encode_body(endpoint, arguments)
    scope = _scope(endpoint, arguments, body, state)
    _put_first(app, endpoint.route, scope)
    messages: list[MutableMapping[str, Any]] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await asyncio.get_running_loop().create_future()

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    try:
        await app(scope, receive, send)
    except Exception:
        if not (messages and _handles_everything(app)):
            raise
    return _collect(messages)


def _put_first(app: FastAPI, route: APIRoute, scope: MutableMapping[str, Any]) -> None:
    """Have the router try the tool's own route first: no other route may answer in its place."""
    match, _ = route.matches(scope)
    if match is not Match.FULL:
        raise UnreachableRoute(f"no path leads to {route.path} with these arguments")
    routes = app.router.routes
    if routes[0] is not route and route in routes:
        routes.remove(route)
        routes.insert(0, route)


def _handles_everything(app: FastAPI) -> bool:
    """Whether the app answers every exception. Starlette raises it all the same, for the server's log."""
    return 500 in app.exception_handlers or Exception in app.exception_handlers


def _scope(
    endpoint: Endpoint, arguments: Mapping[str, Any], body: bytes, state: Mapping[str, Any]
) -> dict[str, Any]:
    path = endpoint.path
    for name in endpoint.path_names:
        path = path.replace("{" + name + "}", quote(_as_text(arguments.get(name, "")), safe=""))
    query = {name: _as_query(arguments[name]) for name in _given(endpoint.query_names, arguments)}
    headers = [(b"host", b"world"), (b"accept", b"application/json")]
    headers += [
        (name.lower().encode(), _as_text(arguments[name]).encode("utf-8", "replace"))
        for name in _given(endpoint.header_names, arguments)
    ]
    if body:
        headers += [
            (b"content-type", endpoint.body.content_type.encode()),
            (b"content-length", str(len(body)).encode()),
        ]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": endpoint.method.upper(),
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": urlencode(query, doseq=True).encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("world", 80),
        "state": dict(state),
    }


def _given(names: Iterable[str], arguments: Mapping[str, Any]) -> list[str]:
    return [name for name in names if arguments.get(name) is not None]


def _encode_body(endpoint: Endpoint, arguments: Mapping[str, Any]) -> bytes:
    body = endpoint.body
    if body.kind == "none":
        return b""
    if body.kind == "whole":
        return json.dumps(arguments["body"]).encode() if "body" in arguments else b""
    elsewhere = {*endpoint.path_names, *endpoint.query_names, *endpoint.header_names}
    fields = {
        name: value for name, value in arguments.items() if name in body.fields or name not in elsewhere
    }
    if not fields and not body.required:
        return b""
    if body.kind == "form":
        return urlencode(
            {name: _as_query(value) for name, value in fields.items() if value is not None}, doseq=True
        ).encode()
    return json.dumps(fields).encode()


def _as_text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _as_query(value: Any) -> str | list[str]:
    return [_as_text(item) for item in value] if is_array(value) else _as_text(value)


def _collect(messages: Iterable[MutableMapping[str, Any]]) -> Response:
    status, content_type, parts = 500, "", list[bytes]()
    for message in messages:
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = {name.lower(): value for name, value in message.get("headers", [])}
            content_type = headers.get(b"content-type", b"").decode("latin-1")
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))
    return Response(status, content_type, b"".join(parts))


def read_response(response: Response) -> tuple[Any, ToolFailure | None]:
    """The response as a result, or as the failure it reports."""
    value = _read_body(response)
    if response.status < 400:
        return value, None
    violations = _read_violations(value) if response.status == 422 else None
    if violations is not None:
        return None, ToolFailure(FailureKind.INVALID_ARGUMENTS, violations)
    return None, ToolFailure(FailureKind.TOOL_FAILED, _detail(value) or f"HTTP status {response.status}")


def _read_body(response: Response) -> Any:
    try:
        text = response.body.decode()
    except UnicodeDecodeError:
        return f"[{len(response.body)} bytes of {response.content_type or 'unknown type'}]"
    if "json" not in response.content_type:
        return text
    try:
        return json.loads(text, parse_constant=_refuse_constant) if text else None
    except (ValueError, RecursionError):
        return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _read_violations(value: Any) -> str | None:
    """FastAPI's report of wrong arguments as one text; None if it is not such a report."""
    detail = _field(value, "detail")
    if not is_array(detail):
        return None
    reasons = [(_field(item, "loc"), _field(item, "msg")) for item in detail]
    if not all(is_array(place) and reason for place, reason in reasons):
        return None
    return "; ".join(f"{_name_of(place)}: {reason}" for place, reason in reasons)


def _name_of(place: list[Any]) -> str:
    """The argument's name: a place starts with the part of the request it was in."""
    return ".".join(str(part) for part in place[1:]) or "arguments"


def _detail(value: Any) -> str:
    detail = _field(value, "detail") or value or ""
    return detail if isinstance(detail, str) else json.dumps(detail)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if is_object(value) else None
