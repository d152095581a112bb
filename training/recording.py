"""Demonstrations played on a real server, and so made conversations: token for token what training sees.

Only what the verdict bears out is kept: a demonstration completes its task if it was meant to, and only then.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from ..envs.client import SubworldsEnv
from ..envs.models import Tool
from .assignments import Assignment, RolloutError
from .conversation import ChatFormat
from .demonstrations import FAULTS, MISTAKES, Habit, Mix, ScriptedTurn, demonstrate
from .experts import Counsel, GoldExpert
from .exposure import Exposure
from .limits import Limits
from .played import Played
from .sampling import Written
from .seats import Seats
from .solutions import Solution

_NOT_LEARNED = -100
"""PyTorch's label for a token that the loss leaves out."""


@dataclass(frozen=True, slots=True)
class Recording:
    """How demonstrations are made."""

    urls: tuple[str, ...]
    token: str | None = field(default=None, repr=False)
    exposure: Exposure = Exposure.FULL
    limits: Limits = field(default_factory=Limits)
    mix: Mix = field(default_factory=Mix)
    copies: int = 4
    """Demonstrations of each task, each with mistakes of its own."""
    learn_mistakes: bool = False
    """Whether the loss counts the mistakes as well as what puts them right."""
    seed: int = 0
    at_once: int = 8


@dataclass(frozen=True, slots=True)
class Example:
    """One conversation to learn from."""

    task: str
    scenario: str
    difficulty: str | None
    messages: list[dict[str, Any]]
    """To read: the model's turns, what each is for and whether it is learned, and what was told between."""
    input_ids: list[int]
    """Of prompt and episode."""
    assistant_masks: list[int]
    """1 for what the model wrote."""
    labels: list[int]
    """The ids that the loss counts; -100 elsewhere."""
    habits: list[str]
    complete: bool


@dataclass(slots=True)
class Recorded:
    """What came of it."""

    examples: list[Example] = field(default_factory=list[Example])
    left_out: list[str] = field(default_factory=list[str])
    """Demonstrations that are not there, each with its reason."""


async def tools_of(
    urls: Sequence[str], token: str | None, solutions: Sequence[Solution]
) -> dict[str, list[Tool]]:
    """The tools of every world that has a solution. Raises RolloutError where a server does not know one."""
    tasks = {solution.scenario: solution.task for solution in solutions}
    found: dict[str, list[Tool]] = {}
    async with SubworldsEnv(urls[0], token=token) as env:
        for scenario, task in tasks.items():
            error = (await env.reset(task=task)).observation.error
            if error is not None:
                raise RolloutError(f"task {task} on {urls[0]}: {error}")
            found[scenario] = await env.list_tools()
    return found


async def record(
    recording: Recording, solutions: Sequence[Solution], tools: dict[str, list[Tool]], tokenizer: Any
) -> Recorded:
    """Play `copies` demonstrations of each solution.

    Raises:
        RolloutError: a server does not know a task.
        ConnectionError: no server can be reached.
    """
    chat = ChatFormat(tokenizer, {"enable_thinking": False})
    recorder = _Recorder(recording, tools, chat, tokenizer, GoldExpert(solutions))
    waiting = [(solution, copy) for copy in range(recording.copies) for solution in solutions]
    found: list[Example | str] = [""] * len(waiting)
    places = iter(range(len(waiting)))

    async def work(seat: int) -> None:
        for place in places:
            found[place] = await recorder.play(seats, seat, *waiting[place])

    async with _seats(recording) as seats:
        await asyncio.gather(*(work(seat) for seat in range(min(recording.at_once, len(waiting)))))
    return Recorded(
        [each for each in found if isinstance(each, Example)],
        [each for each in found if isinstance(each, str)],
    )


@asynccontextmanager
async def _seats(recording: Recording) -> AsyncGenerator[Seats]:
    seats = Seats(recording.urls, recording.token)
    try:
        yield seats
    finally:
        await seats.close()


class _Recorder:
    def __init__(
        self,
        recording: Recording,
        tools: dict[str, list[Tool]],
        chat: ChatFormat,
        tokenizer: Any,
        expert: GoldExpert,
    ) -> None:
        self._recording = recording
        self._tools = tools
        self._chat = chat
        self._tokenizer = tokenizer
        self._expert = expert

    async def play(self, seats: Seats, seat: int, solution: Solution, copy: int) -> Example | str:
        """One demonstration; or why it is left out."""
        recording, tools = self._recording, self._tools[solution.scenario]
        chance = random.Random(f"{recording.seed}/{copy}/{solution.task}")
        script = demonstrate(solution, tools, recording.exposure, recording.mix, chance)
        assignment = Assignment(solution.task, solution.scenario, solution.prompt, recording.seed)
        asks = any(turn.habit is Habit.ASKS for turn in script)
        counsel = Counsel(self._expert, solution.task, solution.prompt) if asks else None
        episode = Played(seat, assignment, recording.limits, seats.start(seat, assignment), counsel)
        await episode.reset
        episode.open(self._chat, tuple(tools), recording.exposure)
        example = await self._play_turns(episode, seats, solution, script)
        faulty = any(turn.habit in FAULTS for turn in script)
        if episode.broken or episode.cut or episode.live:
            return f"{solution.task}: {episode.broken or f'over the limit of {episode.cut}'}"
        if episode.complete == faulty:
            return f"{solution.task}: {'completes all the same' if faulty else 'does not complete its task'}"
        return example

    async def _play_turns(
        self, episode: Played, seats: Seats, solution: Solution, script: Sequence[ScriptedTurn]
    ) -> Example:
        conversation = episode.conversation
        assert conversation is not None
        labels = [_NOT_LEARNED] * len(conversation.prompt_ids)
        messages: list[dict[str, Any]] = [{"role": "user", "content": solution.prompt}]
        for turn in script:
            if not episode.live:
                break
            ids, start = self._ids_of(turn.text), len(conversation.ids)
            await episode.take_turn(Written(ids, [0.0] * len(ids)), self._chat, seats)
            learned = self._recording.learn_mistakes or turn.habit not in MISTAKES
            told = conversation.ids[start + len(ids) :]
            labels += ids if learned else [_NOT_LEARNED] * len(ids)
            labels += [_NOT_LEARNED] * len(told)
            messages.append(
                {"role": "assistant", "content": turn.text, "habit": turn.habit, "learn": learned}
            )
            messages.append({"role": "told", "content": self._tokenizer.decode(told)})
        await episode.ended()
        return Example(
            solution.task,
            solution.scenario,
            solution.difficulty,
            messages[:-1],  # nothing is told after the end
            conversation.context,
            [0] * len(conversation.prompt_ids) + conversation.mask,
            labels,
            [turn.habit for turn in script if turn.habit is not None],
            episode.complete,
        )

    def _ids_of(self, text: str) -> list[int]:
        """The turn as the model would write it."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return [*ids, self._chat.end_of_turn]
