"""The `verify` field of a native task, and the tool calls that solutions and state checks are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os.path import realpath
from pathlib import Path

from .fields import Fields, Place, Reader, array, described, expected, filled, is_list, is_number, obj, table
from .files import read_text
from .pythontext import UnparsableCode, functions_of, parse_python, positional_parameters
from .spelling import unknown
from .sqltext import UnclosedText, first_word, split_statements
from .task import (
    JSON,
    RESERVED_TOOL_NAMES,
    Check,
    JudgeCheck,
    PythonCheck,
    SqlAssertion,
    SqlCheck,
    StateCheck,
    ToolCall,
)


def tool_calls(value: JSON, place: Place) -> tuple[ToolCall, ...] | None:
    return array(_tool_call)(value, place)


def read_check(value: JSON, place: Place, folder: Path) -> Check | None:
    """The check, its Python file read from `folder`; None if something is wrong with it (reported)."""
    fields = obj(value, place)
    kind = fields.required("kind", _kind) if fields else None
    return None if fields is None or kind is None else _KINDS[kind](fields, folder)


def _tool_call(value: JSON, place: Place) -> ToolCall | None:
    fields = obj(value, place)
    if fields is None:
        return None
    fields.only(("tool", "arguments"))
    tool = fields.required("tool", _tool)
    arguments = fields.optional("arguments", obj)
    return None if tool is None else ToolCall(tool, arguments.values if arguments else {})


def _tool(value: JSON, place: Place) -> str | None:
    name = filled(value, place)
    if name in RESERVED_TOOL_NAMES:
        place.report(f"{name!r} is reserved: no tool has this name")
        return None
    return name


def _kind(value: JSON, place: Place) -> str | None:
    kind = filled(value, place)
    if kind is None or kind in _KINDS:
        return kind
    place.report(unknown("kind of verifier", kind, _KINDS))
    return None


def _state(fields: Fields, _folder: Path) -> StateCheck:
    fields.only(("kind", "ignore", "alternatives", "natural_keys"))
    return StateCheck(
        ignore=fields.optional("ignore", table(array(filled))) or {},
        alternatives=fields.optional("alternatives", array(tool_calls)) or (),
        natural_keys=frozenset(fields.optional("natural_keys", array(filled)) or ()),
    )


def _sql(fields: Fields, _folder: Path) -> SqlCheck | None:
    fields.only(("kind", "assert", "unchanged", "may_change", "choices"))
    assertions = fields.required("assert", array(_assertion))
    unchanged = fields.optional("unchanged", array(filled))
    may_change = fields.optional("may_change", array(filled))
    _exactly_one(fields, "unchanged", "may_change")
    if fields.values.get("assert") == []:
        fields.place.key("assert").report("is empty")
    if assertions is None:
        return None
    return SqlCheck(
        assertions,
        None if unchanged is None else frozenset(unchanged),
        frozenset(may_change or ()),
        _choices(fields),
    )


def _choices(fields: Fields) -> frozenset[str]:
    return frozenset(fields.optional("choices", array(_tool_argument)) or ())


def _tool_argument(value: JSON, place: Place) -> str | None:
    written = filled(value, place)
    if written is not None and not all(written.partition(".")):
        expected("'tool.argument'", written, place)
        return None
    return written


def _exactly_one(fields: Fields, first: str, second: str) -> None:
    if (first in fields) == (second in fields):
        found = "both" if first in fields else "neither"
        fields.place.report(f"expected exactly one of {first!r} and {second!r}, found {found}")


def _assertion(value: JSON, place: Place) -> SqlAssertion | None:
    fields = obj(value, place)
    if fields is None:
        return None
    fields.only(("sql", "equals"))
    sql = fields.required("sql", _query)
    equals = fields.required("equals", _rows)
    return None if sql is None or equals is None else SqlAssertion(sql, equals)


def _query(value: JSON, place: Place) -> str | None:
    sql = filled(value, place)
    if sql is None:
        return None
    try:
        statements = split_statements(sql, place.file)
    except UnclosedText as error:
        place.report(f"{error.opening} is opened and never closed")
        return None
    if len(statements) == 1 and first_word(sql) in ("SELECT", "WITH"):
        return sql
    found = described(sql) if len(statements) == 1 else f"{len(statements)} statements"
    place.report(f"expected one SELECT or WITH statement, found {found}")
    return None


def _rows(value: JSON, place: Place) -> tuple[tuple[JSON, ...], ...] | None:
    """A list of rows; or one row, or one value of one row, for short."""
    if not is_list(value):
        return ((_as_sqlite_has_it(value),),) if _is_cell(value, place) else None
    if value and not any(map(is_list, value)):
        row = _cells(value, place)
        return None if row is None else (row,)
    return array(_cells)(value, place)


def _cells(value: JSON, place: Place) -> tuple[JSON, ...] | None:
    if not is_list(value):
        expected("a row, as the others are", value, place)
        return None
    sound = [_is_cell(cell, place.item(index)) for index, cell in enumerate(value)]
    return tuple(_as_sqlite_has_it(cell) for cell in value) if all(sound) else None


def _is_cell(value: JSON, place: Place) -> bool:
    if value is None or isinstance(value, str | bool) or is_number(value):
        return True
    expected("a value that a column can hold", value, place)
    return False


def _as_sqlite_has_it(cell: JSON) -> JSON:
    """SQLite knows no true and false: its comparisons give 1 and 0."""
    return int(cell) if isinstance(cell, bool) else cell


def _python(fields: Fields, folder: Path) -> PythonCheck | None:
    fields.only(("kind", "code", "file", "function", "choices"))
    choices = _choices(fields)
    check = _code(fields, folder)
    return None if check is None else replace(check, choices=choices)


def _code(fields: Fields, folder: Path) -> PythonCheck | None:
    _exactly_one(fields, "code", "file")
    function = fields.optional("function", filled)
    if "file" in fields:
        return fields.required("file", _code_of_file(folder, function))
    code = fields.optional("code", filled)
    return None if code is None else _python_check(code, function, fields.place.key("code"))


def _judge(fields: Fields, folder: Path) -> JudgeCheck | None:
    """A function (of verifiers.py, if no other place is named) gathers evidence; criteria say what counts."""
    fields.only(("kind", "code", "file", "function", "criteria"))
    function = fields.optional("function", filled)
    criteria = fields.optional("criteria", filled)
    if not fields.values.keys() & {"code", "file", "function"}:
        if "criteria" not in fields:
            fields.place.report("expected 'criteria', or code that gathers evidence ('file' or 'code')")
        return JudgeCheck(criteria=criteria or "")
    found = _evidence_code(fields, folder, function)
    return None if found is None else JudgeCheck(found.code, found.function, criteria or "")


def _evidence_code(fields: Fields, folder: Path, function: str | None) -> PythonCheck | None:
    if "code" in fields and "file" in fields:
        fields.place.report("expected one of 'code' and 'file', found both")
        return None
    if "code" in fields:
        code = fields.required("code", filled)
        return None if code is None else _python_check(code, function, fields.place.key("code"))
    if "file" in fields:
        return fields.required("file", _code_of_file(folder, function))
    return _code_of_file(folder, function)(_VERIFIERS, fields.place.key("function"))


def _code_of_file(folder: Path, function: str | None) -> Reader[PythonCheck]:
    def read(value: JSON, place: Place) -> PythonCheck | None:
        name = filled(value, place)
        if name is None or not _is_inside(folder, name, place):
            return None
        file = Place(place.problems, str(folder / name))
        code = read_text(folder / name, file)
        return None if code is None else _python_check(code, function, file)

    return read


def _is_inside(folder: Path, name: str, place: Place) -> bool:
    """Whether a file that a task names lies in its scenario's folder, symbolic links followed."""
    parts = Path(name).parts
    if "\0" in name or Path(name).is_absolute() or ".." in parts:
        expected("a file in the scenario's folder", name, place)
        return False
    if not Path(realpath(folder / name)).is_relative_to(realpath(folder)):
        place.report(f"{name!r} is a link that leads out of the scenario's folder")
        return False
    return True


