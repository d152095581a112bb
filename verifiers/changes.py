"""The row-level difference between the first and the final database."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from .database import blaming_a_file, check_integrity, identifier, json_value
from .schema import EntryKey, Table, comparable_tables, schema_entries
from .verdict import Change, Row

MOST_ROWS = 20_000
"""Changed rows that are kept per table. No task asks for more."""

MOST_CHARACTERS = 32 * 1024 * 1024
"""Characters (and bytes of blobs) in changed rows that are kept. Beyond them rows are only counted."""

SCHEMA_TABLE = "sqlite_schema"


@dataclass(slots=True)
class Difference:
    """Everything that differs, and the tables it was found in.

    Updates hold the whole row, before and after (a receipt shows the changed columns alone).
    """

    changes: list[Change] = field(default_factory=list[Change])
    tables: dict[str, Table] = field(default_factory=dict[str, Table])
    """Every table that could be compared."""
    unread: Counter[str] = field(default_factory=Counter[str])
    """By table: changed rows that were left unread because there are too many."""

    @property
    def schema_changed(self) -> bool:
        """Whether a definition was added, dropped or altered."""
        return any(change.table == SCHEMA_TABLE for change in self.changes)


def difference(connection: sqlite3.Connection) -> Difference:
    """Compare the pair of databases of `connection` (see database.open_pair).

    Raises:
        FirstDatabaseError, FinalDatabaseError: a database cannot be read to its end.
    """
    found = Difference()
    with blaming_a_file(connection):
        _compare_schemas(connection, found)
        if not found.schema_changed:
            check_integrity(connection)
        room = _Room(MOST_CHARACTERS)
        for table in found.tables.values():
            _compare_table(connection, table, found, room)
    return found


def stable(value: Any) -> str:
    """JSON in which equal values are equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def without_moves(
    changes: Sequence[Change], before: Callable[[Row], str], after: Callable[[Row], str]
) -> list[Change]:
    """`changes` of rows known only by content, less those that took a content away and put it back.

    Args:
        before, after: the content of a row of the first and of the final database.
    """
    contents = [
        after(change.after) if change.after is not None else before(change.before or {}) for change in changes
    ]
    told = list(zip(changes, contents, strict=True))
    gone = Counter(content for change, content in told if change.after is None)
    come = Counter(content for change, content in told if change.after is not None)
    moved = {"delete": gone & come, "insert": gone & come}
    kept: list[Change] = []
    for change, content in told:
        if moved[change.kind][content]:
            moved[change.kind][content] -= 1
        else:
            kept.append(change)
    return kept


@dataclass(slots=True)
class _Room:
    """What may still be kept."""

    characters: int

    def takes(self, values: Iterable[Any]) -> bool:
        self.characters -= sum(len(value) for value in values if isinstance(value, str | bytes))
        return self.characters >= 0


def _compare_schemas(connection: sqlite3.Connection, found: Difference) -> None:
    first, final = schema_entries(connection, "main"), schema_entries(connection, "final")
    comparable = comparable_tables(connection)
    for key in sorted(first.keys() | final.keys()):
        if key not in final or key not in first or first[key] != final[key]:
            found.changes.append(_schema_change(key, first, final))
        elif key[0] == "table" and key[1] in comparable:
            found.tables[key[1]] = _with_sure_key(connection, comparable[key[1]])


def _schema_change(
    key: EntryKey, first: dict[EntryKey, str | None], final: dict[EntryKey, str | None]
) -> Change:
    kind: Literal["insert", "update", "delete"] = (
        "insert" if key not in first else "delete" if key not in final else "update"
    )
    before, after = ({"sql": entries[key]} if key in entries else None for entries in (first, final))
    return Change(SCHEMA_TABLE, kind, {"type": key[0], "name": key[1]}, before, after)


