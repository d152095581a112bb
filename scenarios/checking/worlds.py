"""The worlds of a pack as a checker sees them: what could be read of each, and where all of it stands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..awm import AwmFolder, AwmReading, is_awm_folder
from ..awm.names import ENVIRONMENTS
from ..awm.names import TASKS as AWM_TASKS
from ..certificate import CERTIFICATE, read_certificate
from ..errors import Problem, ScenarioError
from ..fields import Place
from ..files import read_json_lines
from ..native import APP, TASKS, is_scenario, read_pack, read_scenario
from ..pack import missing_folder
from ..pythontext import UnparsableCode, parse_python
from ..task import Scenario, Task
from .finding import Findings, Spot
from .remedies import remedy_of


class Spots(Protocol):
    """Where the parts of a world stand."""

    def task(self, task: Task) -> Spot:
        """The task's line, or its place in one."""
        ...

    def tool(self, name: str) -> Spot:
        """Where the tool is defined."""
        ...

    def of(self, problem: Problem) -> Spot:
        """The place of a problem that the running world reported, in a file as it lies on disk."""
        ...


@dataclass(frozen=True, slots=True)
class CheckedWorld:
    """One world, so far as it could be read."""

    name: str
    tasks: int
    """How many tasks it has."""
    read: Callable[[], tuple[Scenario, Sequence[Task]]]
    """Reads it. Raises ScenarioError."""
    spots: Spots


def read_worlds(paths: Iterable[Path], awm: AwmReading, findings: Findings) -> list[CheckedWorld]:
    """Everything readable in these packs. What is wrong with the rest is in `findings`."""
    worlds: dict[str, CheckedWorld] = {}
    for path in paths:
        for world in _read(path, awm, findings):
            if world.name in worlds:
                reason = f"world {world.name!r} is in another of these packs already"
                findings.add("name-taken", Spot(str(path)), reason)
            else:
                worlds[world.name] = world
    return list(worlds.values())


def note_problem(findings: Findings, problem: Problem) -> None:
    """A problem that the loader reports, as a finding."""
    kind = "unreadable" if problem.unreadable else "invalid"
    findings.add(kind, Spot(problem.file, problem.line, problem.field), problem.reason, remedy_of(problem))


def _read(path: Path, awm: AwmReading, findings: Findings) -> list[CheckedWorld]:
    missing = missing_folder(path)
    if missing is not None:
        note_problem(findings, missing)
        return []
    if is_awm_folder(path) and not is_scenario(path):
        return _read_awm(AwmFolder(path, awm), findings)
    return _read_native(path, findings)


def _read_native(path: Path, findings: Findings) -> list[CheckedWorld]:
    single = is_scenario(path)
    draft = read_scenario(path) if single else read_pack(path)
    for problem in draft.problems:
        note_problem(findings, problem)
    found: list[CheckedWorld] = []
    for name, scenario in draft.scenarios.items():
        tasks = [task for task in draft.tasks.values() if task.scenario == name]
        _note_certificate(path if single else path / name, findings)
        spots = _NativeSpots(path if single else path / name, scenario)
        found.append(CheckedWorld(name, len(tasks), _known(scenario, tasks), spots))
    return found


def _note_certificate(folder: Path, findings: Findings) -> None:
    """What is wrong with the folder's certificate: nothing is served beside one that cannot be read."""
    problems: list[Problem] = []
    read_certificate(folder, Place(problems, str(folder / CERTIFICATE)))
    for problem in problems:
        note_problem(findings, problem)


def _known(scenario: Scenario, tasks: Sequence[Task]) -> Callable[[], tuple[Scenario, Sequence[Task]]]:
    return lambda: (scenario, tasks)


def _read_awm(folder: AwmFolder, findings: Findings) -> list[CheckedWorld]:
    index = folder.index
    _note_certificate(folder.path, findings)
    for problem in index.problems:
        note_problem(findings, problem)
    for kind, problems in (("repaired", index.repairs), ("left-out", index.left_out)):
        for problem in problems:
            findings.add(kind, Spot(problem.file, problem.line, problem.field), problem.reason)
    if index.problems:
        return []
    return [
        CheckedWorld(
            record.entry.name,
            len(record.tasks),
            _on_demand(folder, record.entry.name),
            _AwmSpots(folder.path, {file: span.line for file, span in record.lines.items()}),
        )
        for record in index.scenarios
    ]


def _on_demand(folder: AwmFolder, name: str) -> Callable[[], tuple[Scenario, Sequence[Task]]]:
    def read() -> tuple[Scenario, Sequence[Task]]:
        try:
            scenario = folder.scenarios[name]
        except KeyError as error:
            raise ScenarioError(
                name, [Problem(str(folder.path), None, None, "is no longer there")]
            ) from error
        ids = [entry.id for entry in folder.task_entries.values() if entry.scenario == name]
        return scenario, [folder.tasks[task_id] for task_id in ids]

    return read


class _NativeSpots:
    """In the folder of a native world."""

    def __init__(self, folder: Path, scenario: Scenario) -> None:
        self._folder = folder
        self._tools = _operation_lines(scenario.app_source)
        self._tasks = {
            str(fields.values.get("id")): fields.place.line
            for fields in read_json_lines(folder / TASKS, Place([], TASKS))
        }

    def task(self, task: Task) -> Spot:
        return Spot(str(self._folder / TASKS), self._tasks.get(task.id))

    def tool(self, name: str) -> Spot:
        return Spot(str(self._folder / APP), self._tools.get(name), name)

    def of(self, problem: Problem) -> Spot:
        file = Path(problem.file)
        return Spot(str(self._folder / file.name), problem.line, problem.field)


class _AwmSpots:
    """In the lines of an AWM folder."""

    def __init__(self, folder: Path, lines: Mapping[str, int]) -> None:
        self._folder = folder
        self._lines = lines

    def task(self, task: Task) -> Spot:
        spot = Spot(str(self._folder / AWM_TASKS), self._lines.get(AWM_TASKS))
        return spot.at("tasks", task.index)

    def tool(self, name: str) -> Spot:
        return Spot(str(self._folder / ENVIRONMENTS), self._lines.get(ENVIRONMENTS), name)

    def of(self, problem: Problem) -> Spot:
        """Lines within an app's code are told as such: the file has the app on one line."""
        file, in_app, _ = problem.file.partition("#")
        if not in_app:
            return Spot(str(self._folder / file), problem.line, problem.field)
        where = "full_code" if problem.line is None else f"full_code line {problem.line}"
        field = where if problem.field is None else f"{where}: {problem.field}"
        return Spot(str(self._folder / file), self._lines.get(file), field)


def _operation_lines(source: str) -> dict[str, int]:
    """The line of each tool's route: where its operation_id is written, or its function."""
    try:
        module = parse_python(source)
    except UnparsableCode:
        return {}
    found: dict[str, int] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.setdefault(node.name, node.lineno)
    for node in ast.walk(module):
        if (
            isinstance(node, ast.keyword)
            and node.arg == "operation_id"
            and isinstance(node.value, ast.Constant)
        ):
            found[str(node.value.value)] = node.value.lineno
    return found
