"""The OpenEnv environment: the control plane of one connection. Natively async."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from ..scenarios.task import TaskEntry
from .episode import Episode, EpisodeRefused, EpisodeService, TaskChoice
from .models import (
    CallTool,
    CallToolObservation,
    Done,
    DoneObservation,
    EpisodeError,
    ErrorType,
    ListTools,
    ListToolsObservation,
    ResetObservation,
    SubworldsObservation,
    SubworldsState,
    TaskCard,
    Tool,
)
from .rubric import EpisodeRubric, RubricWeights
from .tool_client import EpisodeToolClient

_NO_EPISODE = EpisodeError(error_type=ErrorType.NO_EPISODE, message="no episode is being played; reset first")


class SubworldsEnvironment(Environment[Any, SubworldsObservation, SubworldsState]):
    """Plays one episode at a time for one client."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    REQUIRES_SINGLE_THREAD_EXECUTOR = (
        True  # construction and close are instant: one thread serves all connections
    )

    def __init__(self, service: Callable[[], EpisodeService], weights: RubricWeights | None = None) -> None:
        self._rubric = EpisodeRubric(weights)
        super().__init__(rubric=self._rubric)
        self._service = service()
        self._episode: Episode | None = None
        self.on_activity: Callable[[], None] = lambda: None
        """Called whenever an agent uses the episode on the agent plane."""
        self._other_steps = 0
        """Steps of the episode that were no tool calls."""

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        scenario: str | None = None,
        task: str | None = None,
        index: int | None = None,
        split: str | None = None,
        **unknown: Any,
    ) -> ResetObservation:
        """Start an episode, ending the one before. See SubworldsEnv.reset for how the task is chosen."""
        self._end()
        self._reset_rubric()
        self._other_steps = 0
        try:
            choice = _read_choice(unknown, scenario=scenario, task=task, index=index, split=split, seed=seed)
            self._episode = episode = await self._service.start(choice, episode_id)
        except EpisodeRefused as refused:
            return ResetObservation(error=refused.error)
        episode.on_activity = self.on_activity
        return ResetObservation(
            prompt=episode.task.prompt,
            scenario=episode.task.scenario,
            task=episode.task.id,
            mcp_url=self._service.mcp_url(episode),
            mcp_token=episode.token,
        )

    async def step_async(
        self, action: Any, timeout_s: float | None = None, **unknown: Any
    ) -> SubworldsObservation:
        """List the tools, call one, or end the episode."""
        match action:
            case ListTools():
                self._other_steps += 1
                return ListToolsObservation(tools=self.tools())
            case CallTool():
                return await self._call(action)
            case Done():
                self._other_steps += 1
                return await self._finish(action)
            case _:
                raise TypeError(f"not an action of this environment: {action!r}")

    def tools(self) -> list[Tool]:
        """The tools of the world that is played; none before a reset."""
        if self._episode is None or self._episode.phase != "playing":
            return []
        return [
            Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema)
            for tool in self._episode.tools
        ]

    @property
    def mcp_client(self) -> EpisodeToolClient:
        """What OpenEnv's `/mcp` routes ask for: the episode's tools, nothing of the control plane."""
        return EpisodeToolClient(self.tools, self._call)

    @property
    def state(self) -> SubworldsState:
        """Where the episode stands."""
        episode = self._episode
        if episode is None:
            return SubworldsState()
        return SubworldsState(
            episode_id=episode.id,
            step_count=episode.steps + self._other_steps,
            phase=episode.phase,
            scenario=episode.task.scenario,
            task=episode.task.id,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """Name and description of the environment."""
        scenarios, tasks = len(self._service.catalog.scenarios), len(self._service.catalog.served)
        return EnvironmentMetadata(
            name="subworlds",
            description=f"{scenarios} SQLite-backed worlds with {tasks} tasks, played through MCP tools",
            version="0.1.0",
        )

    def list_splits(self) -> list[str]:
        """Names of the splits that have tasks."""
        return list(self._service.catalog.splits())

    def list_tasks(self, split: str) -> list[TaskCard]:
        """The tasks of a split, in order; none for a split that does not exist."""
        return [_card(task, index) for index, task in enumerate(self._service.catalog.tasks_in(split))]

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return len(self._service.catalog.tasks_in(split))

    def get_task(self, split: str, index: int) -> TaskCard:
        """One task of a split. Raises IndexError where there is none."""
        if index < 0:
            raise IndexError(index)
        return _card(self._service.catalog.tasks_in(split)[index], index)

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskCard]:
        """A slice of a split."""
        return self.list_tasks(split)[start:stop]

    def close(self) -> None:
        """End the episode. Returns at once, from any thread: the session ends on the server's own loop."""
        self._end()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> ResetObservation:
        """Not available: this environment lives on an event loop. Use `reset_async`."""
        raise NotImplementedError("this environment is natively async: await reset_async")

    def step(self, action: Any, timeout_s: float | None = None, **options: Any) -> SubworldsObservation:
        """Not available: this environment lives on an event loop. Use `step_async`."""
        raise NotImplementedError("this environment is natively async: await step_async")

    async def _call(self, action: CallTool) -> CallToolObservation:
        if self._episode is None:
            return CallToolObservation(tool_name=action.tool_name, error=_NO_EPISODE)
        try:
            outcome = await self._episode.call(action.tool_name, action.arguments)
        except EpisodeRefused as refused:
            return CallToolObservation(tool_name=action.tool_name, error=refused.error)
        failure = outcome.failure
        error = (
            None
            if failure is None
            else EpisodeError(error_type=ErrorType(failure.kind), message=failure.message)
        )
        return CallToolObservation(
            tool_name=action.tool_name, result=outcome.result, error=error, truncated=outcome.truncated
        )

    async def _finish(self, action: Done) -> DoneObservation:
        if self._episode is None:
            return DoneObservation(error=_NO_EPISODE)
        try:
            verdict = await self._episode.done(action.answer)
        except EpisodeRefused as refused:
            return DoneObservation(done=self._episode.phase == "done", error=refused.error)
        observation = DoneObservation(done=True, verdict=verdict)
        if verdict.valid:
            reward: Any = self._rubric(action, self._episode.summary(verdict))
            observation.reward = reward
            observation.components = self._rubric.components()
        return observation

    def _end(self) -> None:
        if self._episode is not None:
            episode, self._episode = self._episode, None
            self._service.discard(episode)


def _read_choice(unknown: dict[str, Any], **options: Any) -> TaskChoice:
    """The reset's options, checked: they come from the wire as any JSON."""
    if unknown:
        known = "scenario, task, index, split, seed, episode_id"
        message = f"reset does not take {', '.join(sorted(unknown))}; it takes {known}"
        raise EpisodeRefused(ErrorType.INVALID_REQUEST, message)
    for name, kind in (("scenario", str), ("task", str), ("index", int), ("split", str), ("seed", int)):
        value = options[name]
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            message = (
                f"reset's {name} must be {'a text' if kind is str else 'a whole number'}, not {value!r:.80}"
            )
            raise EpisodeRefused(ErrorType.INVALID_REQUEST, message)
    checked: dict[str, Any] = {**options, "seed": options["seed"] or 0}
    return TaskChoice(**checked)


def _card(task: TaskEntry, index: int) -> TaskCard:
    return TaskCard(
        id=task.id,
        index=index,
        scenario=task.scenario,
        prompt=task.prompt,
        difficulty=task.difficulty,
        split=task.split,
        tags=list(task.tags),
    )
