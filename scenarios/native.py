"""Native packs: a folder of scenarios, each with the anatomy of FILES."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .draft import Draft
from .fields import Place
from .files import read_json_lines, read_text
from .native_about import ABOUT, About, read_about
from .native_tasks import read_task
from .pythontext import UnparsableCode, parse_python, reserved_operations
from .sqltext import UnclosedText, split_statements
from .task import Scenario, Statement, Task

SCHEMA, SEED, APP, TASKS = "schema.sql", "seed.sql", "app.py", "tasks.jsonl"
FILES = (ABOUT, SCHEMA, SEED, APP, TASKS)
"""The anatomy of a scenario: what each folder must hold."""

STARTER, STARTER_NAME = Path(__file__).parent / "starter", "my_world"
"""A small world that is copied where somebody begins a new one, and its name in its files."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_IGNORED_FOLDERS = re.compile(r"\..*|__pycache__")


def is_scenario(path: Path) -> bool:
    return (path / ABOUT).exists()


def is_name(name: str) -> bool:
    """Whether a scenario can be called so."""
    return _NAME.fullmatch(name) is not None


def read_pack(path: Path) -> Draft:
    """The scenarios in the folders of `path`, by name. Every folder must be one, hidden folders aside."""
    draft = Draft()
    place = Place(draft.problems, str(path))
    folders = _folders(path, place)
    if folders == []:
        place.unreadable(f"holds no scenarios: expected folders with {', '.join(FILES)}")
    for folder in folders or ():
        _ScenarioFolder(folder, draft).read()
    return draft


def read_scenario(path: Path, *, tasks: bool = True) -> Draft:
    """The one scenario whose folder is `path`; without its tasks, which may then be missing, if so asked."""
    draft = Draft()
    _ScenarioFolder(path, draft).read(tasks=tasks)
    return draft


def _folders(path: Path, place: Place) -> list[Path] | None:
    try:
        found = sorted(child for child in path.iterdir() if child.is_dir())
    except OSError as error:
        place.unreadable(f"cannot be read: {error.strerror}")
        return None
    return [folder for folder in found if not _IGNORED_FOLDERS.fullmatch(folder.name)]


class _ScenarioFolder:
    """Reads one scenario and its tasks into a draft."""

    def __init__(self, path: Path, draft: Draft) -> None:
        self._path = path
        self._draft = draft
        self._name = Path(os.path.abspath(path)).name  # `.` has a name, too

    def read(self, *, tasks: bool = True) -> None:
        if not is_name(self._name):
            self._place().report(
                "the folder's name is the scenario's: expected small letters, digits and _, a letter first"
            )
        outside = [file for file in FILES if self._leads_out(file)]
        for file in outside:
            self._place(file).unreadable("is a link that leads out of the world's folder")
        if outside:
            return
        about = read_about(self._path / ABOUT, self._name, self._place(ABOUT))
        schema = self._statements(SCHEMA)
        seed = self._statements(SEED)
        app = self._app()
        if tasks:
            self._tasks(about)
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
            about.strict_references,
        )

    def _leads_out(self, file: str) -> bool:
        """Whether it is not in the folder after all: a pack must not show what else lies on this machine."""
        return not Path(os.path.realpath(self._path / file)).is_relative_to(os.path.realpath(self._path))

    def _place(self, file: str = "") -> Place:
        return Place(self._draft.problems, str(self._path / file))

    def _shown(self, file: str) -> str:
        """The file's name in what the world reports later: the same wherever the pack lies."""
        return f"{self._name}/{file}"

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
            place.at_line(error.line).unreadable(str(error))
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
            place.at_line(error.line).unreadable(str(error))
            return None
        if not module.body:
            place.report("is empty")
        for line, name in reserved_operations(module):
            place.at_line(line).report(f"operation_id {name!r} is reserved: no tool can have this name")
        return source

    def _tasks(self, about: About | None) -> None:
        place = self._place(TASKS)
        before = len(self._draft.problems)
        lines: dict[str, int | None] = {}
        generated = 0
        for index, fields in enumerate(read_json_lines(self._path / TASKS, place)):
            generated += "template" in fields
            known = len(self._draft.problems)
            task = read_task(fields, self._name, index, self._path)
            if task is not None:
                self._keep(task, fields.place, lines, sound=len(self._draft.problems) == known)
        if not lines and len(self._draft.problems) == before:
            place.report("has no tasks")
        if about is not None and about.generated is not None:
            self._check_count(about.generated.count, generated)

    def _check_count(self, said: int, found: int) -> None:
        if said != found:
            place = self._place(ABOUT).key("generated").key("count")
            place.report(f"is {said}, but {TASKS} has {found} lines with a 'template': generate them again")

    def _keep(self, task: Task, place: Place, lines: dict[str, int | None], *, sound: bool) -> None:
        if task.id in lines:
            place.key("id").report(f"{task.id!r} is already the task of line {lines[task.id]}")
            return
        lines[task.id] = place.line
        if sound:
            self._draft.tasks[task.id] = task
