"""Whether an episode changed what a solution changes: fairly, row by row.

Fair means: the numbers that SQLite gives to inserted rows do not count (surrogate keys), references to
inserted rows are followed to what they refer to, and of what differs between two runs of the solution a time
must fit the episode's own clock, while what chance chose counts only as NULL or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from ..scenarios.task import TICK_S
from .changes import SCHEMA_TABLE, Difference, stable, without_moves
from .expectation import Expectation
from .graph import Node, are_alike, colour_of, colours, refine
from .references import Address, links_of, mentions_in, numbers_of_inserted, places_of_inserted
from .schema import Table
from .verdict import Change, Row
from .volatile import Pattern, grouped

Columns: TypeAlias = Mapping[str, frozenset[str]]
"""Table name to column names."""

_NOTHING: frozenset[str] = frozenset()
_VOLATILE = ["volatile"]
_NOW = ["now"]
_INSERTED = ["inserted"]
"""Marks that stand for a value. No value is a list, so that no row can hold one."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What does not count."""

    tables: Mapping[str, Table]
    ignore: Columns = field(default_factory=dict[str, frozenset[str]])
    """Columns whose values never count."""
    natural_keys: frozenset[str] = _NOTHING
    """Tables in which the number of an inserted row counts, too."""

    def is_numbered(self, table: str) -> bool:
        """Whether SQLite numbers the rows, and the numbers do not count."""
        known = self.tables.get(table)
        return known is not None and known.surrogate_key is not None and table not in self.natural_keys


@dataclass(frozen=True, slots=True)
class Window:
    """How much later an episode may have done what the solution's first run did, in seconds."""

    low: float
    high: float


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


def match(expectation: Expectation, actual: Difference, rules: Rules, window: Window) -> Match:
    """Sort the changes of an episode into made, missing and collateral.

    Args:
        window: from how much later the episode started to how much later it ended.
    """
    earliest = Window(window.low - expectation.calls * TICK_S, window.high)
    times = _Times.of(expectation, earliest)
    reading = _Reading(rules, expectation, times, _FIRST_RUN)
    its_reading = _Reading(rules, expectation, times, earliest)
    wanted, found = reading.counted(expectation.changes), its_reading.counted(actual.changes)
    wanted, found = _told_alike(wanted, found, rules), _told_alike(found, wanted, rules)
    wanted_nodes, found_nodes = reading.graph(wanted), its_reading.graph(found)
    refined_wanted, refined_found = refine(wanted_nodes), refine(found_nodes)
    if are_alike(refined_wanted, refined_found):
        return Match(tuple(found), (), ())
    if _alike_by_mentions(reading, wanted, its_reading, found):
        return Match(tuple(found), (), ())
    for pair in ((wanted_nodes, found_nodes), (refined_wanted, refined_found)):
        sorted_changes = _compare(*pair)
        if sorted_changes.distance:
            return sorted_changes
    return _unlike_in_rings(refined_wanted, refined_found)


def _alike_by_mentions(
    reading: _Reading, wanted: Sequence[Change], its_reading: _Reading, found: Sequence[Change]
) -> bool:
    """Whether they are the same where numbers of inserted rows count as references wherever they stand."""
    graphs = reading.graph(wanted, by_mentions=True), its_reading.graph(found, by_mentions=True)
    return len(wanted) == len(found) and are_alike(*map(refine, graphs))


def asks_for_nothing(expectation: Expectation, rules: Rules) -> bool:
    """Whether an agent that does nothing would meet the expectation."""
    reading = _Reading(rules, expectation, _Times.of(expectation, _FIRST_RUN), _FIRST_RUN)
    return not reading.counted(expectation.changes)


