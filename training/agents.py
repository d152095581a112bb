"""Agents, and how an episode is played and put on record.

An agent decides; the driver holds the environment. So an agent can neither reset nor score nor outlast its
episode, and a driver may play many agents at once. Scripted agents and models have the same interface.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ..envs.client import SubworldsEnv
from ..envs.models import (
    CallTool,
    CallToolObservation,
    Done,
    DoneObservation,
    EpisodeError,
    ResetObservation,
    Tool,
)
from .limits import Cut

Move: TypeAlias = CallTool | Done
"""What an agent decides: to call a tool, or that it is done, with its answer."""

CALL_LIMIT = 100
"""Calls an agent may make unless its driver says otherwise."""


class Agent(Protocol):
    """Plays one episode, one move at a time."""

    @property
    def name(self) -> str:
        """How reports call it."""
        ...

    async def begin(self, prompt: str, tools: Sequence[Tool]) -> Move:
        """The first move, from the instruction and the world's tools."""
        ...

    async def go_on(self, seen: CallToolObservation) -> Move:
        """The next move, from what the last call answered."""
        ...


@dataclass(slots=True)
class Account:
    """What an agent with a model in it has said and used in its episode."""

    turns: int = 0
    calls: int = 0
    """Requests, those that broke the format included."""
    malformed: int = 0
    """Requests that broke the format, and so never reached the world."""
    read_tokens: int | None = 0
    """All that the model was given to read, turn by turn; None where its endpoint does not say."""
    written_tokens: int | None = 0
    questions: int | None = None
    """Questions that the expert answered; None where the agent was offered none."""
    cut: Cut | None = None
    """The limit that ended the episode, if one did."""
    transcript: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Messages in order, each with a `role` and a `content`."""


@runtime_checkable
class Accountable(Protocol):
    """An agent that keeps an account."""

    @property
    def account(self) -> Account:
        """What it has said and used so far."""
        ...


class AgentFailed(Exception):
    """The agent cannot go on, through no fault of its model's: the episode is invalid, never scored 0."""

    def __init__(self, kind: str, message: str, *, hopeless: bool = False) -> None:
        self.kind = kind
        """One word for reports, such as `endpoint_timeout`."""
        self.hopeless = hopeless
        """Whether another episode would fail as well."""
        super().__init__(message)


class NoopAgent:
    """Does nothing and says nothing: what no task may reward."""

    name = "noop"

    async def begin(self, prompt: str, tools: Sequence[Tool]) -> Move:
        """Done."""
        return Done()

    async def go_on(self, seen: CallToolObservation) -> Move:
        """Never asked: it calls nothing."""
        return Done()


class GoldAgent:
    """Plays calls it was told, whatever they answer, and then says the answer it was told."""

    name = "gold"

    def __init__(self, calls: Sequence[CallTool], answer: str | None) -> None:
        moves: list[Move] = [*calls, Done(answer=answer)]
        self._moves = iter(moves)

    async def begin(self, prompt: str, tools: Sequence[Tool]) -> Move:
        """The first call."""
        return next(self._moves)

    async def go_on(self, seen: CallToolObservation) -> Move:
        """The next call, or done."""
        return next(self._moves)


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call of an episode and what it answered."""

    tool: str
    arguments: dict[str, Any]
    result: Any = None
    error: EpisodeError | None = None

    def to_json(self) -> dict[str, Any]:
        """As a JSON object, with a result or an error."""
        call: dict[str, Any] = {"tool": self.tool, "arguments": self.arguments}
        if self.error is None:
            return {**call, "result": self.result}
        return {**call, "error": {"error_type": self.error.error_type, "message": self.error.message}}


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """A finished episode: who played what, every step, and how it ended."""

    task: str
    scenario: str
    agent: str
    seed: int
    prompt: str
    steps: tuple[Step, ...]
    answer: str | None
    reward: float | None
    """None where the episode is invalid."""
    end: DoneObservation
    seconds: float
    """From reset to verdict."""
    account: Account | None = None
    """Where the agent keeps one."""
    failure: AgentFailed | None = None
    """Why the agent did not end the episode; it has no verdict then."""

    @property
    def valid(self) -> bool:
        """Whether the episode counts: False where world, verifier or agent broke, or the session expired."""
        return self.end.verdict is not None and self.end.verdict.valid

    @property
    def fault(self) -> str | None:
        """Of an invalid episode, what broke it, in one word: an outcome, an ErrorType or an agent's fault."""
        if self.valid:
            return None
        if self.failure is not None:
            return self.failure.kind
        error = self.end.error
        return self.outcome or (str(error.error_type) if error is not None else "no_verdict")

    @property
    def outcome(self) -> str | None:
        """The verdict's outcome; None where the episode ended without a verdict."""
        return None if self.end.verdict is None else self.end.verdict.outcome

    @property
    def reason(self) -> str:
        """Why this outcome, in a sentence."""
        if self.failure is not None:
            return str(self.failure)
        return str(self.end.error) if self.end.verdict is None else self.end.verdict.reason

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "task": self.task,
            "scenario": self.scenario,
            "agent": self.agent,
            "seed": self.seed,
            "reward": self.reward,
            "components": self.end.components,
            "outcome": self.outcome,
            "reason": self.reason,
            "answer": self.answer,
            "steps": [step.to_json() for step in self.steps],
            "verdict": None if self.end.verdict is None else asdict(self.end.verdict),
            "fault": self.fault,
            "model": None if self.account is None else asdict(self.account),
            "seconds": round(self.seconds, 4),
        }


class NoEpisode(Exception):
    """The server gave no episode; `error` says why in a typed way."""

    def __init__(self, error: EpisodeError) -> None:
        self.error = error
        super().__init__(str(error))


async def play_episode(
    env: SubworldsEnv, task_id: str, agent: Agent, *, seed: int = 0, call_limit: int = CALL_LIMIT
) -> EpisodeRecord:
    """Play one episode from reset to verdict.

    An agent that fails leaves an invalid record.

    Args:
        call_limit: an agent that wants more calls than this is done, without an answer.

    Raises:
        NoEpisode: the server refused to start it.
        ServerError, ConnectionError: the server broke or went away.
    """
    started = time.perf_counter()
    reset: ResetObservation = (await env.reset(task=task_id, seed=seed)).observation
    if reset.error is not None:
        raise NoEpisode(reset.error)
    steps: list[Step] = []
    answer, reward, end, failure = None, None, DoneObservation(), None
    try:
        answer = await _play(env, reset.prompt or "", agent, call_limit, steps)
        ended = await env.done(answer)
        reward, end = ended.reward, ended.observation
    except AgentFailed as error:
        failure = error
    return EpisodeRecord(
        task=reset.task or task_id,
        scenario=reset.scenario or "",
        agent=agent.name,
        seed=seed,
        prompt=reset.prompt or "",
        steps=tuple(steps),
        answer=answer,
        reward=reward,
        end=end,
        seconds=time.perf_counter() - started,
        account=agent.account if isinstance(agent, Accountable) else None,
        failure=failure,
    )


async def _play(
    env: SubworldsEnv, prompt: str, agent: Agent, call_limit: int, steps: list[Step]
) -> str | None:
    """Play the agent's calls, noting them in `steps`, and return its answer."""
    move = await agent.begin(prompt, await env.list_tools())
    while isinstance(move, CallTool):
        if len(steps) == call_limit:
            return None
        seen = (await env.call_tool(move.tool_name, **move.arguments)).observation
        steps.append(Step(move.tool_name, move.arguments, seen.result, seen.error))
        move = await agent.go_on(seen)
    return move.answer
