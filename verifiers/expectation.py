"""What a gold solution changes, and whether an episode changed the same: fairly, row by row.

Fair means: the numbers of inserted rows do not count (surrogate keys), references to inserted rows are
followed to what they refer to, and columns that follow the clock or chance (volatile ones, found by playing
the gold solution twice under two clocks and seeds) do not count either.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .changes import SCHEMA_TABLE, Difference
from .database import Table
from .verdict import Change, Row

_ROUNDS = 8

Columns: TypeAlias = Mapping[str, frozenset[str]]
"""Table name to column names."""


class NotRepeatable(Exception):
    """Two runs of a gold solution changed different rows."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The changes that a solution makes, and the columns whose values do not count."""

    changes: tuple[Change, ...]
    volatile: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


@dataclass(frozen=True, slots=True)
class Match:
    """An episode's changes sorted by an expectation."""

    made: tuple[Change, ...]
    missing: tuple[Change, ...]
    collateral: tuple[Change, ...]

    @property
    def distance(self) -> int:
        """How far the episode is from what was expected."""
        return len(self.missing) + len(self.collateral)


def learn(first: Difference, second: Difference) -> Expectation:
    """What two runs of one solution, under two clocks and seeds, have in common.

    Raises:
        NotRepeatable: they changed different rows.
    """
    volatile: dict[str, set[str]] = {}
    for one, other in _pairs(first, second):
        for column in _differing(one, other):
            volatile.setdefault(one.table, set()).add(column)
    return Expectation(
        tuple(first.changes), {table: frozenset(columns) for table, columns in volatile.items()}
    )


def match(
    expectation: Expectation, actual: Difference, ignore: Columns, natural_keys: frozenset[str]
) -> Match:
    """Sort the changes of an episode into made, missing and collateral."""
    uncounted = {
        table: ignore.get(table, frozenset()) | expectation.volatile.get(table, frozenset())
        for table in {*ignore, *expectation.volatile}
    }
    reading = _Reading(actual.tables, uncounted, natural_keys)
    wanted = reading.read(expectation.changes)
    found = reading.read(actual.changes)
    return _compare(wanted, found)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How changes are read so that equal ones look equal."""

    tables: Mapping[str, Table]
    uncounted: Columns
    natural_keys: frozenset[str]

    def read(self, changes: Iterable[Change]) -> list[tuple[str, Change]]:
        """Each change that counts, with the colour under which an equal one is found."""
        counted = [change for change in changes if self._counts(change)]
        inserted = [change for change in counted if change.kind == "insert" and change.table != SCHEMA_TABLE]
        colours = self._refine(inserted)
        places = {self._address(change): colours[id(change)] for change in inserted}
        return [(colours.get(id(change)) or self._plain(change, places), change) for change in counted]

    def _counts(self, change: Change) -> bool:
        """Whether anything but uncounted columns changed."""
        return change.kind != "update" or any(
            column not in self._uncounted(change.table) for column in change.after or {}
        )

    def _uncounted(self, table: str) -> frozenset[str]:
        return self.uncounted.get(table, frozenset())

    def _address(self, change: Change) -> tuple[str, str, str]:
        (column, value), *_ = change.key.items()
        return (change.table, column, _stable(value))

    def _refine(self, inserted: Sequence[Change]) -> dict[int, str]:
        """Colour inserted rows by content, by what they refer to, and by what refers to them."""
        by_address = {self._address(change): change for change in inserted}
        links = [
            (change, column, target)
            for change in inserted
            for column, address in self._references(change.table, change.after or {})
            if (target := by_address.get(address)) is not None
        ]
        linked = {(id(change), column) for change, column, _ in links}
        colours = {id(change): self._content(change, linked) for change in inserted}
        for _ in range(min(_ROUNDS, len(inserted)) if links else 0):
            colours = _next_round(inserted, links, colours)
        return colours

    def _references(self, table: str, row: Row) -> Iterable[tuple[str, tuple[str, str, str]]]:
        known = self.tables.get(table)
        for reference in known.references if known else ():
            if row.get(reference.column) is not None:
                yield reference.column, (reference.table, reference.target, _stable(row[reference.column]))

    def _content(self, change: Change, linked: set[tuple[int, str]]) -> str:
        table = self.tables.get(change.table)
        hidden = set(self._uncounted(change.table))
        if table is not None and table.integer_key and change.table not in self.natural_keys:
            hidden.add(table.integer_key)
        row = {
            column: "→" if (id(change), column) in linked else value
            for column, value in (change.after or {}).items()
            if column not in hidden
        }
        return _colour("insert", change.table, row)

    def _plain(self, change: Change, places: Mapping[tuple[str, str, str], str]) -> str:
        """The colour of an update, a deletion or a change of schema: its key counts."""
        if change.kind == "delete":
            return _colour("delete", change.table, change.key)
        hidden = self._uncounted(change.table)
        after = {column: value for column, value in (change.after or {}).items() if column not in hidden}
        for column, address in self._references(change.table, after):
            if address in places:
                after[column] = ["→", places[address]]
        return _colour(change.kind, change.table, change.key, after)


def _next_round(
    inserted: Sequence[Change], links: Sequence[tuple[Change, str, Change]], colours: Mapping[int, str]
) -> dict[int, str]:
    around: dict[int, list[list[str]]] = {id(change): [] for change in inserted}
    for source, column, target in links:
        around[id(source)].append(["to", column, colours[id(target)]])
        around[id(target)].append(["from", source.table, column, colours[id(source)]])
    return {key: _colour(colours[key], sorted(neighbours)) for key, neighbours in around.items()}


def _compare(wanted: list[tuple[str, Change]], found: list[tuple[str, Change]]) -> Match:
    left = Counter(colour for colour, _ in wanted)
    made: list[Change] = []
    collateral: list[Change] = []
    for colour, change in found:
        if left[colour]:
            left[colour] -= 1
            made.append(change)
        else:
            collateral.append(change)
    missing: list[Change] = []
    for colour, change in reversed(wanted):
        if left[colour]:
            left[colour] -= 1
            missing.append(change)
    return Match(tuple(made), tuple(reversed(missing)), tuple(collateral))


def _pairs(first: Difference, second: Difference) -> Iterable[tuple[Change, Change]]:
    if len(first.changes) != len(second.changes):
        raise NotRepeatable(_REASON)
    for one, other in zip(first.changes, second.changes, strict=True):
        same_row = one.kind == "insert" or one.key == other.key
        if (one.table, one.kind) != (other.table, other.kind) or not same_row:
            raise NotRepeatable(_REASON)
        yield one, other


_REASON = "two runs of the gold solution, under two clocks and seeds, changed different rows"


def _differing(one: Change, other: Change) -> Iterable[str]:
    before, after = one.after or {}, other.after or {}
    return [column for column in {**before, **after} if before.get(column) != after.get(column)]


def _colour(*parts: Any) -> str:
    return hashlib.blake2b(_stable(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _stable(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
