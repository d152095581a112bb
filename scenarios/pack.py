"""Packs on disk and the catalog of several: what a server serves. Nothing is loaded by half."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .awm import is_awm_folder, read_awm_folder
from .draft import Draft
from .errors import PackError, Problem, UnknownScenario, UnknownTask
from .native import is_scenario, read_pack, read_scenario
from .spelling import closest, unknown
from .task import Scenario, Task

BUILTIN_PACKS = Path(__file__).parent / "packs"

_USUAL_SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Pack:
    """The scenarios and tasks of one folder."""

    path: Path
    scenarios: Mapping[str, Scenario]
    """By name, in the order of the folder."""
    tasks: Mapping[str, Task]
    """By id, in the order of the folder."""
    repairs: tuple[Problem, ...] = ()
    """What was mended while reading (AWM)."""
    left_out: tuple[Problem, ...] = ()
    """Scenarios and tasks that the pack goes without because the generator left them unfinished (AWM)."""

    @classmethod
    def load(cls, path: Path) -> Pack:
        """Reads a native pack, a native scenario or an AWM folder. Raises PackError, with all problems."""
        draft = _read(path)
        if draft.problems:
            raise PackError(dict.fromkeys(draft.problems))
        return cls(path, draft.scenarios, draft.tasks, tuple(draft.repairs), tuple(draft.left_out))


@dataclass(frozen=True)
class Catalog:
    """Several packs together, without two scenarios or two tasks of the same name."""

    packs: tuple[Pack, ...]

    @classmethod
    def load(cls, paths: Iterable[Path]) -> Catalog:
        """Raises PackError with all that is wrong in all packs."""
        packs: list[Pack] = []
        problems: list[Problem] = []
        for path in paths:
            try:
                packs.append(Pack.load(path))
            except PackError as error:
                problems += error.problems
        problems += _clashes(packs)
        if problems:
            raise PackError(problems)
        return cls(tuple(packs))

    @cached_property
    def scenarios(self) -> Mapping[str, Scenario]:
        return {name: scenario for pack in self.packs for name, scenario in pack.scenarios.items()}

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        return {task_id: task for pack in self.packs for task_id, task in pack.tasks.items()}

    def scenario(self, name: str) -> Scenario:
        """Raises UnknownScenario, with the names that come close."""
        if name not in self.scenarios:
            raise UnknownScenario(unknown("scenario", name, self.scenarios))
        return self.scenarios[name]

    def task(self, task_id: str) -> Task:
        """Raises UnknownTask, with the ids that come close."""
        if task_id not in self.tasks:
            raise UnknownTask(unknown("task", task_id, self._ids_near(task_id)))
        return self.tasks[task_id]

    def tasks_of(self, scenario: str) -> tuple[Task, ...]:
        """The tasks of a scenario, in order. Raises UnknownScenario."""
        return self._tasks_by_scenario[self.scenario(scenario).name]

    def splits(self) -> tuple[str, ...]:
        """The splits that have tasks: train, validation, test, then others by name."""
        present = {task.split for task in self.tasks.values()}
        usual = [split for split in _USUAL_SPLITS if split in present]
        return (*usual, *sorted(present.difference(usual)))

    def tasks_in(self, split: str) -> tuple[Task, ...]:
        """The tasks of a split, in the order of the packs; none if no task is in it."""
        return tuple(task for task in self.tasks.values() if task.split == split)

    @cached_property
    def _tasks_by_scenario(self) -> Mapping[str, tuple[Task, ...]]:
        found: dict[str, list[Task]] = {name: [] for name in self.scenarios}
        for task in self.tasks.values():
            found[task.scenario].append(task)
        return {name: tuple(tasks) for name, tasks in found.items()}

    def _ids_near(self, task_id: str) -> Iterable[str]:
        """Ids worth comparing, of all the thousands: those of the scenario it names, or nearly names."""
        for scenario in closest(task_id.partition("/")[0], self.scenarios):
            yield from (task.id for task in self.tasks_of(scenario))


def _read(path: Path) -> Draft:
    if not path.is_dir():
        reason = "is not a folder" if path.exists() else "is missing: expected a folder with scenarios"
        return Draft(problems=[Problem(str(path), None, None, reason)])
    if is_scenario(path):
        return read_scenario(path)
    return read_awm_folder(path) if is_awm_folder(path) else read_pack(path)


def _clashes(packs: Iterable[Pack]) -> Iterator[Problem]:
    """Scenarios that several packs have. Tasks clash only where they do: ids begin with the name."""
    first: dict[str, Pack] = {}
    for pack in packs:
        for name in pack.scenarios:
            other = first.setdefault(name, pack)
            if other is not pack:
                shared = sum(
                    pack.tasks[task].scenario == name for task in pack.tasks.keys() & other.tasks.keys()
                )
                reason = f"scenario {name!r} is in {other.path} already, with {shared} of its task ids"
                yield Problem(str(pack.path), None, None, reason)
