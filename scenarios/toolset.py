"""A FastAPI app as a set of tools: each route is a tool, called through the app's own ASGI door.

Arguments are one flat object, as agents write them: path and query parameters and the fields of a JSON body
side by side. A body that is not an object is the argument `body`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, unquote, urlencode

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from .errors import Problem
from .task import RESERVED_TOOL_NAMES
from .tool import FailureKind, Tool, ToolFailure

_METHODS = ("get", "post", "put", "patch", "delete")
_JSON_BODY = "application/json"
_FORM_BODIES = ("application/x-www-form-urlencoded", "multipart/form-data")
_REFERENCE_PREFIX = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a tool's arguments become a request."""

    tool: Tool
    route: APIRoute
    method: str
    path: str
    path_names: tuple[str, ...]
    query_names: tuple[str, ...]
    body: Literal["none", "fields", "whole", "form"]
    body_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Response:
    """What the app answered: an HTTP status and the body's bytes."""

    status: int
    content_type: str
    body: bytes


def endpoints_of(app: FastAPI, file: str) -> tuple[dict[str, Endpoint], list[Problem], list[Problem]]:
    """The app's endpoints by tool name, what makes the app unusable, and what is worth a note.

    A route whose name is taken or reserved is left out. One that an earlier route shadows (same method and
    path) is kept: a tool always reaches its own route.
    """
    found: dict[str, Endpoint] = {}
    notes: list[Problem] = []
    for route in _api_routes(app):
        for endpoint in _endpoints(app, route):
            name = endpoint.tool.name
            if name in RESERVED_TOOL_NAMES or name in found:
                reason = "is reserved for the control plane" if name in RESERVED_TOOL_NAMES else "is taken"
                notes.append(Problem(file, _line_of(route), name, f"this tool name {reason}; the tool is left out"))
            else:
                found[name] = endpoint
    fatal = [] if found else [Problem(file, None, None, "the app has no route that could be a tool")]
    return found, fatal, notes


def _api_routes(app: FastAPI) -> Iterable[APIRoute]:
    return (route for route in app.routes if isinstance(route, APIRoute) and route.include_in_schema)


def _line_of(route: APIRoute) -> int | None:
    code = getattr(route.endpoint, "__code__", None)
    return None if code is None else int(code.co_firstlineno)


def _endpoints(app: FastAPI, route: APIRoute) -> Iterable[Endpoint]:
    document = get_openapi(title=app.title, version=app.version, routes=[route])
    schemas = document.get("components", {}).get("schemas", {})
    for path, operations in document.get("paths", {}).items():
        for method in _METHODS:
            if method in operations:
                yield _endpoint(route, method, path, operations[method], schemas)


def _endpoint(
    route: APIRoute, method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]
) -> Endpoint:
    properties: dict[str, Any] = {}
    required: list[str] = []
    names: dict[str, list[str]] = {"path": [], "query": []}
    for parameter in operation.get("parameters", []):
        if parameter["in"] in names:
            names[parameter["in"]].append(parameter["name"])
            properties[parameter["name"]] = _parameter_schema(parameter)
            if parameter.get("required"):
                required.append(parameter["name"])
    body, fields, needed, open_ended = _body(operation, schemas)
    for name, schema in fields.items():
        properties.setdefault(name, schema)
    required += [name for name in needed if name not in required]
    schema = _close(properties, required, schemas, open_ended=open_ended)
    tool = Tool(operation["operationId"], _describe(operation), schema)
    return Endpoint(
        tool, route, method, path, tuple(names["path"]), tuple(names["query"]), body, tuple(fields)
    )


def _describe(operation: Mapping[str, Any]) -> str:
    summary, description = operation.get("summary", ""), operation.get("description", "")
    return f"{summary}\n\n{description}".strip() if description and summary else str(description or summary)


def _parameter_schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = dict(parameter.get("schema", {}))
    if "description" in parameter:
        schema.setdefault("description", parameter["description"])
    return schema


def _body(
    operation: Mapping[str, Any], schemas: Mapping[str, Any]
) -> tuple[Literal["none", "fields", "whole", "form"], dict[str, Any], list[str], bool]:
    """How the body is sent, its fields, those it must have, and whether it takes further ones."""
    request = operation.get("requestBody")
    if request is None:
        return "none", {}, [], False
    content = request.get("content", {})
    form = next((kind for kind in _FORM_BODIES if kind in content), None)
    schema = content.get(form or _JSON_BODY, {}).get("schema", {})
    resolved = _resolve(schema, schemas)
    if "properties" in resolved:
        needed = list(resolved.get("required", [])) if request.get("required") else []
        return "form" if form else "fields", dict(resolved["properties"]), needed, bool(resolved.get("additionalProperties"))
    return "whole", {"body": schema}, ["body"] if request.get("required") else [], False


