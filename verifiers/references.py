"""References to rows that an episode inserted: their numbers mean nothing, what they lead to does."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TypeAlias

from .changes import stable
from .database import Value
from .schema import Table
from .verdict import Change, Row

_MENTION = "\0"
_REFERRING = re.compile(r"id$", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"(?<!\d)(?<!\d\.)[0-9]{3,18}(?!\d|\.\d)", re.ASCII)
"""Shorter ones stand in texts for many reasons."""

_LONGEST = 2_000

Address: TypeAlias = tuple[str, tuple[str, ...], str]
"""Where a reference leads: table, columns, and their values as stable JSON."""


def places_of_inserted(changes: Iterable[Change], tables: Mapping[str, Table]) -> dict[Address, int]:
    """Where each inserted row can be referred to, and its position among the changes."""
    targets: dict[str, set[tuple[str, ...]]] = {}
    for table in tables.values():
        for reference in table.references:
            targets.setdefault(reference.table, set()).add(reference.targets)
    return {
        (change.table, columns, _values(change.after, columns)): number
        for number, change in enumerate(changes)
        if change.kind == "insert" and change.after is not None
        for columns in targets.get(change.table, ())
    }


def links_of(
    row: Row, table: Table | None, places: Mapping[Address, int], ignored: Container[str] = ()
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The references of a row to inserted rows: columns, and where in `places` they lead."""
    for reference in table.references if table else ():
        if any(row.get(column) is None or column in ignored for column in reference.columns):
            continue
        place = places.get((reference.table, reference.targets, _values(row, reference.columns)))
        if place is not None:
            yield reference.columns, place


def numbers_of_inserted(changes: Iterable[Change], keys: Mapping[str, str | None]) -> dict[int, int]:
    """The numbers that SQLite gave to inserted rows, each with the row's position; none that two rows have.

    Args:
        keys: by table the column that holds such a number, or None.
    """
    found: dict[int, int] = {}
    doubtful: set[int] = set()
    for place, change in enumerate(changes):
        key = keys.get(change.table)
        number = (change.after or {}).get(key) if change.kind == "insert" and key is not None else None
        if isinstance(number, int):
            if number in found:
                doubtful.add(number)
            found[number] = place
    return {number: place for number, place in found.items() if number not in doubtful}


def mentions_in(column: str, value: Value, numbers: Mapping[int, int]) -> tuple[Value, list[int]]:
    """A value without the numbers of inserted rows that it mentions, and the positions of those rows.

    A log has columns that refer to rows of any table, which no schema can declare, and texts that name them.
    """
    if isinstance(value, int) and value in numbers and _REFERRING.search(column):
        return [_MENTION], [numbers[value]]
    if not isinstance(value, str):
        return value, []
    places: list[int] = []

    def leave_out(found: re.Match[str]) -> str:
        place = numbers.get(int(found.group()))
        if place is None:
            return found.group()
        places.append(place)
        return _MENTION

    told = _LONG_NUMBER.sub(leave_out, value) if len(value) <= _LONGEST else value
    return ([told], places) if places else (value, [])


def _values(row: Row, columns: Iterable[str]) -> str:
    return stable([row.get(column) for column in columns])
