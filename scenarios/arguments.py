"""Checks a call's arguments against the tool's JSON Schema, and says what is wrong in the agent's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from .task import JSON
from .tool import Tool

_MOST_SHOWN = 5
_LONGEST = 200


class ArgumentChecker:
    """One tool's arguments, checked. Compiled once per scenario."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self._validator = Draft202012Validator(tool.input_schema)

    def explain(self, arguments: Mapping[str, JSON]) -> str | None:
        """What is wrong with `arguments`, or None."""
        errors = sorted(self._validator.iter_errors(dict(arguments)), key=lambda error: list(map(str, error.path)))
        if not errors:
            return None
        shown = "; ".join(self._describe(error) for error in errors[:_MOST_SHOWN])
        more = f" (and {len(errors) - _MOST_SHOWN} more)" if len(errors) > _MOST_SHOWN else ""
        return f"{self.tool.name}: {shown}{more}"

    def _describe(self, error: ValidationError) -> str:
        where = ".".join(str(part) for part in error.absolute_path)
        if error.validator == "additionalProperties" and not where:
            known = ", ".join(self.tool.input_schema.get("properties", {})) or "none"
            return f"{_cut(error.message)}; its arguments are: {known}"
        return f"{where}: {_cut(error.message)}" if where else _cut(error.message)


def _cut(message: Any) -> str:
    text = str(message)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
