"""What a database defines: the entries of its schema, and what it takes to compare one of its tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias, TypeVar

EntryKey: TypeAlias = tuple[str, str]
"""Type ("table", "index", "view", "trigger") and name."""

_OWN_TABLES = frozenset({"sqlite_sequence", *(f"sqlite_stat{number}" for number in (1, 2, 3, 4))})
_DERIVED = ("_data", "_idx", "_docsize", "_config", "_segments", "_segdir", "_stat")
"""Endings of the tables that hold a full-text index: made from the indexed rows, in an order of their own."""

_ROWID_NAMES = ("rowid", "_rowid_", "oid")

_COLUMNS = """
SELECT t.name, t.type, t.wr, x.name, x.type, x."notnull", x.pk, x.hidden
FROM pragma_table_list t JOIN pragma_table_xinfo(t.name, 'main') x
WHERE t.schema = 'main' AND t.type IN ('table', 'shadow') ORDER BY t.name, x.cid
"""
_REFERENCES = """
SELECT t.name, f.id, f."table", f."from", f."to"
FROM pragma_table_list t JOIN pragma_foreign_key_list(t.name, 'main') f
WHERE t.schema = 'main' AND t.type IN ('table', 'shadow') ORDER BY t.name, f.id, f.seq
"""


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


def comparable_tables(connection: sqlite3.Connection) -> dict[str, Table]:
    """The tables of the snapshot that hold rows: no views, virtual tables or full-text indexes."""
    columns = _grouped(_Column(*row) for row in connection.execute(_COLUMNS))
    references = _grouped(_ReferenceColumn(*row) for row in connection.execute(_REFERENCES))
    defined = {name.lower(): name for name in columns}
    return {
        name: _table(name, found, tuple(_references(references.get(name, ()), columns, defined)))
        for name, found in columns.items()
        if found[0].kind == "table" or not name.endswith(_DERIVED)
    }


class _Column(NamedTuple):
    """A row of `_COLUMNS`."""

    table: str
    kind: str
    without_rowid: int
    name: str
    type: str
    not_null: int
    place: int
    """In the primary key, from 1; 0 outside of it."""
    hidden: int


class _ReferenceColumn(NamedTuple):
    """A row of `_REFERENCES`."""

    table: str
    number: int
    """Of the foreign key in its table."""
    target_table: str
    column: str
    target: str | None
    """None: the primary key."""


_Row = TypeVar("_Row", _Column, _ReferenceColumn)


def _grouped(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    """Rows by the table they are about."""
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(str(row.table), []).append(row)
    return found


def _table(name: str, columns: Sequence[_Column], references: tuple[Reference, ...]) -> Table:
    has_rowid = not columns[0].without_rowid
    key = _primary_key(columns)
    is_numbered = has_rowid and len(key) == 1 and key[0].type.upper() == "INTEGER"
    refers = any(column.name in reference.columns for column in key for reference in references)
    return Table(
        name=name,
        columns=tuple(column.name for column in columns if not column.hidden),
        key=tuple(column.name for column in key),
        nullable_key=tuple(
            column.name for column in key if has_rowid and not is_numbered and not column.not_null
        ),
        surrogate_key=key[0].name if is_numbered and not refers else None,
        references=references,
        rowid=_rowid_name({column.name.lower() for column in columns}) if has_rowid else None,
    )


def _primary_key(columns: Iterable[_Column]) -> list[_Column]:
    return sorted((column for column in columns if column.place), key=lambda column: column.place)


def _rowid_name(columns: Container[str]) -> str | None:
    return next((name for name in _ROWID_NAMES if name not in columns), None)


def _references(
    parts: Iterable[_ReferenceColumn], columns: Mapping[str, Sequence[_Column]], defined: Mapping[str, str]
) -> Iterator[Reference]:
    """Foreign keys, under the names that their targets were defined with."""
    for _, group in groupby(parts, key=lambda part: part.number):
        key = list(group)
        table = defined.get(key[0].target_table.lower())
        targets = _targets(columns[table], [part.target for part in key]) if table is not None else ()
        if table is not None and len(targets) == len(key):
            yield Reference(tuple(part.column for part in key), table, targets)


def _targets(columns: Iterable[_Column], written: Sequence[str | None]) -> tuple[str, ...]:
    names = {column.name.lower(): column.name for column in columns}
    if None in written:
        return tuple(column.name for column in _primary_key(columns))
    return tuple(names[name.lower()] for name in written if name is not None and name.lower() in names)


def _plain(value: str | bytes) -> str:
    return f"not UTF-8: {value.hex()}" if isinstance(value, bytes) else str(value)
