"""Checks worlds by starting them: what of them works, which tasks hold, what they hide."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace

from ...scenarios.checking.finding import Findings
from ...scenarios.checking.prompts import check_prompts
from ...scenarios.checking.worlds import CheckedWorld
from ...scenarios.errors import ScenarioError
from ...scenarios.manager import ManagerSettings, ScenarioManager
from ...scenarios.session import WorldCrashed
from ...scenarios.task import Scenario, Task, ToolCall
from ...scenarios.template_handle import Template
from ..service import Verification, VerifierLimits
from .databases import Databases, UnreadableDatabase
from .hidden_state import find_hidden_state
from .player import Player, as_text, cut
from .task_checks import Learned, TaskChecks
from .world_probe import probe_tools

_WORLDS_AT_ONCE, _TASKS_AT_ONCE = 2, 3
_TRIES = 32
"""Calls of a tool that no solution calls, until it counts as one that never succeeds."""


class Checker:
    """Checks worlds. See opened_checker."""

    def __init__(
        self,
        scenarios: dict[str, Scenario],
        player: Player,
        again: Player,
        verification: Verification,
        databases: Databases,
        findings: Findings,
    ) -> None:
        """Args:
        scenarios: where the managers of both players look worlds up; those under way are put there.
        """
        self._scenarios = scenarios
        self._player = player
        self._again = again
        self._verification = verification
        self._databases = databases
        self._findings = findings

    @property
    def episodes(self) -> int:
        """How many were played so far."""
        return self._player.episodes + self._again.episodes

    async def check(self, worlds: Sequence[CheckedWorld], advance: Callable[[int], None]) -> None:
        """Check worlds, a few at a time.

        Args:
            advance: told how many more tasks are checked.

        Raises:
            SandboxError, ServerFull: worlds cannot be played here.
        """
        slots = asyncio.Semaphore(_WORLDS_AT_ONCE)

        async def check(world: CheckedWorld) -> None:
            async with slots:
                await self._check_world(world, advance)

        async with asyncio.TaskGroup() as group:
            for world in worlds:
                group.create_task(check(world))

    async def _check_world(self, world: CheckedWorld, advance: Callable[[int], None]) -> None:
        try:
            scenario, tasks = world.read()
            self._scenarios[world.name] = scenario
            template = await self._player.manager.template(world.name)
            self._note_losses(world, template)
            learned = await self._check_tasks(world, template, tasks, advance)
            await self._check_tools(world, scenario, template, learned)
        except ScenarioError as error:
            advance(world.tasks)
            for problem in error.problems:
                self._findings.add("world-does-not-start", world.spots.of(problem), problem.reason)
        except (WorldCrashed, UnreadableDatabase) as error:
            self._findings.add("world-does-not-start", world.spots.tool(world.name), str(error))
        finally:
            self._scenarios.pop(world.name, None)

    def _note_losses(self, world: CheckedWorld, template: Template) -> None:
        """What the world goes without, though it starts."""
        app = self._scenarios[world.name].app_file
        for note in template.notes:
            kind = "tool-lost" if note.file == app else "row-lost"
            self._findings.add(kind, world.spots.of(note), note.reason)
        for route in template.shadowed:
            self._findings.add("route-shadowed", world.spots.of(route), route.reason)

    async def _check_tasks(
        self, world: CheckedWorld, template: Template, tasks: Sequence[Task], advance: Callable[[int], None]
    ) -> Learned:
        tables = await self._databases.tables(template.snapshot)
        checks = TaskChecks(
            self._player,
            self._again,
            self._verification,
            self._databases,
            tables,
            template.checkers,
            self._findings,
        )
        slots = asyncio.Semaphore(_TASKS_AT_ONCE)

        async def check(task: Task) -> None:
            async with slots:
                await checks.check(task, world.spots.task(task))
            advance(1)

        await asyncio.gather(*map(check, tasks))
        names = [table.name for table in tables.values()]
        check_prompts(
            tasks, list(template.checkers), names, checks.learned.reads, world.spots, self._findings
        )
        return checks.learned

    async def _check_tools(
        self, world: CheckedWorld, scenario: Scenario, template: Template, learned: Learned
    ) -> None:
        untried = template.checkers.keys() - learned.working.keys()
        probed = await probe_tools(
            self._player.manager, scenario, among=untried, tries=_TRIES, answers=learned.answers
        )
        for tool, reason in probed.failing.items():
            told = f"no call succeeded, of {_TRIES} at most; the last failed: {reason}"
            self._findings.add("tool-never-succeeds", world.spots.tool(tool), told)
        working = {**learned.working, **probed.working}
        questions = [working[name] for name in template.checkers if name in working]
        await self._compare_runs(world, list(probed.working.values()))
        found = await find_hidden_state(self._player, world.name, learned.histories, questions)
        for remembered in found:
            self._findings.add("hidden-state", world.spots.tool(remembered.tool), remembered.reason)
        if template.kept is not None and not found:
            reason = f"calling its tools leaves something in memory: {template.kept}"
            self._findings.add("keeps-memory", replace(world.spots.tool(""), field=None), reason)

    async def _compare_runs(self, world: CheckedWorld, calls: Sequence[ToolCall]) -> None:
        """Note the tools that answer two runs with one seed and one clock in two ways."""
        async with (
            self._player.played(world.name, calls) as first,
            self._again.played(world.name, calls) as second,
        ):
            for call, one, other in zip(calls, first.outcomes, second.outcomes, strict=True):
                if as_text(one) != as_text(other):
                    reason = f"{cut(as_text(one))} in one run, and in the next {cut(as_text(other))}"
                    self._findings.add("nondeterministic", world.spots.tool(call.tool), f"answers {reason}")


@asynccontextmanager
async def opened_checker(settings: ManagerSettings, findings: Findings) -> AsyncGenerator[Checker]:
    """A checker, with the processes that it takes.

    Raises:
        SandboxError: worlds cannot be confined here.
    """
    scenarios: dict[str, Scenario] = {}
    few = replace(settings, prefork=0, templates=2 * _WORLDS_AT_ONCE, warm=True)
    manager = ScenarioManager(scenarios.__getitem__, few)
    others = ScenarioManager(scenarios.__getitem__, replace(few, warm=False))
    verification = Verification(manager, VerifierLimits())
    async with AsyncExitStack() as stack:
        await _enter(stack, manager, others)
        databases = Databases(enforced=manager.enforced)
        await _enter(stack, verification, databases)
        yield Checker(scenarios, Player(manager), Player(others), verification, databases, findings)


async def _enter(stack: AsyncExitStack, *contexts: AbstractAsyncContextManager[object]) -> None:
    """Enter them at the same time: each starts a process, which takes a while."""
    async with asyncio.TaskGroup() as group:
        for context in contexts:
            group.create_task(stack.enter_async_context(context))
