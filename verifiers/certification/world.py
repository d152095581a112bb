"""What certification knows of a world before it plays variants: its tools, its rows, calls that work."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...scenarios.session import Session
from ...scenarios.task import JSON, Task, ToolCall
from ...scenarios.tool import Tool, ToolFailure
from .arguments import a_call
from .contents import Contents

_TURNS = 3
_MOST_READS = 8
_MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made, and what came of it."""

    call: ToolCall
    result: JSON
    failure: ToolFailure | None
    wrote: bool

    @property
    def is_read(self) -> bool:
        """Whether it answered and changed nothing."""
        return self.failure is None and not self.wrote


@dataclass(frozen=True, slots=True)
class World:
    """A scenario, as far as variants are made from it."""

    tools: Mapping[str, Tool]
    contents: Contents
    reads: tuple[ToolCall, ...]
    """Calls that answer and change nothing."""
    writes: tuple[ToolCall, ...]
    """Calls that change the first database, those of other tasks first."""


async def rehearsed(session: Session, calls: Iterable[ToolCall]) -> list[Made]:
    """Make calls in a session, and see which of them wrote."""
    made: list[Made] = []
    before = _fingerprint(session.database)
    for call in calls:
        outcome = await session.call(call.tool, call.arguments)
        after = _fingerprint(session.database)
        made.append(Made(call, outcome.result, outcome.failure, after != before))
        before = after
    return made


def trial_calls(tools: Iterable[Tool], contents: Contents) -> list[ToolCall]:
    """A few calls of every tool, those that need no arguments first."""
    ordered = sorted(tools, key=lambda tool: len(tool.input_schema.get("required", ())))
    calls = [a_call(tool, contents, turn) for turn in range(_TURNS) for tool in ordered]
    return [call for place, call in enumerate(calls) if call not in calls[:place]]


def world_of(
    tools: Sequence[Tool],
    contents: Contents,
    golds: Mapping[str, Sequence[Made]],
    trials: Sequence[Made],
) -> World:
    """Args:
    golds: the rehearsed gold solutions of the scenario's tasks, by task id.
    trials: rehearsed `trial_calls`.
    """
    firsts = [next((made.call for made in gold if made.wrote), None) for gold in golds.values()]
    writes = [*filter(None, firsts), *(made.call for made in trials if made.wrote and not made.failure)]
    reads = [made.call for made in trials if made.is_read]
    reads += [made.call for gold in golds.values() for made in gold if made.is_read]
    return World(
        {tool.name: tool for tool in tools}, contents, _distinct(reads)[:_MOST_READS], _distinct(writes)
    )


def golds_near(task: Task, tasks: Sequence[Task], most: int) -> list[Task]:
    """Tasks of the same scenario, spread over its list, from whose solutions writes may be borrowed."""
    others = [other for other in tasks if other.solution is not None and other.id != task.id]
    step = max(1, len(others) // most)
    return others[::step][:most]


def _distinct(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    found: list[ToolCall] = []
    for call in calls:
        if call not in found:
            found.append(call)
    return tuple(found)


def _fingerprint(database: Path) -> tuple[bytes | None, ...]:
    """What the database's file and its journal hold. The world owns the folder: only plain files are read."""
    return tuple(_hash(database.with_name(database.name + suffix)) for suffix in ("", "-wal"))


def _hash(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        return hashlib.blake2b(file.read(), digest_size=16).digest()
