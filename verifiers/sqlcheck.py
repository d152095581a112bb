"""The `sql` kind: assertions on the final database, and tables in which nothing may have changed."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .changes import SCHEMA_TABLE
from .database import FinalDatabaseError, FirstDatabaseError, attach, json_value, open_database

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_NEVER_CALLED = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})
_SECONDS = 5.0
"""What all assertions of a task may take together."""

_STEPS_BETWEEN_LOOKS = 10_000
_SHOWN = 300


class AssertionUnreadable(Exception):
    """An assertion is no query, or it failed: the task's author has to mend it."""


def first_failure(
    first: str, final: str, assertions: Sequence[dict[str, Any]], seconds: float = _SECONDS
) -> str | None:
    """What the first assertion that does not hold says, and what it found; None where all hold.

    The final database must define what the first does (see changes.difference), or else a table that is
    missing from it would be looked up in `initial`.

    Raises:
        AssertionUnreadable: an assertion cannot be run.
    """
    with open_database(final, FinalDatabaseError) as connection:
        attach(connection, first, "initial", FirstDatabaseError)
        # Once before the authorizer is there, which would refuse what SQLite defines for table functions.
        with contextlib.suppress(sqlite3.OperationalError):  # this SQLite has none
            connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").close()
        connection.set_authorizer(_authorize)
        end = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS_BETWEEN_LOOKS)
        return next((told for one in assertions if (told := _failure(connection, one)) is not None), None)


@dataclass(frozen=True, slots=True)
class Territory:
    """Where changes are allowed: outside `unchanged`, or, if that is None, inside `may_change`."""

    unchanged: frozenset[str] | None
    may_change: frozenset[str]

    @classmethod
    def of(cls, unchanged: Iterable[str] | None, may_change: Iterable[str]) -> Territory:
        """The territory that a task writes down. Case does not count in names of tables."""
        return cls(
            None if unchanged is None else frozenset(table.lower() for table in unchanged),
            frozenset(table.lower() for table in may_change),
        )

    def forbids(self, table: str) -> bool:
        """Whether nothing may change in `table`. No task may change what the tables are."""
        if table == SCHEMA_TABLE:
            return True
        name = table.lower()
        return name in self.unchanged if self.unchanged is not None else name not in self.may_change


def _failure(connection: sqlite3.Connection, assertion: dict[str, Any]) -> str | None:
    sql = assertion["sql"]
    expected = [[json_value(value) for value in row] for row in assertion["equals"]]
    found = _rows(connection, sql, at_most=len(expected) + 1)
    return None if found == expected else f"{sql} gives {_cut(found)}, not {_cut(expected)}"


def _rows(connection: sqlite3.Connection, sql: str, at_most: int) -> list[list[Any]]:
    try:
        cursor = connection.execute(sql)
        rows = cursor.fetchmany(at_most)
    except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
        reason = str(error) or "it takes too much memory"
        raise AssertionUnreadable(f"the assertion {_cut(sql)} cannot be run: {reason}") from error
    if cursor.description is None:
        raise AssertionUnreadable(f"the assertion {_cut(sql)} asks for nothing")
    return [[json_value(value) for value in row] for row in rows]


def _authorize(action: int, _first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _NEVER_CALLED:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
