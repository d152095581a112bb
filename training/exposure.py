"""How a world's tools are shown to a model: the same way in training and in evaluation.

`full` gives every tool with its whole JSON schema, as the chat template renders them. `compact` gives a line
to each, for worlds whose schemas would fill the context. `meta` gives two tools, list_tools and call_tool, in
every world.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from ..envs.models import Tool
from .tool_calls import Malformed, Request, ToolRequest

_INSTRUCTION = (
    "You work in an office with tools over its records. Use the tools to find what you need and to do what "
    "is asked, and no more than that. When you are done, say so in a few words; if you were asked something, "
    "give the answer alone, in the form asked for."
)
_COMPACT = (
    'To call a tool, write:\n<tool_call>\n{"name": "...", "arguments": {...}}\n</tool_call>\n\nTools:\n'
)
_LIST, _CALL = "list_tools", "call_tool"


class Exposure(StrEnum):
    """The three ways to show tools."""

    FULL = "full"
    COMPACT = "compact"
    META = "meta"


@dataclass(frozen=True, slots=True)
class Listing:
    """An answer that needs no world: the tools, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A world's tools, made ready for a model."""

    exposure: Exposure
    tools: tuple[Tool, ...]

    @property
    def system(self) -> str:
        """The system message."""
        return _INSTRUCTION + (
            f"\n\n{_COMPACT}{_lines(self.tools)}" if self.exposure is Exposure.COMPACT else ""
        )

    @property
    def functions(self) -> list[dict[str, Any]] | None:
        """What the chat template is given as tools; None for none."""
        match self.exposure:
            case Exposure.FULL:
                return [_function(tool.name, tool.description, tool.input_schema) for tool in self.tools]
            case Exposure.COMPACT:
                return None
            case Exposure.META:
                return _META

    def opening(self, prompt: str) -> list[dict[str, str]]:
        """The messages that a conversation about a task begins with."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": prompt}]

    def resolve(self, request: Request) -> Request | Listing:
        """What a model's request means to the world."""
        if self.exposure is not Exposure.META or isinstance(request, Malformed):
            return request
        if request.name == _LIST:
            return Listing(_lines(self.tools))
        if request.name != _CALL:
            return Malformed(f"there are two tools, {_LIST} and {_CALL}; '{request.name}' goes into {_CALL}")
        name, arguments = request.arguments.get("name"), request.arguments.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return Malformed(f'{_CALL} takes "name", a text, and "arguments", an object')
        return ToolRequest(name, cast("dict[str, Any]", arguments))


def _function(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": name, "description": description, "parameters": dict(parameters)}
    return {"type": "function", "function": function}


def _lines(tools: Sequence[Tool]) -> str:
    return "\n".join(map(_line, tools))


def _line(tool: Tool) -> str:
    """`renew_loan(loan_id: integer) Renew a loan.`; arguments that may be left out end in a question mark."""
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    required = set(tool.input_schema.get("required", ()))
    arguments = ", ".join(
        f"{name}{'' if name in required else '?'}: {_kind(schema)}" for name, schema in properties.items()
    )
    return f"{tool.name}({arguments}) {tool.description.partition('. ')[0]}".rstrip()


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(json.dumps(value) for value in schema["enum"])
    for branch in schema.get("anyOf", ()):
        if branch.get("type") != "null":
            return _kind(branch)
    if schema.get("type") == "array":
        return f"[{_kind(schema.get('items', {}))}]"
    return str(schema.get("format") or schema.get("type") or "any")


_META = [
    _function(_LIST, "List this world's tools.", {"type": "object", "properties": {}}),
    _function(
        _CALL,
        "Call one of this world's tools.",
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["name", "arguments"],
        },
    ),
]
