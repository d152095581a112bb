"""One episode as a trainer sees it: tokens on one side, a world on the other, and how it ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ..envs.client import ServerError, SubworldsEnv
from ..envs.models import MAX_ANSWER, CallToolObservation, DoneObservation, ErrorType, Tool
from .assignments import Assignment, RolloutError
from .conversation import ChatFormat, Conversation
from .experts import ASK_EXPERT, Counsel
from .exposure import Exposure, Listing, Shown
from .limits import Cut, Limits
from .sampling import Written
from .seats import Seats
from .telling import shortened, told
from .tool_calls import Malformed, Request, ToolRequest, read_turn

_WORLD_GONE = frozenset(
    {
        ErrorType.WORLD_CRASHED,
        ErrorType.SESSION_EXPIRED,
        ErrorType.NO_EPISODE,
        ErrorType.EPISODE_DONE,
        ErrorType.SERVER_STOPPING,
    }
)
"""After one of these no call of the episode can be answered."""


@dataclass(slots=True)
class Played:
    """An episode, live or ended."""

    number: int
    """Its place in the batch, and its seat."""
    assignment: Assignment
    limits: Limits
    reset: asyncio.Task[SubworldsEnv] = field(repr=False)
    """Under way or through; gives the connection."""
    counsel: Counsel | None = field(default=None, repr=False)
    """The expert it may ask, and what came of it; None where it is offered none."""
    conversation: Conversation | None = field(default=None, repr=False)
    shown: Shown | None = field(default=None, repr=False)
    live: bool = True
    turns: int = 0
    calls: int = 0
    malformed: int = 0
    """Calls that broke the format."""
    timeouts: int = 0
    answer: str | None = None
    cut: Cut | None = None
    broken: str | None = None
    """What broke it, where world, verifier or connection did."""
    lost: bool = False
    """Whether it was the connection."""
    end: DoneObservation | None = field(default=None, repr=False)
    reward: float | None = None
    env_seconds: float = 0.0
    """Spent waiting for the world."""
    began: float = field(default_factory=time.perf_counter)
    _world_gone: bool = False
    _ending: asyncio.Task[None] | None = field(default=None, repr=False)
    """Its verdict, under way or through."""

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return self.broken is None

    @property
    def complete(self) -> bool:
        """Whether the task was solved."""
        return (
            self.end is not None and self.end.verdict is not None and self.end.verdict.outcome == "complete"
        )

    def open(self, chat: ChatFormat, tools: tuple[Tool, ...], exposure: Exposure) -> None:
        """Begin the conversation. Raises RolloutError where the context has no room for it."""
        if self.counsel is not None:
            if any(tool.name == ASK_EXPERT.name for tool in tools):
                raise RolloutError(
                    f"the world {self.assignment.scenario} has a tool {ASK_EXPERT.name} itself"
                )
            self.counsel.tools = tools
            tools = (*tools, ASK_EXPERT)
        self.shown = Shown(exposure, tools)
        prompt = chat.open(self.shown.opening(self.assignment.prompt), self.shown.functions)
        if len(prompt) + self.limits.tokens > self.limits.context:
            raise RolloutError(
                f"the prompt of {self.assignment.task} has {len(prompt)} tokens; with {self.limits.tokens} "
                f"for the episode that is over the context of {self.limits.context}. Show the tools shorter "
                "(compact or meta), or allow a larger context or shorter episodes"
            )
        self.conversation = Conversation(prompt)

    async def take_turn(self, written: Written, chat: ChatFormat, seats: Seats) -> None:
        """Do what the model wrote. Never raises for what worlds and servers do.

        If the episode ends with it, its verdict is waited for by `ended`: nobody else need wait for it.
        """
        assert self.conversation is not None
        self.conversation.model_said(written.ids, written.logprobs)
        self.turns += 1
        async with self._at_the_world(seats):
            await self._act(written, chat)
        if not self.live and self.broken is None:
            self._ending = asyncio.create_task(self._end(seats))

    async def ended(self) -> None:
        """Wait until it is known how it ended. Never raises for what worlds and servers do."""
        if self._ending is not None:
            await self._ending

    @asynccontextmanager
    async def _at_the_world(self, seats: Seats) -> AsyncGenerator[None]:
        """Counts the time; an episode whose connection breaks is lost."""
        started = time.perf_counter()
        try:
            yield
        except (ServerError, OSError) as error:
            self.broken, self.lost, self.live = f"{type(error).__name__}: {error}", True, False
            await seats.leave(self.number)
        finally:
            self.env_seconds += time.perf_counter() - started

    async def _act(self, written: Written, chat: ChatFormat) -> None:
        if not written.ids or written.ids[-1] != chat.end_of_turn:
            full = len(written.ids) >= self.limits.turn_tokens
            self._finish(cut=Cut.TOKENS if full else None)
            return
        turn = read_turn(chat.read(written.ids))
        if not turn.requests:
            self.answer = (turn.answer or "")[:MAX_ANSWER]
            self._finish()
            return
        if self.calls + len(turn.requests) > self.limits.calls:
            self._finish(cut=Cut.CALLS)
            return
        results = [await self._answer(request) for request in turn.requests if not self._world_gone]
        if self._world_gone:
            self._finish()
        else:
            self._go_on(chat.reply(results))

    def _go_on(self, told: list[int]) -> None:
        """Tell the model what its calls answered, if there is room for that and for another turn."""
        assert self.conversation is not None
        if self.turns >= self.limits.turns:
            self._finish(cut=Cut.TURNS)
        elif len(self.conversation.ids) + len(told) + self.limits.turn_tokens > self.limits.tokens:
            self._finish(cut=Cut.TOKENS)
        elif time.perf_counter() - self.began > self.limits.seconds:
            self._finish(cut=Cut.SECONDS)
        else:
            self.conversation.world_said(told)

    async def _answer(self, request: Request) -> str:
        assert self.shown is not None
        self.calls += 1
        match self.shown.resolve(request):
            case Listing(text):
                return text
            case Malformed() as mistake:
                self.malformed += 1
                if self.counsel is not None:
                    self.counsel.note_malformed()
                return self._cut(f"error: {mistake}")
            case ToolRequest(ASK_EXPERT.name, arguments) if self.counsel is not None:
                return self._cut(await self.counsel.ask(arguments))
            case call:
                return await self._call(call)

    async def _call(self, call: ToolRequest) -> str:
        world = await self.reset
        seen = (await world.call_tool(call.name, **call.arguments)).observation
        answer = self._told(seen)
        if self.counsel is not None:
            self.counsel.note(call, answer, succeeded=seen.error is None)
        return answer

    def _told(self, seen: CallToolObservation) -> str:
        if seen.error is not None:
            self.timeouts += seen.error.error_type is ErrorType.TIMEOUT
            self._world_gone = seen.error.error_type in _WORLD_GONE
        return told(seen, self.limits.output_characters)

    def _cut(self, text: str) -> str:
        return shortened(text, self.limits.output_characters)

    def _finish(self, *, cut: Cut | None = None) -> None:
        self.cut, self.live = cut, False

    async def _end(self, seats: Seats) -> None:
        async with self._at_the_world(seats):
            result = await (await self.reset).done(self.answer)
            self.end, self.reward = result.observation, result.reward
            verdict = result.observation.verdict
            if verdict is None:
                self.broken = str(result.observation.error)
            elif not verdict.valid:
                self.broken = f"{verdict.outcome}: {verdict.reason}"
