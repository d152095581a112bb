"""Reading JSON values field by field: every wrong one is reported with its place, and reading goes on.

A reader takes a value and the place it came from, and returns what it stands for. None means that
something was wrong with it and that it has been reported, so a caller never reports it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard, TypeVar

from .errors import Problem
from .spelling import unknown
from .task import JSON

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was written, and the list that collects what is wrong there."""

    problems: list[Problem]
    file: str
    line: int | None = None
    field: str | None = None

    def report(self, reason: str) -> None:
        self.problems.append(Problem(self.file, self.line, self.field, reason))

    def unreadable(self, reason: str) -> None:
        """Report that what stands here cannot be read at all."""
        self.problems.append(Problem(self.file, self.line, self.field, reason, unreadable=True))

    def at_line(self, line: int | None) -> Place:
        return replace(self, line=line)

    def key(self, name: str) -> Place:
        name = name if name.isprintable() else ascii(name)
        return replace(self, field=f"{self.field}.{name}" if self.field else name)

    def item(self, index: int) -> Place:
        return replace(self, field=f"{self.field or ''}[{index}]")


Reader: TypeAlias = Callable[[JSON, Place], T | None]


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one JSON object and where it was written."""

    values: Mapping[str, JSON]
    place: Place

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def required(self, key: str, reader: Reader[T]) -> T | None:
        """What the field stands for; None if it is wrong or missing (reported)."""
        if key not in self.values:
            self.place.key(key).report("is missing")
            return None
        return reader(self.values[key], self.place.key(key))

    def optional(self, key: str, reader: Reader[T]) -> T | None:
        """What the field stands for; None if it is absent, or wrong (reported)."""
        return reader(self.values[key], self.place.key(key)) if key in self.values else None

    def only(self, known: Collection[str]) -> None:
        """Reports every field that is not among the known ones."""
        for key in self.values:
            if key not in known:
                self.place.key(key).report(unknown("field", key, known))


def obj(value: JSON, place: Place) -> Fields | None:
    if is_object(value):
        return Fields(value, place)
    expected("an object", value, place)
    return None


def text(value: JSON, place: Place) -> str | None:
    """A text, possibly blank."""
    if isinstance(value, str):
        return value
    expected("a text", value, place)
    return None


def filled(value: JSON, place: Place) -> str | None:
    """A text that is not blank."""
    if isinstance(value, str) and not value.strip():
        place.report("is empty")
        return None
    return text(value, place)


def flag(value: JSON, place: Place) -> bool | None:
    if isinstance(value, bool):
        return value
    expected("true or false", value, place)
    return None


def number(value: JSON, place: Place) -> int | float | None:
    if is_number(value):
        return value
    expected("a number", value, place)
    return None


def whole(value: JSON, place: Place) -> int | None:
    """A whole number from 0."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    expected("a whole number from 0", value, place)
    return None


def array(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    """A list whose every item is read; wrong items are reported and left out of the result."""

    def read(value: JSON, place: Place) -> tuple[T, ...] | None:
        if not is_list(value):
            expected("a list", value, place)
            return None
        found = (reader(item, place.item(index)) for index, item in enumerate(value))
        return tuple(item for item in found if item is not None)

    return read


def table(reader: Reader[T]) -> Reader[dict[str, T]]:
    """An object with keys of the author's choice; wrong values are reported and left out of the result."""

    def read(value: JSON, place: Place) -> dict[str, T] | None:
        fields = obj(value, place)
        if fields is None:
            return None
        found = {key: fields.required(key, reader) for key in fields.values}
        return {key: item for key, item in found.items() if item is not None}

    return read


def expected(wanted: str, value: JSON, place: Place) -> None:
    """Reports that something else stands where `wanted` should."""
    place.report(f"expected {wanted}, found {described(value)}")


def is_object(value: JSON) -> TypeGuard[dict[str, JSON]]:
    return isinstance(value, dict)


def is_list(value: JSON) -> TypeGuard[list[JSON]]:
    return isinstance(value, list)


def is_number(value: JSON) -> TypeGuard[int | float]:
    """Whether a JSON value is a number: Python counts true and false among its integers, JSON does not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def described(value: JSON) -> str:
    """A JSON value in a few words, for the reason of a problem."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if is_list(value):
        return f"a list of {len(value)}"
    if is_object(value):
        return "an object"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
