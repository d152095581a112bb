"""One batch of episodes under way: one generation for all that live, then all their calls at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import torch

from ..envs.client import ServerError
from ..envs.models import Tool
from .assignments import Assignment, RolloutError
from .conversation import ChatFormat, Conversation
from .experts import Counsel
from .exposure import Exposure
from .generation import generate
from .limits import Limits
from .loop_thread import LoopThread
from .memory import Memory
from .played import Played
from .sampling import Written
from .seats import Seats

_TRIES = 2

_T = TypeVar("_T")

ToolsOf: TypeAlias = dict[str, tuple[Tool, ...]]
"""A world's tools, by scenario. They never change."""

Offer: TypeAlias = Callable[[int, Assignment], Counsel | None]
"""The expert that the episode at a place of the batch may ask; None for none."""


@dataclass(slots=True)
class BatchSeconds:
    """Where a batch's wall time went."""

    generation: float = 0.0
    world: float = 0.0
    """While nothing was generated: tool calls, the last verdicts, and resets that were waited for."""


class Batch:
    """Plays the episodes of one batch together."""

    def __init__(
        self,
        loop: LoopThread,
        seats: Seats,
        tools: ToolsOf,
        chat: ChatFormat,
        trainer: Any,
        *,
        exposure: Exposure,
        limits: Limits,
        offer: Offer,
    ) -> None:
        """Args:
        loop: where `seats` lives.
        tools: what is known already; what is learned is added.
        trainer: the GRPOTrainer that generates.
        offer: the expert that an episode may ask, if any.
        """
        self.seconds = BatchSeconds()
        self._loop = loop
        self._seats = seats
        self._tools = tools
        self._chat = chat
        self._trainer = trainer
        self._exposure = exposure
        self._limits = limits
        self._offer = offer
        self._memory = Memory()

    def play(self, assignments: Sequence[Assignment]) -> list[Played]:
        """Play one episode for each assignment, and what was invalid once more.

        Raises:
            RolloutError: a task cannot be played here, or every episode lost its server, twice.
            ConnectionError: no server can be reached.
        """
        played = self._play_once(list(enumerate(assignments)))
        for _ in range(_TRIES - 1):
            again = [(each.number, each.assignment) for each in played if not each.valid]
            if not self._any_anywhere(bool(again)):
                break
            for second in self._play_once(again):
                played[second.number] = second
        if played and all(episode.lost for episode in played):
            raise RolloutError(
                f"no episode of the batch kept its server, twice: {played[0].broken}. See whether the server "
                "still runs and what it said; then go on from the last checkpoint (--resume)"
            )
        return played

    def _play_once(self, chosen: Sequence[tuple[int, Assignment]]) -> list[Played]:
        episodes = self._wait_for(self._open(chosen))
        while self._any_anywhere(bool(live := [episode for episode in episodes if episode.live])):
            written = self._write(live)
            self._wait_for(self._take_turns(live, written))
        self._wait_for(_all_ended(episodes))
        return episodes

    def _write(self, live: Sequence[Played]) -> list[Written]:
        started = time.perf_counter()
        contexts = {episode.number: conversation_of(episode).context for episode in live}
        idle = {0: [self._chat.end_of_turn]}  # others wait for us to generate with them
        written = generate(self._trainer, contexts or idle, self._limits.turn_tokens, self._memory)
        self.seconds.generation += time.perf_counter() - started
        return written[: len(contexts)]

    def _wait_for(self, work: Coroutine[Any, Any, _T]) -> _T:
        started = time.perf_counter()
        done = self._loop.run(work)
        self.seconds.world += time.perf_counter() - started
        return done

    async def _open(self, chosen: Sequence[tuple[int, Assignment]]) -> list[Played]:
        """Begin all conversations. Resets go on in the background where the tools are known already."""
        episodes = [
            Played(
                number,
                assignment,
                self._limits,
                self._seats.start(number, assignment),
                self._offer(number, assignment),
            )
            for number, assignment in chosen
        ]
        await asyncio.gather(*(self._learn_tools(episode) for episode in _unknown(episodes, self._tools)))
        for episode in episodes:
            episode.open(self._chat, self._tools[episode.assignment.scenario], self._exposure)
        return episodes

    async def _learn_tools(self, episode: Played) -> None:
        """Ask the world itself; where it went away meanwhile, one that is started anew."""
        for _ in range(_TRIES):
            try:
                found = await (await episode.reset).list_tools()
            except ServerError:
                found = []
            if found:
                self._tools[episode.assignment.scenario] = tuple(found)
                return
            episode.reset = self._seats.start(episode.number, episode.assignment)
        raise RolloutError(f"the world {episode.assignment.scenario} shows no tools")

    async def _take_turns(self, live: Sequence[Played], written: Sequence[Written]) -> None:
        turns = zip(live, written, strict=True)
        await asyncio.gather(*(episode.take_turn(each, self._chat, self._seats) for episode, each in turns))

    def _any_anywhere(self, here: bool) -> bool:
        """Whether any process has work left: all must generate together where generation is collective."""
        accelerator = self._trainer.accelerator
        if accelerator.num_processes == 1:
            return here
        return bool(accelerator.gather(torch.tensor([here], device=accelerator.device)).any())


async def _all_ended(episodes: Iterable[Played]) -> None:
    await asyncio.gather(*(episode.ended() for episode in episodes))


def conversation_of(episode: Played) -> Conversation:
    """The conversation of an episode that was opened."""
    assert episode.conversation is not None
    return episode.conversation


def _unknown(episodes: Iterable[Played], known: ToolsOf) -> list[Played]:
    """One episode of each scenario whose tools are not known."""
    found = {episode.assignment.scenario: episode for episode in reversed(list(episodes))}
    return [episode for scenario, episode in found.items() if scenario not in known]
