"""What a generator's process answers, read as the word of somebody who may say anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from ..fields import is_list, is_object
from ..task import JSON

SeedRow: TypeAlias = tuple[str, list[str], list[JSON]]
"""Table, columns, values."""

T = TypeVar("T")


class NoAnswer(ValueError):
    """What the process said is none of what it may say."""


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """A task as the process drew it. The rest of it is checked as that of a line in tasks.jsonl is."""

    template: str
    split: str
    difficulty: JSON
    tags: JSON
    prompt: JSON
    solution: JSON
    answer: JSON
    verify: JSON


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the author's code gave nothing."""

    line: int | None
    field: str | None
    reason: str


def read_failure(answer: JSON) -> Failure | None:
    """The failure that the answer tells of; None where it tells of none. Raises NoAnswer."""
    told = _fields(answer).get("failed")
    if told is None:
        return None
    failed = _fields(told)
    return Failure(
        _perhaps(int, failed.get("line")),
        _perhaps(str, failed.get("field")),
        _a(str, failed.get("reason")),
    )


def read_rows(answer: JSON) -> list[SeedRow]:
    """The seed rows of the answer. Raises NoAnswer."""
    return [_row(row) for row in _list(_fields(answer).get("rows"))]


def read_drafts(answer: JSON) -> list[DrawnTask]:
    """The drawn tasks of the answer. Raises NoAnswer."""
    return [_draft(_fields(draft)) for draft in _list(_fields(answer).get("drafts"))]


def _row(row: JSON) -> SeedRow:
    parts = _list(row)
    if len(parts) != 3:
        raise NoAnswer
    columns = [_a(str, name) for name in _list(parts[1])]
    values = _list(parts[2])
    if len(columns) != len(values) or any(is_list(value) or is_object(value) for value in values):
        raise NoAnswer
    return _a(str, parts[0]), columns, values


def _draft(fields: dict[str, JSON]) -> DrawnTask:
    names = ("difficulty", "tags", "prompt", "solution", "answer", "verify")
    return DrawnTask(
        _a(str, fields.get("template")), _a(str, fields.get("split")), *(fields.get(name) for name in names)
    )


def _fields(value: JSON) -> dict[str, JSON]:
    if not is_object(value):
        raise NoAnswer
    return value


def _list(value: JSON) -> list[JSON]:
    if not is_list(value):
        raise NoAnswer
    return value


def _perhaps(kind: type[T], value: JSON) -> T | None:
    return None if value is None else _a(kind, value)


def _a(kind: type[T], value: JSON) -> T:
    if not isinstance(value, kind):
        raise NoAnswer
    return value
