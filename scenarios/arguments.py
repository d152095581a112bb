"""Checks a call's arguments against the tool's JSON Schema, and says what is wrong in the agent's terms.

The schema comes from a world, which is untrusted, and this runs in the server: regular expressions are left
to the world, which checks every call once more, and a reference leads nowhere but into the schema itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, cast

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from referencing import Registry

from .json_values import is_array, is_object
from .task import JSON
from .tool import Tool

_DEEPEST = 64
_MOST_SHOWN = 5
_LONGEST = 200
_LEFT_TO_THE_WORLD = ("pattern", "patternProperties")


def _accept(*_: object) -> Iterable[ValidationError]:
    return ()


class _Validator(Protocol):
    """The part of a jsonschema validator that is used here; the library's own types leave much unknown."""

    def iter_errors(self, instance: JSON) -> Iterable[ValidationError]: ...


_extend = getattr(validators, "extend")  # noqa: B009 - untyped in the library's stubs
_make_validator = cast(
    "Callable[..., _Validator]",
    _extend(Draft202012Validator, dict.fromkeys(_LEFT_TO_THE_WORLD, _accept)),
)


class ArgumentChecker:
    """One tool's arguments, checked. Compiled once per scenario."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self._validator = _make_validator(tool.input_schema, registry=Registry[Any]())

    def explain(self, arguments: Mapping[str, JSON]) -> str | None:
        """What is wrong with `arguments`, or None."""
        if _is_deeper(arguments, _DEEPEST):
            return f"{self.tool.name}: the arguments are nested more than {_DEEPEST} levels deep"
        try:
            errors = sorted(self._validator.iter_errors(dict(arguments)), key=_place)
        except Exception:  # the schema itself is wrong, in any way it likes: then only the world can tell
            return None
        if not errors:
            return None
        shown = "; ".join(self._describe(error) for error in errors[:_MOST_SHOWN])
        more = f" (and {len(errors) - _MOST_SHOWN} more)" if len(errors) > _MOST_SHOWN else ""
        return f"{self.tool.name}: {shown}{more}"

    def _describe(self, error: ValidationError) -> str:
        where = ".".join(map(str, error.absolute_path))
        if error.validator == "additionalProperties" and not where:
            known = ", ".join(self.tool.input_schema.get("properties", {})) or "none"
            return f"{_cut(error.message)}; its arguments are: {known}"
        return f"{where}: {_cut(error.message)}" if where else _cut(error.message)


def _is_deeper(value: JSON, levels: int) -> bool:
    """Whether `value` is nested too deeply to be read everywhere it has to go."""
    inner = value.values() if is_object(value) else value if is_array(value) else ()
    return levels < 0 or any(_is_deeper(item, levels - 1) for item in inner)


def _place(error: ValidationError) -> list[str]:
    return [str(part) for part in error.absolute_path]


def _cut(message: Any) -> str:
    text = str(message)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
