"""Native packs: a folder of scenarios, each with the anatomy of FILES."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .draft import Draft
from .fields import Fields, Place, expected, filled, text
from .files import read_json, read_json_lines, read_text
from .native_tasks import read_task
from .pythontext import UnparsableCode, parse_python, reserved_operations
from .sqltext import UnclosedText, split_statements
from .task import DEFAULT_CLOCK, JSON, Scenario, Statement, Task

ABOUT, SCHEMA, SEED, APP, TASKS = "scenario.json", "schema.sql", "seed.sql", "app.py", "tasks.jsonl"
FILES = (ABOUT, SCHEMA, SEED, APP, TASKS)
"""The anatomy of a scenario: what each folder must hold."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TIME = "a time such as '2026-03-01T09:00:00Z'"
_IGNORED_FOLDERS = re.compile(r"\..*|__pycache__")


def is_scenario(path: Path) -> bool:
    return (path / ABOUT).exists()


def read_pack(path: Path) -> Draft:
    """The scenarios in the folders of `path`, by name. Every folder must be one, hidden folders aside."""
    draft = Draft()
    place = Place(draft.problems, str(path))
    folders = _folders(path, place)
    if folders == []:
        place.report(f"holds no scenarios: expected folders with {', '.join(FILES)}")
    for folder in folders or ():
        _ScenarioFolder(folder, draft).read()
    return draft


def read_scenario(path: Path) -> Draft:
    """The one scenario whose folder is `path`."""
    draft = Draft()
    _ScenarioFolder(path, draft).read()
    return draft


def _folders(path: Path, place: Place) -> list[Path] | None:
    try:
        found = sorted(child for child in path.iterdir() if child.is_dir())
    except OSError as error:
        place.report(f"cannot be read: {error.strerror}")
        return None
    return [folder for folder in found if not _IGNORED_FOLDERS.fullmatch(folder.name)]


@dataclass(frozen=True, slots=True)
class _About:
    """What scenario.json says."""

    title: str
    description: str
    clock: datetime


class _ScenarioFolder:
    """Reads one scenario and its tasks into a draft."""

    def __init__(self, path: Path, draft: Draft) -> None:
        self._path = path
        self._draft = draft
        self._name = Path(os.path.abspath(path)).name  # `.` has a name, too

    def read(self) -> None:
        if not _NAME.fullmatch(self._name):
            self._place().report(
                "the folder's name is the scenario's: expected small letters, digits and _, a letter first"
            )
        about = self._about()
        schema = self._statements(SCHEMA)
        seed = self._statements(SEED)
        app = self._app()
        self._tasks()
        if about is None or schema is None or seed is None or app is None:
            return
        self._draft.scenarios[self._name] = Scenario(
            self._name,
            about.title,
            about.description,
            schema,
            seed,
            app,
            self._shown(APP),
            about.clock,
        )

    def _place(self, file: str = "") -> Place:
        return Place(self._draft.problems, str(self._path / file))

    def _shown(self, file: str) -> str:
        """The file's name in what the world reports later: the same wherever the pack lies."""
        return f"{self._name}/{file}"

    def _about(self) -> _About | None:
        fields = read_json(self._path / ABOUT, self._place(ABOUT))
        if fields is None:
            return None
        fields.only(("name", "title", "description", "clock"))
        self._check_name(fields)
        title = fields.required("title", filled)
        description = fields.required("description", filled)
        clock = fields.optional("clock", _clock)
        if title is None or description is None:
            return None
        return _About(title, description, clock or DEFAULT_CLOCK)

    def _check_name(self, fields: Fields) -> None:
        name = fields.required("name", filled)
        if name is not None and name != self._name:
            expected(f"the folder's name {self._name!r}", name, fields.place.key("name"))

    def _statements(self, file: str) -> tuple[Statement, ...] | None:
        place = self._place(file)
        content = read_text(self._path / file, place)
        if content is None:
            return None
        if "\0" in content:
            place.at_line(content.count("\n", 0, content.index("\0")) + 1).report("has a NUL character")
        try:
            statements = split_statements(content, self._shown(file))
        except UnclosedText as error:
            place.at_line(error.line).report(str(error))
            return None
        if file == SCHEMA and not statements:
            place.report("has no statements")
        return statements

    def _app(self) -> str | None:
        place = self._place(APP)
        source = read_text(self._path / APP, place)
        if source is None:
            return None
        try:
            module = parse_python(source)
        except UnparsableCode as error:
            place.at_line(error.line).report(str(error))
            return None
        if not module.body:
            place.report("is empty")
        for line, name in reserved_operations(module):
            place.at_line(line).report(f"operation_id {name!r} is reserved: no tool can have this name")
        return source

    def _tasks(self) -> None:
        place = self._place(TASKS)
        before = len(self._draft.problems)
        lines: dict[str, int | None] = {}
        for index, fields in enumerate(read_json_lines(self._path / TASKS, place)):
            task = read_task(fields, self._name, index, self._path)
            if task is not None:
                self._keep(task, fields.place, lines)
        if not lines and len(self._draft.problems) == before:
            place.report("has no tasks")

    def _keep(self, task: Task, place: Place, lines: dict[str, int | None]) -> None:
        if task.id in lines:
            place.key("id").report(f"{task.id!r} is already the task of line {lines[task.id]}")
            return
        lines[task.id] = place.line
        self._draft.tasks[task.id] = task


def _clock(value: JSON, place: Place) -> datetime | None:
    written = text(value, place)
    if written is None:
        return None
    try:
        clock = datetime.fromisoformat(written)
    except ValueError:
        expected(_TIME, written, place)
        return None
    if clock.tzinfo is None:
        expected(f"{_TIME}, with its zone", written, place)
        return None
    return clock
