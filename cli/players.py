"""Whom commands let play: a scripted agent by name, a model behind an endpoint, or a model in a folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from ..scenarios.task import Task
from ..training.agents import Agent
from ..training.chat_endpoint import ChatEndpoint, EndpointSettings
from ..training.endpoint_agent import EndpointAgent
from ..training.experts import Counsel, GoldExpert, ModelExpert
from ..training.exposure import Exposure
from ..training.limits import Limits
from .failure import BadInput
from .scripted import SCRIPTED, needs_solution, scripted_agent
from .solutions import solution_of

_ENDPOINT, _FOLDER = "openai:", "hf:"
NO_EXPERT, _GOLD = "none", "gold"
_TRAIN_EXTRA = ("torch", "transformers")

MakeAgent: TypeAlias = Callable[[Task | None], Agent]
"""A fresh agent for one episode of a task; the task may be None where the agent needs no solution."""


@dataclass(frozen=True, slots=True)
class Player:
    """Who plays, and how a model is asked."""

    agent: str
    """A scripted agent's name, `openai:MODEL` or `hf:FOLDER`."""
    url: str | None = None
    """Of the endpoint, up to `/v1`."""
    key: str | None = field(default=None, repr=False)
    """Of the endpoint."""
    temperature: float | None = None
    """None: the endpoint's own; for a folder 1.0, as in training."""
    timeout_s: float = 120.0
    retries: int = 3
    exposure: Exposure = Exposure.FULL
    turns: int = 12
    turn_tokens: int | None = None
    """None: as many as the endpoint likes; for a folder 512, as in training."""
    tokens: int = 4_096
    seed: int = 0
    """Of a folder's sampling."""
    expert: str = NO_EXPERT
    """Whom a model may ask: nobody, `gold`, which knows the solutions, or `openai:MODEL`."""
    expert_url: str | None = None
    """Of the expert's own endpoint, up to `/v1`."""
    expert_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Raises BadInput for what can be known to be wrong before anything is loaded."""
        if self.agent.startswith(_ENDPOINT):
            self._settings()
            if self.exposure is Exposure.COMPACT:
                raise BadInput("--tools compact is for hf: models; an endpoint takes schemas: full or meta")
        elif self.agent.startswith(_FOLDER):
            _require_train_extra()
            self._limits()
        elif self.agent not in SCRIPTED:
            raise BadInput(
                f"there is no agent '{self.agent}'; there are {', '.join(SCRIPTED)}, {_ENDPOINT}MODEL and "
                f"{_FOLDER}FOLDER"
            )
        self._require_expert()

    @property
    def needs_solution(self) -> bool:
        """Whether it must be told each task's gold solution."""
        return needs_solution(self.agent)

    def require_solution(self, task: Task) -> None:
        """Raises BadInput where the agent needs a gold solution and the task has none."""
        if self.needs_solution:
            scripted_agent(self.agent, task)

    @asynccontextmanager
    async def ready(self) -> AsyncGenerator[MakeAgent]:
        """Connect to the endpoint or load the model; both are gone when the block ends.

        Raises:
            BadInput: the model cannot be loaded.
        """
        if self.agent.startswith(_ENDPOINT):
            async with ChatEndpoint(self._settings()) as endpoint:
                yield lambda task: self._endpoint_agent(endpoint, task)
        elif self.agent.startswith(_FOLDER):
            async with self._local() as make:
                yield make
        else:
            yield lambda task: scripted_agent(self.agent, task)

    def _endpoint_agent(self, endpoint: ChatEndpoint, task: Task | None) -> Agent:
        return EndpointAgent(
            endpoint,
            self.exposure,
            Limits(turns=self.turns),
            most_tokens=self.turn_tokens,
            counsel=self._counsel(task),
        )

    def _counsel(self, task: Task | None) -> Counsel | None:
        if self.expert == NO_EXPERT or task is None:
            return None
        knows = self.expert == _GOLD
        expert = GoldExpert([solution_of(task)]) if knows else ModelExpert(self._expert_settings())
        return Counsel(expert, task.id, task.prompt)

    def _require_expert(self) -> None:
        """Raises BadInput where there is no such expert, or nobody to ask it."""
        if self.expert == NO_EXPERT:
            return
        if self.agent in SCRIPTED:
            raise BadInput(f"--expert {self.expert}: the agent '{self.agent}' is a script and asks nobody")
        if self.expert.startswith(_ENDPOINT):
            self._expert_settings()
        elif self.expert != _GOLD:
            raise BadInput(f"--expert {self.expert}: there are {_GOLD} and {_ENDPOINT}MODEL")

    def _expert_settings(self) -> EndpointSettings:
        if not self.expert_url:
            raise BadInput(
                f"--expert {self.expert} needs the address of its endpoint: --expert-url URL, up to /v1"
            )
        model = self.expert.removeprefix(_ENDPOINT)
        try:
            return EndpointSettings(self.expert_url, model, self.expert_key)
        except ValueError as error:
            raise BadInput(f"--expert {self.expert}: {error}") from error

    @asynccontextmanager
    async def _local(self) -> AsyncGenerator[MakeAgent]:
        from ..training.local_agent import LocalAgent, LocalModel, ModelUnusable  # torch, and seconds

        temperature = 1.0 if self.temperature is None else self.temperature
        folder = Path(self.agent.removeprefix(_FOLDER))
        try:
            model = await asyncio.to_thread(LocalModel, folder, temperature=temperature, seed=self.seed)
        except ModelUnusable as error:
            raise BadInput(f"--agent {self.agent}: {error}") from error
        async with model:
            yield lambda task: LocalAgent(
                self.agent, model, self.exposure, self._limits(), self._counsel(task)
            )

    def _limits(self) -> Limits:
        try:
            return Limits(turns=self.turns, turn_tokens=self.turn_tokens or 512, tokens=self.tokens)
        except ValueError as error:
            raise BadInput(f"--turn-tokens: {error}") from error

    def _settings(self) -> EndpointSettings:
        if not self.url:
            raise BadInput(
                f"--agent {self.agent} needs the address of an endpoint: --agent-url URL, or OPENAI_BASE_URL,"
                " up to /v1, such as http://127.0.0.1:8000/v1"
            )
        model = self.agent.removeprefix(_ENDPOINT)
        try:
            return EndpointSettings(self.url, model, self.key, self.temperature, self.timeout_s, self.retries)
        except ValueError as error:
            raise BadInput(f"--agent {self.agent}: {error}") from error


def _require_train_extra() -> None:
    missing = [name for name in _TRAIN_EXTRA if find_spec(name) is None]
    if missing:
        raise BadInput(
            f"hf: agents need {' and '.join(missing)}, which the train extra has: "
            "pip install 'subworlds[train]'"
        )
