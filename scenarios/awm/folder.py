"""An AWM folder as a pack: everything known, nothing read until somebody plays it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import Problem, ScenarioError
from ..fields import Fields
from ..on_demand import OnDemand
from ..task import Check, CheckKind, Scenario, ScenarioEntry, Task, TaskEntry
from .cache import IndexCache, now_ns
from .content import Unfinished, code_check, judged_check, read_code, read_content, read_name
from .index import Index, TaskRecord, make_index
from .lines import AwmFiles, FolderChanged, Span
from .names import CODE_VERIFIERS, FILES, JUDGED_VERIFIERS, task_id

_SCENARIOS_KEPT, _TASKS_KEPT = 64, 256
"""How many are kept in memory once read, the most recently used ones."""

_WORTH_TELLING = 32 * 2**20
"""Bytes of a folder that takes a while to index."""

_TAGS = ("awm",)


def _tell_nobody(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class AwmReading:
    """How AWM folders are read."""

    cache: Path | None = None
    """Folder in which indexes are kept between starts; None: each start reads AWM folders to their end."""
    prefer_judge: bool = False
    """Whether a task that has a code verifier and a judged one is judged."""
    tell: Callable[[str], None] = _tell_nobody
    """Told, in one line, what takes long or does not go as it should."""


class AwmFolder:
    """The scenarios and tasks of one folder."""

    def __init__(self, path: Path, reading: AwmReading) -> None:
        self.path = path
        self._prefer_judge = reading.prefer_judge
        self.index, self._files = _index(path, reading)
        self._records = {record.entry.name: record for record in self.index.scenarios}
        self._tasks = {
            task_id(name, task.index): (name, task)
            for name, record in self._records.items()
            for task in record.tasks
        }
        self.scenarios = OnDemand(self._records, self._read_scenario, _SCENARIOS_KEPT)
        """Reading one may raise ScenarioError: the folder is no longer what it was."""
        self.tasks = OnDemand(self._tasks, self._read_task, _TASKS_KEPT)
        """Reading one may raise ScenarioError, as for scenarios."""
        self.scenario_entries: dict[str, ScenarioEntry] = {
            name: record.entry for name, record in self._records.items()
        }
        self.task_entries = {
            id: self._entry(id, scenario, task) for id, (scenario, task) in self._tasks.items()
        }

    def _entry(self, id: str, scenario: str, task: TaskRecord) -> TaskEntry:
        kind: CheckKind = "judge" if self._is_judged(task) else "python"
        return TaskEntry(id, scenario, task.index, task.prompt, kind, tags=_TAGS)

    def _is_judged(self, task: TaskRecord) -> bool:
        return task.code is None or (self._prefer_judge and task.judged is not None)

    def _read_scenario(self, name: str) -> Scenario:
        problems: list[Problem] = []
        record = self._records[name]
        try:
            lines = {file: self._read(file, span, name, problems) for file, span in record.lines.items()}
            return read_content(name, lines).scenario
        except (FolderChanged, Unfinished) as error:
            raise ScenarioError(name, [error.problem]) from error

    def _read_task(self, id: str) -> Task:
        scenario, task = self._tasks[id]
        return Task(id, scenario, task.index, task.prompt, self._read_check(scenario, task), tags=_TAGS)

    def _read_check(self, scenario: str, task: TaskRecord) -> Check:
        judged = self._is_judged(task)
        file, span = (JUDGED_VERIFIERS, task.judged) if judged else (CODE_VERIFIERS, task.code)
        assert span is not None  # a task without either is not in the index
        problems: list[Problem] = []
        try:
            code = self._read(file, span, scenario, problems).required("verification", read_code)
        except FolderChanged as error:
            raise ScenarioError(scenario, [error.problem]) from error
        if code is None:
            raise ScenarioError(
                scenario, problems or [FolderChanged(self._files.folder / file, span.line).problem]
            )
        return judged_check(code) if judged else code_check(code)

    def _read(self, file: str, span: Span, scenario: str, problems: list[Problem]) -> Fields:
        """A line of a scenario. Raises FolderChanged if it is somebody else's by now."""
        fields = self._files.read(file, span, problems)
        key = "scenario" if "scenario" in fields else "name"
        if fields.required(key, read_name) != scenario:
            raise FolderChanged(self._files.folder / file, span.line)
        return fields


def _index(path: Path, reading: AwmReading) -> tuple[Index, AwmFiles]:
    cache = None if reading.cache is None else IndexCache(reading.cache, reading.tell)
    kept = None if cache is None else cache.load(path)
    if kept is not None:
        index, known = kept
        return index, AwmFiles(path, known)
    size = sum((path / file).stat().st_size for file in FILES if (path / file).is_file())
    if size > _WORTH_TELLING:
        reading.tell(f"reading {path} to its end, once: {size / 1e6:.0f} MB")
    started = now_ns()
    index, files = make_index(path)
    if cache is not None and not index.problems:
        cache.store(path, index, files.stamps, started)
    return index, files
