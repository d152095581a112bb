"""Two databases side by side, opened so that nothing in them can act: `first` (the snapshot) and `final`.

The final database was left by untrusted code. It is opened read-only and immutable; its schema is trusted
with nothing, and a table is only read where it is a real table with the very definition it had at the start.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias
from urllib.parse import quote

Value: TypeAlias = Any
"""A JSON value that stands for an SQLite value: None, int, float, str, `{"hex": "..."}` for a blob,
`{"hex": "...", "text": True}` for text that is not UTF-8, `{"real": "inf"}` or `{"real": "-inf"}`."""

_INTEGERS = 2**63
"""Beyond them SQLite has no integers, only floats."""

_DISTRUST = (
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "query_only = ON",
    "temp_store = MEMORY",
    "ignore_check_constraints = ON",
)
"""The last one keeps integrity_check from evaluating CHECK expressions, which may ask for a world's clock."""


class DamagedDatabase(Exception):
    """A database that cannot be read to its end."""

    which: ClassVar[str]

    def __init__(self, cause: object) -> None:
        super().__init__(f"the {self.which} database is damaged: {cause}")


class FirstDatabaseError(DamagedDatabase):
    """The snapshot cannot be read: ours to mend."""

    which = "first"


class FinalDatabaseError(DamagedDatabase):
    """The database that a session left cannot be read."""

    which = "final"


class UndecodableText(bytes):
    """The bytes of an SQLite text that is not UTF-8: not a blob, though it holds the same bytes."""


@contextmanager
def open_pair(first: str, final: str) -> Generator[sqlite3.Connection]:
    """A connection on the snapshot (schema `main`) with the final database attached as `final`.

    Raises:
        FirstDatabaseError, FinalDatabaseError: the file cannot be read.
    """
    with open_database(first, FirstDatabaseError) as connection:
        attach(connection, final, "final", FinalDatabaseError)
        yield connection


@contextmanager
def open_database(path: str, failure: type[DamagedDatabase]) -> Generator[sqlite3.Connection]:
    """A connection that can only read `path`. Raises `failure` where it cannot."""
    with _raising(failure):
        connection = sqlite3.connect(_read_only_uri(path), uri=True, isolation_level=None)
    try:
        connection.text_factory = _text
        with _raising(failure):
            for pragma in _DISTRUST:
                connection.execute(f"PRAGMA {pragma}").fetchall()
            connection.execute("SELECT count(*) FROM main.sqlite_schema").fetchone()
        yield connection
    finally:
        connection.close()


def attach(connection: sqlite3.Connection, path: str, name: str, failure: type[DamagedDatabase]) -> None:
    """Let `connection` read one more database. Raises `failure` where it cannot."""
    with _raising(failure):
        connection.execute(f"ATTACH DATABASE ? AS {identifier(name)}", (_read_only_uri(path),))
        connection.execute(f"SELECT count(*) FROM {identifier(name)}.sqlite_schema").fetchone()


def check_integrity(connection: sqlite3.Connection) -> None:
    """See that the pages and indexes of an opened pair tell one story, for a query may read either.

    An index over a function that only the app's connections have can be checked in neither database; what
    can be checked in the first must be sound in the final one.

    Raises:
        FirstDatabaseError, FinalDatabaseError: they do not.
    """
    finding = _inspect(connection, "final")
    if finding.sound:
        return
    before = _inspect(connection, "main")
    if before.checked and not before.sound:
        raise FirstDatabaseError(before.text)
    if before.sound or finding.checked:
        raise FinalDatabaseError(finding.text)


@contextmanager
def blaming_a_file(connection: sqlite3.Connection) -> Generator[None]:
    """Turn SQLite's errors while reading an opened pair into an error that names the broken file."""
    try:
        yield
    except sqlite3.Error as error:
        broken = FirstDatabaseError if _is_unreadable(connection, "main") else FinalDatabaseError
        raise broken(error) from error


def identifier(name: str) -> str:
    """`name` quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def json_value(value: Any) -> Value:
    """An SQLite value as JSON; numbers that are equal become the same."""
    match value:
        case UndecodableText():
            return {"hex": value.hex(), "text": True}
        case bytes():
            return {"hex": value.hex()}
        case float() if math.isinf(value):
            return {"real": str(value)}
        case float() if value.is_integer() and abs(value) < _INTEGERS:
            return int(value)
        case _:
            return value


def writable_uri(path: str) -> str:
    """A URI under which SQLite opens `path` to write, if it is there."""
    return f"file:{quote(path)}?mode=rw"


def _read_only_uri(path: str) -> str:
    """A URI under which SQLite opens `path` without writing, locking or looking for journals."""
    return f"file:{quote(path)}?mode=ro&immutable=1"


@contextmanager
def _raising(failure: type[DamagedDatabase]) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise failure(error) from error


@dataclass(frozen=True, slots=True)
class _Finding:
    """What SQLite says about a database."""

    text: str
    checked: bool
    """Whether it could look everywhere."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.checked and self.text == "ok"


def _inspect(connection: sqlite3.Connection, which: str) -> _Finding:
    try:
        (found,) = connection.execute(f"PRAGMA {which}.integrity_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        return _Finding(str(error), checked=False)
    return _Finding(str(found), checked=True)


def _is_unreadable(connection: sqlite3.Connection, which: str) -> bool:
    try:
        found = _inspect(connection, which)
    except sqlite3.DatabaseError:
        return True
    return found.checked and not found.sound


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return UndecodableText(raw)