def _resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references and single-branch unions down to the schema they stand for."""
    while True:
        branches = [item for item in schema.get("anyOf", schema.get("allOf", [])) if item.get("type") != "null"]
        if "$ref" in schema:
            schema = schemas[schema["$ref"].removeprefix(_REFERENCE_PREFIX)]
        elif "properties" not in schema and len(branches) == 1:
            schema = branches[0]
        else:
            return schema


def _close(
    properties: dict[str, Any], required: list[str], schemas: Mapping[str, Any], *, open_ended: bool
) -> dict[str, Any]:
    """One self-contained schema: what it refers to is put in its place, or under $defs where it is recursive."""
    definitions: dict[str, Any] = {}
    closed: dict[str, Any] = {
        "type": "object",
        "properties": {name: _inline(schema, schemas, definitions, ()) for name, schema in properties.items()},
        "required": required,
        "additionalProperties": open_ended,
    }
    if definitions:
        closed["$defs"] = definitions
    return closed


def _inline(node: Any, schemas: Mapping[str, Any], definitions: dict[str, Any], within: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_inline(item, schemas, definitions, within) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" not in node:
        return {key: _inline(value, schemas, definitions, within) for key, value in node.items()}
    name = node["$ref"].removeprefix(_REFERENCE_PREFIX)
    if name in within:
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _inline(schemas[name], schemas, definitions, (name,))
        return {"$ref": f"#/$defs/{name}"}
    besides = {key: value for key, value in node.items() if key != "$ref"}
    return {**_inline(schemas[name], schemas, definitions, (*within, name)), **besides}


async def request(app: FastAPI, endpoint: Endpoint, arguments: Mapping[str, Any]) -> Response:
    """Send one call through the app. What the app raises, it raises here."""
    body, content_type = _encode_body(endpoint, arguments)
    messages: list[MutableMapping[str, Any]] = []
    sent = False

    async def receive() -> MutableMapping[str, Any]:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    _put_first(app, endpoint.route)
    await app(_scope(endpoint, arguments, body, content_type), receive, send)
    return _collect(messages)


def _put_first(app: FastAPI, route: APIRoute) -> None:
    """Have the router try the tool's own route first: no other route may answer in its place."""
    routes = app.router.routes
    if routes[0] is not route and route in routes:
        routes.remove(route)
        routes.insert(0, route)


def _scope(endpoint: Endpoint, arguments: Mapping[str, Any], body: bytes, content_type: str) -> dict[str, Any]:
    path = endpoint.path
    for name in endpoint.path_names:
        path = path.replace("{" + name + "}", quote(_as_text(arguments.get(name, "")), safe=""))
    query = [(name, arguments[name]) for name in endpoint.query_names if arguments.get(name) is not None]
    headers = [(b"host", b"world"), (b"accept", b"application/json")]
    if body:
        headers += [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": endpoint.method.upper(),
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": urlencode([(k, _as_query(v)) for k, v in query], doseq=True).encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("world", 80),
    }


def _encode_body(endpoint: Endpoint, arguments: Mapping[str, Any]) -> tuple[bytes, str]:
    if endpoint.body == "none":
        return b"", _JSON_BODY
    if endpoint.body == "whole":
        return (json.dumps(arguments["body"]).encode() if "body" in arguments else b""), _JSON_BODY
    taken = set(endpoint.path_names) | set(endpoint.query_names)
    fields = {
        name: value for name, value in arguments.items() if name in endpoint.body_names or name not in taken
    }
    if endpoint.body == "form":
        present = {name: _as_query(value) for name, value in fields.items() if value is not None}
        return urlencode(present, doseq=True).encode(), _FORM_BODIES[0]
    return json.dumps(fields).encode(), _JSON_BODY


def _as_text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _as_query(value: Any) -> Any:
    return [_as_text(item) for item in value] if isinstance(value, list) else _as_text(value)


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
    text = response.body.decode("utf-8", "replace")
    value = _parse(text) if "json" in response.content_type else text
    if response.status < 400:
        return value, None
    if response.status == 422 and _is_validation_report(value):
        return None, ToolFailure(FailureKind.INVALID_ARGUMENTS, _list_violations(value["detail"]))
    return None, ToolFailure(FailureKind.TOOL_FAILED, _detail(value))


def _parse(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def _is_validation_report(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("detail"), list)


def _list_violations(details: list[Any]) -> str:
    return "; ".join(f"{'.'.join(str(part) for part in item.get('loc', ())[1:])}: {item.get('msg')}" for item in details)


def _detail(value: Any) -> str:
    detail = value.get("detail", value) if isinstance(value, dict) else value
    return detail if isinstance(detail, str) else json.dumps(detail)
