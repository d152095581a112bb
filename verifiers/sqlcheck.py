"""The `sql` kind: assertions on the final database, and tables in which nothing may have changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from .changes import SCHEMA_TABLE, Difference
from .database import json_value, read_only_uri
from .verdict import Change

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_NEVER_CALLED = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})
_MOST_ROWS = 1_000
_SHOWN = 300


class AssertionUnreadable(Exception):
    """An assertion is no query, or it failed: the task's author has to mend it."""


def first_failure(first: str, final: str, assertions: Sequence[dict[str, Any]]) -> str | None:
    """What the first assertion that does not hold says, and what it found; None where all hold.

    Raises:
        AssertionUnreadable: an assertion cannot be run.
    """
    with closing(sqlite3.connect(read_only_uri(final), uri=True, isolation_level=None)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF").fetchall()
        connection.execute("ATTACH DATABASE ? AS initial", (read_only_uri(first),))
        connection.set_authorizer(_authorize)
        for assertion in assertions:
            found = _run(connection, assertion["sql"])
            expected = [[json_value(value) for value in row] for row in assertion["equals"]]
            if found != expected:
                return f"{assertion['sql']} gives {_cut(found)}, not {_cut(expected)}"
    return None


def sort_changes(
    found: Difference, unchanged: Sequence[str] | None, may_change: Sequence[str]
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """The forbidden changes, and the rest."""

    def is_forbidden(change: Change) -> bool:
        if change.table == SCHEMA_TABLE:
            return True
        return change.table in unchanged if unchanged is not None else change.table not in may_change

    forbidden = tuple(change for change in found.changes if is_forbidden(change))
    return forbidden, tuple(change for change in found.changes if not is_forbidden(change))


def _run(connection: sqlite3.Connection, sql: str) -> list[list[Any]]:
    try:
        rows = connection.execute(sql).fetchmany(_MOST_ROWS)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise AssertionUnreadable(f"the assertion {sql} cannot be run: {error}") from error
    return [[json_value(value) for value in row] for row in rows]


def _authorize(action: int, _first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _NEVER_CALLED:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
