"""What tasks name in their world: tables, columns, tools and their arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..arguments import ArgumentChecker
from ..spelling import unknown
from ..task import SqlCheck, StateCheck, Task, ToolCall
from .finding import Findings, Spot


@dataclass(frozen=True, slots=True)
class TableNames:
    """What a table of a started world is called, and its columns."""

    name: str
    columns: tuple[str, ...]
    numbered: bool
    """Whether SQLite numbers its rows, so that the numbers do not count unless a task says so."""


Tables: TypeAlias = Mapping[str, TableNames]
"""By name in small letters."""


def solutions_of(task: Task, spot: Spot) -> Iterator[tuple[Spot, Sequence[ToolCall]]]:
    """The solution, and each alternative, with its place."""
    if task.solution is not None:
        yield spot.at("solution"), task.solution
    if isinstance(task.check, StateCheck):
        for number, calls in enumerate(task.check.alternatives):
            yield spot.at("verify", "alternatives", number), calls


def check_calls(task: Task, spot: Spot, checkers: Mapping[str, ArgumentChecker], findings: Findings) -> bool:
    """Whether every call of every solution names a tool of the world and fits its schema."""
    sound = True
    for place, calls in solutions_of(task, spot):
        for number, call in enumerate(calls):
            checker = checkers.get(call.tool)
            if checker is None:
                findings.add("unknown-tool", place.at(number, "tool"), unknown("tool", call.tool, checkers))
                sound = False
            elif (wrong := checker.explain(call.arguments)) is not None:
                findings.add("wrong-arguments", place.at(number, "arguments"), wrong)
                sound = False
    return sound


def check_names(task: Task, spot: Spot, tables: Tables, findings: Findings) -> bool:
    """Whether every table and column that the task's check names is one of the world's."""
    verify = spot.at("verify")
    match task.check:
        case StateCheck() as check:
            known = [
                _has_columns(tables, table, columns, verify.at("ignore", table), findings)
                for table, columns in check.ignore.items()
            ]
            known += [
                _has_table(tables, table, verify.at("natural_keys"), findings, exactly=True)
                and _is_numbered(tables[table.lower()], verify.at("natural_keys"), findings)
                for table in sorted(check.natural_keys)
            ]
            return all(known)
        case SqlCheck() as check:
            return _have_tables(tables, check.may_change, verify.at("may_change"), findings) and _have_tables(
                tables, check.unchanged or (), verify.at("unchanged"), findings
            )
        case _:
            return True


def _have_tables(tables: Tables, names: Collection[str], spot: Spot, findings: Findings) -> bool:
    return [name for name in sorted(names) if not _has_table(tables, name, spot, findings)] == []


def _has_table(tables: Tables, name: str, spot: Spot, findings: Findings, *, exactly: bool = False) -> bool:
    """Whether there is such a table; `exactly` where capitals count."""
    found = tables.get(name.lower())
    if found is not None and (found.name == name or not exactly):
        return True
    findings.add("unknown-table", spot, unknown("table", name, (table.name for table in tables.values())))
    return False


def _has_columns(tables: Tables, name: str, columns: Iterable[str], spot: Spot, findings: Findings) -> bool:
    if not _has_table(tables, name, spot, findings, exactly=True):
        return False
    known = tables[name.lower()].columns
    lost = [column for column in columns if column not in known]
    for column in lost:
        findings.add("unknown-column", spot, unknown(f"column of {name}", column, known))
    return not lost


def _is_numbered(table: TableNames, spot: Spot, findings: Findings) -> bool:
    if not table.numbered:
        findings.add("needless-natural-key", spot, f"table {table.name!r} has no key that SQLite numbers")
    return True
