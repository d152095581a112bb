"""Packs on disk and the catalog of several: what a server serves. Nothing is loaded by half."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .awm import AwmFolder, AwmReading, is_awm_folder
from .certificate import CERTIFICATE, Standing, TaskCertificate, content_of, read_certificate, world_hash
from .draft import Draft
from .errors import PackError, Problem, UnknownScenario, UnknownTask
from .fields import Place
from .native import is_scenario, read_pack, read_scenario
from .on_demand import OnDemand
from .spelling import closest, unknown
from .task import Scenario, ScenarioEntry, Task, TaskEntry

BUILTIN_PACKS = Path(__file__).parent / "packs"

_USUAL_SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Pack:
    """The scenarios and tasks of one folder."""

    path: Path
    scenarios: Mapping[str, Scenario]
    """By name, in the order of the folder. Those of an AWM folder are read when they are asked for."""
    tasks: Mapping[str, Task]
    """By id, in the order of the folder. Those of an AWM folder are read when they are asked for."""
    scenario_entries: Mapping[str, ScenarioEntry]
    """What is known of each scenario without reading it."""
    task_entries: Mapping[str, TaskEntry]
    """What is known of each task without reading it."""
    repairs: tuple[Problem, ...] = ()
    """What was mended while reading (AWM)."""
    left_out: tuple[Problem, ...] = ()
    """Scenarios and tasks that the pack goes without because the generator left them unfinished (AWM)."""
    certificates: Mapping[str, TaskCertificate] = field(default_factory=dict[str, TaskCertificate])
    """By task id: what certification found, of what may have changed since."""
    _worlds: dict[str, str] = field(default_factory=dict[str, str])
    """Hashes of scenarios that were needed."""

    @classmethod
    def load(cls, path: Path, awm: AwmReading | None = None) -> Pack:
        """Reads a native pack, a native scenario or an AWM folder. Raises PackError, with all problems."""
        if is_awm_folder(path) and not is_scenario(path):
            return cls._load_awm(path, awm or AwmReading())
        draft = _read(path)
        certificates: dict[str, TaskCertificate] = {}
        for name in draft.scenarios:
            certificates |= _certificates(home_of(path, name), draft.problems)
        if draft.problems:
            raise PackError(dict.fromkeys(draft.problems))
        scenarios = {name: _entry(scenario) for name, scenario in draft.scenarios.items()}
        tasks = {task.id: task.entry for task in draft.tasks.values()}
        return cls(path, draft.scenarios, draft.tasks, scenarios, tasks, certificates=certificates)

    @classmethod
    def _load_awm(cls, path: Path, reading: AwmReading) -> Pack:
        folder = AwmFolder(path, reading)
        index = folder.index
        problems = list(index.problems)
        certificates = _certificates(path, problems)
        if problems:
            raise PackError(problems)
        return cls(
            path,
            folder.scenarios,
            folder.tasks,
            folder.scenario_entries,
            folder.task_entries,
            index.repairs,
            index.left_out,
            certificates,
        )

    def standing(self, task_id: str) -> Standing:
        """What certification says of a task as it is now."""
        certificate = self.certificates.get(task_id)
        if certificate is None:
            return "unknown"
        return certificate.standing if certificate.content == self.content_of(task_id) else "outdated"

    def content_of(self, task_id: str) -> str:
        """The hash of all that a certificate of the task depends on."""
        task = self.tasks[task_id]
        if task.scenario not in self._worlds:
            self._worlds[task.scenario] = world_hash(self.scenarios[task.scenario])
        return content_of(self._worlds[task.scenario], task)


@dataclass(frozen=True)
class Catalog:
    """Several packs together, without two scenarios or two tasks of the same name.

    Looking up a scenario or a task of an AWM folder reads it, and raises ScenarioError if the folder is no
    longer what it was.
    """

    packs: tuple[Pack, ...]

    @classmethod
    def load(cls, paths: Iterable[Path], awm: AwmReading | None = None) -> Catalog:
        """Raises PackError with all that is wrong in all packs."""
        packs: list[Pack] = []
        problems: list[Problem] = []
        for path in paths:
            try:
                packs.append(Pack.load(path, awm))
            except PackError as error:
                problems += error.problems
        problems += _clashes(packs)
        if problems:
            raise PackError(problems)
        return cls(tuple(packs))

    @cached_property
    def scenarios(self) -> Mapping[str, Scenario]:
        homes = {name: pack.scenarios for pack in self.packs for name in pack.scenarios}
        return OnDemand(homes, lambda name: homes[name][name], kept=0)

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        homes = {task_id: pack.tasks for pack in self.packs for task_id in pack.tasks}
        return OnDemand(homes, lambda task_id: homes[task_id][task_id], kept=0)

    @cached_property
    def scenario_entries(self) -> Mapping[str, ScenarioEntry]:
        """What is known of each scenario without reading it."""
        return {name: entry for pack in self.packs for name, entry in pack.scenario_entries.items()}

    @cached_property
    def task_entries(self) -> Mapping[str, TaskEntry]:
        """What is known of each task without reading it."""
        return {task_id: entry for pack in self.packs for task_id, entry in pack.task_entries.items()}

    def scenario(self, name: str) -> Scenario:
        """Raises UnknownScenario, with the names that come close."""
        self._require(name)
        return self.scenarios[name]

    def scenario_entry(self, name: str) -> ScenarioEntry:
        """What is known of a scenario. Raises UnknownScenario."""
        self._require(name)
        return self.scenario_entries[name]

    def task(self, task_id: str) -> Task:
        """Raises UnknownTask, with the ids that come close."""
        if task_id not in self.tasks:
            raise UnknownTask(unknown("task", task_id, self._ids_near(task_id)))
        return self.tasks[task_id]

    def tasks_of(self, scenario: str) -> tuple[Task, ...]:
        """The tasks of a scenario, in order, read whole. Raises UnknownScenario."""
        return tuple(self.tasks[entry.id] for entry in self.entries_of(scenario))

    def standing(self, task_id: str) -> Standing:
        """What certification says of a task as it is now. Raises KeyError."""
        return self._homes[task_id].standing(task_id)

    def home(self, scenario: str) -> Path:
        """The folder in which a scenario's certificate lies. Raises UnknownScenario."""
        self._require(scenario)
        return next(home_of(pack.path, scenario) for pack in self.packs if scenario in pack.scenario_entries)

    def certificates_in(self, folder: Path) -> dict[str, TaskCertificate]:
        """The certificates that lie in a folder (see home), of the tasks that are there."""
        return {
            task_id: certificate
            for pack in self.packs
            for task_id, certificate in pack.certificates.items()
            if task_id in pack.task_entries
            and home_of(pack.path, pack.task_entries[task_id].scenario) == folder
        }

    def content_of(self, task_id: str) -> str:
        """The hash of all that a certificate of the task depends on. Raises KeyError."""
        return self._homes[task_id].content_of(task_id)

    @cached_property
    def withheld(self) -> frozenset[str]:
        """Tasks that certification has found to fail: served only to those who ask for them by id."""
        return frozenset(
            task_id
            for pack in self.packs
            for task_id, certificate in pack.certificates.items()
            if certificate.standing == "failed"
            and task_id in pack.task_entries
            and pack.standing(task_id) == "failed"
        )

    def served_of(self, scenario: str) -> tuple[TaskEntry, ...]:
        """The entries of a scenario's tasks that are not withheld, in order. Raises UnknownScenario."""
        return tuple(entry for entry in self.entries_of(scenario) if entry.id not in self.withheld)

    def entries_of(self, scenario: str) -> tuple[TaskEntry, ...]:
        """The entries of a scenario's tasks, in order. Raises UnknownScenario."""
        self._require(scenario)
        return self._entries_by_scenario[scenario]

    def splits(self) -> tuple[str, ...]:
        """The splits that have tasks which are not withheld: train, validation, test, then others by name."""
        usual = [split for split in _USUAL_SPLITS if split in self._entries_by_split]
        return (*usual, *sorted(self._entries_by_split.keys() - set(usual)))

    def tasks_in(self, split: str) -> tuple[TaskEntry, ...]:
        """The tasks of a split, in the order of the packs, less those withheld; none if no task is in it."""
        return self._entries_by_split.get(split, ())

    @cached_property
    def served(self) -> tuple[TaskEntry, ...]:
        """The entries of all tasks that are not withheld, in order."""
        return tuple(entry for entry in self.task_entries.values() if entry.id not in self.withheld)

    @cached_property
    def _homes(self) -> Mapping[str, Pack]:
        return {task_id: pack for pack in self.packs for task_id in pack.task_entries}

    @cached_property
    def _entries_by_scenario(self) -> Mapping[str, tuple[TaskEntry, ...]]:
        found: dict[str, list[TaskEntry]] = {name: [] for name in self.scenario_entries}
        for entry in self.task_entries.values():
            found[entry.scenario].append(entry)
        return {name: tuple(entries) for name, entries in found.items()}

    @cached_property
    def _entries_by_split(self) -> Mapping[str, tuple[TaskEntry, ...]]:
        found: dict[str, list[TaskEntry]] = {}
        for entry in self.served:
            found.setdefault(entry.split, []).append(entry)
        return {split: tuple(entries) for split, entries in found.items()}

    def _require(self, scenario: str) -> None:
        if scenario not in self.scenario_entries:
            raise UnknownScenario(unknown("scenario", scenario, self.scenario_entries))

    def _ids_near(self, task_id: str) -> Iterable[str]:
        """Ids worth comparing, of all the thousands: those of the scenario it names, or nearly names."""
        for scenario in closest(task_id.partition("/")[0], self.scenario_entries):
            yield from (entry.id for entry in self.entries_of(scenario))


