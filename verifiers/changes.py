"""The row-level difference between the first and the final database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from .database import FinalDatabaseError, SchemaEntry, Table, identifier, json_value, schema_of, table_of
from .verdict import Change, Row

MOST_ROWS = 20_000
"""Changed rows of one kind that are read per table. No task asks for more."""

SCHEMA_TABLE = "sqlite_schema"


@dataclass(slots=True)
class Difference:
    """Everything that differs, and the tables it was found in."""

    changes: list[Change] = field(default_factory=list[Change])
    tables: dict[str, Table] = field(default_factory=dict[str, Table])
    """Every table that could be compared."""
    unread: int = 0
    """Changed rows that were left unread because there are too many."""

    @property
    def schema_changed(self) -> bool:
        """Whether a definition was added, dropped or altered."""
        return any(change.table == SCHEMA_TABLE for change in self.changes)


def difference(connection: sqlite3.Connection) -> Difference:
    """Compare the pair of databases of `connection` (see database.open_pair).

    Raises:
        FinalDatabaseError: the final database cannot be read to its end.
    """
    found = Difference()
    try:
        _compare_schemas(connection, found)
        for table in list(found.tables.values()):
            _compare_table(connection, table, found)
    except sqlite3.Error as error:
        raise FinalDatabaseError(f"the final database is damaged: {error}") from error
    return found


def _compare_schemas(connection: sqlite3.Connection, found: Difference) -> None:
    first, final = schema_of(connection, "main"), schema_of(connection, "final")
    for key in sorted(first.keys() | final.keys()):
        before, after = first.get(key), final.get(key)
        if before != after:
            found.changes.append(_schema_change(key, before, after))
        elif key[0] == "table" and before is not None and not _is_virtual(before):
            found.tables[key[1]] = table_of(connection, key[1])


def _is_virtual(entry: SchemaEntry) -> bool:
    return (entry.sql or "").lstrip().upper().startswith("CREATE VIRTUAL")


def _schema_change(key: tuple[str, str], before: SchemaEntry | None, after: SchemaEntry | None) -> Change:
    kind: Literal["insert", "update", "delete"] = (
        "insert" if before is None else "delete" if after is None else "update"
    )
    return Change(
        SCHEMA_TABLE,
        kind,
        {"type": key[0], "name": key[1]},
        None if before is None else {"sql": before.sql},
        None if after is None else {"sql": after.sql},
    )


def _compare_table(connection: sqlite3.Connection, table: Table, found: Difference) -> None:
    parts = (
        _updates(connection, table),
        _only_in(connection, table, "main"),
        _only_in(connection, table, "final"),
    )
    for change in chain.from_iterable(parts):
        if change is None:
            found.unread += 1
        else:
            found.changes.append(change)


def _updates(connection: sqlite3.Connection, table: Table) -> Iterator[Change | None]:
    columns = [identifier(column) for column in table.columns]
    sides = ", ".join([f"a.{column}" for column in columns] + [f"b.{column}" for column in columns])
    differs = " OR ".join(f"a.{column} COLLATE BINARY IS NOT b.{column}" for column in columns)
    rows = connection.execute(
        f"SELECT {_key_list(table, 'a')}, {sides} FROM main.{identifier(table.name)} a "
        f"JOIN final.{identifier(table.name)} b ON {_same_key(table)} WHERE {differs} LIMIT {MOST_ROWS + 1}"
    )
    for number, row in enumerate(rows):
        if number == MOST_ROWS:
            yield None
            return
        key, values = _split_key(table, row)
        before, after = values[: len(columns)], values[len(columns) :]
        changed = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
        if changed:
            yield Change(
                table.name,
                "update",
                key,
                {table.columns[i]: before[i] for i in changed},
                {table.columns[i]: after[i] for i in changed},
            )


def _only_in(connection: sqlite3.Connection, table: Table, which: str) -> Iterator[Change | None]:
    other = "final" if which == "main" else "main"
    columns = ", ".join(f"a.{identifier(column)}" for column in table.columns)
    rows = connection.execute(
        f"SELECT {_key_list(table, 'a')}, {columns} FROM {which}.{identifier(table.name)} a WHERE NOT EXISTS "
        f"(SELECT 1 FROM {other}.{identifier(table.name)} b WHERE {_same_key(table)}) "
        f"ORDER BY {'a.rowid' if table.has_rowid else _key_list(table, 'a')} LIMIT {MOST_ROWS + 1}"
    )
    for number, row in enumerate(rows):
        if number == MOST_ROWS:
            yield None
            return
        key, values = _split_key(table, row)
        content: Row = dict(zip(table.columns, values, strict=True))
        if which == "main":
            yield Change(table.name, "delete", key, content, None)
        else:
            yield Change(table.name, "insert", key, None, content)


def _key_columns(table: Table) -> tuple[str, ...]:
    return tuple(identifier(column) for column in table.key) or ("rowid",)


def _key_list(table: Table, alias: str) -> str:
    return ", ".join(f"{alias}.{column}" for column in _key_columns(table))


def _same_key(table: Table) -> str:
    return " AND ".join(f"a.{column} IS b.{column}" for column in _key_columns(table))


def _split_key(table: Table, row: tuple[object, ...]) -> tuple[Row, list[object]]:
    values = [json_value(value) for value in row]
    names = table.key or ("rowid",)
    return dict(zip(names, values[: len(names)], strict=True)), values[len(names) :]
