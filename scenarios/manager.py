"""The scenario manager: a template per scenario, a forked session per episode, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from ..sandbox import Layers, ProcessDied, SandboxError, Workspace, WorkspaceFull, Zygote, require_confinement
from .session import Session, SessionLimits, SessionProcess
from .task import Scenario
from .template_handle import Template, build_template
from .tool import Tool

_WORLD_ZYGOTE = "subworlds.scenarios.template"
_ATTEMPTS = 3
_SPARE_PROCESSES = 512
"""Processes and threads that one world may have beyond a process for every session."""
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EAGAIN})

_T = TypeVar("_T")


class ServerFull(Exception):
    """The server holds as many sessions as it may, or its disk as many databases as fit."""


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """How many worlds to keep, for how long, and how strictly."""

    capacity: int = 1024
    """Sessions alive at once."""
    idle_timeout_s: float = 1800.0
    """A session nobody used for this long is ended."""
    prefork: int = 1
    """Idle sessions kept ready per scenario in use."""
    templates: int = 32
    """Templates kept warm; the least recently used one without sessions goes first."""
    warm: bool = True
    """Call every tool once in a template before sessions are forked from it; see warming.py."""
    limits: SessionLimits = field(default_factory=SessionLimits)
    allow_unconfined: bool = False
    """Run worlds without confinement where the machine cannot confine them."""
    allow_lost_rows: bool = False
    """Start AWM worlds without the seed rows that fail."""
    layers: Layers = field(default_factory=Layers)
    """Optional layers of confinement to use where the machine has them."""
    workspace: tuple[Path, ...] | None = None
    """Folders to work in, fastest first; None: /dev/shm, then the temporary folder."""


class ScenarioManager:
    """Owns the world zygote, the templates and the sessions of one server. An async context manager."""

    def __init__(self, find_scenario: Callable[[str], Scenario], settings: ManagerSettings) -> None:
        """Args:
        find_scenario: a scenario by its name; raises UnknownScenario.
        """
        self.find_scenario = find_scenario
        self.settings = settings
        self.workspace = Workspace(settings.workspace)
        self.enforced = True
        self.sessions: dict[str, Session] = {}
        """Live sessions by id."""
        self._zygote: Zygote | None = None
        self._zygote_lock = asyncio.Lock()
        self._templates: dict[str, Template] = {}
        self._building: dict[str, asyncio.Task[Template]] = {}
        self._taken = 0
        """Places of clients in use, of the capacity there is."""
        self._starting: Counter[str] = Counter()
        """How many sessions of a scenario are being started."""
        self._background: set[asyncio.Task[Any]] = set()
        self._reaper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ScenarioManager:
        try:
            require_confinement()
        except SandboxError:
            if not self.settings.allow_unconfined:
                raise
            self.enforced = False
        self.workspace.__enter__()
        try:
            await self._ensure_zygote()
        except BaseException:
            self.workspace.__exit__(None, None, None)
            raise
        self._reaper = asyncio.create_task(self._reap_forever())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._stop_everything()
        finally:
            self.workspace.__exit__(kind, error, trace)

    async def tools(self, scenario: str) -> tuple[Tool, ...]:
        """The tools of a scenario; starts its template if there is none.

        Raises:
            UnknownScenario, ScenarioError, SandboxError
        """
        return (await self.template(scenario)).tools

    async def template(self, scenario: str) -> Template:
        """The warm template of a scenario. Raises as `tools` does."""
        return await self._template(self.find_scenario(scenario))

    async def start_session(
        self,
        scenario: str,
        *,
        seed: int = 0,
        clock_offset_s: float = 0.0,
        counted: bool = True,
        database: Path | None = None,
    ) -> Session:
        """Fork a session of a scenario, with its own database, seed and clock.

        A caller that is cancelled leaves no session behind.

        Args:
            counted: False for a session of the server's own (a gold solution that is played to learn from),
                which neither needs nor takes a client's place.
            database: one that another session of the scenario left, and that is still there, to go on from.

        Raises:
            UnknownScenario: no such scenario.
            ScenarioError: its world cannot start.
            ServerFull: no room for another session.
            WorldCrashed: the new world's own start-up failed.
            SandboxError: the process could not be had.
        """
        known = self.find_scenario(scenario)
        if counted and self._taken >= self.settings.capacity:
            raise ServerFull(
                f"all {self.settings.capacity} sessions are in use; "
                "close one, or start the server with more capacity"
            )
        self._taken += counted
        starting = self.spawn(self._start(known, seed, clock_offset_s, counted, database))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._abandon)
            raise

    async def reap_idle(self, now: float | None = None) -> list[str]:
        """End the sessions that nobody used for the idle timeout. Returns their ids."""
        limit = (time.monotonic() if now is None else now) - self.settings.idle_timeout_s
        idle = [
            session
            for session in self.sessions.values()
            if session.last_activity < limit and not session.busy
        ]
        await asyncio.gather(*(session.close() for session in idle))
        return [session.id for session in idle]

    def template_names(self) -> tuple[str, ...]:
        """Scenarios whose templates are warm."""
        return tuple(self._templates)

    def processes(self) -> Mapping[str, int]:
        """Process ids of the zygote and the templates, by name."""
        found = {name: template.pid for name, template in self._templates.items()}
        return found if self._zygote is None else {"zygote": self._zygote.pid, **found}

    def spawn(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Run `work` in the background; the manager waits for it when it closes. Call on the event loop."""
        task = asyncio.create_task(work)
        self._watch(task)
        return task

    async def settle(self) -> None:
        """Wait for what runs in the background, such as filling the reserve."""
        while working := self._background - {asyncio.current_task()}:
            await asyncio.gather(*working, return_exceptions=True)

    async def _start(
        self, scenario: Scenario, seed: int, clock_offset_s: float, counted: bool, database: Path | None
    ) -> Session:
        self._starting[scenario.name] += 1
        try:
            template, started = await self._take_process(scenario, database)
            session = self._adopt(template, started, counted=counted)
        except BaseException:
            self._taken -= counted
            raise
        finally:
            self._starting[scenario.name] -= 1
            if not self._starting[scenario.name]:
                del self._starting[scenario.name]
        try:
            await session.begin(seed, clock_offset_s)
        except BaseException:
            await session.close()
            raise
        return session

    async def _take_process(
        self, scenario: Scenario, database: Path | None
    ) -> tuple[Template, SessionProcess]:
        """A ready process. Where a template or the zygote died on us, they are started once more."""
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                template = await self._template(scenario)
                started = await template.take(database)
            except WorkspaceFull as error:
                raise ServerFull(str(error)) from error
            except ProcessDied:
                if not attempts_left:
                    raise
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                raise ServerFull(f"there is no room for another session: {error.strerror}") from error
            else:
                if self.settings.prefork:
                    self.spawn(self._refill(template))
                return template, started
        raise AssertionError("unreachable")

    def _adopt(self, template: Template, started: SessionProcess, *, counted: bool) -> Session:
        session = Session(
            secrets.token_hex(8),
            template.name,
            started,
            template.checkers,
            template.snapshot,
            self.settings.limits,
            partial(self._forget, template, counted),
        )
        self.sessions[session.id] = session
        template.users.add(session.id)
        return session

    def _forget(
        self, template: Template, counted: bool, session: Session, closing: asyncio.Task[None]
    ) -> None:
        self.sessions.pop(session.id, None)
        self._taken -= counted
        self._watch(closing)
        closing.add_done_callback(partial(self._release, template, session.id))

    def _release(self, template: Template, session_id: str, _: asyncio.Task[None]) -> None:
        template.release(session_id)
        self._trim()

    def _abandon(self, starting: asyncio.Task[Session]) -> None:
        if not starting.cancelled() and starting.exception() is None:
            self.spawn(starting.result().close())

    async def _refill(self, template: Template) -> None:
        with contextlib.suppress(SandboxError, OSError):
            await template.refill(self.settings.prefork)

    async def _template(self, scenario: Scenario) -> Template:
        template = self._templates.get(scenario.name)
        if template is not None and template.alive:
            template.last_used = time.monotonic()
            return template
        building = self._building.get(scenario.name)
        if building is None:
            building = self.spawn(self._build(scenario))
            self._building[scenario.name] = building
            building.add_done_callback(partial(self._end_building, scenario.name))
        try:
            return await asyncio.shield(building)
        except asyncio.CancelledError:
            if building.cancelled():
                raise SandboxError("the scenario manager is closing") from None
            raise

    def _end_building(self, name: str, building: asyncio.Task[Template]) -> None:
        del self._building[name]
        if not building.cancelled():
            building.exception()  # whoever asked for it has been told, or has given up
        self._trim()

    async def _build(self, scenario: Scenario) -> Template:
        dead = self._templates.pop(scenario.name, None)
        if dead is not None:
            self.spawn(dead.stop())
        self._trim(room=1)
        template = await build_template(
            await self._ensure_zygote(),
            scenario,
            self.workspace,
            cpu_seconds=self.settings.limits.cpu_seconds,
            processes=self.settings.capacity + _SPARE_PROCESSES,
            own_user=self.settings.layers.unprivileged,
            enforced=self.enforced,
            allow_lost_rows=self.settings.allow_lost_rows,
            warm=self.settings.warm,
        )
        self._templates[scenario.name] = template
        return template

    def _trim(self, room: int = 0) -> None:
        """Stop the templates that are more than we keep, least recently used first; make `room` for more."""
        while len(self._templates) + room > self.settings.templates:
            idle = [
                template
                for template in self._templates.values()
                if not template.users and template.name not in self._starting
            ]
            if not idle:
                return
            oldest = min(idle, key=lambda template: template.last_used)
            del self._templates[oldest.name]
            self.spawn(oldest.stop())

    async def _ensure_zygote(self) -> Zygote:
        async with self._zygote_lock:
            if self._zygote is not None and not self._zygote.alive:
                await self._zygote.stop()
                self._zygote = None
            if self._zygote is None:
                self._zygote = await Zygote.start(
                    _WORLD_ZYGOTE, self.workspace.folders, layers=self.settings.layers
                )
            return self._zygote

    async def _reap_forever(self) -> None:
        while True:
            await asyncio.sleep(max(0.5, min(30.0, self.settings.idle_timeout_s / 4)))
            await self.reap_idle()

    def _watch(self, task: asyncio.Task[Any]) -> None:
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _stop_everything(self) -> None:
        """End what is under way, then sessions, templates, the zygote. What fails does not stop the rest."""
        ending = [task for task in (self._reaper, *self._building.values()) if task is not None]
        for task in ending:
            task.cancel()
        await asyncio.wait(ending)
        await self.settle()
        await asyncio.gather(*(session.close() for session in self.sessions.values()), return_exceptions=True)
        await self.settle()
        await asyncio.gather(
            *(template.stop() for template in self._templates.values()), return_exceptions=True
        )
        if self._zygote is not None:
            await self._zygote.stop()