def _with_sure_key(connection: sqlite3.Connection, table: Table) -> Table:
    """`table`, without its key where a NULL in it means that the key identifies nothing."""
    if not table.nullable_key:
        return table
    is_null = " OR ".join(f"{identifier(column)} IS NULL" for column in table.nullable_key)
    (unsure,) = connection.execute(
        f"SELECT EXISTS (SELECT 1 FROM main.{identifier(table.name)} WHERE {is_null})"
        f" OR EXISTS (SELECT 1 FROM final.{identifier(table.name)} WHERE {is_null})"
    ).fetchone()
    return dataclasses.replace(table, key=()) if unsure else table


def _compare_table(connection: sqlite3.Connection, table: Table, found: Difference, room: _Room) -> None:
    kept: list[Change] = []
    for kind, values in chain(
        (("update", row) for row in _rows_in_both(connection, table)),
        (("delete", row) for row in _rows_only_in(connection, table, "main")),
        (("insert", row) for row in _rows_only_in(connection, table, "final")),
    ):
        if len(kept) < MOST_ROWS and room.takes(values):
            kept.extend(_read(table, kind, values))
        else:
            found.unread[table.name] += 1
    found.changes.extend(kept if table.key else without_moves(kept, stable, stable))


def _rows_in_both(connection: sqlite3.Connection, table: Table) -> sqlite3.Cursor:
    """Rows of (key, row before, row after) that differ.

    The plus keeps SQLite from reading a text as a number because of its column's type.
    """
    columns = [identifier(column) for column in table.columns]
    sides = ", ".join([f"a.{column}" for column in columns] + [f"b.{column}" for column in columns])
    differs = " OR ".join(f"+a.{column} COLLATE BINARY IS NOT +b.{column}" for column in columns)
    return connection.execute(
        f"SELECT {_key_list(table)}, {sides} FROM main.{identifier(table.name)} a "
        f"JOIN final.{identifier(table.name)} b ON {_same_key(table)} WHERE {differs} "
        f"ORDER BY {_order(table)}"
    )


def _rows_only_in(
    connection: sqlite3.Connection, table: Table, which: Literal["main", "final"]
) -> sqlite3.Cursor:
    """Rows of (key, row) that the other database lacks."""
    other = "final" if which == "main" else "main"
    columns = ", ".join(f"a.{identifier(column)}" for column in table.columns)
    return connection.execute(
        f"SELECT {_key_list(table)}, {columns} FROM {which}.{identifier(table.name)} a WHERE NOT EXISTS "
        f"(SELECT 1 FROM {other}.{identifier(table.name)} b WHERE {_same_key(table)}) "
        f"ORDER BY {_order(table)}"
    )


def _read(table: Table, kind: str, values: tuple[Any, ...]) -> list[Change]:
    """The change that a row of a query tells. A row that has no key is not updated but replaced."""
    key, *rows = _split(table, [json_value(value) for value in values])
    match kind:
        case "update" if table.key:
            return [Change(table.name, "update", key, rows[0], rows[1])]
        case "update":
            return [
                Change(table.name, "delete", key, rows[0], None),
                Change(table.name, "insert", key, None, rows[1]),
            ]
        case "delete":
            return [Change(table.name, "delete", key, rows[0], None)]
        case _:
            return [Change(table.name, "insert", key, None, rows[0])]


def _key_columns(table: Table) -> list[str]:
    return [identifier(column) for column in table.key] or [table.rowid or "rowid"]


def _key_list(table: Table) -> str:
    return ", ".join(f"a.{column}" for column in _key_columns(table))


def _order(table: Table) -> str:
    return f"a.{table.rowid}" if table.rowid else _key_list(table)


def _same_key(table: Table) -> str:
    return " AND ".join(f"a.{column} IS b.{column}" for column in _key_columns(table))


def _split(table: Table, values: list[Any]) -> list[Row]:
    """The key, then the one or two rows that follow it."""
    names = table.key or ("rowid",)
    key = dict(zip(names, values, strict=False))
    width = len(table.columns)
    rows = (values[start : start + width] for start in range(len(names), len(values), width))
    return [key, *(dict(zip(table.columns, row, strict=True)) for row in rows)]
