"""What a model is shown before it learns by itself: solutions, with mistakes that are put right at once.

A demonstration is the text of each turn. What the world says to it is found out by playing it (recording.py).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..envs.models import Tool
from .exposure import Exposure
from .solutions import Solution
from .tool_calls import CLOSE, ToolRequest, write_request

_READS = ("list_", "get_", "search_", "find_", "read_", "show_")
"""How tools that only read are called. Where a name misleads, the verdict on the demonstration tells."""
_SYNONYMS = {"list": "show", "get": "fetch", "search": "look_up", "find": "look_up", "add": "create"}
_DONE = "Done."


class Habit(StrEnum):
    """What a turn is for, if not for the solution."""

    WRONG_TOOL = "wrong_tool"
    """A tool that there is not."""
    WRONG_ARGUMENT = "wrong_argument"
    """A required argument under another name."""
    MALFORMED = "malformed"
    """A call that breaks the format."""
    UNNEEDED_READ = "unneeded_read"
    """A look that was not needed: no mistake, and no harm."""
    STOPS_EARLY = "stops_early"
    """The end, before all is done."""


MISTAKES = frozenset({Habit.WRONG_TOOL, Habit.WRONG_ARGUMENT, Habit.MALFORMED})
"""Each is followed by the same call as it should be."""


@dataclass(frozen=True, slots=True)
class Mix:
    """How often things happen; shares in [0, 1]."""

    mistakes: float = 0.15
    """Calls of a solution that go wrong at first."""
    reads: float = 0.1
    """Calls that an unneeded read comes before."""
    unfinished: float = 0.0
    """Demonstrations that stop early. They teach a model to fail sometimes: to study what GRPO mends."""

    def __post_init__(self) -> None:
        for share in (self.mistakes, self.reads, self.unfinished):
            if not 0 <= share <= 1:
                raise ValueError(f"a share is between 0 and 1, not {share}")


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """What the model is to have said."""

    text: str
    habit: Habit | None = None


def demonstrate(
    solution: Solution, tools: Sequence[Tool], exposure: Exposure, mix: Mix, chance: random.Random
) -> list[ScriptedTurn]:
    """Write one demonstration of a solution.

    Args:
        tools: of its world.
        chance: decides what goes wrong; the same draws, the same demonstration.
    """
    calls, unfinished = solution.calls, chance.random() < mix.unfinished and len(solution.calls) > 0
    if unfinished:
        calls = calls[: chance.randrange(len(calls))]
    turns = [turn for call in calls for turn in _around(call, tools, mix, chance)]
    opening = [ScriptedTurn(write_request(ToolRequest("list_tools", {})))]
    written = [*(opening if exposure is Exposure.META else ()), *(_shown(turn, exposure) for turn in turns)]
    end = ScriptedTurn(_DONE, Habit.STOPS_EARLY) if unfinished else ScriptedTurn(solution.answer or _DONE)
    return [*written, end]


@dataclass(frozen=True, slots=True)
class _Planned:
    request: ToolRequest
    habit: Habit | None = None


def _around(call: ToolRequest, tools: Sequence[Tool], mix: Mix, chance: random.Random) -> Iterator[_Planned]:
    """A call of the solution, and what comes before it."""
    if chance.random() < mix.reads and (reads := _free_reads(tools)):
        yield _Planned(chance.choice(reads), Habit.UNNEEDED_READ)
    if chance.random() < mix.mistakes:
        yield _mistaken(call, tools, chance)
    yield _Planned(call)


def _free_reads(tools: Sequence[Tool]) -> list[ToolRequest]:
    """Reads that need no argument."""
    return [
        ToolRequest(tool.name, {})
        for tool in tools
        if tool.name.startswith(_READS) and not tool.input_schema.get("required")
    ]


def _mistaken(call: ToolRequest, tools: Sequence[Tool], chance: random.Random) -> _Planned:
    required = _required(call, tools)
    habit = chance.choice(sorted(MISTAKES if required else MISTAKES - {Habit.WRONG_ARGUMENT}))
    match habit:
        case Habit.WRONG_TOOL:
            name = _no_tool(call.name, {tool.name for tool in tools})
            return _Planned(ToolRequest(name, call.arguments), habit)
        case Habit.WRONG_ARGUMENT:
            return _Planned(ToolRequest(call.name, _misnamed(call.arguments, chance.choice(required))), habit)
        case _:
            return _Planned(call, habit)


def _required(call: ToolRequest, tools: Sequence[Tool]) -> list[str]:
    """The arguments of the call that it cannot go without."""
    schemas = {tool.name: tool.input_schema for tool in tools}
    return [name for name in schemas.get(call.name, {}).get("required", ()) if name in call.arguments]


def _no_tool(name: str, there_are: set[str]) -> str:
    """A name that is close, and no tool's."""
    verb, _, rest = name.partition("_")
    close = f"{_SYNONYMS.get(verb, f'do_{verb}')}_{rest}".rstrip("_")
    while close in there_are:
        close += "_now"
    return close


def _misnamed(arguments: Mapping[str, Any], wrong: str) -> dict[str, Any]:
    short = wrong.rpartition("_")[2]
    other = short if short not in arguments else f"the_{wrong}"
    return {other if name == wrong else name: value for name, value in arguments.items()}


def _shown(planned: _Planned, exposure: Exposure) -> ScriptedTurn:
    """The turn as text, in the way of calling that the model is shown."""
    request = planned.request
    if exposure is Exposure.META:
        request = ToolRequest("call_tool", {"name": request.name, "arguments": request.arguments})
    text = write_request(request)
    if planned.habit is Habit.MALFORMED:
        text = text.replace(f"}}\n{CLOSE}", f"\n{CLOSE}")  # one brace is missing
    return ScriptedTurn(text, planned.habit)
