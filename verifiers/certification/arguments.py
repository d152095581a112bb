"""Other values for the arguments of a call: valid by the tool's schema, plausible in the world, and wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from ...scenarios.json_values import is_array, is_object
from ...scenarios.task import ToolCall
from ...scenarios.tool import Tool
from .contents import Contents

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_ANYTHING: Mapping[str, Any] = {}
_MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class Change:
    """Other values for one argument of a call, the most plausible first."""

    argument: str
    is_row: bool
    """Whether they name other rows."""
    calls: tuple[ToolCall, ...]


def changes_of(call: ToolCall, tool: Tool, contents: Contents) -> list[Change]:
    """For each argument, the same call with another value there."""
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    required = set(tool.input_schema.get("required", ()))
    found: list[Change] = []
    for name, value in call.arguments.items():
        is_row, values = other_values(name, value, properties.get(name, {}), contents)
        calls = [ToolCall(call.tool, {**call.arguments, name: other}) for other in values]
        if name not in required and value is not None:
            calls.append(
                ToolCall(call.tool, {key: kept for key, kept in call.arguments.items() if key != name})
            )
        if calls:
            found.append(Change(name, is_row, tuple(calls)))
    return found


def other_values(
    name: str, value: Any, schema: Mapping[str, Any], contents: Contents
) -> tuple[bool, list[Any]]:
    """Whether the values name rows, and other values than this one."""
    choices = _choices(schema)
    if choices:
        return False, [choice for choice in choices if choice != value and choice is not None]
    if is_array(value):
        return False, list(_other_lists(name, value, schema, contents))
    if is_object(value):
        return False, list(_other_objects(value, schema, contents))
    rows = contents.other_rows(name, value)[:_MOST_ROWS]
    if rows:
        return True, rows
    return False, [other for other in _near(value) if other != value]


def a_call(tool: Tool, contents: Contents, turn: int) -> ToolCall:
    """A call that fits the tool's schema, about rows that exist where its arguments name rows."""
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    names: Sequence[str] = tool.input_schema.get("required", ())
    return ToolCall(
        tool.name, {name: _a_value(name, properties.get(name, {}), contents, turn) for name in names}
    )


def _a_value(name: str, schema: Mapping[str, Any], contents: Contents, turn: int) -> Any:
    choices = [choice for choice in _choices(schema) if choice is not None]
    if choices:
        return choices[turn % len(choices)]
    plain = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
    match plain.get("type"):
        case "boolean":
            return True
        case "array":
            singular = re.sub(r"s$", "", name)
            return [_a_value(singular, plain.get("items", {}), contents, turn)]
        case "object":
            inner: Mapping[str, Any] = plain.get("properties", {})
            return {
                key: _a_value(key, inner.get(key, {}), contents, turn) for key in plain.get("required", ())
            }
        case kind:
            keys = contents.keys_for(name)
            fitting = [key for key in keys if isinstance(key, str) == (kind not in ("integer", "number"))]
            if fitting:
                return fitting[turn % len(fitting)]
            return _a_number(plain, turn) if kind in ("integer", "number") else _a_text(name, plain)


def _a_number(schema: Mapping[str, Any], turn: int) -> int:
    return max(1 + turn, int(schema.get("minimum", 0)), int(schema.get("exclusiveMinimum", -1)) + 1)


def _a_text(name: str, schema: Mapping[str, Any]) -> str:
    words = (schema.get("format", ""), schema.get("pattern", ""), schema.get("description", ""), name)
    text = " ".join(map(str, words)).lower()
    if "yyyy" in text or re.search(r"\b(date|day|on)\b|_on$|_day$|_date$", text):
        return "2026-03-09"
    if "hh:mm" in text or name.endswith("time"):
        return "10:00"
    return "someone@mail.example" if "email" in text else "a note"


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    found = list(schema.get("enum", ()))
    for branch in schema.get("anyOf", ()):
        found += _choices(branch)
    return found


def _other_lists(
    name: str, value: list[Any], schema: Mapping[str, Any], contents: Contents
) -> Iterator[list[Any]]:
    shapes: list[Mapping[str, Any]] = [schema, *schema.get("anyOf", ())]
    items: Mapping[str, Any] = next((shape["items"] for shape in shapes if "items" in shape), _ANYTHING)
    for place, item in enumerate(value):
        _, others = other_values(re.sub(r"s$", "", name), item, items, contents)
        for other in others[:3]:
            yield [*value[:place], other, *value[place + 1 :]]
    if len(value) > 1:
        for place in range(len(value)):
            yield value[:place] + value[place + 1 :]


def _other_objects(
    value: Mapping[str, Any], schema: Mapping[str, Any], contents: Contents
) -> Iterator[dict[str, Any]]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name, part in value.items():
        for other in other_values(name, part, properties.get(name, {}), contents)[1][:3]:
            yield {**value, name: other}


def _near(value: Any) -> Iterator[Any]:
    """Values of the same type that are easily taken for this one."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, *([value - 1] if value else []), value * 2, value + 10)
        case float():
            yield from (round(value + 1, 2), round(value - 0.5, 2), round(value * 2, 2), round(value * 10, 2))
        case str():
            yield from _near_text(value)
        case _:
            return


def _near_text(text: str) -> Iterator[str]:
    if _DATE.fullmatch(text):
        for days in (1, -1, 7, -7, 2):
            yield (date.fromisoformat(text) + timedelta(days=days)).isoformat()
    elif _CLOCK.fullmatch(text):
        for minutes in (15, -15, 30, 60):
            yield (datetime.strptime(text, "%H:%M") + timedelta(minutes=minutes)).strftime("%H:%M")
    elif (moment := _moment(text)) is not None:
        for minutes in (60, -60, 24 * 60):
            yield (moment + timedelta(minutes=minutes)).isoformat(sep=text[10])
    else:
        yield from (f"{text} 2", f"X{text[1:]}", f"{text[:-1]}x")
        digits = [place for place, letter in enumerate(text) if letter.isdigit()]
        if digits:
            last = digits[-1]
            yield f"{text[:last]}{(int(text[last]) + 1) % 10}{text[last + 1 :]}"


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if len(text) > 11 else None
    except ValueError:
        return None
