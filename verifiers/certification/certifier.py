"""Certifies the tasks of a scenario, one world at a time, several episodes at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from ...scenarios.errors import ScenarioError
from ...scenarios.manager import ScenarioManager
from ...scenarios.session import WorldCrashed
from ...scenarios.task import JudgeCheck, Scenario, StateCheck, Task, ToolCall
from ...scenarios.tool import FailureKind, Tool
from ..service import Verification, VerifierFailed
from .contents import Contents
from .findings import Flaw, TaskReport
from .player import Conditions, Player
from .trial import Setting, Trial
from .world import Made, World, golds_near, rehearsed, trial_calls, world_of

_BORROWED_FROM = 12
"""Tasks of the same scenario whose writes serve as unrelated ones, where few tasks are certified."""

_FATAL = frozenset({FailureKind.TIMEOUT, FailureKind.WORLD_CRASHED})


@dataclass(frozen=True, slots=True)
class CertifierOptions:
    """How to certify."""

    seed: int = 0
    jobs: int = 4
    """Episodes at the same time."""


class Certifier:
    """Holds trials in a manager's worlds."""

    def __init__(
        self, manager: ScenarioManager, verification: Verification, options: CertifierOptions
    ) -> None:
        self._manager = manager
        self._verification = verification
        self._options = options
        self._conditions = Conditions(options.seed)
        self.player = Player(manager, verification, options.jobs)

    async def certify(
        self, scenario: Scenario, tasks: Sequence[Task], all_tasks: Sequence[Task]
    ) -> AsyncIterator[TaskReport]:
        """Reports on `tasks`, as they are ready. A world that cannot start fails each of them.

        Args:
            all_tasks: every task of the scenario, to borrow writes from.

        Raises:
            SandboxError, ServerFull: no process or no room could be had.
        """
        try:
            ground = await self._ground(scenario, tasks, all_tasks)
        except (ScenarioError, WorldCrashed, VerifierFailed) as error:
            for task in tasks:
                yield TaskReport(task.id, "failed", (Flaw("world-broken", str(error)),))
            return
        slots = asyncio.Semaphore(max(1, self._options.jobs // 2))
        trials = [asyncio.create_task(self._try(ground, task, slots)) for task in tasks]
        try:
            for ready in asyncio.as_completed(trials):
                yield await ready
        finally:
            for trial in trials:
                trial.cancel()
            await asyncio.gather(*trials, return_exceptions=True)

    async def _try(self, ground: _Ground, task: Task, slots: asyncio.Semaphore) -> TaskReport:
        setting = Setting(self.player, self._verification, self._options.seed, ground.scenario.clock)
        trial = Trial(task, setting)
        async with slots:
            if isinstance(task.check, JudgeCheck):
                note = "a judge decides here, which certification does not ask"
                return TaskReport(task.id, "skipped", notes=(note,))
            try:
                if task.solution is None and isinstance(task.check, StateCheck):
                    raise VerifierFailed("it is checked by its end state, and has no gold solution")
                if task.solution is None:
                    return await trial.floor(ground.trials)
                return await trial.whole(ground.golds[task.id], ground.trials, ground.world)
            except VerifierFailed as error:
                return TaskReport(task.id, "failed", (Flaw("unjudged", f"it cannot be judged: {error}"),))

    async def _ground(self, scenario: Scenario, tasks: Sequence[Task], all_tasks: Sequence[Task]) -> _Ground:
        """Start the world, read its rows, try its tools, and rehearse the gold solutions."""
        tools = await self._manager.tools(scenario.name)
        contents = await self._contents(scenario.name)
        trials = await self._trials(scenario.name, tools, contents)
        lenders = golds_near(tasks[0], all_tasks, _BORROWED_FROM) if len(tasks) < _BORROWED_FROM else []
        rehearsing = {task.id: task for task in (*tasks, *lenders) if task.solution is not None}
        made = await asyncio.gather(*(self._rehearse(task) for task in rehearsing.values()))
        golds = dict(zip(rehearsing, made, strict=True))
        return _Ground(scenario, trials, golds, world_of(tools, contents, golds, trials))

    async def _contents(self, scenario: str) -> Contents:
        async with self.player.session(scenario, self._conditions) as session:
            found = await self._verification.examine({"kind": "contents", "initial": str(session.snapshot)})
        return Contents.decode(found)

    async def _rehearse(self, task: Task) -> list[Made]:
        async with self.player.session(task.scenario, self._conditions) as session:
            return await rehearsed(session, task.solution or ())

    async def _trials(self, scenario: str, tools: Sequence[Tool], contents: Contents) -> list[Made]:
        """A few calls of every tool. A tool that ends its world is not called again."""
        rest = trial_calls(tools, contents)
        found: list[Made] = []
        while rest:
            made = await self._try_calls(scenario, rest)
            fatal = next((place for place, one in enumerate(made) if _is_fatal(one)), None)
            if fatal is None:
                return [*found, *made]
            found += made[:fatal]
            rest = [call for call in rest[fatal + 1 :] if call.tool != made[fatal].call.tool]
        return found

    async def _try_calls(self, scenario: str, calls: Sequence[ToolCall]) -> list[Made]:
        async with self.player.session(scenario, self._conditions) as session:
            return await rehearsed(session, calls)


@dataclass(frozen=True, slots=True)
class _Ground:
    """What the trials of a scenario's tasks share."""

    scenario: Scenario
    trials: list[Made]
    golds: dict[str, list[Made]]
    world: World


def _is_fatal(made: Made) -> bool:
    return made.failure is not None and made.failure.kind in _FATAL
