"""An author's generator.py at work, in the confined process: loaded, asked, and blamed by line."""

from __future__ import annotations

import json
import random
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Any, TypeVar, cast

from ..deadline import Deadline, OutOfTime
from .authoring import Draft, TaskTemplate, World
from .drawing import SHARES, canonical

_MODULE = "generator"
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]*")
_WORD = "a text of small letters, digits, - or _"

T = TypeVar("T")


class AuthorFailed(Exception):
    """The author's code raised, or gave something that cannot be used."""

    def __init__(self, reason: str, line: int | None = None, field: str | None = None) -> None:
        self.line = line
        self.field = field
        super().__init__(reason)


class AuthorCode:
    """The module of one generator.py."""

    def __init__(self, file: str, draw_s: float, load_s: float) -> None:
        """Args:
        file: the name under which its lines are blamed.
        draw_s: seconds that one draw may take.
        load_s: seconds that loading it, and all of its rows, may take.
        """
        self._file = file
        self._draw_s = draw_s
        self._load_s = load_s
        self._module = types.ModuleType(_MODULE)
        self._module.__file__ = file

    def load(self, source: str, folder: str) -> None:
        """Execute the source. It may import the standard library, and modules that lie beside it.

        Raises:
            AuthorFailed: it did not come to its end.
        """
        sys.path[:] = [*(path for path in sys.path if not path.endswith("-packages")), folder]
        sys.modules[_MODULE] = self._module
        self._run(lambda: exec(compile(source, self._file, "exec", dont_inherit=True), self._module.__dict__))

    def templates(self) -> list[TaskTemplate]:
        """The functions marked with `@template`, in the order of the file.

        Raises:
            AuthorFailed: there are none, or they cannot be told apart.
        """
        found = [value for value in self._module.__dict__.values() if isinstance(value, TaskTemplate)]
        if not found:
            raise AuthorFailed("has no templates: mark functions with @template(name, difficulty=...)")
        for index, template in enumerate(found):
            self._check(template, found[:index])
        return found

    def draw(self, template: TaskTemplate, world: World, rng: random.Random) -> Draft | None:
        """One draw.

        Raises:
            AuthorFailed: it raised, took too long, or is no draft.
        """
        field = f"template '{template.name}'"
        drawn: object = self._run(lambda: template.draw(world, rng), self._draw_s, field)
        if drawn is None:
            return None
        if type(drawn) is not Draft:
            raise AuthorFailed(f"returned {_shown(drawn)}: expected a Draft or None", None, field)
        _check_draft(drawn, field)
        return drawn

    def rows(self, rng: random.Random) -> list[tuple[str, list[str], list[Any]]]:
        """The seed: table, columns and values of each row, as JSON.

        Raises:
            AuthorFailed: there is no `rows`, it raised, or a row is none.
        """
        function = self._module.__dict__.get("rows")
        if not callable(function):
            raise AuthorFailed("has no function rows(rng): expected one that yields (table, row)")
        produce = cast("Callable[[random.Random], Iterable[object]]", function)
        produced = self._run(lambda: list(produce(rng)), self._load_s, "rows")
        return [_row(item, f"rows: row {number}") for number, item in enumerate(produced, 1)]

    def _check(self, template: TaskTemplate, before: Sequence[TaskTemplate]) -> None:
        line = template.draw.__code__.co_firstlineno
        name: Any = template.name
        if not isinstance(name, str) or not _SLUG.fullmatch(name):
            raise AuthorFailed(f"expected {_WORD}, found {_shown(name)}", line, "template name")
        if template.difficulty not in SHARES:
            reason = f"expected 'easy', 'medium' or 'hard', found {_shown(template.difficulty)}"
            raise AuthorFailed(reason, line, f"template '{name}': difficulty")
        if any(other.name == name for other in before):
            raise AuthorFailed("another template has this name", line, f"template '{name}'")

    def _run(self, code: Callable[[], T], seconds: float | None = None, field: str | None = None) -> T:
        deadline = Deadline(seconds or self._load_s)
        try:
            with deadline:
                return code()
        except OutOfTime as error:
            reason = f"did not end within {deadline.seconds:g} s"
            raise AuthorFailed(reason, self._line_of(error), field) from error
        except BaseException as error:  # the author's code may raise anything: its failure, not ours
            raise AuthorFailed(_described(error), self._line_of(error), field) from error

    def _line_of(self, error: BaseException) -> int | None:
        if isinstance(error, SyntaxError) and error.filename == self._file:
            return error.lineno
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == self._file
        ]
        return lines[-1] if lines else None


def _check_draft(draft: Draft, field: str) -> None:
    """Raises AuthorFailed where the draft is not made of JSON."""
    parts: dict[str, object] = {
        "prompt": draft.prompt,
        "solution": draft.solution,
        "answer": draft.answer,
        "verify": draft.verify,
        "tags": draft.tags,
        "about": draft.about,
    }
    if not isinstance(parts["prompt"], str):
        raise AuthorFailed(f"prompt: expected a text, found {_shown(draft.prompt)}", None, field)
    if not isinstance(parts["solution"], list | tuple):
        raise AuthorFailed(f"solution: expected a list, found {_shown(draft.solution)}", None, field)
    for name, value in parts.items():
        try:
            json.loads(canonical(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise AuthorFailed(f"{name}: is not JSON: {error}", None, field) from error


def _row(item: object, field: str) -> tuple[str, list[str], list[Any]]:
    shown = _shown(item)
    pair = cast("tuple[object, ...]", item) if isinstance(item, tuple) else ()
    if len(pair) != 2:
        raise AuthorFailed(f"expected (table, row), found {shown}", None, field)
    table, row = pair
    if not isinstance(table, str) or not table:
        raise AuthorFailed(f"expected the name of a table, found {_shown(table)}", None, field)
    cells = cast("dict[object, object]", row) if isinstance(row, dict) else {}
    if not cells:
        raise AuthorFailed(f"expected (table, {{column: value}}), found {shown}", None, field)
    columns = [name for name in cells if isinstance(name, str) and name]
    if len(columns) < len(cells):
        raise AuthorFailed("has a column without a name", None, f"{field} ({table})")
    return table, columns, [_cell(cells[name], f"{field} ({table}.{name})") for name in columns]


def _cell(value: object, field: str) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        raise AuthorFailed(f"{value} is no number that a column can hold", None, field)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise AuthorFailed(f"{value} does not fit into 64 bits", None, field)
    if isinstance(value, str) and "\0" in value:
        raise AuthorFailed("has a NUL character", None, field)
    if value is None or isinstance(value, int | float | str):
        return value
    raise AuthorFailed(f"expected a text, a number, a date or None, found {_shown(value)}", None, field)


def _described(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"is not Python: {error.msg}"
    try:
        text = str(error)
    except Exception:  # its message is the author's code, too
        text = ""
    hint = ""
    if isinstance(error, ImportError):
        hint = (
            " (a generator has the standard library, subworlds.scenarios.generation and what lies beside it)"
        )
    return f"{type(error).__name__}: {text}"[:500] + hint


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # an author's class
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
