"""A FastAPI app as a set of tools: each route is a tool.

Arguments are one flat object, as agents write them: path, query and header parameters and the fields of a
JSON body side by side. A body that is not an object is the argument `body`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from .errors import Problem
from .input_schema import Body, close_schema, read_body
from .task import RESERVED_TOOL_NAMES
from .tool import Tool

_METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a tool's arguments become a request."""

    tool: Tool
    route: APIRoute
    method: str
    path: str
    path_names: tuple[str, ...]
    query_names: tuple[str, ...]
    header_names: tuple[str, ...]
    body: Body


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
                reason = f"this tool name {reason}; the tool is left out"
                notes.append(Problem(file, _line_of(route), name, reason))
            else:
                found[name] = endpoint
    fatal = [] if found else [Problem(file, None, None, "the app has no route that could be a tool")]
    return found, fatal, notes


def shadowed_routes(endpoints: Iterable[Endpoint], file: str) -> list[Problem]:
    """The tools whose own path an earlier route takes: other servers would never reach them."""
    found: list[Problem] = []
    earlier: list[Endpoint] = []
    for endpoint in endpoints:
        for other in earlier:
            if other.method == endpoint.method and other.route.path_regex.match(endpoint.path):
                route = f"{endpoint.method.upper()} {endpoint.path}"
                reason = f"{route} leads to {other.tool.name!r} ({other.path}) first"
                found.append(Problem(file, _line_of(endpoint.route), endpoint.tool.name, reason))
                break
        earlier.append(endpoint)
    return found


def _api_routes(app: FastAPI) -> Iterable[APIRoute]:
    return (route for route in app.routes if isinstance(route, APIRoute) and route.include_in_schema)


def _line_of(route: APIRoute) -> int | None:
    code = getattr(route.endpoint, "__code__", None)
    return None if code is None else int(code.co_firstlineno)


def _endpoints(app: FastAPI, route: APIRoute) -> Iterable[Endpoint]:
    with warnings.catch_warnings(action="ignore"):  # of names used twice, which are noted
        document = get_openapi(title=app.title, version=app.version, routes=[route])
    schemas = document.get("components", {}).get("schemas", {})
    for path, operations in document.get("paths", {}).items():
        for method in _METHODS:
            if method in operations:
                yield _endpoint(route, method, path, operations[method], schemas)


def _endpoint(
    route: APIRoute, method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]
) -> Endpoint:
    properties: dict[str, Any] = {}
    required: list[str] = []
    names: dict[str, list[str]] = {"path": [], "query": [], "header": []}
    for parameter in operation.get("parameters", []):
        if parameter["in"] in names:
            names[parameter["in"]].append(parameter["name"])
            properties[parameter["name"]] = _parameter_schema(parameter)
            if parameter.get("required"):
                required.append(parameter["name"])
    body = read_body(operation.get("requestBody"), schemas)
    for name, schema in body.fields.items():
        properties.setdefault(name, schema)
    if body.required:
        required += [name for name in body.required_fields if name not in required]
    schema = close_schema(properties, required, schemas, open_ended=body.open_ended)
    return Endpoint(
        tool=Tool(operation["operationId"], _describe(operation, route), schema),
        route=route,
        method=method,
        path=path,
        path_names=tuple(names["path"]),
        query_names=tuple(names["query"]),
        header_names=tuple(names["header"]),
        body=body,
    )


def _describe(operation: Mapping[str, Any], route: APIRoute) -> str:
    """What the author says of it. A summary that FastAPI made from the function's name adds nothing."""
    summary, description = route.summary or "", operation.get("description", "")
    return f"{summary}\n\n{description}".strip() or str(operation.get("summary", ""))


def _parameter_schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = dict(parameter.get("schema", {}))
    if "description" in parameter:
        schema.setdefault("description", parameter["description"])
    return schema
