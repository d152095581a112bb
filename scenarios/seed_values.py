"""Values that a world's own SQL shows for its columns: what one gives a tool who knows the world."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .task import Scenario

_INSERT = re.compile(r"\s*INSERT\b.*?\bINTO\s+[\"`\[]?(\w+)[\"`\]]?\s*\(([^)]*)\)\s*VALUES\b", re.I | re.S)
_CHECK = re.compile(r"\b(\w+)[\"`\]]?\s+IN\s*\(\s*('[^)]*')\s*\)", re.I)
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([(),])|([^'(),]+)")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def seed_values(scenario: Scenario) -> Iterator[tuple[str, str | int | float]]:
    """Names of columns, each with a value it may hold: first those that a CHECK lists, then those of rows.

    An `id` is also named after its table: `users.id` is a `user_id`.
    """
    for statement in scenario.schema:
        for column, listed in _CHECK.findall(statement.sql):
            yield from ((column, text) for text in re.findall(r"'([^']*)'", listed))
    for statement in scenario.seed:
        yield from _inserted(statement.sql)


def _inserted(sql: str) -> Iterator[tuple[str, str | int | float]]:
    head = _INSERT.match(sql)
    if head is None:
        return
    table, columns = head[1], [column.strip(' "`[]\n\t') for column in head[2].split(",")]
    for row in _rows(sql[head.end() :]):
        for column, value in zip(columns, row, strict=False):
            if value is not None:
                yield column, value
                if column == "id":
                    yield f"{table.removesuffix('s')}_id", value


def _rows(sql: str) -> Iterator[list[str | int | float | None]]:
    """The rows of a VALUES clause; None for what is neither a text nor a number."""
    depth, row, cell = 0, list[str | int | float | None](), list[str | int | float | None]()
    for quoted, mark, other in _TOKEN.findall(sql):
        if mark == "(":
            depth += 1
            if depth > 1:
                cell.append(None)
        elif mark == ")":
            depth -= 1
            if depth == 0:
                yield [*row, _value(cell)]
                row, cell = [], []
        elif mark == "," and depth == 1:
            row.append(_value(cell))
            cell = []
        elif depth and not mark and (quoted or other.strip() or not other):
            cell.append(_number(other) if other else quoted.replace("''", "'"))


def _value(cell: Iterable[str | int | float | None]) -> str | int | float | None:
    parts = list(cell)
    return parts[0] if len(parts) == 1 else None


def _number(text: str) -> int | float | None:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    return float(found[0]) if found[1] else int(found[0])