def _python_check(code: str, function: str | None, place: Place) -> PythonCheck | None:
    """The check, if `code` defines the function. Lines of a problem are those of a file where it is one."""
    try:
        functions = functions_of(parse_python(code))
    except UnparsableCode as error:
        _blame(place, error.line, str(error))
        return None
    name = function or next((name for name in functions if name.startswith("verify_")), None)
    if name is None:
        place.report("defines no function whose name starts with 'verify_'")
        return None
    if name not in functions:
        place.report(unknown("function", name, functions))
        return None
    count = positional_parameters(functions[name])
    if count not in (2, 3):
        wanted = "expected (initial_db_path, final_db_path) and perhaps final_answer"
        _blame(place, functions[name].lineno, f"{name!r} has {count} parameters: {wanted}")
    return PythonCheck(code, name)


def _blame(place: Place, line: int | None, reason: str) -> None:
    """A problem in code: at its line in a file of its own, or named within the line of the task."""
    if place.line is None:
        place.at_line(line).report(reason)
    else:
        place.report(reason if line is None else f"line {line} of the code {reason}")


_VERIFIERS = "verifiers.py"

_KINDS: dict[str, Callable[[Fields, Path], Check | None]] = {
    "state": _state,
    "sql": _sql,
    "python": _python,
    "judge": _judge,
}
