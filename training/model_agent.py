"""What agents with a language model in them share: turns, requests, limits, and an account of it all.

They see what a model sees in training: the same messages, the same tools, the same words for every answer and
every mistake, and the same limits.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ..envs.models import MAX_ANSWER, CallTool, CallToolObservation, Done, Tool
from .agents import Account, Move
from .exposure import Exposure, Listing, Shown
from .limits import Cut, Limits
from .telling import shortened, told
from .tool_calls import Malformed, Request, ToolRequest, Turn


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of the model."""

    turn: Turn
    cut: bool = False
    """Whether it was stopped before it was through; what it said counts for nothing then."""


class ModelAgent(ABC):
    """Plays one episode with a model."""

    def __init__(self, name: str, exposure: Exposure, limits: Limits) -> None:
        self._name = name
        self._exposure = exposure
        self._limits = limits
        self._account = Account()
        self._requests: deque[Request] = deque()
        """Of the turn under way, those that nobody answered yet."""
        self._results: list[str] = []
        """What those before them answered."""
        self._began = time.perf_counter()

    @property
    def name(self) -> str:
        """How reports call it."""
        return self._name

    @property
    def account(self) -> Account:
        """What it has said and used so far."""
        return self._account

    async def begin(self, prompt: str, tools: Sequence[Tool]) -> Move:
        """The first move."""
        shown = Shown(self._exposure, tuple(tools))
        self._shown = shown
        messages = [{"role": "system", "content": shown.system}, {"role": "user", "content": prompt}]
        self._account.transcript += messages
        self._open(messages)
        self._began = time.perf_counter()
        return await self._decide()

    async def go_on(self, seen: CallToolObservation) -> Move:
        """The next move."""
        self._results.append(told(seen, self._limits.output_characters))
        return await self._decide()

    @abstractmethod
    def _open(self, messages: Sequence[dict[str, str]]) -> None:
        """Begin the conversation."""

    @abstractmethod
    def _hear(self, results: Sequence[str]) -> bool:
        """Tell the model what its requests answered. False where there is no room for it and another turn."""

    @abstractmethod
    async def _write(self) -> Said:
        """Let the model write a turn. Raises AgentFailed."""

    async def _decide(self) -> Move:
        while True:
            call = self._next_call()
            if call is not None:
                return call
            if self._account.turns and (cut := self._told()) is not None:
                return self._done(None, cut)
            said = await self._write()
            self._account.turns += 1
            if said.cut:
                return self._done(None, Cut.TOKENS)
            if not said.turn.requests:
                return self._done(said.turn.answer)
            if self._account.calls + len(said.turn.requests) > self._limits.calls:
                return self._done(None, Cut.CALLS)
            self._requests.extend(said.turn.requests)

    def _next_call(self) -> CallTool | None:
        """The next request that is for the world; those before it are answered here."""
        while self._requests:
            self._account.calls += 1
            match self._shown.resolve(self._requests.popleft()):
                case ToolRequest(name, arguments):
                    return CallTool(tool_name=name, arguments=arguments)
                case Listing(text):
                    self._results.append(text)
                case Malformed() as mistake:
                    self._account.malformed += 1
                    self._results.append(shortened(f"error: {mistake}", self._limits.output_characters))
        return None

    def _told(self) -> Cut | None:
        """Let the model hear what its requests answered; or why it may not go on."""
        if self._account.turns >= self._limits.turns:
            return Cut.TURNS
        results, self._results = self._results, []
        self._account.transcript += [{"role": "tool", "content": result} for result in results]
        if not self._hear(results):
            return Cut.TOKENS
        return Cut.SECONDS if time.perf_counter() - self._began > self._limits.seconds else None

    def _done(self, answer: str | None, cut: Cut | None = None) -> Done:
        self._account.cut = cut
        return Done(answer=None if answer is None else answer[:MAX_ANSWER])
