"""What a database defines: the entries of its schema, and what it takes to compare one of its tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .database import identifier

EntryKey: TypeAlias = tuple[str, str]
"""Type ("table", "index", "view", "trigger") and name."""

_OWN_TABLES = frozenset({"sqlite_sequence", *(f"sqlite_stat{number}" for number in (1, 2, 3, 4))})
_DERIVED = ("_data", "_idx", "_docsize", "_config", "_segments", "_segdir", "_stat")
"""Endings of the tables that hold a full-text index: made from the indexed rows, in an order of their own."""

_ROWID_NAMES = ("rowid", "_rowid_", "oid")
_VIRTUAL_COLUMN = 1
_GENERATED_COLUMNS = (2, 3)


@dataclass(frozen=True, slots=True)
class Reference:
    """A declared foreign key: `columns` hold the `targets` of a row of `table`."""

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """What is needed to compare a table."""

    name: str
    columns: tuple[str, ...]
    """Columns that are stored; generated ones say nothing new."""
    key: tuple[str, ...]
    """Primary key columns; empty where only the rowid tells rows apart: they are known by content."""
    nullable_key: tuple[str, ...]
    """Primary key columns that may be NULL, by an old permission of SQLite's."""
    surrogate_key: str | None
    """The INTEGER PRIMARY KEY column, if there is one and it refers to nothing: SQLite numbers its rows."""
    references: tuple[Reference, ...]
    rowid: str | None
    """A name under which SQL reaches the rowid; None in WITHOUT ROWID tables."""


def schema_entries(
    connection: sqlite3.Connection, which: Literal["main", "final"]
) -> dict[EntryKey, str | None]:
    """The SQL of everything that `which` defines, SQLite's own tables left out."""
    rows = connection.execute(f"SELECT type, name, sql FROM {which}.sqlite_schema").fetchall()
    entries = {(_plain(kind), _plain(name)): sql if sql is None else _plain(sql) for kind, name, sql in rows}
    return {key: sql for key, sql in entries.items() if key[1] not in _OWN_TABLES}


def comparable_tables(connection: sqlite3.Connection) -> set[str]:
    """The tables of the snapshot that hold rows: no views, virtual tables or full-text indexes."""
    rows = connection.execute("PRAGMA main.table_list").fetchall()
    return {
        str(name)
        for _, name, kind, *_ in rows
        if kind == "table" or (kind == "shadow" and not str(name).endswith(_DERIVED))
    }


def table_of(connection: sqlite3.Connection, name: str) -> Table:
    """A table of the snapshot."""
    rows = _columns(connection, name)
    stored = [row for row in rows if row[6] not in _GENERATED_COLUMNS]
    key = _primary_key(rows)
    rowid = _rowid_name(connection, name, {str(row[1]).lower() for row in rows})
    references = tuple(_references(connection, name))
    return Table(
        name=name,
        columns=tuple(str(row[1]) for row in stored),
        key=tuple(str(row[1]) for row in key),
        nullable_key=tuple(str(row[1]) for row in key if rowid and not row[3] and not _is_numbered(key)),
        surrogate_key=_surrogate_key(key, references) if rowid else None,
        references=references,
        rowid=rowid,
    )


def _columns(connection: sqlite3.Connection, name: str) -> list[Any]:
    """Rows of (position, name, type, not null, default, place in the primary key, hidden)."""
    rows = connection.execute(f"PRAGMA main.table_xinfo({identifier(name)})").fetchall()
    return [row for row in rows if row[6] != _VIRTUAL_COLUMN]


def _primary_key(columns: Iterable[Any]) -> list[Any]:
    return sorted((row for row in columns if row[5]), key=lambda row: row[5])


def _is_numbered(key: list[Any]) -> bool:
    """Whether a key (in a table with a rowid) is another name of the rowid."""
    return len(key) == 1 and str(key[0][2]).upper() == "INTEGER"


def _surrogate_key(key: list[Any], references: Iterable[Reference]) -> str | None:
    if not _is_numbered(key):
        return None
    column = str(key[0][1])
    return None if any(column in reference.columns for reference in references) else column


def _rowid_name(connection: sqlite3.Connection, table: str, columns: set[str]) -> str | None:
    for name in _ROWID_NAMES:
        if name not in columns:
            try:
                connection.execute(f"SELECT {name} FROM main.{identifier(table)} LIMIT 0").close()
            except sqlite3.OperationalError:
                return None
            return name
    return None


def _references(connection: sqlite3.Connection, name: str) -> Iterable[Reference]:
    """The foreign keys of a table, under the names that their targets were defined with."""
    rows = connection.execute(f"PRAGMA main.foreign_key_list({identifier(name)})").fetchall()
    for number in dict.fromkeys(row[0] for row in rows):
        parts = [row for row in rows if row[0] == number]
        table = _defined_name(connection, str(parts[0][2]))
        columns = _columns(connection, table) if table else []
        targets = _targets(columns, [row[4] for row in parts])
        if table and len(targets) == len(parts):
            yield Reference(tuple(str(row[3]) for row in parts), table, targets)


def _targets(columns: list[Any], written: list[str | None]) -> tuple[str, ...]:
    if None in written:
        return tuple(str(row[1]) for row in _primary_key(columns))
    names = {str(row[1]).lower(): str(row[1]) for row in columns}
    return tuple(names[str(name).lower()] for name in written if str(name).lower() in names)


def _defined_name(connection: sqlite3.Connection, table: str) -> str | None:
    row = connection.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", (table,)
    ).fetchone()
    return None if row is None else str(row[0])


def _plain(value: str | bytes) -> str:
    return f"not UTF-8: {value.hex()}" if isinstance(value, bytes) else str(value)