def missing_folder(path: Path) -> Problem | None:
    """What is wrong with `path` where it is no folder; None where it is one."""
    if path.is_dir():
        return None
    reason = "is not a folder" if path.exists() else "is missing: expected a folder with scenarios"
    return Problem(str(path), None, None, reason, unreadable=True)


def _read(path: Path) -> Draft:
    missing = missing_folder(path)
    if missing is not None:
        return Draft(problems=[missing])
    return read_scenario(path) if is_scenario(path) else read_pack(path)


def home_of(pack: Path, scenario: str) -> Path:
    """The folder of a pack's scenario; an AWM folder is the home of all its scenarios."""
    return pack if is_scenario(pack) or is_awm_folder(pack) else pack / scenario


def _certificates(folder: Path, problems: list[Problem]) -> dict[str, TaskCertificate]:
    return read_certificate(folder, Place(problems, str(folder / CERTIFICATE)))


def _entry(scenario: Scenario) -> ScenarioEntry:
    return ScenarioEntry(scenario.name, scenario.title, scenario.description)


def _clashes(packs: Iterable[Pack]) -> Iterator[Problem]:
    """Scenarios that several packs have. Tasks clash only where they do: ids begin with the name."""
    first: dict[str, Pack] = {}
    for pack in packs:
        for name in pack.scenarios:
            other = first.setdefault(name, pack)
            if other is not pack:
                both = pack.task_entries.keys() & other.task_entries.keys()
                shared = sum(pack.task_entries[task].scenario == name for task in both)
                reason = f"scenario {name!r} is in {other.path} already, with {shared} of its task ids"
                yield Problem(str(pack.path), None, None, reason)
