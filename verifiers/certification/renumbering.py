"""Other numbers for the rows that an episode inserted, as another order of work would have given them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from ..changes import difference
from ..database import identifier, open_pair, writable_uri
from ..schema import Table
from ..verdict import Change
from ..wire import Job

_FURTHER = 1_000
_NUMBERING = re.compile(r"(?:id|no|nr|number|ref|key)$", re.IGNORECASE)


def plan_renumbering(job: Job) -> dict[str, Any]:
    """`{"statements": [...]}`: SQL that renumbers inserted rows; empty where that would not be the same end.

    Numbers that also stand where no declared reference leads stay: nobody could tell what they mean.
    """
    with open_pair(job["initial"], job["final"]) as connection:
        found = difference(connection)
        (triggers,) = connection.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchone()
    natural = {name.lower() for name in job["natural_keys"]}
    news = [
        (change, table)
        for change in found.changes
        if change.kind == "insert"
        and (table := found.tables.get(change.table)) is not None
        and table.surrogate_key is not None
        and table.name.lower() not in natural
    ]
    numbers = {(table.name, change.key[table.surrogate_key or ""]) for change, table in news}
    if (
        triggers
        or not numbers
        or any(
            _mentions(change, found.tables.get(change.table), numbers, job["said"])
            for change in found.changes
        )
    ):
        return {"statements": []}
    return {
        "statements": [
            sql for table, number in sorted(numbers) for sql in _moves(table, number, found.tables)
        ]
    }


def renumber(path: str, statements: list[str]) -> dict[str, Any]:
    """Run the statements of `plan_renumbering` on a database."""
    try:
        with closing(sqlite3.connect(writable_uri(path), uri=True, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute("BEGIN")
            for sql in statements:
                connection.execute(sql)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        return {"renumbered": False, "reason": str(error)}
    return {"renumbered": True, "reason": ""}


def _moves(table: str, number: int, tables: dict[str, Table]) -> Iterator[str]:
    key = tables[table].surrogate_key or ""
    yield _move(table, key, number)
    for other in tables.values():
        for reference in other.references:
            if reference.table == table and key in reference.targets:
                yield _move(other.name, reference.columns[reference.targets.index(key)], number)


def _move(table: str, column: str, number: int) -> str:
    name = identifier(column)
    return f"UPDATE {identifier(table)} SET {name} = {number + _FURTHER} WHERE {name} = {number}"


def _mentions(change: Change, table: Table | None, numbers: set[tuple[str, Any]], said: str) -> bool:
    """Whether a changed row, or the answer, holds one of the numbers where no reference is declared."""
    if table is None:
        return True
    declared = {column for reference in table.references for column in reference.columns}
    loose = [
        value
        for column, value in (change.after or {}).items()
        if column not in declared
        and column != table.surrogate_key
        and (isinstance(value, str) or _NUMBERING.search(column))
    ]
    known = {str(number) for _, number in numbers}
    return bool(known & {word for value in (*loose, said) for word in re.findall(r"\d+", str(value))})
