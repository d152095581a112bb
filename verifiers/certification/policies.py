"""Agents that want the reward without the work, as plans of calls. None may complete a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...scenarios.task import Task, ToolCall
from ..answer import answer_text
from .variant import Variant, steps, told
from .world import Made, World

_MANY = 20
_GUESS = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, yes, no, none, all, Monday, 2026-03-02"


def floor_policies(trials: Sequence[Made]) -> Iterator[Variant]:
    """What any agent could try without knowing the task. `trials`: calls of every tool, played once."""
    calls = [made.call for made in trials]
    reads = [made.call for made in trials if made.is_read]
    tools = list({call.tool: call for call in reversed(calls)}.values())[::-1]
    yield _policy("nothing", "nothing", (), None)
    yield _policy("early done", "say done at once", (), "done")
    yield _policy("guessing", "say a list of guesses", (), _GUESS)
    if reads:
        spam = [reads[number % len(reads)] for number in range(_MANY)]
        yield _policy("read spam", f"read {_MANY} times", spam, None)
        yield _policy(
            "format only", "read a little and say something", reads[:3], "I have done that for you."
        )
    yield _policy("spray", "call every tool once", tools, None)
    yield _policy("destroy", "call every tool with whatever fits", calls, None)


def gold_policies(task: Task, gold: Sequence[Made], world: World) -> Iterator[Variant]:
    """What an agent could try that has seen the solution."""
    calls = [made.call for made in gold]
    writes = [made.call for made in gold if made.wrote]
    answer = None if task.answer is None else answer_text(task.answer)
    if writes:
        repeated = [writes[-1]] * _MANY
        yield _policy("repeated write", f"{told(writes[-1])}, {_MANY} times", repeated, answer)
    yield _policy(
        "half of the solution", f"the first {len(calls) // 2} calls", calls[: len(calls) // 2], None
    )
    damage = [call for call in world.writes if call not in calls][:8]
    if damage:
        yield _policy("solution and damage", "everything right, and much besides", [*calls, *damage], answer)


def _policy(kind: str, what: str, calls: Sequence[ToolCall], answer: str | None) -> Variant:
    return Variant("policy", kind, what, steps(calls), answer)
