"""Builds the first database of a world from its schema and seed, or says every statement that failed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

from .chance import install_sqlite_chance
from .clock import connect_to_sqlite, install_clock
from .errors import Problem, ScenarioError
from .task import Scenario, Statement

_SHOWN = 160


def build_snapshot(scenario: Scenario, path: str, *, allow_lost_rows: bool = False) -> tuple[Problem, ...]:
    """Write the world's database to `path`, under the process's clock and seed.

    Args:
        allow_lost_rows: start without the seed rows that fail, and return them instead of raising.

    Raises:
        ScenarioError: names each statement that failed and each dangling reference.
    """
    with closing(connect_to_sqlite(path, isolation_level=None)) as connection:
        install_clock(connection)
        install_sqlite_chance(connection)
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        broken = tuple(_run_all(connection, scenario.schema))
        if broken:  # what the seed then lacks follows from it
            raise ScenarioError(scenario.name, broken)
        lost = tuple(_run_all(connection, scenario.seed))
        dangling = tuple(_dangling(connection, scenario)) if scenario.strict_references else ()
        if connection.in_transaction:
            connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = DELETE")
    if dangling or (lost and not allow_lost_rows):
        raise ScenarioError(scenario.name, lost + dangling)
    return lost


def _run_all(connection: sqlite3.Connection, statements: Iterable[Statement]) -> Iterator[Problem]:
    for statement in statements:
        try:
            connection.execute(statement.sql)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            reason = f"statement failed: {error}: {_shorten(statement.sql)}"
            yield Problem(statement.file, statement.line, statement.table, reason)


def _dangling(connection: sqlite3.Connection, scenario: Scenario) -> Iterator[Problem]:
    file = scenario.seed[0].file if scenario.seed else "seed.sql"
    try:
        violations = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.Error as error:
        yield Problem(file, None, None, f"foreign keys cannot be checked: {error}")
        return
    for table, row, parent, _ in violations:
        yield Problem(file, None, table, f"row {row} refers to a row of '{parent}' that does not exist")


def _shorten(sql: str) -> str:
    text = " ".join(sql.split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
