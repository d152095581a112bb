"""From OpenAPI to JSON Schema: what a request body holds, and one self-contained schema for all arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .json_values import is_array, is_object

_JSON_BODY = "application/json"
_FORM_BODIES = ("application/x-www-form-urlencoded", "multipart/form-data")
_REFERENCE_PREFIX = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Body:
    """What a request carries besides its path and query."""

    kind: Literal["none", "fields", "whole", "form"] = "none"
    """`fields`: an object whose fields are arguments; `whole`: anything else, the argument `body`."""
    content_type: str = _JSON_BODY
    required: bool = False
    """Whether a request without a body is refused."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The schema of each argument that goes into the body."""
    required_fields: tuple[str, ...] = ()
    open_ended: bool = False
    """Whether it takes fields that are not listed."""


def read_body(request: Mapping[str, Any] | None, schemas: Mapping[str, Any]) -> Body:
    """The body of an OpenAPI operation's `requestBody`."""
    if request is None:
        return Body()
    content = request.get("content", {})
    form = next((kind for kind in _FORM_BODIES if kind in content), None)
    schema = content.get(form or _JSON_BODY, {}).get("schema", {})
    required = bool(request.get("required"))
    resolved = _resolve(schema, schemas)
    if "properties" not in resolved:
        return Body("whole", _JSON_BODY, required, {"body": schema}, ("body",))
    return Body(
        kind="form" if form else "fields",
        content_type=_FORM_BODIES[0] if form else _JSON_BODY,
        required=required,
        fields=dict(resolved["properties"]),
        required_fields=tuple(resolved.get("required", ())),
        open_ended=bool(resolved.get("additionalProperties")),
    )


def close_schema(
    properties: Mapping[str, Any], required: list[str], schemas: Mapping[str, Any], *, open_ended: bool
) -> dict[str, Any]:
    """One schema of an object: what it refers to is put in its place, or under $defs if it is recursive."""
    definitions: dict[str, Any] = {}
    inlined = {name: _inline(schema, schemas, definitions, ()) for name, schema in properties.items()}
    closed: dict[str, Any] = {
        "type": "object",
        "properties": inlined,
        "required": required,
        "additionalProperties": open_ended,
    }
    if definitions:
        closed["$defs"] = definitions
    return closed


def _resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references and single-branch unions down to the schema they stand for."""
    while True:
        branches = [branch for branch in schema.get("anyOf", schema.get("allOf", [])) if not _is_null(branch)]
        if "$ref" in schema:
            schema = schemas[schema["$ref"].removeprefix(_REFERENCE_PREFIX)]
        elif "properties" not in schema and len(branches) == 1:
            schema = branches[0]
        else:
            return schema


def _is_null(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "null"


def _inline(
    node: Any, schemas: Mapping[str, Any], definitions: dict[str, Any], within: tuple[str, ...]
) -> Any:
    if is_array(node):
        return [_inline(item, schemas, definitions, within) for item in node]
    if not is_object(node):
        return node
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return {key: _inline(value, schemas, definitions, within) for key, value in node.items()}
    name = reference.removeprefix(_REFERENCE_PREFIX)
    if name in within:
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _inline(schemas[name], schemas, definitions, (name,))
        return {"$ref": f"#/$defs/{name}"}
    besides = {key: value for key, value in node.items() if key != "$ref"}
    return {**_inline(schemas[name], schemas, definitions, (*within, name)), **besides}
