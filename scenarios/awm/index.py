"""What an AWM folder holds and on which lines: all that a server must know of it before anybody plays.

Making an index reads every file to its end, a line at a time, so that everything wrong is found, whoever asks
for what later; none of what the lines hold is kept but names, titles and prompts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ..errors import Problem
from ..fields import Fields, Place, whole
from ..files import locate_json_lines
from ..task import ScenarioEntry
from .content import Content, Unfinished, count_routes, read_code, read_content, read_name
from .lines import AwmFiles, FolderChanged, Span, stamps
from .names import (
    CODE_VERIFIERS,
    DATABASES,
    ENVIRONMENTS,
    FILES,
    JUDGED_VERIFIERS,
    SAMPLES,
    SCENARIOS,
    TASKS,
)

_LINES = (ENVIRONMENTS, DATABASES, SAMPLES, TASKS, SCENARIOS)
"""Files with one line a scenario; the last may be missing."""

_Verifiers: TypeAlias = dict[tuple[str, int], Span]
"""By scenario and index of the task."""


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task: its prompt, and where its verifiers lie (one of them at least)."""

    index: int
    prompt: str
    code: Span | None
    judged: Span | None


@dataclass(frozen=True, slots=True)
class ScenarioRecord:
    """One scenario: where its lines lie, by file, and its tasks."""

    entry: ScenarioEntry
    lines: dict[str, Span]
    tasks: tuple[TaskRecord, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """A folder as it was when it was indexed."""

    scenarios: tuple[ScenarioRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Each of them stops the whole folder."""
    repairs: tuple[Problem, ...] = ()
    left_out: tuple[Problem, ...] = ()


def make_index(folder: Path) -> tuple[Index, AwmFiles]:
    """Read the whole folder. Whatever is wrong is in the index."""
    files = AwmFiles(folder, stamps(folder, FILES))
    making = _Making(files)
    making.read_lines()
    making.read_scenarios()
    if stamps(folder, FILES) != files.stamps:
        making.problems.append(Problem(str(folder), None, None, "changed while it was read; try again"))
    return making.index(), files


@dataclass(slots=True)
class _Lines:
    """The line of each scenario in one file. A scenario with several lines is in `repeated` as well."""

    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    repeated: dict[str, Place] = field(default_factory=dict[str, Place])

    def add(self, scenario: str, span: Span, place: Place) -> None:
        if scenario in self.spans:
            self.repeated.setdefault(scenario, place)
        else:
            self.spans[scenario] = span


class _Making:
    """An index while it is being made."""

    def __init__(self, files: AwmFiles) -> None:
        self.problems: list[Problem] = []
        self._files = files
        self._lines: dict[str, _Lines] = {}
        self._code: _Verifiers = {}
        self._judged: _Verifiers = {}
        self._records: list[ScenarioRecord] = []
        self._repairs: list[Problem] = []
        self._left_out: list[Problem] = []

    def index(self) -> Index:
        found = dict.fromkeys(self.problems)
        return Index(tuple(self._records), tuple(found), tuple(self._repairs), tuple(self._left_out))

    def read_lines(self) -> None:
        """Find the line of everything."""
        for file in _LINES:
            self._lines[file] = self._find_scenarios(file)
        if self._has(CODE_VERIFIERS) or not self._has(JUDGED_VERIFIERS):
            self._code = self._find_verifiers(CODE_VERIFIERS)
        if self._has(JUDGED_VERIFIERS):
            self._judged = self._find_verifiers(JUDGED_VERIFIERS)

    def read_scenarios(self) -> None:
        """Read every scenario once, to know what is wrong with it, and forget it."""
        if not self._lines[ENVIRONMENTS].spans and not self.problems:
            self._place(ENVIRONMENTS).report("holds no scenarios")
        for name in self._lines[ENVIRONMENTS].spans:
            try:
                self._read_scenario(name)
            except Unfinished as unfinished:
                self._left_out.append(unfinished.problem)
            except FolderChanged as changed:
                self.problems.append(changed.problem)

    def _has(self, file: str) -> bool:
        return (self._files.folder / file).exists()

    def _place(self, file: str) -> Place:
        return Place(self.problems, str(self._files.folder / file))

    def _located(self, file: str) -> Iterator[tuple[Span, Fields]]:
        for offset, length, fields in locate_json_lines(self._files.folder / file, self._place(file)):
            yield Span(offset, length, fields.place.line or 0), fields

    def _find_scenarios(self, file: str) -> _Lines:
        lines = _Lines()
        key = "name" if file == SCENARIOS else "scenario"
        if file != SCENARIOS or self._has(file):
            for span, fields in self._located(file):
                name = fields.required(key, read_name)
                if name is not None:
                    lines.add(name, span, fields.place)
        return lines

    def _find_verifiers(self, file: str) -> _Verifiers:
        """The last one counts where the generator tried again."""
        found: _Verifiers = {}
        for span, fields in self._located(file):
            scenario = fields.required("scenario", read_name)
            index = fields.required("task_idx", whole)
            code = fields.optional("verification", read_code)
            if scenario is not None and index is not None and code is not None:
                found[scenario, index] = span
        return found

    def _read_scenario(self, name: str) -> None:
        for file in _LINES[:-1]:
            self._refuse_repeated(name, file)
        spans = {file: self._lines[file].spans[name] for file in _LINES if name in self._lines[file].spans}
        lines = {file: self._files.read(file, span, self.problems) for file, span in spans.items()}
        content = read_content(name, lines)
        self._repairs += content.repairs(str(self._files.folder))
        scenario = content.scenario
        tools = count_routes(scenario.app_source) or None
        entry = ScenarioEntry(name, scenario.title, scenario.description, tools)
        self._records.append(ScenarioRecord(entry, spans, tuple(self._tasks(name, content))))

    def _refuse_repeated(self, name: str, file: str) -> None:
        """Raises Unfinished: which of the lines goes with the other files' cannot be known."""
        lines = self._lines[file]
        if name in lines.repeated:
            reason = f"scenario {name!r} is on line {lines.spans[name].line} already: which of them is meant?"
            raise Unfinished(lines.repeated[name], reason)

    def _tasks(self, name: str, content: Content) -> Iterator[TaskRecord]:
        missing = "code verifier and no judged one" if self._has(JUDGED_VERIFIERS) else "code verifier"
        for index, prompt in enumerate(content.prompts):
            code, judged = self._code.get((name, index)), self._judged.get((name, index))
            if code is None and judged is None:
                self._leave_out(content.tasks.item(index), f"task {index} of {name!r} has no {missing}")
            elif not prompt.strip():
                self._leave_out(content.tasks.item(index), f"task {index} of {name!r} is empty")
            else:
                yield TaskRecord(index, prompt, code, judged)

    def _leave_out(self, place: Place, reason: str) -> None:
        self._left_out.append(Problem(place.file, place.line, place.field, reason))
