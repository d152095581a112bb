"""An episode that is not the gold solution: what is wrong with it, if anything, and what it plays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...scenarios.task import ToolCall

Step: TypeAlias = tuple[ToolCall, ...]
"""Calls that are made one after the other until one succeeds."""

Role: TypeAlias = Literal["mutant", "harmless", "policy"]


@dataclass(frozen=True, slots=True)
class Variant:
    """What to play, and what to say at the end."""

    role: Role
    kind: str
    """A word for reports: `dropped`, `other row`, `reads inserted`."""
    what: str
    """What was done to the gold solution, for a person."""
    steps: tuple[Step, ...]
    answer: str | None
    tried: int | None = None
    """The step without which there is nothing to find out; None where any end tells something."""
    choice: str | None = None
    """`tool.argument` where the only thing changed is this argument."""


def steps(calls: Iterable[ToolCall]) -> tuple[Step, ...]:
    """Each call, once."""
    return tuple((call,) for call in calls)


def replaced(calls: Sequence[ToolCall], place: int, *by: Step) -> tuple[Step, ...]:
    """The calls, with others in place of one."""
    return (*steps(calls[:place]), *by, *steps(calls[place + 1 :]))


def script(played: Iterable[Step], answer: str | None) -> str:
    """What is played and said, as a text: equal where two variants are the same."""
    calls = [[[call.tool, dict(call.arguments)] for call in step] for step in played]
    return json.dumps([calls, answer], sort_keys=True)


def told(call: ToolCall) -> str:
    """A call as one would write it."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return f"{call.tool}({arguments})"
