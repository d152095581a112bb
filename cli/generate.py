"""`subworlds generate`: tasks drawn from a world's generator, each played before it is believed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ..sandbox import SandboxError
from ..scenarios.errors import PackError, ScenarioError
from ..scenarios.generation.generator import DrawOrder, GeneratorError, Generators
from ..scenarios.generation.seed import seed_sql
from ..scenarios.generation.task_lines import as_jsonl, read_lines, taken, task_lines
from ..scenarios.generation.world_folder import WorldFolder
from ..scenarios.manager import ScenarioManager
from ..scenarios.native import is_scenario
from ..scenarios.native_about import Generated
from ..scenarios.spelling import unknown
from ..scenarios.task import Scenario, Task
from ..verifiers.service import Verification, VerifierLimits
from ..verifiers.soundness import Soundness
from .failure import BadInput, CommandFailed
from .generation_report import GenerationReport, TemplateReport
from .screen import counted, screen
from .worlds import Worlds

_USUAL = Generated(seed=1, count=45)
_AT_ONCE = 4
"""Tasks played at the same time."""
_STDOUT = Path("-")


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """What to generate, and where it goes."""

    world: str
    seed: int | None = None
    count: int | None = None
    template: str | None = None
    out: Path | None = None
    write: bool = False
    seed_rows: bool = False


def generate(worlds: Worlds, options: GenerateOptions, *, as_json: bool) -> None:
    """Generate tasks, or the seed.

    Raises:
        BadInput: no such world, files of it that cannot be used, options that do not go together.
        CommandFailed: tasks do not hold, or the world cannot start.
    """
    _refuse_contradictions(options, as_json)
    folder = find_folder(worlds, options.world)
    try:
        if options.seed_rows:
            asyncio.run(_generate_seed(worlds, folder, options, as_json=as_json))
        else:
            asyncio.run(_generate_tasks(worlds, folder, options, as_json=as_json))
    except (PackError, GeneratorError) as error:
        raise BadInput(str(error)) from error
    except (ScenarioError, SandboxError) as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"{error.filename}: cannot be written: {error.strerror}") from error


def find_folder(worlds: Worlds, name: str) -> WorldFolder:
    """The folder of the world of this name in the packs, or at this path.

    Raises:
        BadInput: there is none; names those that come close.
    """
    folders = {folder.name: folder for pack in worlds.packs for folder in _folders_of(pack)}
    if name in folders:
        return folders[name]
    if is_scenario(Path(name)):
        return WorldFolder(Path(name))
    if Path(name).is_dir():
        raise BadInput(f"{name}: is no world's folder: it has no scenario.json")
    raise BadInput(f"{unknown('world', name, folders)}\nGive a world's name or the path of its folder.")


def _folders_of(pack: Path) -> Sequence[WorldFolder]:
    if is_scenario(pack):
        return [WorldFolder(pack)]
    if not pack.is_dir():
        raise BadInput(f"{pack}: is no folder")
    return [WorldFolder(path) for path in sorted(pack.iterdir()) if is_scenario(path)]


def _refuse_contradictions(options: GenerateOptions, as_json: bool) -> None:
    if options.write and (options.out is not None or options.template is not None):
        raise BadInput(
            "--write replaces all generated tasks of the world: it goes without --out and --template"
        )
    if options.seed_rows and (options.seed, options.count, options.template, options.write) != (
        *(None, None, None),
        False,
    ):
        raise BadInput("--seed-rows writes the one seed of the world: it goes only with --out")
    if as_json and options.out == _STDOUT:
        raise BadInput("--json and --out - would both print to stdout: give --out a file")


async def _generate_seed(
    worlds: Worlds, folder: WorldFolder, options: GenerateOptions, *, as_json: bool
) -> None:
    async with Generators(allow_unconfined=worlds.allow_unconfined) as generators:
        rows = await generators.rows(folder.path, folder.about().clock)
    sql = seed_sql(folder.name, rows)
    if options.out == _STDOUT:
        print(sql, end="")
        return
    file = folder.write_seed(sql) if options.out is None else _written(options.out, sql)
    tables = len({table for table, _, _ in rows})
    if as_json:
        print(json.dumps({"world": folder.name, "rows": len(rows), "tables": tables}))
    else:
        print(f"wrote {counted(len(rows), 'row')} of {counted(tables, 'table')} to {file}")


async def _generate_tasks(
    worlds: Worlds, folder: WorldFolder, options: GenerateOptions, *, as_json: bool
) -> None:
    noted = folder.about().generated or _USUAL
    seed = noted.seed if options.seed is None else options.seed
    count = noted.count if options.count is None else options.count
    async with opened(worlds, folder) as generation:
        lines = await generation.lines(seed, count, options.template)
        flaws = await generation.flaws(read_lines(lines, folder.name, folder.path))
    report = GenerationReport.of(folder.name, seed, count, lines, flaws)
    if not as_json:
        report.print(Console(stderr=True) if options.out == _STDOUT else screen())
    else:
        print(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    if report.unsound:
        raise CommandFailed(_told(report.unsound))
    _keep(folder, options, lines, seed)
    if len(lines) < count:
        print(f"there are only {counted(len(lines), 'task')} to be had, not {count}", file=sys.stderr)


def _keep(folder: WorldFolder, options: GenerateOptions, lines: list[dict[str, Any]], seed: int) -> None:
    text = as_jsonl(lines)
    if options.write:
        file = folder.write_tasks(text, Generated(seed, len(lines)))
        print(f"wrote {counted(len(lines), 'task')} to {file}", file=sys.stderr)
    elif options.out == _STDOUT:
        print(text, end="")
    elif options.out is not None:
        print(f"wrote {counted(len(lines), 'task')} to {_written(options.out, text)}", file=sys.stderr)
    else:
        print("nothing was written: --write puts them into the world, --out elsewhere", file=sys.stderr)


def _written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8", newline="\n")
    return file


def _told(unsound: Sequence[TemplateReport]) -> str:
    shown = "\n".join(template.first_flaw() for template in unsound)
    return f"{counted(len(unsound), 'template')} with unsound drafts, nothing was written:\n{shown}"


class Generation:
    """A world that is up and running, and its generator."""

    def __init__(
        self, folder: WorldFolder, scenario: Scenario, manager: ScenarioManager, generators: Generators
    ) -> None:
        self._folder = folder
        self._scenario = scenario
        self._manager = manager
        self._generators = generators

    async def lines(self, seed: int, count: int, template: str | None = None) -> list[dict[str, Any]]:
        """Task lines, drawn and not yet played.

        Raises:
            PackError, GeneratorError, ScenarioError, SandboxError
        """
        by_hand = self._folder.hand_written()
        order = DrawOrder(seed, count, template, taken(by_hand))
        world = await self._manager.template(self._scenario.name)
        drafts = await self._generators.drafts(self._folder.path, self._scenario.clock, world.snapshot, order)
        return task_lines(self._folder.name, drafts, by_hand)

    async def flaws(self, tasks: Sequence[Task]) -> list[str | None]:
        """What is wrong with each task, found by playing it; None for those that hold."""
        slots = asyncio.Semaphore(_AT_ONCE)
        columns = (TextColumn("playing"), BarColumn(), MofNCompleteColumn())
        console = Console(stderr=True)
        async with Verification(self._manager, VerifierLimits()) as verification:
            soundness = Soundness(self._manager, verification)
            with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
                playing = bar.add_task("playing", total=len(tasks))

                async def flaw(task: Task) -> str | None:
                    async with slots:
                        found = await soundness.flaw(task)
                    bar.advance(playing)
                    return found

                return await asyncio.gather(*map(flaw, tasks))


@asynccontextmanager
async def opened(worlds: Worlds, folder: WorldFolder) -> AsyncGenerator[Generation]:
    """Start the world in `folder`, and what runs its generator.

    Raises:
        PackError: its files cannot be used.
        SandboxError: it cannot be confined here.
    """
    scenario = folder.scenario()

    def find(_name: str) -> Scenario:
        return scenario

    async with (
        ScenarioManager(find, worlds.manager_settings()) as manager,
        Generators(allow_unconfined=worlds.allow_unconfined) as generators,
    ):
        yield Generation(folder, scenario, manager, generators)
