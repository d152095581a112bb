"""The rows that a world starts with: where plausible wrong arguments come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..database import FirstDatabaseError, identifier, json_value, open_database
from ..schema import comparable_tables

_MOST_ROWS = 2_000
_LONGEST = 300
_ID = re.compile(r"(?:^|_)ids?$")


def read_contents(initial: str) -> dict[str, Any]:
    """The tables of a snapshot as JSON, with their first rows. Runs confined (see job.py)."""
    with open_database(initial, FirstDatabaseError) as connection:
        tables = [
            {
                "name": table.name,
                "columns": list(table.columns),
                "key": list(table.key),
                "links": [
                    [reference.columns[0], reference.table, reference.targets[0]]
                    for reference in table.references
                    if len(reference.columns) == 1
                ],
                "rows": [
                    [_short(json_value(value)) for value in row]
                    for row in connection.execute(
                        f"SELECT {', '.join(map(identifier, table.columns))} "
                        f"FROM main.{identifier(table.name)} LIMIT {_MOST_ROWS}"
                    )
                ],
            }
            for table in comparable_tables(connection).values()
        ]
    return {"tables": tables}


def _short(value: Any) -> Any:
    return None if isinstance(value, dict) or (isinstance(value, str) and len(value) > _LONGEST) else value


@dataclass(frozen=True)
class Table:
    """A table and its first rows."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    links: Mapping[str, tuple[str, str]]
    """Column to the table and column that it refers to."""
    rows: tuple[tuple[Any, ...], ...]

    def values(self, column: str) -> list[Any]:
        """What stands in the column, row by row."""
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    @cached_property
    def telling(self) -> frozenset[str]:
        """Columns of which each value names one row."""
        return frozenset(column for column in self.columns if self._is_telling(self.values(column)))

    def nearest(self, column: str, value: Any) -> list[Any]:
        """The other values of a telling column, those of rows most like the row of `value` first."""
        values = self.values(column)
        place = values.index(value)
        mine = self.rows[place]

        def distance(other: int) -> tuple[int, int]:
            alike = sum(one == two for one, two in zip(mine, self.rows[other], strict=True))
            return -alike, abs(other - place)

        return [values[other] for other in sorted(range(len(values)), key=distance) if other != place]

    @staticmethod
    def _is_telling(values: Sequence[Any]) -> bool:
        return len(values) > 1 and None not in values and len(set(values)) == len(values)


@dataclass(frozen=True)
class Contents:
    """What a world starts with."""

    tables: Mapping[str, Table]

    @classmethod
    def decode(cls, data: Mapping[str, Any]) -> Contents:
        """What `read_contents` wrote."""
        return cls(
            {
                table["name"]: Table(
                    table["name"],
                    tuple(table["columns"]),
                    tuple(table["key"]),
                    {column: (target, its) for column, target, its in table["links"]},
                    tuple(tuple(row) for row in table["rows"]),
                )
                for table in data["tables"]
            }
        )

    def other_rows(self, argument: str, value: Any) -> list[Any]:
        """Values that name other rows where `value` of this argument names one; the most plausible first."""
        home = self.home(argument, value)
        return [] if home is None else home[0].nearest(home[1], value)

    def home(self, argument: str, value: Any) -> tuple[Table, str] | None:
        """The table and the telling column that an argument's value was taken from, if it was."""
        if isinstance(value, bool | float | list | dict) or value is None:
            return None
        found = [
            (score, table, column)
            for table in self.tables.values()
            for column in table.telling
            if (score := self._score(argument, table, column)) and value in table.values(column)
        ]
        if not found:
            return None
        _, table, column = max(found, key=lambda one: one[0])
        return table, column

    def row_of(self, argument: str, value: Any) -> Mapping[str, Any]:
        """The row that an argument names; empty where it names none."""
        home = self.home(argument, value)
        if home is None:
            return {}
        table, column = home
        return dict(zip(table.columns, table.rows[table.values(column).index(value)], strict=True))

    def keys_for(self, argument: str) -> list[Any]:
        """Keys of the rows that an argument of this name most likely names."""
        best: tuple[int, list[Any]] = (0, [])
        for table in self.tables.values():
            for column in table.telling:
                score = self._score(argument, table, column)
                if score > best[0]:
                    best = score, table.values(column)
        return best[1]

    def _score(self, argument: str, table: Table, column: str) -> int:
        """How likely an argument of this name means a row of this table by this column; 0: not at all."""
        if (table.name, column) in self._targets.get(argument, ()):
            return 4
        is_key = table.key == (column,)
        if _ID.search(argument):
            stem = _ID.sub("", argument)
            if is_key and any(stem == word or stem.endswith(f"_{word}") for word in _singular(table.name)):
                return 3
            return 1 if is_key and not stem else 0
        return 2 if column == argument else 0

    @cached_property
    def _targets(self) -> Mapping[str, set[tuple[str, str]]]:
        """By the name of a column: what it refers to."""
        found: dict[str, set[tuple[str, str]]] = {}
        for table in self.tables.values():
            for column, target in table.links.items():
                found.setdefault(column, set()).add(target)
        return found


def _singular(table: str) -> Iterator[str]:
    """The words that may stand for one row of a table: `copies` has a `copy`, `order_items` an `item`."""
    for word in {table, table.rpartition("_")[2]}:
        yield word
        yield word.removesuffix("s")
        yield word.removesuffix("es")
        yield word.removesuffix("ies") + "y"
