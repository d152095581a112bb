"""Whether an episode changed what a solution changes: fairly, row by row.

Fair means: the numbers that SQLite gives to inserted rows do not count (surrogate keys), references to
inserted rows are followed to what they refer to, and volatile columns count only as NULL or not.

Changes are compared by colour refinement (Weisfeiler and Lehman). A change is a node, coloured at first by
its content; a reference to an inserted row is an edge. Each round joins to a node's colour those of its
neighbours, until two changes have one colour only if they stand in like surroundings, whatever the numbers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from .changes import SCHEMA_TABLE, Difference, stable, without_moves
from .expectation import Expectation
from .schema import Table
from .verdict import Change, Row

_MOST_ROUNDS = 100

Columns: TypeAlias = Mapping[str, frozenset[str]]
"""Table name to column names."""

_NOTHING: frozenset[str] = frozenset()
_VOLATILE = ["volatile"]
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
class Match:
    """An episode's changes sorted by an expectation."""

    made: tuple[Change, ...]
    missing: tuple[Change, ...]
    collateral: tuple[Change, ...]

    @property
    def distance(self) -> int:
        """How far the episode is from what was expected."""
        return len(self.missing) + len(self.collateral)


def match(expectation: Expectation, actual: Difference, rules: Rules) -> Match:
    """Sort the changes of an episode into made, missing and collateral."""
    reading = _Reading(rules, expectation)
    wanted, found = reading.counted(expectation.changes), reading.counted(actual.changes)
    wanted, found = _told_alike(wanted, found, rules), _told_alike(found, wanted, rules)
    wanted_nodes, found_nodes = reading.graph(wanted), reading.graph(found)
    exact = _compare(_refine(wanted_nodes), _refine(found_nodes))
    if not exact.distance:
        return exact
    near = _compare(wanted_nodes, found_nodes)
    return near if near.distance else exact


def asks_for_nothing(expectation: Expectation, rules: Rules) -> bool:
    """Whether an agent that does nothing would meet the expectation."""
    return not _Reading(rules, expectation).counted(expectation.changes)


@dataclass(frozen=True, slots=True)
class _Node:
    """A change that counts, and the colour under which an equal one is found."""

    change: Change
    colour: str
    links: tuple[tuple[str, int], ...] = ()
    """References to inserted rows: columns, and the position of the row's node."""


_Address: TypeAlias = tuple[str, tuple[str, ...], str]
"""Where a reference leads: table, columns, and their values as stable JSON."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How rows are read so that equal ones look equal."""

    rules: Rules
    expectation: Expectation

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
            counted += without_moves(rows, partial(self._content, table))
        return counted

    def graph(self, changes: Sequence[Change]) -> list[_Node]:
        """The changes as nodes, each coloured by its own content."""
        places = self._places(changes)
        return [self._node(change, places) for change in changes]

    def _node(self, change: Change, places: Mapping[_Address, int]) -> _Node:
        shown = self._shown(change)
        links: list[tuple[str, int]] = []
        for columns, address in self._references(change.table, change.after or {}):
            if address in places:
                links.append((",".join(columns), places[address]))
                shown.update((column, _INSERTED) for column in columns if column in shown)
        return _Node(change, _colour(change.kind, change.table, self._identity(change), shown), tuple(links))

    def _shown(self, change: Change) -> Row:
        """What counts of a change besides its key."""
        if change.kind == "update":
            return self._altered(change)
        if change.kind == "delete":
            return self._visible(change.table, change.before or {}) if self._is_keyless(change) else {}
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
        before = self._visible(change.table, change.before or {})
        after = self._visible(change.table, change.after or {})
        return {column: value for column, value in after.items() if value != before[column]}

    def _content(self, table: str, row: Row) -> str:
        return stable(self._visible(table, row))

    def _visible(self, table: str, row: Row) -> Row:
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

    def _places(self, changes: Sequence[Change]) -> dict[_Address, int]:
        """Where each inserted row can be referred to."""
        targets: dict[str, set[tuple[str, ...]]] = {}
        for table in self.rules.tables.values():
            for reference in table.references:
                targets.setdefault(reference.table, set()).add(reference.targets)
        return {
            (change.table, columns, _values(change.after, columns)): number
            for number, change in enumerate(changes)
            if change.kind == "insert" and change.after is not None
            for columns in targets.get(change.table, ())
        }

    def _references(self, table: str, row: Row) -> Iterator[tuple[tuple[str, ...], _Address]]:
        known, ignored = self.rules.tables.get(table), self._ignored(table)
        for reference in known.references if known else ():
            is_set = all(row.get(column) is not None for column in reference.columns)
            if is_set and ignored.isdisjoint(reference.columns):
                values = _values(row, reference.columns)
                yield reference.columns, (reference.table, reference.targets, values)


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


def _refine(nodes: list[_Node]) -> list[_Node]:
    """Colours that tell apart whatever stands in other surroundings.

    Two graphs are refined apart and then compared: equal ones stop at the same round.
    """
    if not any(node.links for node in nodes):
        return nodes
    for _ in range(_MOST_ROUNDS):
        finer = _next_round(nodes)
        if _colours(finer) == _colours(nodes):
            return finer
        nodes = finer
    return nodes


def _next_round(nodes: Sequence[_Node]) -> list[_Node]:
    around: list[list[tuple[str, ...]]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for name, target in node.links:
            around[number].append(("to", name, nodes[target].colour))
            around[target].append(("from", node.change.table, name, node.colour))
    return [
        replace(node, colour=_colour(node.colour, sorted(near)))
        for node, near in zip(nodes, around, strict=True)
    ]


def _colours(nodes: Iterable[_Node]) -> int:
    return len({node.colour for node in nodes})


def _compare(wanted: Sequence[_Node], found: Sequence[_Node]) -> Match:
    made, collateral = _sort(found, Counter(node.colour for node in wanted))
    _, missing = _sort(wanted, Counter(node.colour for node in found))
    return Match(made, missing, collateral)


def _sort(nodes: Sequence[_Node], partners: Counter[str]) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """The changes that have a partner of their colour, and those that have none."""
    paired: list[Change] = []
    alone: list[Change] = []
    for node in nodes:
        has_partner = partners[node.colour] > 0
        partners[node.colour] -= has_partner
        (paired if has_partner else alone).append(node.change)
    return tuple(paired), tuple(alone)


def _row_of(change: Change) -> tuple[str, str]:
    return (change.table, stable(change.key))


def _values(row: Row, columns: Iterable[str]) -> str:
    return stable([row.get(column) for column in columns])


def _colour(*parts: Any) -> str:
    return hashlib.blake2b(stable(parts).encode(), digest_size=16).hexdigest()
