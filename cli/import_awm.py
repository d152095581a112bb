"""`subworlds import-awm`: an AWM folder as native worlds, and what is wrong with it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.progress import Progress

from ..sandbox import SandboxError
from ..scenarios.awm import is_awm_folder
from ..scenarios.awm.native_form import NativeWorld, NotNative, duplicate_routes, native_name, to_native
from ..scenarios.errors import PackError, ScenarioError
from ..scenarios.manager import ScenarioManager, ServerFull
from ..scenarios.native import is_scenario
from ..scenarios.pack import Catalog, Pack
from ..scenarios.task import Scenario, Statement, Task
from ..verifiers.checking.world_probe import probe_tools, verdict_of_idleness
from ..verifiers.service import Verification, VerifierLimits
from .failure import BadInput, CommandFailed
from .import_report import ImportReport, ScenarioReport
from .screen import counted, screen
from .worlds import Worlds, find_scenario

_AT_ONCE = 2
"""Scenarios imported at the same time."""
_REPORT = "import.json"
_SEED = "the seed"
"""Stands for the file in the rows of a numbered scenario."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What to import, and where it goes."""

    out: Path
    scenarios: tuple[str, ...] = ()
    """Names; none: all."""
    force: bool = False
    """Replace worlds that lie at `out`."""


