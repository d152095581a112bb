"""What is played: a task, and a script of calls that solves it, each known to read or to write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...scenarios.manager import ScenarioManager
from ...scenarios.pack import Catalog
from ...scenarios.session import Session
from ...scenarios.task import Scenario, StateCheck, Task, ToolCall
from ..failure import BadInput, CommandFailed
from .plan import MEMORY_CALLS

_JOURNALS = ("", "-wal", "-journal")
_USUAL_SCENARIO = "library"


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the script."""

    call: ToolCall
    writes: bool
    """Whether it changes the database."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The task that every measurement plays, and how."""

    task: Task
    scenario: Scenario
    read: ToolCall
    """A call that changes nothing, to be made as often as one likes."""
    solution: tuple[Step, ...]
    """The gold solution; empty where the task has none."""

    def script(self, length: int) -> tuple[Step, ...]:
        """`length` calls (or as many as the solution has): reads first, then the solution."""
        return (Step(self.read, writes=False),) * (length - len(self.solution)) + self.solution


async def choose_subject(
    catalog: Catalog, manager: ScenarioManager, scenario: str | None, read: ToolCall | None
) -> Subject:
    """A task of the scenario (None: one that has what it takes) that can be measured.

    Args:
        read: the reading call; None: one of a gold solution.

    Raises:
        BadInput: no task fits, or the reading call does not read; says what is missing.
    """
    if read is not None and scenario is None:
        raise BadInput("--read-tool needs to be told of which world: name it with --scenario")
    names = [scenario] if scenario else sorted(catalog.scenarios, key=lambda name: name != _USUAL_SCENARIO)
    for name in names:
        found = await _choose_in(catalog, manager, catalog.scenario(name), read)
        if found is not None:
            return found
    raise BadInput(
        f"nothing to measure in {', '.join(names)}: no task has a gold solution that can be played and that "
        "reads as well as writes. Name a world with --scenario, one of its tools that reads with --read-tool "
        "and, if the tool needs them, its arguments with --read-arguments."
    )


async def _choose_in(
    catalog: Catalog, manager: ScenarioManager, scenario: Scenario, read: ToolCall | None
) -> Subject | None:
    tasks = catalog.tasks_of(scenario.name)
    if read is not None:
        await _require_read(manager, scenario, read)
    for task in tasks:
        solution = await _steps(manager, task.scenario, _script(task))
        reading = read or _first_read(solution)
        if reading is not None and any(step.writes for step in solution):
            return Subject(task, scenario, reading, solution)
    return Subject(tasks[0], scenario, read, ()) if read is not None else None


def _script(task: Task) -> Sequence[ToolCall]:
    """The solution, if it is short and the end state all that counts; else nothing."""
    fits = isinstance(task.check, StateCheck) and task.answer is None
    return task.solution if fits and task.solution and len(task.solution) <= MEMORY_CALLS else ()


async def _require_read(manager: ScenarioManager, scenario: Scenario, read: ToolCall) -> None:
    played = await _steps(manager, scenario.name, [read])
    if not played or played[0].writes:
        problem = "changes the database" if played else "fails"
        raise BadInput(
            f"{read.tool} of '{scenario.name}' {problem} with the arguments {json.dumps(read.arguments)}"
        )


def _first_read(solution: Iterable[Step]) -> ToolCall | None:
    return next((step.call for step in solution if not step.writes), None)


async def _steps(manager: ScenarioManager, scenario: str, calls: Sequence[ToolCall]) -> tuple[Step, ...]:
    """The calls, played once to see which of them change the database; nothing if one fails."""
    if not calls:
        return ()
    session = await manager.start_session(scenario)
    try:
        return await _play(session, calls)
    finally:
        await session.close()


async def _play(session: Session, calls: Sequence[ToolCall]) -> tuple[Step, ...]:
    steps: list[Step] = []
    before = _content(session)
    for call in calls:
        outcome = await session.call(call.tool, call.arguments)
        if outcome.failure is not None:
            return ()
        after = _content(session)
        steps.append(Step(call, writes=after != before))
        before = after
    return tuple(steps)


def _content(session: Session) -> list[bytes]:
    database = session.database
    files = [database.with_name(database.name + suffix) for suffix in _JOURNALS]
    return [file.read_bytes() if file.exists() else b"" for file in files]


async def replay(session: Session, subject: Subject) -> None:
    """Play the subject's solution, or its reading call where there is none.

    Raises:
        CommandFailed: a call was answered with a failure.
    """
    for call in [step.call for step in subject.solution] or [subject.read]:
        outcome = await session.call(call.tool, call.arguments)
        if outcome.failure is not None:
            raise CommandFailed(f"{call.tool} failed: {outcome.failure.kind}: {outcome.failure.message}")
