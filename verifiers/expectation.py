"""What a gold solution changes, learned from two runs of it under two clocks and two seeds.

What differs between the runs follows the clock or chance, and is not the solution's doing: such columns are
volatile, and their values do not count. Not so what refers to a row that the solution inserted: that is
compared by what it refers to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .changes import Difference, stable
from .references import links_of, places_of_inserted
from .schema import Table
from .verdict import Change


class UnfitSolution(Exception):
    """A gold solution from which no expectation can be learned."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The changes that a solution makes, and the columns whose values do not count."""

    changes: tuple[Change, ...]
    """Updates hold whole rows, as in a Difference."""
    volatile: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Table to columns. Of a volatile value only counts whether it is NULL."""
    erratic: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Table to columns that were NULL in one run and not in the other: they do not count at all."""


def learn(first: Difference, second: Difference) -> Expectation:
    """What two runs of one solution have in common.

    Raises:
        UnfitSolution: they changed different rows, or more than can be compared.
    """
    for run in (first, second):
        _check_fitness(run)
    linked = _Linked(first), _Linked(second)
    differing = [
        (change.table, column, None in values)
        for change, other in _pairs(first, second)
        for column, values in _differing(change, other).items()
        if not (column in linked[0].columns(change) and column in linked[1].columns(other))
    ]
    return Expectation(
        tuple(first.changes),
        _by_table((table, column) for table, column, emptied in differing if not emptied),
        _by_table((table, column) for table, column, emptied in differing if emptied),
    )


def _check_fitness(run: Difference) -> None:
    if run.schema_changed:
        raise UnfitSolution("the gold solution changes the definitions of tables")
    if run.unread:
        raise UnfitSolution(f"the gold solution changes too many rows of {', '.join(sorted(run.unread))}")


def _pairs(first: Difference, second: Difference) -> Iterator[tuple[Change, Change]]:
    """The same change in both runs: by key where the row was there before, else by order or likeness."""
    if len(first.changes) != len(second.changes):
        raise UnfitSolution(_UNLIKE)
    partners = _Partners(second)
    for change in first.changes:
        other = partners.take(change, first.tables[change.table])
        if other is None:
            raise UnfitSolution(_UNLIKE)
        yield change, other


class _Partners:
    """The changes of a run that have not been paired yet."""

    def __init__(self, run: Difference) -> None:
        self._by_row = {_row_of(change): change for change in run.changes if change.kind != "insert"}
        self._inserted: dict[str, list[Change]] = {}
        for change in run.changes:
            if change.kind == "insert":
                self._inserted.setdefault(change.table, []).append(change)

    def take(self, change: Change, table: Table) -> Change | None:
        if change.kind != "insert":
            return self._by_row.pop(_row_of(change), None)
        rest = self._inserted.get(change.table, [])
        if not rest:
            return None
        if table.rowid:
            return rest.pop(0)
        return rest.pop(min(range(len(rest)), key=lambda number: len(_differing(change, rest[number]))))


class _Linked:
    """Which columns of a run's rows refer to rows that it inserted: they differ, and yet are no chance."""

    def __init__(self, run: Difference) -> None:
        self._tables = run.tables
        self._places = places_of_inserted(run.changes, run.tables)

    def columns(self, change: Change) -> set[str]:
        links = links_of(change.after or {}, self._tables.get(change.table), self._places)
        return {column for columns, _ in links for column in columns}


def _row_of(change: Change) -> tuple[str, str, str]:
    return (change.table, change.kind, stable(change.key))


def _differing(one: Change, other: Change) -> dict[str, tuple[Any, Any]]:
    first, second = one.after or {}, other.after or {}
    return {name: (first[name], second[name]) for name in first if first[name] != second[name]}


def _by_table(columns: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for table, column in columns:
        found.setdefault(table, set()).add(column)
    return {table: frozenset(names) for table, names in found.items()}


_UNLIKE = "two runs of the gold solution, under two clocks and seeds, changed different rows"
