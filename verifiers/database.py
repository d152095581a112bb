"""Two databases side by side, opened so that nothing in them can act: `first` (the snapshot) and `final`.

The final database was left by untrusted code. It is opened read-only and immutable; its schema is trusted
with nothing, and a table is only read where it is a real table with the very definition it had at the start.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

Value: TypeAlias = Any
"""A JSON value that stands for an SQLite value: None, int, float, str, or `{"hex": "..."}` for a blob."""

_OWN_TABLES = ("sqlite_sequence", "sqlite_stat1", "sqlite_stat2", "sqlite_stat3", "sqlite_stat4")
_SAFE_INTEGER = 2**53


class FirstDatabaseError(Exception):
    """The snapshot cannot be read: ours to mend."""


class FinalDatabaseError(Exception):
    """The database that a session left cannot be read."""


@dataclass(frozen=True, slots=True)
class SchemaEntry:
    """One row of sqlite_schema."""

    type: str
    name: str
    sql: str | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A single-column foreign key."""

    column: str
    table: str
    target: str


@dataclass(frozen=True, slots=True)
class Table:
    """What is needed to compare a table."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """Primary key columns; empty where only the rowid identifies a row."""
    integer_key: str | None
    """The INTEGER PRIMARY KEY column, an alias of the rowid, if there is one."""
    references: tuple[Reference, ...]
    has_rowid: bool
    """False for WITHOUT ROWID tables."""


@contextmanager
def open_pair(first: str, final: str) -> Generator[sqlite3.Connection]:
    """A connection on the snapshot (schema `main`) with the final database attached as `final`.

    Raises:
        FirstDatabaseError, FinalDatabaseError: the file cannot be read.
    """
    try:
        connection = sqlite3.connect(read_only_uri(first), uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise FirstDatabaseError(f"the first database cannot be opened: {error}") from error
    try:
        _distrust(connection, FirstDatabaseError)
        try:
            connection.execute("ATTACH DATABASE ? AS final", (read_only_uri(final),))
            connection.execute("SELECT count(*) FROM final.sqlite_schema").fetchone()
        except sqlite3.Error as error:
            raise FinalDatabaseError(f"the final database is damaged: {error}") from error
        yield connection
    finally:
        connection.close()


def read_only_uri(path: str) -> str:
    """A URI under which SQLite opens `path` without writing, locking or looking for journals."""
    return f"file:{quote(path)}?mode=ro&immutable=1"


def schema_of(connection: sqlite3.Connection, which: str) -> dict[tuple[str, str], SchemaEntry]:
    """Everything that `which` ("main" or "final") defines, SQLite's own tables left out."""
    rows = connection.execute(f"SELECT type, name, sql FROM {which}.sqlite_schema").fetchall()
    entries = [
        SchemaEntry(str(kind), str(name), sql if isinstance(sql, str) else None) for kind, name, sql in rows
    ]
    return {(entry.type, entry.name): entry for entry in entries if entry.name not in _OWN_TABLES}


def table_of(connection: sqlite3.Connection, name: str) -> Table:
    """A table of the snapshot."""
    rows = connection.execute(f"PRAGMA main.table_xinfo({identifier(name)})").fetchall()
    readable = [row for row in rows if row[6] != 1]
    key = tuple(str(row[1]) for row in sorted(readable, key=lambda row: row[5]) if row[5])
    types = {str(row[1]): str(row[2]).upper() for row in readable}
    alias = key[0] if len(key) == 1 and types[key[0]] == "INTEGER" else None
    return Table(name, tuple(types), key, alias, _references(connection, name), _has_rowid(connection, name))


def identifier(name: str) -> str:
    """`name` quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def json_value(value: Any) -> Value:
    """An SQLite value as JSON; numbers that are equal become the same."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, float) and value.is_integer() and abs(value) < _SAFE_INTEGER:
        return int(value)
    return value


def _references(connection: sqlite3.Connection, name: str) -> tuple[Reference, ...]:
    rows = connection.execute(f"PRAGMA main.foreign_key_list({identifier(name)})").fetchall()
    widths: dict[int, int] = {}
    for row in rows:
        widths[row[0]] = widths.get(row[0], 0) + 1
    return tuple(
        Reference(str(row[3]), str(row[2]), str(row[4]) if row[4] else _only_key(connection, str(row[2])))
        for row in rows
        if widths[row[0]] == 1
    )


def _has_rowid(connection: sqlite3.Connection, name: str) -> bool:
    try:
        connection.execute(f"SELECT rowid FROM main.{identifier(name)} LIMIT 0").close()
    except sqlite3.OperationalError:
        return False
    return True


def _only_key(connection: sqlite3.Connection, table: str) -> str:
    rows = connection.execute(f"PRAGMA main.table_info({identifier(table)})").fetchall()
    return next((str(row[1]) for row in rows if row[5]), "rowid")


def _distrust(connection: sqlite3.Connection, failure: type[Exception]) -> None:
    connection.text_factory = _text
    try:
        for pragma in (
            "trusted_schema = OFF",
            "cell_size_check = ON",
            "query_only = ON",
            "temp_store = MEMORY",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("SELECT count(*) FROM main.sqlite_schema").fetchone()
    except sqlite3.Error as error:
        raise failure(f"the first database is damaged: {error}") from error


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw
