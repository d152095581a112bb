"""seed.sql, written from a generator's rows: INSERT statements that a person can read."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cache
from itertools import groupby

from ..task import JSON
from .answers import SeedRow

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_ROWS = 500
"""Rows of one statement."""


def seed_sql(world: str, rows: Iterable[SeedRow]) -> str:
    """The rows in their order; neighbours of one table and the same columns share a statement."""
    head = f"-- Written by `subworlds generate {world} --seed-rows` from generator.py: change it there.\n"
    return head + "".join(f"\n{statement}\n" for statement in _statements(rows))


def _statements(rows: Iterable[SeedRow]) -> Iterator[str]:
    for (table, columns), group in groupby(rows, key=lambda row: (row[0], row[1])):
        lines = [f"  ({', '.join(map(_literal, values))})" for _, _, values in group]
        names = ", ".join(map(_name, columns))
        for start in range(0, len(lines), _MOST_ROWS):
            values = ",\n".join(lines[start : start + _MOST_ROWS])
            yield f"INSERT INTO {_name(table)} ({names}) VALUES\n{values};"


def _literal(value: JSON) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


@cache
def _name(name: str) -> str:
    """The name as SQL has it: quoted where it would read as something else."""
    return name if _PLAIN.fullmatch(name) and _is_no_keyword(name) else '"' + name.replace('"', '""') + '"'


def _is_no_keyword(name: str) -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(f"CREATE TABLE {name} ({name} INTEGER)")
        except sqlite3.Error:
            return False
    return True
