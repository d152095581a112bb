"""The worlds that a command works on."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..sandbox import SandboxError, require_confinement
from ..scenarios.awm import AwmReading
from ..scenarios.errors import PackError, Problem, ScenarioError, UnknownScenario, UnknownTask
from ..scenarios.manager import ManagerSettings, ScenarioManager
from ..scenarios.pack import BUILTIN_PACKS, Catalog
from ..scenarios.task import Scenario, Task
from .failure import BadInput, CommandFailed
from .screen import counted

if TYPE_CHECKING:
    from ..verifiers.judge import JudgeSettings

_MOST_TOLD = 50


@dataclass(frozen=True, slots=True)
class Worlds:
    """Which packs to load, and how strictly to run them. Built once, from the command line."""

    packs: tuple[Path, ...] = (BUILTIN_PACKS,)
    allow_unconfined: bool = False
    """Run worlds and verifiers without confinement where the machine cannot confine them."""
    allow_lost_rows: bool = False
    """Start AWM worlds without the seed rows that fail."""
    cache: Path | None = None
    """Folder that keeps what would take long to find out again. It may be deleted at any time."""
    judge: JudgeSettings | None = None
    """The model that decides judged tasks."""
    prefer_judge: bool = False
    """Have AWM tasks judged that have a code verifier as well."""

    def catalog(self) -> Catalog:
        """All packs, read.

        Raises:
            BadInput: with every problem in every pack.
        """
        try:
            return Catalog.load(self.packs, AwmReading(self.cache, self.prefer_judge, _tell))
        except PackError as error:
            raise BadInput(_listed(error)) from error

    def manager_settings(self) -> ManagerSettings:
        """How to run the worlds of a command that plays few of them."""
        return ManagerSettings(
            prefork=0,
            warm=False,
            allow_unconfined=self.allow_unconfined,
            allow_lost_rows=self.allow_lost_rows,
        )

    @asynccontextmanager
    async def running(self, catalog: Catalog) -> AsyncGenerator[ScenarioManager]:
        """The worlds of `catalog`, without a server around them.

        Raises:
            CommandFailed: they cannot be confined here, or their processes cannot be had.
        """
        try:
            async with ScenarioManager(catalog.scenario, self.manager_settings()) as manager:
                yield manager
        except SandboxError as error:
            raise CommandFailed(str(error)) from error

    def require_sandbox(self) -> None:
        """Refuse to go on where worlds could not be confined and nobody accepted that.

        Raises:
            CommandFailed: says which layer is missing and which flag accepts the risk.
        """
        if self.allow_unconfined:
            return
        try:
            require_confinement()
        except SandboxError as error:
            raise CommandFailed(str(error)) from error


def find_task(catalog: Catalog, task_id: str) -> Task:
    """The task of this id.

    Raises:
        BadInput: there is none; names those that come close.
        CommandFailed: its pack has changed while we worked on it.
    """
    try:
        return catalog.task(task_id)
    except UnknownTask as error:
        raise BadInput(f"{error}\nSee `subworlds show SCENARIO` for the tasks of a world.") from error
    except ScenarioError as error:
        raise CommandFailed(str(error)) from error


def find_scenario(catalog: Catalog, name: str) -> Scenario:
    """The scenario of this name.

    Raises:
        BadInput: there is none; names those that come close.
        CommandFailed: its pack has changed while we worked on it.
    """
    try:
        return catalog.scenario(name)
    except UnknownScenario as error:
        raise BadInput(f"{error}\nSee `subworlds list` for the worlds there are.") from error
    except ScenarioError as error:
        raise CommandFailed(str(error)) from error


def tell_repairs(catalog: Catalog) -> None:
    """Say on stderr what was mended and what was left out while the packs were read; of many, the first."""
    for pack in catalog.packs:
        _tell_each("repaired", pack.repairs)
        _tell_each("left out", pack.left_out)


def tell_judged(catalog: Catalog, judge: JudgeSettings | None) -> None:
    """Say on stderr how many tasks need a judge, where there is none."""
    judged = sum(entry.kind == "judge" for entry in catalog.task_entries.values())
    if judged and judge is None:
        verb = "needs" if judged == 1 else "need"
        _tell(
            f"{counted(judged, 'task')} {verb} a judge, and none is configured: their episodes will end in "
            "verifier errors, without a reward. Set SUBWORLDS_JUDGE_URL and SUBWORLDS_JUDGE_MODEL."
        )


def _tell_each(what: str, problems: Sequence[Problem]) -> None:
    for problem in problems[:_MOST_TOLD]:
        _tell(f"{what}: {problem}")
    if len(problems) > _MOST_TOLD:
        rest = len(problems) - _MOST_TOLD
        _tell(f"{what}: {rest} more; `subworlds import-awm` reports them all, scenario by scenario")


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _listed(error: PackError) -> str:
    return f"{counted(len(error.problems), 'problem')} found, nothing was loaded:\n{error}"