def import_awm(worlds: Worlds, options: ImportOptions, *, as_json: bool) -> None:
    """Import the one folder of `worlds`.

    Raises:
        BadInput: it cannot be read, has no such scenario, or `out` is in the way.
        CommandFailed: something was left behind; the report says what.
    """
    (source,) = worlds.packs
    if source.is_dir() and not is_awm_folder(source):
        raise BadInput(f"{source}: is no AWM folder: it has no gen_envs.jsonl")
    _require_free(options)
    catalog = worlds.catalog()
    names = [find_scenario(catalog, name).name for name in options.scenarios] or list(catalog.scenarios)
    worlds.require_sandbox()
    with _unfinished(options.out) as folder:
        report = asyncio.run(_import_all(worlds, catalog, names, folder, options))
        if report.imported:
            _write_report(folder / _REPORT, report)
            _put_in_place(folder, options)
    if as_json:
        print(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        report.print(screen())
    if report.losses:
        raise CommandFailed(
            f"{counted(report.losses, 'scenario, task or row', 'scenarios, tasks or rows')} of {source} "
            "could not be imported; the report names each"
        )


def _write_report(file: Path, report: ImportReport) -> None:
    file.write_text(json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _require_free(options: ImportOptions) -> None:
    """Refuse to write where something lies. With --force, worlds are replaced; anything else never is."""
    out = options.out
    if not os.path.lexists(out):
        if not out.parent.is_dir():
            raise BadInput(f"{out.parent}: is no folder to put {out.name} into")
        return
    if not options.force:
        raise BadInput(f"{out}: is there already; --force replaces it")
    if out.is_symlink() or not out.is_dir() or not all(map(_is_ours, out.iterdir())):
        raise BadInput(f"{out}: holds something else than worlds; --force replaces worlds and nothing else")


def _is_ours(path: Path) -> bool:
    return is_scenario(path) or path.name == _REPORT


@contextmanager
def _unfinished(out: Path) -> Generator[Path]:
    """A folder beside `out` to write into. It is gone afterwards, unless it was put in place."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise BadInput(f"{out.parent}: cannot be written: {error.strerror}") from error
    try:
        yield folder
    except OSError as error:
        raise CommandFailed(f"{error.filename or out}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(folder: Path, options: ImportOptions) -> None:
    folder.chmod(0o755)
    if not options.out.exists():
        folder.rename(options.out)
        return
    _require_free(options)
    with _unfinished(options.out) as old:
        options.out.rename(old / "replaced")
        try:
            folder.rename(options.out)
        except OSError:
            (old / "replaced").rename(options.out)
            raise


async def _import_all(
    worlds: Worlds, catalog: Catalog, names: Sequence[str], folder: Path, options: ImportOptions
) -> ImportReport:
    slots = asyncio.Semaphore(_AT_ONCE)
    console = screen(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("importing", total=len(names))

        async def one(importing: _Importing, name: str) -> ScenarioReport:
            async with slots:
                report = await importing.scenario(name)
            progress.advance(bar)
            return report

        try:
            async with _importing(worlds, catalog, folder) as importing:
                reports = await asyncio.gather(*(one(importing, name) for name in names))
        except SandboxError as error:
            raise CommandFailed(str(error)) from error
    left_out = catalog.packs[0].left_out if not options.scenarios else ()
    return ImportReport(
        str(worlds.packs[0]), str(options.out), tuple(reports), tuple(str(problem) for problem in left_out)
    )


@asynccontextmanager
async def _importing(worlds: Worlds, catalog: Catalog, folder: Path) -> AsyncGenerator[_Importing]:
    """What it takes to start worlds in both forms."""
    strict = replace(worlds.manager_settings(), templates=2 * _AT_ONCE, allow_lost_rows=False)
    as_awm: dict[str, Scenario] = {}
    as_native: dict[str, Scenario] = {}
    async with (
        ScenarioManager(as_awm.__getitem__, replace(strict, allow_lost_rows=True)) as awm,
        ScenarioManager(as_native.__getitem__, strict) as native,
        Verification(native, VerifierLimits()) as verification,
    ):
        yield _Importing(catalog, folder, _Form(as_awm, awm), _Form(as_native, native), verification)


@dataclass(frozen=True, slots=True)
class _Form:
    """Worlds in one of the two forms: those that can be started, by name, and their manager."""

    scenarios: dict[str, Scenario]
    manager: ScenarioManager


class _Importing:
    """Imports scenarios into a folder, one by one."""

    def __init__(
        self, catalog: Catalog, folder: Path, awm: _Form, native: _Form, verification: Verification
    ) -> None:
        self._catalog = catalog
        self._folder = folder
        self._awm = awm
        self._native = native
        self._verification = verification

    async def scenario(self, name: str) -> ScenarioReport:
        """Import one scenario. Whatever is wrong with it is in the report."""
        entry = self._catalog.scenario_entry(name)
        report = ScenarioReport(native_name(name), entry.title)
        if report.name != name:
            report.find("renamed", name, f"is called {report.name}: a native name starts with a letter")
        try:
            scenario = self._catalog.scenario(name)
            kept = await self._find_lost_rows(scenario, report)
            world = self._write(scenario, kept, report)
            await self._probe(world, report)
        except ScenarioError as error:
            for problem in error.problems:
                report.find("cannot_be_imported", name, str(problem))
        except PackError as error:
            for problem in error.problems:
                report.find("cannot_be_imported", name, _inside(self._folder, str(problem)))
        except (NotNative, ServerFull) as error:
            report.find("cannot_be_imported", name, str(error))
        if not report.imported:
            shutil.rmtree(self._folder / report.name, ignore_errors=True)
        return report

    async def _find_lost_rows(self, scenario: Scenario, report: ScenarioReport) -> list[Statement]:
        """Start the world as AWM has it; the seed statements that work."""
        for row in scenario.seed:
            if row.repaired is not None:
                report.find("repaired_statement", row.table or f"{row.file}:{row.line}", row.repaired)
        for route in duplicate_routes(scenario.app_source):
            report.find("duplicate_route", route.partition(":")[0], route.partition(": ")[2])
        numbered = tuple(replace(row, file=_SEED, line=number) for number, row in enumerate(scenario.seed))
        self._awm.scenarios[scenario.name] = replace(scenario, seed=numbered)
        template = await self._awm.manager.template(scenario.name)
        del self._awm.scenarios[scenario.name]
        lost: set[int] = set()
        for note in template.notes:
            if note.file == _SEED and note.line is not None:
                lost.add(note.line)
                row = scenario.seed[note.line]
                report.find("lost_row", row.table or f"{row.file}:{row.line}", note.reason)
            else:
                report.find("tool_left_out", note.field or note.file, note.reason)
        return [row for number, row in enumerate(scenario.seed) if number not in lost]

    def _write(self, scenario: Scenario, seed: list[Statement], report: ScenarioReport) -> NativeWorld:
        tasks = self._catalog.tasks_of(scenario.name)
        world = to_native(scenario, tasks, seed, scenario.app_file)
        for task_id, reason in world.tasks_left_out.items():
            report.find("task_left_out", task_id, reason)
        if len(world.tasks_left_out) == len(tasks):
            raise NotNative("none of its tasks can be imported")
        world.write(self._folder)
        return world

    async def _probe(self, world: NativeWorld, report: ScenarioReport) -> None:
        """Start the world as it was written, and play it."""
        pack = Pack.load(self._folder / world.name)
        self._native.scenarios.update(pack.scenarios)
        manager = self._native.manager
        report.tools = len(await manager.tools(world.name))
        report.tasks = len(pack.tasks)
        for tool, reason in (await probe_tools(manager, pack.scenarios[world.name])).failing.items():
            report.find("tool_never_succeeds", tool, reason)
        for task in pack.tasks.values():
            await self._stay_idle(task, report)
        del self._native.scenarios[world.name]
        report.imported = True

    async def _stay_idle(self, task: Task, report: ScenarioReport) -> None:
        if task.entry.kind == "judge":
            report.find("needs_a_judge", task.id, "a judge decides it; it was not played")
            return
        verdict = await verdict_of_idleness(self._native.manager, self._verification, task)
        if verdict.outcome == "complete":
            report.find("passes_without_acting", task.id, verdict.reason)
        elif not verdict.valid:
            report.find("verifier_raises", task.id, verdict.reason)


def _inside(folder: Path, text: str) -> str:
    return text.replace(f"{folder}/", "")