_FIRST_RUN = Window(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Times:
    """The times that a solution left, those grouped that an episode's window does not tell apart."""

    columns: Mapping[str, Mapping[str, tuple[tuple[Pattern, Any], ...]]]
    """Table to column to patterns, each with the mark that stands for it."""

    @classmethod
    def of(cls, expectation: Expectation, window: Window) -> _Times:
        return cls(
            {
                table: {
                    column: tuple(zip(patterns, _marks(patterns, window), strict=True))
                    for column, patterns in columns.items()
                }
                for table, columns in expectation.timed.items()
            }
        )

    def read(self, table: str, column: str, value: Any, window: Window) -> Any:
        """The mark of the time that `value` is, or else the value."""
        for pattern, mark in self.columns.get(table, {}).get(column, ()):
            if pattern.fits(value, window.low, window.high):
                return mark
        return value

    def tell_when(self, table: str, column: str) -> bool:
        """Whether the column says when a row was changed, so that a touched row has another value there."""
        return any(mark == _NOW for _, mark in self.columns.get(table, {}).get(column, ()))


def _marks(patterns: Sequence[Pattern], window: Window) -> list[list[Any]]:
    groups = grouped(patterns, window.high - window.low)
    now = {group for group, pattern in zip(groups, patterns, strict=True) if pattern.is_now}
    return [_NOW if group in now else ["time", group] for group in groups]


@dataclass(frozen=True, slots=True)
class _Reading:
    """How rows are read so that equal ones look equal."""

    rules: Rules
    expectation: Expectation
    times: _Times
    window: Window
    """How much later than the solution's first run the rows were written."""

    def counted(self, changes: Iterable[Change]) -> list[Change]:
        """The changes, without those of ignored columns only, and those that only moved a row."""
        counted: list[Change] = []
        keyless: dict[str, list[Change]] = {}
        for change in changes:
            if self._is_keyless(change):
                keyless.setdefault(change.table, []).append(change)
            elif change.kind != "update" or self._altered(change):
                counted.append(change)
        for table, rows in keyless.items():
            counted += without_moves(
                rows, partial(self._content_before, table), partial(self._content_after, table)
            )
        return counted

    def graph(self, changes: Sequence[Change], *, by_mentions: bool = False) -> list[Node]:
        """The changes as nodes, each coloured by its own content.

        Args:
            by_mentions: follow numbers of inserted rows where no reference is declared, too.
        """
        places = places_of_inserted(changes, self.rules.tables)
        numbers = numbers_of_inserted(changes, self._surrogate_keys()) if by_mentions else {}
        return [self._node(change, places, numbers) for change in changes]

    def _surrogate_keys(self) -> dict[str, str | None]:
        return {
            name: table.surrogate_key
            for name, table in self.rules.tables.items()
            if self.rules.is_numbered(name)
        }

    def _node(self, change: Change, places: Mapping[Address, int], numbers: Mapping[int, int]) -> Node:
        shown = self._shown(change)
        table, ignored = self.rules.tables.get(change.table), self._ignored(change.table)
        links = list(links_of(change.after or {}, table, places, ignored))
        shown.update((column, _INSERTED) for columns, _ in links for column in columns if column in shown)
        mentions: list[tuple[str, int]] = []
        for column, value in shown.items() if numbers else ():
            shown[column], mentioned = mentions_in(column, value, numbers)
            mentions += [(f"{column} {turn}", place) for turn, place in enumerate(mentioned)]
        colour = colour_of(change.kind, change.table, self._identity(change), shown)
        return Node(change, colour, (*((",".join(columns), place) for columns, place in links), *mentions))

    def _shown(self, change: Change) -> Row:
        """What counts of a change besides its key."""
        if change.kind == "update":
            return self._altered(change)
        if change.kind == "delete":
            return self._before(change.table, change.before or {}) if self._is_keyless(change) else {}
        row = self._visible(change.table, change.after or {})
        if self.rules.is_numbered(change.table):
            row.pop(self.rules.tables[change.table].surrogate_key or "", None)
        return row

    def _identity(self, change: Change) -> Row:
        """The key, where it counts: an inserted row is what it holds."""
        if change.table != SCHEMA_TABLE and (change.kind == "insert" or self._is_keyless(change)):
            return {}
        return change.key

    def _altered(self, change: Change) -> Row:
        """What counts of an update. That a row was touched, and when, does not."""
        before, after = change.before or {}, change.after or {}
        was, became = self._before(change.table, before), self._visible(change.table, after)
        return {
            column: value
            for column, value in became.items()
            if before[column] != after[column] and value != was[column]
        }

    def _content_before(self, table: str, row: Row) -> str:
        return stable(self._before(table, row))

    def _content_after(self, table: str, row: Row) -> str:
        return stable(self._visible(table, row))

    def _before(self, table: str, row: Row) -> Row:
        """A row of the first database, in which any time may be the time of an earlier touch."""
        return {
            column: _NOW if value is not None and self.times.tell_when(table, column) else value
            for column, value in self._settled(table, row).items()
        }

    def _visible(self, table: str, row: Row) -> Row:
        return {
            column: self.times.read(table, column, value, self.window)
            for column, value in self._settled(table, row).items()
        }

    def _settled(self, table: str, row: Row) -> Row:
        """A row without what does not count, times as they stand."""
        ignored, volatile = self._ignored(table), self.expectation.volatile.get(table, _NOTHING)
        return {
            column: _VOLATILE if column in volatile and value is not None else value
            for column, value in row.items()
            if column not in ignored
        }

    def _ignored(self, table: str) -> frozenset[str]:
        return self.rules.ignore.get(table, _NOTHING) | self.expectation.erratic.get(table, _NOTHING)

    def _is_keyless(self, change: Change) -> bool:
        table = self.rules.tables.get(change.table)
        return table is not None and not table.key


def _told_alike(mine: Sequence[Change], others: Sequence[Change], rules: Rules) -> list[Change]:
    """`mine`, told the way of `others`.

    SQLite gives the number of a deleted last row to the next inserted one. The same work in another order
    then reads as an update; where the others read a deletion, so does this.
    """
    deleted = {(change.table, stable(change.key)) for change in others if change.kind == "delete"}
    told: list[Change] = []
    for change in mine:
        if change.kind == "update" and rules.is_numbered(change.table) and _row_of(change) in deleted:
            told.append(Change(change.table, "delete", change.key, change.before, None))
            told.append(Change(change.table, "insert", change.key, None, change.after))
        else:
            told.append(change)
    return told


def _compare(wanted: Sequence[Node], found: Sequence[Node]) -> Match:
    made, collateral = _sort(found, colours(wanted))
    _, missing = _sort(wanted, colours(found))
    return Match(made, missing, collateral)


def _sort(nodes: Sequence[Node], partners: Counter[str]) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """The changes that have a partner of their colour, and those that have none."""
    paired: list[Change] = []
    alone: list[Change] = []
    for node in nodes:
        has_partner = partners[node.colour] > 0
        partners[node.colour] -= has_partner
        (paired if has_partner else alone).append(node.change)
    return tuple(paired), tuple(alone)


def _unlike_in_rings(wanted: Sequence[Node], found: Sequence[Node]) -> Match:
    """Each row has its like, and yet they refer to each other in other rings: none of those is made."""
    return Match(
        tuple(node.change for node in found if not node.links),
        tuple(node.change for node in wanted if node.links),
        tuple(node.change for node in found if node.links),
    )


def _row_of(change: Change) -> tuple[str, str]:
    return (change.table, stable(change.key))
