"""What a gold solution changes, learned from two runs of it under two clocks and two seeds.

What differs between the runs follows the clock or chance. What follows the clock must follow the clock of
the episode that is judged (see volatile.py); what chance chose does not count. Not so what refers to a row
that the solution inserted: that is compared by what it refers to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .changes import Difference, stable
from .references import links_of, places_of_inserted
from .schema import Table
from .verdict import Change
from .volatile import Pattern, pattern_of

_MOST_PATTERNS = 100
"""Ways in which the values of one column may follow the clock. No solution needs more."""


class UnfitSolution(Exception):
    """A gold solution from which no expectation can be learned."""


@dataclass(frozen=True, slots=True)
class Runs:
    """How the two runs of a solution were made."""

    started: datetime
    """The world's time at the start of the first run."""
    shift_s: float
    """How much later the second one started."""
    calls: int
    """How many calls each made."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The changes that a solution makes, and the columns whose values do not count as they stand."""

    changes: tuple[Change, ...]
    """Updates hold whole rows, as in a Difference."""
    volatile: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Table to columns. Of a volatile value only counts whether it is NULL."""
    erratic: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Table to columns that were NULL in one run and not in the other: they do not count at all."""
    timed: dict[str, dict[str, tuple[Pattern, ...]]] = field(
        default_factory=dict[str, dict[str, tuple[Pattern, ...]]]
    )
    """Table to column to what may stand there if not what stood there in the first run: a time that fits."""
    calls: int = 0
    """How many calls the solution has; each moved the world's clock by a second."""


def learn(first: Difference, second: Difference, runs: Runs) -> Expectation:
    """What two runs of one solution have in common.

    Raises:
        UnfitSolution: they changed different rows, or more than can be compared.
    """
    for run in (first, second):
        _check_fitness(run)
    linked = _Linked(first), _Linked(second)
    columns: dict[tuple[str, str], _Column] = {}
    for change, other in _pairs(first, second):
        for name, values in _differing(change, other).items():
            if not (name in linked[0].columns(change) and name in linked[1].columns(other)):
                columns.setdefault((change.table, name), _Column()).add(values, runs)
    return Expectation(
        tuple(first.changes),
        _by_table(place for place, column in columns.items() if column.free and not column.emptied),
        _by_table(place for place, column in columns.items() if column.emptied),
        _timed(columns),
        runs.calls,
    )


@dataclass(slots=True)
class _Column:
    """What is known of a column whose values differ between the runs."""

    emptied: bool = False
    """Whether one run left NULL where the other left a value."""
    free: bool = False
    """Whether the clock does not explain its values."""
    patterns: set[Pattern] = field(default_factory=set[Pattern])

    def add(self, values: tuple[Any, Any], runs: Runs) -> None:
        self.emptied |= None in values
        if self.emptied or self.free:
            return
        pattern = pattern_of(*values, runs.shift_s, runs.started, runs.calls)
        if pattern is not None:
            self.patterns.add(pattern)
        self.free = pattern is None or len(self.patterns) > _MOST_PATTERNS


def _timed(columns: dict[tuple[str, str], _Column]) -> dict[str, dict[str, tuple[Pattern, ...]]]:
    found: dict[str, dict[str, tuple[Pattern, ...]]] = {}
    for (table, name), column in columns.items():
        if not column.emptied and not column.free:
            found.setdefault(table, {})[name] = tuple(sorted(column.patterns, key=repr))
    return found


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
