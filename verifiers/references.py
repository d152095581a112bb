"""References to rows that an episode inserted: their numbers mean nothing, what they lead to does."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TypeAlias

from .changes import stable
from .schema import Table
from .verdict import Change, Row

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


def _values(row: Row, columns: Iterable[str]) -> str:
    return stable([row.get(column) for column in columns])
