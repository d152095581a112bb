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
from typing import Any

from ..envs.models import MAX_ANSWER, CallTool, CallToolObservation, Done, Tool
from .agents import Account, AgentFailed, Move
from .experts import ASK_EXPERT, Counsel
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

    def __init__(self, name: str, exposure: Exposure, limits: Limits, counsel: Counsel | None = None) -> None:
        """Args:
        counsel: the expert that it may ask; see experts.py.
        """
        self._name = name
        self._counsel = counsel
        self._exposure = exposure
        self._limits = limits
        self._account = Account(questions=None if counsel is None else 0)
        self._requests: deque[Request] = deque()
        """Of the turn under way, those that nobody answered yet."""
        self._results: list[str] = []
        """What those before them answered."""
        self._called: ToolRequest | None = None
        """What the world was asked last."""
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
        """The first move. Raises AgentFailed where the world has a tool called ask_expert itself."""
        shown = Shown(self._exposure, self._with_expert(tuple(tools)))
        self._shown = shown
        messages = shown.opening(prompt)
        self._account.transcript += messages
        self._open(messages)
        self._began = time.perf_counter()
        return await self._decide()

    async def go_on(self, seen: CallToolObservation) -> Move:
        """The next move."""
        answer = told(seen, self._limits.output_characters)
        self._results.append(answer)
        if self._counsel is not None and self._called is not None:
            self._counsel.note(self._called, answer, succeeded=seen.error is None)
        return await self._decide()

    def _with_expert(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        if self._counsel is None:
            return tools
        if any(tool.name == ASK_EXPERT.name for tool in tools):
            raise AgentFailed("expert_hidden", f"the world has a tool {ASK_EXPERT.name} itself")
        self._counsel.tools = tools
        return (*tools, ASK_EXPERT)

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
            call = await self._next_call()
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

    async def _next_call(self) -> CallTool | None:
        """The next request that is for the world; those before it are answered here."""
        while self._requests:
            self._account.calls += 1
            match self._shown.resolve(self._requests.popleft()):
                case ToolRequest(ASK_EXPERT.name, arguments) if self._counsel is not None:
                    self._results.append(await self._ask(self._counsel, arguments))
                case ToolRequest(name, arguments) as request:
                    self._called = request
                    return CallTool(tool_name=name, arguments=arguments)
                case Listing(text):
                    self._results.append(text)
                case Malformed() as mistake:
                    self._account.malformed += 1
                    if self._counsel is not None:
                        self._counsel.note_malformed()
                    self._results.append(shortened(f"error: {mistake}", self._limits.output_characters))
        return None

    async def _ask(self, counsel: Counsel, arguments: dict[str, Any]) -> str:
        advice = await counsel.ask(arguments)
        self._account.questions = counsel.asked
        return shortened(advice, self._limits.output_characters)

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
