"""An episode: one task played in one session, from reset to done."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..sandbox import SandboxError
from ..scenarios.errors import ScenarioError, UnknownScenario, UnknownTask
from ..scenarios.manager import ScenarioManager, ServerFull
from ..scenarios.pack import Catalog
from ..scenarios.session import Session, WorldCrashed
from ..scenarios.task import Task, TaskEntry
from ..scenarios.tool import ToolResult
from ..verifiers.service import Verification
from ..verifiers.verdict import Verdict
from .models import EpisodeError, ErrorType
from .rubric import CallRecord, EpisodeSummary

Phase: TypeAlias = Literal["playing", "done", "expired"]


class EpisodeRefused(Exception):
    """An episode could not start, or cannot go on; says why in a typed way."""

    def __init__(self, error_type: ErrorType, message: str) -> None:
        self.error = EpisodeError(error_type=error_type, message=message)
        super().__init__(str(self.error))


@dataclass(frozen=True, slots=True)
class TaskChoice:
    """What a reset asks for; see SubworldsEnv.reset."""

    scenario: str | None = None
    task: str | None = None
    index: int | None = None
    split: str | None = None
    seed: int = 0

    def find(self, catalog: Catalog) -> Task:
        """The task that is meant.

        Raises:
            EpisodeRefused: there is none such, the choice contradicts itself, or its pack has changed.
        """
        try:
            return self._find(catalog)
        except UnknownScenario as error:
            raise EpisodeRefused(ErrorType.UNKNOWN_SCENARIO, str(error)) from error
        except UnknownTask as error:
            raise EpisodeRefused(ErrorType.UNKNOWN_TASK, str(error)) from error
        except ScenarioError as error:
            raise EpisodeRefused(ErrorType.SCENARIO_ERROR, str(error)) from error

    def _find(self, catalog: Catalog) -> Task:
        if self.task is not None:
            return self._named(catalog, self.task)
        candidates, where = self._candidates(catalog)
        if not candidates:
            raise EpisodeRefused(ErrorType.UNKNOWN_TASK, f"there is no task in {where}")
        if self.index is None:
            return catalog.task(candidates[self.seed % len(candidates)].id)
        if not 0 <= self.index < len(candidates):
            message = f"{where} has {len(candidates)} tasks, counted from 0; there is no task {self.index}"
            raise EpisodeRefused(ErrorType.UNKNOWN_TASK, message)
        return catalog.task(candidates[self.index].id)

    def _named(self, catalog: Catalog, task_id: str) -> Task:
        task = catalog.task(task_id)
        if self.scenario is not None and catalog.scenario_entry(self.scenario).name != task.scenario:
            message = f"task '{task_id}' belongs to scenario '{task.scenario}', not to '{self.scenario}'"
            raise EpisodeRefused(ErrorType.INVALID_REQUEST, message)
        return task

    def _candidates(self, catalog: Catalog) -> tuple[tuple[TaskEntry, ...], str]:
        tasks = catalog.served
        places: list[str] = []
        if self.scenario is not None:
            tasks = catalog.served_of(self.scenario)
            places.append(f"scenario '{self.scenario}'")
        if self.split is not None:
            tasks = tuple(task for task in tasks if task.split == self.split)
            places.append(f"split '{self.split}'")
        return tasks, " and ".join(places) or "the loaded packs"


class Episode:
    """One live episode. Its owner must `close` it, once or often."""

    def __init__(
        self, id: str, task: Task, session: Session, verification: Verification, in_flight: InFlight
    ) -> None:
        self.id = id
        self.task = task
        self.token = secrets.token_urlsafe(32)
        """Bearer token of the agent plane: it can list and call tools, and nothing else."""
        self._calls: list[CallRecord] = []
        self._session = session
        self.on_activity: Callable[[], None] = lambda: None
        """Called at every call, whichever plane it came by."""
        self._verification = verification
        self._in_flight = in_flight
        self._phase: Phase = "playing"

    @property
    def steps(self) -> int:
        """How many calls were made, by either plane."""
        return len(self._calls)

    def summary(self, verdict: Verdict) -> EpisodeSummary:
        """What the reward of this episode is computed from."""
        solution = self.task.solution
        return EpisodeSummary(verdict, tuple(self._calls), None if solution is None else len(solution))

    @property
    def session_id(self) -> str:
        """Id of the session, as in the agent plane's URL."""
        return self._session.id

    @property
    def phase(self) -> Phase:
        """Whether the episode goes on, was done, or was ended because nobody used it."""
        if self._phase == "playing" and self._session.closed:
            return "expired"
        return self._phase

    @property
    def tools(self) -> tuple[Any, ...]:
        """The world's tools (scenarios.tool.Tool)."""
        return self._session.tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool of the world.

        Raises:
            EpisodeRefused: the episode is over.
        """
        self._require_playing()
        self.on_activity()
        with self._in_flight.one():
            outcome = await self._session.call(name, arguments)
        kind = None if outcome.failure is None else outcome.failure.kind
        self._calls.append(CallRecord(name, json.dumps(arguments, sort_keys=True), kind))
        return outcome

    async def done(self, answer: str | None) -> Verdict:
        """End the episode and have the final database judged, once.

        Raises:
            EpisodeRefused: the episode was over already.
        """
        self._require_playing()
        self._phase = "done"
        with self._in_flight.one():
            return await self._judge(answer)

    async def close(self) -> None:
        """End the session and remove what it left."""
        await self._session.close()

    async def _judge(self, answer: str | None) -> Verdict:
        try:
            final = await self._session.finish()
            return await self._verification.verify(
                self.task, initial=self._session.snapshot, final=final, answer=answer, calls=self.steps
            )
        except WorldCrashed as error:
            return Verdict("world_error", str(error))
        finally:
            await self.close()

    def _require_playing(self) -> None:
        if self.phase == "done":
            raise EpisodeRefused(ErrorType.EPISODE_DONE, "the episode is done; reset to start another")
        if self.phase == "expired":
            message = "the session was ended because nobody used it for too long; reset to start another"
            raise EpisodeRefused(ErrorType.SESSION_EXPIRED, message)


class InFlight:
    """Counts the calls and verdicts that are under way, so that a stopping server can answer them first."""

    def __init__(self) -> None:
        self.stopping = False
        """Whether new work is refused."""
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def one(self) -> Generator[None]:
        """Count one piece of work.

        Raises:
            EpisodeRefused: the server is stopping.
        """
        if self.stopping:
            raise EpisodeRefused(ErrorType.SERVER_STOPPING, "the server is stopping")
        self._count += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()

    async def drained(self) -> None:
        """Wait until nothing is under way."""
        await self._idle.wait()


class EpisodeService:
    """Starts episodes and knows the live ones. One per server."""

    def __init__(self, catalog: Catalog, manager: ScenarioManager, verification: Verification) -> None:
        self.catalog = catalog
        self.manager = manager
        self.base_url = "http://127.0.0.1:8000"
        """Where agents reach the server; set once it listens."""
        self.in_flight = InFlight()
        self._verification = verification
        self._episodes: dict[str, Episode] = {}
        self._loop = asyncio.get_running_loop()

    async def start(self, choice: TaskChoice, episode_id: str | None) -> Episode:
        """Start an episode.

        Raises:
            EpisodeRefused: unknown task, broken world, or no room.
        """
        task = choice.find(self.catalog)
        with self.in_flight.one():
            session = await self._start_session(task, choice.seed)
        episode = Episode(episode_id or session.id, task, session, self._verification, self.in_flight)
        self._episodes[session.id] = episode
        return episode

    async def _start_session(self, task: Task, seed: int) -> Session:
        try:
            return await self.manager.start_session(task.scenario, seed=seed)
        except ServerFull as error:
            raise EpisodeRefused(ErrorType.SERVER_FULL, str(error)) from error
        except ScenarioError as error:
            raise EpisodeRefused(ErrorType.SCENARIO_ERROR, str(error)) from error
        except (WorldCrashed, SandboxError) as error:
            raise EpisodeRefused(ErrorType.WORLD_CRASHED, str(error)) from error

    def mcp_url(self, episode: Episode) -> str:
        """The episode's agent plane."""
        return f"{self.base_url}/sessions/{episode.session_id}/mcp"

    def find(self, session_id: str, token: str) -> Episode | None:
        """The playing episode of this session, if the token is the episode's own."""
        episode = self._episodes.get(session_id)
        known = episode.token if episode is not None else secrets.token_urlsafe(32)
        matches = secrets.compare_digest(known.encode(), token.encode())
        return episode if matches and episode is not None and episode.phase == "playing" else None

    def discard(self, episode: Episode) -> None:
        """End an episode and forget it, without waiting. Call from any thread."""
        with contextlib.suppress(
            RuntimeError
        ):  # the loop is closed: the server stopped and ended all sessions
            self._loop.call_soon_threadsafe(self._discard, episode)

    def _discard(self, episode: Episode) -> None:
        self._episodes.pop(episode.session_id, None)
        self.manager.spawn(episode.close())
