"""What the lines of one AWM scenario say: its world, its tasks' prompts, and the code of their verifiers.

What the generator wrote badly is the folder's problem; what it left unfinished (a scenario without tables, a
task without verifier) is left out and named, so that one scenario in a thousand does not stop the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import Problem
from ..fields import Fields, Place, Reader, T, array, expected, filled, is_list, obj, text
from ..task import JSON, JudgeCheck, PythonCheck, Scenario, Statement
from .names import DATABASES, ENVIRONMENTS, SAMPLES, SCENARIOS, TASKS, scenario_name
from .quoting import mend_quotes

_VERIFIER = re.compile(r"^def\s+(verify_\w*)\s*\(", re.MULTILINE)
_CODE_FUNCTION, _JUDGED_FUNCTION = "verify_task_completion", "verify_task"
_ROUTE = re.compile(r"^@\w+\.(?:get|post|put|patch|delete)\s*\(", re.MULTILINE)

Lines: TypeAlias = Mapping[str, Fields]
"""The lines of one scenario, by file."""


class Unfinished(Exception):
    """A scenario lacks what it takes to be a world."""

    def __init__(self, place: Place, reason: str) -> None:
        self.problem = Problem(place.file, place.line, place.field, reason)
        super().__init__(str(self.problem))


@dataclass(frozen=True, slots=True)
class Content:
    """One scenario, read."""

    scenario: Scenario
    prompts: tuple[str, ...]
    """One a task, in order; blank where the generator wrote none."""
    tasks: Place
    """Where the prompts were written."""

    def repairs(self, folder: str) -> list[Problem]:
        """The rows that were mended."""
        return [
            Problem(f"{folder}/{row.file}", row.line, None, f"{_row_of(row.table)}: {row.repaired}")
            for row in self.scenario.seed
            if row.repaired is not None
        ]


def read_content(name: str, lines: Lines) -> Content:
    """The scenario that these lines make. What is wrong in them is reported at their places.

    Raises:
        Unfinished: a line is missing, or the generator left it without what it is for.
    """
    environment = lines[ENVIRONMENTS]
    code = _finished(name, environment, "full_code", text)
    schema = _schema(name, lines)
    seed = mend_quotes(_seed(name, lines), schema)
    instructions = _line(name, lines, TASKS)
    prompts = _finished(name, instructions, "tasks", array(text)) or ()
    title, description = _title(lines)
    scenario = Scenario(
        name,
        title,
        description,
        schema,
        seed,
        code or "",
        f"{ENVIRONMENTS}#{name}",
        strict_references=False,
    )
    return Content(scenario, prompts, instructions.place.key("tasks"))


def count_routes(app_source: str) -> int:
    """How many tools the app has, judged by its decorators alone; 0 if it makes its routes in other ways."""
    return len(_ROUTE.findall(app_source))


def read_name(value: JSON, place: Place) -> str | None:
    """The scenario that a line names; None (reported) if nothing of it remains as a name."""
    written = filled(value, place)
    name = scenario_name(written) if written is not None else None
    if name == "":
        expected("a name with a letter or digit", written, place)
        return None
    return name


def read_code(value: JSON, place: Place) -> str | None:
    """A verifier's code, or None where the generator gave up on it (not reported: the task goes without)."""
    fields = obj(value, place) if value is not None else None
    written = fields.values.get("code") if fields else None
    code = text(written, fields.place.key("code")) if fields and written is not None else None
    return code if code is not None and code.strip() else None


def code_check(code: str) -> PythonCheck:
    """The check of a `pure_code` verifier: its function says whether the task is complete."""
    return PythonCheck(code, _function(code, _CODE_FUNCTION))


def judged_check(code: str) -> JudgeCheck:
    """The check of an `sql` verifier: its function gathers evidence for a judge."""
    return JudgeCheck(code, _function(code, _JUDGED_FUNCTION))


def _function(code: str, usual: str) -> str:
    found = _VERIFIER.search(code)
    return found[1] if found else usual


def _row_of(table: str | None) -> str:
    return f"a row of {table!r}" if table else "a row"


def _line(name: str, lines: Lines, file: str) -> Fields:
    if file not in lines:
        raise Unfinished(lines[ENVIRONMENTS].place, f"scenario {name!r} is not in {file}")
    return lines[file]


def _title(lines: Lines) -> tuple[str, str]:
    described = lines.get(SCENARIOS)
    if described is None:
        return lines[ENVIRONMENTS].values["scenario"], ""
    return described.values["name"], described.optional("description", text) or ""


_Listed: TypeAlias = tuple[str | None, tuple[str, ...]]
"""A table, if it is known, and statements that make or fill it."""


def _schema(name: str, lines: Lines) -> tuple[Statement, ...]:
    line = _line(name, lines, DATABASES)
    database = _finished(name, line, "db_schema", obj)
    tables = database.required("tables", array(_table)) if database else None
    if tables == ():
        raise Unfinished(line.place, f"scenario {name!r} has no tables")
    return _statements(DATABASES, line, tables or ())


def _seed(name: str, lines: Lines) -> tuple[Statement, ...]:
    line = _line(name, lines, SAMPLES)
    rows = _finished(name, line, "sample_data", _sample_data)
    return _statements(SAMPLES, line, rows or ())


def _statements(file: str, line: Fields, listed: Iterable[_Listed]) -> tuple[Statement, ...]:
    number = line.place.line or 1
    return tuple(
        Statement(sql, file, number, table)
        for table, statements in listed
        for sql in statements
        if sql.strip()
    )


def _finished(scenario: str, line: Fields, key: str, reader: Reader[T]) -> T | None:
    """What the generator made of this part. Raises Unfinished where it made nothing."""
    if line.values.get(key) in (None, ""):
        raise Unfinished(line.place.key(key), f"scenario {scenario!r} was left without it")
    return line.required(key, reader)


def _table(value: JSON, place: Place) -> _Listed | None:
    fields = obj(value, place)
    if fields is None:
        return None
    ddl = fields.required("ddl", text)
    indexes = fields.optional("indexes", array(text)) or ()
    return None if ddl is None else (fields.optional("name", text), (ddl, *indexes))


def _sample_data(value: JSON, place: Place) -> tuple[_Listed, ...] | None:
    """Rows by table: `{"tables": [...]}` or the list itself."""
    if is_list(value):
        return array(_rows)(value, place)
    fields = obj(value, place)
    return fields.required("tables", array(_rows)) if fields else None


def _rows(value: JSON, place: Place) -> _Listed | None:
    """The rows of one table, or a statement by itself."""
    if isinstance(value, str):
        return None, (value,)
    fields = obj(value, place)
    if fields is None:
        return None
    table = fields.optional("table_name", text)
    statements = fields.required("insert_statements", array(text))
    return None if statements is None else (table, statements)
