"""Whether a task holds: its gold solution completes it, played for real, and doing nothing does not."""

from __future__ import annotations

from collections.abc import Sequence

from ..sandbox import SandboxError
from ..scenarios.errors import ScenarioError
from ..scenarios.manager import ScenarioManager, ServerFull
from ..scenarios.session import WorldCrashed
from ..scenarios.task import Task, ToolCall
from .answer import answer_text
from .service import Verification
from .verdict import Verdict

_CALLS = {"easy": (1, 2), "medium": (3, 5), "hard": (6, 12)}
"""Fewest and most gold calls of a generated task, by difficulty."""


class GoldRefused(Exception):
    """A call of a gold solution failed."""


class Soundness:
    """Plays tasks to see whether they hold."""

    def __init__(self, manager: ScenarioManager, verification: Verification) -> None:
        self._manager = manager
        self._verification = verification

    async def flaw(self, task: Task) -> str | None:
        """What is wrong with the task, in one sentence; None where it is sound."""
        try:
            return _wrong_length(task) or await self._gold_fails(task) or await self._nothing_passes(task)
        except GoldRefused as error:
            return str(error)
        except (WorldCrashed, ScenarioError, ServerFull, SandboxError) as error:
            return f"it cannot be played: {error}"

    async def _gold_fails(self, task: Task) -> str | None:
        said = None if task.answer is None else answer_text(task.answer)
        verdict = await self._judged(task, task.solution or (), said)
        if verdict.outcome == "complete":
            return None
        if not verdict.valid:
            return f"it cannot be judged: {verdict.reason}"
        return f"the gold solution does not complete it: {verdict.reason}"

    async def _nothing_passes(self, task: Task) -> str | None:
        verdict = await self._judged(task, (), None)
        if verdict.outcome == "incomplete":
            return None
        if not verdict.valid:
            return f"it cannot be judged: {verdict.reason}"
        return "an agent that does nothing completes it"

    async def _judged(self, task: Task, calls: Sequence[ToolCall], answer: str | None) -> Verdict:
        session = await self._manager.start_session(task.scenario, counted=False)
        try:
            for number, call in enumerate(calls, 1):
                outcome = await session.call(call.tool, call.arguments)
                if outcome.failure is not None:
                    reason = f"{outcome.failure.kind}: {outcome.failure.message}"
                    raise GoldRefused(f"gold call {number}, {call.tool}, fails: {reason}")
            final = await session.finish()
            return await self._verification.verify(
                task, initial=session.snapshot, final=final, answer=answer, calls=len(calls)
            )
        finally:
            await session.close()


def _wrong_length(task: Task) -> str | None:
    if task.difficulty is None:
        return "it has no difficulty"
    fewest, most = _CALLS[task.difficulty]
    calls = len(task.solution or ())
    if fewest <= calls <= most:
        return None
    return f"{task.difficulty} tasks have {fewest} to {most} gold calls, this one has {calls}"
