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
from .experts import ASK_EXPERT
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
    SKIPS = "skips"
    """What comes after a call that was left out."""
    CONFUSES = "confuses"
    """A call with a value that belongs elsewhere in the solution: another row's."""
    ASKS = "asks"
    """A question to the expert, whose advice is followed."""


MISTAKES = frozenset({Habit.WRONG_TOOL, Habit.WRONG_ARGUMENT, Habit.MALFORMED})
"""Each is followed by the same call as it should be."""
FAULTS = frozenset({Habit.STOPS_EARLY, Habit.SKIPS, Habit.CONFUSES})
"""None is put right: the task must not be complete in the end."""


@dataclass(frozen=True, slots=True)
class Mix:
    """How often things happen; shares in [0, 1]."""

    mistakes: float = 0.15
    """Calls of a solution that go wrong at first."""
    reads: float = 0.1
    """Calls that an unneeded read comes before."""
    unfinished: float = 0.0
    """Demonstrations that stop early. They teach a model to fail sometimes: to study what GRPO mends."""
    slips: float = 0.0
    """Demonstrations with one fault inside, a call left out or a value confused. For the same."""
    asks: float = 0.0
    """Demonstrations that are offered the expert, and ask it before every second call or so. For a model that
    is to meet one in training, and would not find out by itself what it is good for."""

    def __post_init__(self) -> None:
        for share in (self.mistakes, self.reads, self.unfinished, self.slips, self.asks):
            if not 0 <= share <= 1:
                raise ValueError(f"a share is between 0 and 1, not {share}")
        if self.unfinished + self.slips + self.asks > 1:
            raise ValueError("a demonstration stops early, slips or asks: together they are at most 1")


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
    planned, end = [_Planned(call) for call in solution.calls], ScriptedTurn(solution.answer or _DONE)
    drawn = chance.random() if planned else 1.0
    if drawn < mix.unfinished:
        planned = planned[: chance.randrange(len(planned))]
        end = ScriptedTurn(_DONE, Habit.STOPS_EARLY)
    elif drawn < mix.unfinished + mix.slips:
        planned, end = _slipping(planned, end, chance)
    elif drawn < mix.unfinished + mix.slips + mix.asks:
        planned = _asking(planned, chance)
    turns = [turn for each in planned for turn in _around(each, tools, mix, chance)]
    opening = [ScriptedTurn(write_request(ToolRequest("list_tools", {})))]
    written = [*(opening if exposure is Exposure.META else ()), *(_shown(turn, exposure) for turn in turns)]
    return [*written, end]


@dataclass(frozen=True, slots=True)
class _Planned:
    request: ToolRequest
    habit: Habit | None = None


def _slipping(
    planned: Sequence[_Planned], end: ScriptedTurn, chance: random.Random
) -> tuple[list[_Planned], ScriptedTurn]:
    """The plan with one fault in a call that changes something; as it is where there is none to go wrong."""
    writes = [place for place, each in enumerate(planned) if not each.request.name.startswith(_READS)]
    if not writes:
        return list(planned), end
    place = chance.choice(writes)
    confused = _confused(planned[place].request, planned, chance)
    if confused is not None and chance.random() < 0.5:
        return [*planned[:place], _Planned(confused, Habit.CONFUSES), *planned[place + 1 :]], end
    after = [*planned[place + 1 :]]
    if not after:
        return list(planned[:place]), ScriptedTurn(end.text, Habit.SKIPS)
    return [*planned[:place], _Planned(after[0].request, Habit.SKIPS), *after[1:]], end


def _asking(planned: Sequence[_Planned], chance: random.Random) -> list[_Planned]:
    """The plan with questions, one at least."""
    ask = _Planned(ToolRequest(ASK_EXPERT.name, {"question": "What next?"}), Habit.ASKS)
    sure = chance.randrange(len(planned))
    asked = [place == sure or chance.random() < 0.5 for place in range(len(planned))]
    return [
        turn for each, asks in zip(planned, asked, strict=True) for turn in ((ask, each) if asks else (each,))
    ]


def _confused(call: ToolRequest, planned: Sequence[_Planned], chance: random.Random) -> ToolRequest | None:
    """The call with one value from another call; None where no other call has one of its type."""
    elsewhere = [value for each in planned for value in each.request.arguments.values()]
    choices = [
        (name, other)
        for name, value in call.arguments.items()
        for other in elsewhere
        if type(other) is type(value) and other != value
    ]
    if not choices:
        return None
    name, other = chance.choice(choices)
    return ToolRequest(call.name, {**call.arguments, name: other})


def _around(planned: _Planned, tools: Sequence[Tool], mix: Mix, chance: random.Random) -> Iterator[_Planned]:
    """A call of the plan, and what comes before it. Questions are asked without detours."""
    if planned.habit is Habit.ASKS:
        yield planned
        return
    if chance.random() < mix.reads and (reads := _free_reads(tools)):
        yield _Planned(chance.choice(reads), Habit.UNNEEDED_READ)
    if chance.random() < mix.mistakes:
        yield _mistaken(planned.request, tools, chance)
    yield planned


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
