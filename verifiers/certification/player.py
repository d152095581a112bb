"""Plays variants for real: in sessions, judged by the task's own verifier."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ...scenarios.manager import ScenarioManager
from ...scenarios.session import Session, WorldCrashed
from ...scenarios.task import Task, ToolCall
from ...scenarios.tool import ToolFailure
from ..service import DatabaseDamaged, Verification
from ..verdict import Verdict
from .variant import Step, steps


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which an episode is played."""

    seed: int = 0
    clock_offset_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an episode, and how it failed, if it did."""

    call: ToolCall
    failure: ToolFailure | None


@dataclass(frozen=True, slots=True)
class Ended:
    """An episode that has ended, while its database is still there."""

    calls: tuple[Call, ...]
    initial: Path
    final: Path
    landed: bool
    """Whether the step that the variant tried succeeded."""


class Player:
    """Plays the episodes of a certification, several at once."""

    def __init__(self, manager: ScenarioManager, verification: Verification, at_once: int) -> None:
        self._manager = manager
        self._verification = verification
        self._slots = asyncio.Semaphore(max(2, at_once))  # one trial holds two sessions at a time
        self.episodes = 0
        """How many were played."""

    @asynccontextmanager
    async def session(self, scenario: str, conditions: Conditions) -> AsyncGenerator[Session]:
        """A session of one's own. Raises as ScenarioManager.start_session does."""
        async with self._slots:
            self.episodes += 1
            session = await self._manager.start_session(
                scenario, seed=conditions.seed, clock_offset_s=conditions.clock_offset_s, counted=False
            )
            try:
                yield session
            finally:
                await session.close()

    @asynccontextmanager
    async def ended(
        self, task: Task, played: Sequence[Step], conditions: Conditions, tried: int | None = None
    ) -> AsyncGenerator[Ended]:
        """Play steps to their end.

        Raises:
            WorldCrashed, DatabaseDamaged: there is no final database.
        """
        async with self.session(task.scenario, conditions) as session:
            calls: list[Call] = []
            landed = True
            for place, step in enumerate(played):
                succeeded = await _take(session, step, calls)
                if place == tried:
                    landed = succeeded
            final = await session.finish()
            await self._verification.seal(final)
            yield Ended(tuple(calls), session.snapshot, final, landed)

    async def judged(self, task: Task, ended: Ended, answer: str | None, conditions: Conditions) -> Verdict:
        """What the task's verifier says of an episode."""
        return await self._verification.verify(
            task,
            initial=ended.initial,
            final=ended.final,
            answer=answer,
            calls=len(ended.calls),
            clock_offset_s=conditions.clock_offset_s,
        )

    async def verdict(
        self, task: Task, calls: Sequence[ToolCall], answer: str | None, conditions: Conditions
    ) -> tuple[Verdict, tuple[Call, ...]]:
        """Play calls and have them judged."""
        try:
            async with self.ended(task, steps(calls), conditions) as ended:
                return await self.judged(task, ended, answer, conditions), ended.calls
        except (WorldCrashed, DatabaseDamaged) as error:
            return Verdict("world_error", str(error)), ()


async def _take(session: Session, step: Step, calls: list[Call]) -> bool:
    """Make the calls of a step until one succeeds. Returns whether one did."""
    for call in step:
        outcome = await session.call(call.tool, call.arguments)
        calls.append(Call(call, outcome.failure))
        if outcome.failure is None:
            return True
    return not step
