"""An opinion of our own on whether two episodes ended in the same state, which asks no verifier.

Every row that differs from the first database is written down: rows that were there under their keys, new
numbered rows under a signature of what they hold and of what they are linked to, for their numbers mean
nothing. What differs between two runs of one solution at two times and seeds is unsteady: of a time only
counts about when it is, of anything else whether it is there. Made apart from state.py on purpose.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ..database import identifier, json_value, open_pair
from ..wire import Job

Columns: TypeAlias = Mapping[str, Sequence[str]]
"""Table to columns, names as they were defined."""

_ROUNDS = 6
_NEARLY_S = 600.0
_EARLY_S = 5.0
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")


def end_state(job: Job) -> dict[str, Any]:
    """`{"end": digest}` of a final database. Equal digests: the same end."""
    with open_pair(job["initial"], job["final"]) as connection:
        return {"end": _Ending(connection, job).digest()}


def unsteady_columns(job: Job) -> dict[str, Any]:
    """`{"unsteady": {table: columns}}`: those in which two runs of a solution left different values."""
    left = [_left_by(job["initial"], final) for final in job["finals"]]
    found: dict[str, set[str]] = {}
    for table, column in left[0].keys() | left[1].keys():
        if left[0].get((table, column)) != left[1].get((table, column)):
            found.setdefault(table, set()).add(column)
    return {"unsteady": {table: sorted(columns) for table, columns in found.items()}}


def _left_by(initial: str, final: str) -> dict[tuple[str, str], Counter[str]]:
    """The values that a run left in the rows that differ, by table and column."""
    left: dict[tuple[str, str], Counter[str]] = {}
    with open_pair(initial, final) as connection:
        for table in _tables(connection):
            _, added = _differing_rows(connection, table)
            for row in added:
                for column, value in zip(table.columns, row, strict=True):
                    left.setdefault((table.name, column), Counter())[_text(value)] += 1
    return left


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    number: int | None
    """The place of the INTEGER PRIMARY KEY, if there is one and it refers to nothing."""
    links: Mapping[int, tuple[str, str]]
    """Place of a column to the table and column that it refers to."""


class _Ending:
    """What a final database has that the first has not, and the other way round."""

    def __init__(self, connection: sqlite3.Connection, job: Job) -> None:
        self._connection = connection
        self._started = datetime.fromisoformat(job["started"])
        self._ignored = {
            (table.lower(), column.lower()) for table, columns in job["ignore"].items() for column in columns
        }
        self._unsteady = {(table, column) for table, columns in job["unsteady"].items() for column in columns}
        self._natural = {table.lower() for table in job["natural_keys"]}
        self._tables = {table.name: table for table in _tables(connection)}

    def digest(self) -> str:
        rows = {name: _differing_rows(self._connection, table) for name, table in self._tables.items()}
        new = {
            (name, number): row
            for name, (_, added) in rows.items()
            for row, number in self._new_numbers(name, added)
        }
        signatures = self._signatures(new)
        told: list[Any] = [_definitions(self._connection, "main") != _definitions(self._connection, "final")]
        for name, (gone, added) in sorted(rows.items()):
            news = {id(row): number for row, number in self._new_numbers(name, added)}
            lost = Counter(self._told(name, row, signatures, None, is_old=True) for row in gone)
            left = Counter(self._told(name, row, signatures, news.get(id(row))) for row in added)
            told.append([name, sorted((lost - left).elements()), sorted((left - lost).elements())])
        return _digest(told)

    def _new_numbers(self, name: str, added: Sequence[tuple[Any, ...]]) -> list[tuple[tuple[Any, ...], Any]]:
        """The rows that the first database does not have under their number, with it."""
        table = self._tables[name]
        if table.number is None or name.lower() in self._natural:
            return []
        key = identifier(table.columns[table.number])
        known = {n for (n,) in self._connection.execute(f"SELECT {key} FROM main.{identifier(name)}")}
        return [(row, row[table.number]) for row in added if row[table.number] not in known]

    def _signatures(self, new: Mapping[tuple[str, Any], tuple[Any, ...]]) -> dict[tuple[str, Any], str]:
        """For each new row what it holds, what it is linked to, what that is linked to, and so on."""
        signatures = dict.fromkeys(new, "new")
        for _ in range(_ROUNDS):
            near: dict[tuple[str, Any], list[str]] = {place: [] for place in new}
            for place, row in new.items():
                for column, (target, _) in self._tables[place[0]].links.items():
                    if (target, row[column]) in near:
                        near[target, row[column]].append(f"{place[0]}.{column}:{signatures[place]}")
            signatures = {
                place: _digest([self._told(place[0], row, signatures, place[1]), sorted(near[place])])
                for place, row in new.items()
            }
        return signatures

    def _told(
        self,
        name: str,
        row: tuple[Any, ...],
        signatures: Mapping[tuple[str, Any], str],
        number: Any,
        *,
        is_old: bool = False,
    ) -> str:
        """A row in words, less what does not count.

        Args:
            number: its own, where it is new.
            is_old: whether it is gone; its times read as now, so that a row only touched is the same.
        """
        table = self._tables[name]
        told: list[Any] = []
        for place, (column, value) in enumerate(zip(table.columns, row, strict=True)):
            if (name.lower(), column.lower()) in self._ignored:
                continue
            if number is not None and place == table.number:
                told.append(["number", signatures[name, number]])
            elif place in table.links and (table.links[place][0], value) in signatures:
                told.append(["link", signatures[table.links[place][0], value]])
            elif (name, column) in self._unsteady:
                told.append(self._nearly(value, is_old=is_old))
            else:
                told.append(_text(value))
        return json.dumps(told)

    def _nearly(self, value: Any, *, is_old: bool) -> Any:
        """About when a time is, counted from the start of the episode; of anything else, whether it is."""
        if value is None:
            return None
        if isinstance(value, str) and (found := _TIME.search(value)):
            if is_old:
                return ["about", 0]
            time = datetime.fromisoformat(found.group())
            passed = (time if time.tzinfo else time.replace(tzinfo=UTC)) - self._started
            return ["about", int((passed.total_seconds() + _EARLY_S) // _NEARLY_S)]
        return ["some", type(value).__name__]


def _tables(connection: sqlite3.Connection) -> list[_Table]:
    """The tables that both databases define alike."""
    shared = _definitions(connection, "main").keys() & _definitions(connection, "final").keys()
    names = [name for kind, name in sorted(shared) if kind == "table" and not _is_virtual(connection, name)]
    return [_table(connection, name) for name in names]


def _table(connection: sqlite3.Connection, name: str) -> _Table:
    columns = connection.execute(f"PRAGMA main.table_info({identifier(name)})").fetchall()
    places = {column[1].lower(): place for place, column in enumerate(columns)}
    links: dict[int, tuple[str, str]] = {}
    for _, position, target, source, its, *_ in connection.execute(
        f"PRAGMA main.foreign_key_list({identifier(name)})"
    ):
        if position == 0:
            links[places[source.lower()]] = (_defined(connection, target), its or "")
    keys = [place for place, column in enumerate(columns) if column[5]]
    numbered = len(keys) == 1 and columns[keys[0]][2].upper() == "INTEGER" and keys[0] not in links
    return _Table(name, tuple(column[1] for column in columns), keys[0] if numbered else None, links)


def _defined(connection: sqlite3.Connection, table: str) -> str:
    """The name under which a table was defined."""
    query = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?)"
    found = connection.execute(query, (table,)).fetchone()
    return str(found[0]) if found else table


def _is_virtual(connection: sqlite3.Connection, name: str) -> bool:
    kinds = connection.execute(
        "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ?", (name,)
    )
    return [kind for (kind,) in kinds] != ["table"]


def _definitions(connection: sqlite3.Connection, which: str) -> dict[tuple[str, str], str | None]:
    query = f"SELECT type, name, sql FROM {which}.sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    return {(kind, name): sql for kind, name, sql in connection.execute(query)}


def _differing_rows(
    connection: sqlite3.Connection, table: _Table
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows that only the first database has, and rows that only the final one has."""
    columns = ", ".join(map(identifier, table.columns))
    rows: list[list[tuple[Any, ...]]] = [
        connection.execute(f"SELECT {columns} FROM {which}.{identifier(table.name)}").fetchall()
        for which in ("main", "final")
    ]
    first, final = (Counter(map(repr, some)) for some in rows)
    return _left_over(rows[0], first - final), _left_over(rows[1], final - first)


def _left_over(rows: Sequence[tuple[Any, ...]], wanted: Counter[str]) -> list[tuple[Any, ...]]:
    left = wanted.copy()
    found: list[tuple[Any, ...]] = []
    for row in rows:
        if left[repr(row)] > 0:
            left[repr(row)] -= 1
            found.append(row)
    return found


def _text(value: Any) -> str:
    return json.dumps(json_value(value))


def _digest(told: Any) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
