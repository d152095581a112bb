r"""Mends apostrophes in AWM's generated INSERTs: `'didn\'t'` and `'didn't'`, neither of which is SQL.

A statement is touched only if SQLite does not compile it as written and does compile it once mended, against
the tables of its scenario. Nothing of it is run: the tables stay empty, EXPLAIN stops at the compiled
program, and the statements that make the tables may do nothing else.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from ..task import Statement

_ESCAPED = re.compile(r"\\'")
_INSIDE_WORD = re.compile(r"(?<=\w)'(?=\w)")
_SUSPICIOUS = re.compile(r"\\'|\w'\w")
_INSERT = re.compile(r"\s*(INSERT|REPLACE)\b", re.IGNORECASE)

_TABLE_MAKING = frozenset(
    {
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_REINDEX,
        sqlite3.SQLITE_INSERT,  # into the schema's own table
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,  # in defaults and checks
    }
)


def mend_quotes(seed: Sequence[Statement], schema: Iterable[Statement]) -> tuple[Statement, ...]:
    """The seed with its broken apostrophes doubled, and `repaired` saying so. All else stays as written."""
    suspects = [statement for statement in seed if _is_suspect(statement.sql)]
    if not suspects:
        return tuple(seed)
    with closing(_empty_tables(schema)) as database:
        mended = {statement: _mend(statement, database) for statement in suspects}
    return tuple(mended.get(statement, statement) for statement in seed)


def _is_suspect(sql: str) -> bool:
    broken = _SUSPICIOUS.search(sql) or sql.count("'") % 2
    return bool(broken) and _INSERT.match(sql) is not None


def _mend(statement: Statement, database: sqlite3.Connection) -> Statement:
    if _compiles(statement.sql, database):
        return statement
    for sql, what in _candidates(statement.sql):
        if _compiles(sql, database):
            return replace(statement, sql=sql, repaired=f"{what}: {_excerpt(statement.sql)}")
    return statement


def _candidates(sql: str) -> Iterator[tuple[str, str]]:
    r"""Mended statements and what was done. The word goes first: a `\` may be the text's own."""
    inside_word = "an apostrophe inside a word doubled"
    escaped = r"\' written as ''"
    yield _INSIDE_WORD.sub("''", sql), inside_word
    unescaped = _ESCAPED.sub("''", sql)
    yield unescaped, escaped
    yield _INSIDE_WORD.sub("''", unescaped), f"{escaped}, {inside_word}"


def _excerpt(sql: str) -> str:
    """The surroundings of the first broken apostrophe."""
    found = _SUSPICIOUS.search(sql)
    start = max(0, found.start() - 25) if found else 0
    return f"…{sql[start : start + 60]}…"


def _empty_tables(schema: Iterable[Statement]) -> sqlite3.Connection:
    """A database with as much of the schema as can be made; what fails is named when the world starts."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.set_authorizer(_only_table_making)
    for statement in schema:
        with suppress(sqlite3.Error, sqlite3.Warning):
            database.execute(statement.sql)
    database.set_authorizer(None)
    return database


def _only_table_making(action: int, *_details: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _TABLE_MAKING else sqlite3.SQLITE_DENY


def _compiles(sql: str, database: sqlite3.Connection) -> bool:
    try:
        database.execute(f"EXPLAIN {sql}")
    except (sqlite3.Error, sqlite3.Warning):  # Warning: several statements, on Python 3.11
        return False
    return True
