"""The scenario manager: a template per scenario, a forked session per episode, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from ..sandbox import SandboxError, Workspace, Zygote, has_room, require_confinement
from .session import Session, SessionLimits, SessionProcess
from .task import Scenario
from .template_handle import Template, build_template
from .tool import Tool

_WORLD_ZYGOTE = "subworlds.scenarios.template"


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
    limits: SessionLimits = field(default_factory=SessionLimits)
    allow_unconfined: bool = False
    """Run worlds without confinement where the machine cannot confine them."""
    allow_lost_rows: bool = False
    """Start AWM worlds without the seed rows that fail."""
    workspace: tuple[Path, ...] | None = None
    """Folders to work in, fastest first; None: /dev/shm, then the temporary folder."""


class ScenarioManager:
    """Owns the world zygote, the templates and the sessions of one server. Use as an async context manager."""

    def __init__(self, find_scenario: Callable[[str], Scenario], settings: ManagerSettings) -> None:
        """Args:
        find_scenario: a scenario by its name; raises UnknownScenario.
        """
        self.find_scenario = find_scenario
        self.settings = settings
        self.workspace = Workspace(settings.workspace)
        self.enforced = True
        self._zygote: Zygote | None = None
        self._zygote_lock = asyncio.Lock()
        self._templates: dict[str, Template] = {}
        self._building: dict[str, asyncio.Task[Template]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self.sessions: dict[str, Session] = {}
        """Live sessions by id."""
        self._starting = 0

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
        self.spawn(self._reap_forever())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in [*self._background, *self._building.values()]:
            task.cancel()
        await asyncio.gather(*self._background, *self._building.values(), return_exceptions=True)
        await asyncio.gather(*(session.close() for session in list(self.sessions.values())))
        await asyncio.gather(*(template.stop() for template in self._templates.values()))
        if self._zygote is not None:
            await self._zygote.stop()
        self.workspace.__exit__(kind, error, trace)

    async def tools(self, scenario: str) -> tuple[Tool, ...]:
        """The tools of a scenario; starts its template if there is none.

        Raises:
            UnknownScenario, ScenarioError
        """
        return (await self._template(scenario)).tools

    async def template(self, scenario: str) -> Template:
        """The warm template of a scenario. Raises as `tools` does."""
        return await self._template(scenario)

    async def start_session(self, scenario: str, *, seed: int = 0, clock_offset_s: float = 0.0) -> Session:
        """Fork a session of a scenario, with its own database, seed and clock.

        Raises:
            UnknownScenario: no such scenario.
            ScenarioError: its world cannot start.
            ServerFull: no room for another session.
            WorldCrashed: the new world's own start-up failed.
            SandboxError: the process could not be had.
        """
        if len(self.sessions) + self._starting >= self.settings.capacity:
            raise ServerFull(
                f"all {self.settings.capacity} sessions are in use; close one, or start the server with more capacity"
            )
        self._starting += 1
        try:
            template, started = await self._start_process(scenario)
            session = Session(
                secrets.token_hex(8),
                scenario,
                started,
                template.checkers,
                template.snapshot,
                self.settings.limits,
                self._forget,
            )
            self.sessions[session.id] = session
            template.users.add(session.id)
        finally:
            self._starting -= 1
        try:
            await session.begin(seed, clock_offset_s)
        except BaseException:
            await session.close()
            raise
        return session

    async def reap_idle(self, now: float | None = None) -> list[str]:
        """End the sessions that nobody used for the idle timeout. Returns their ids."""
        limit = (time.monotonic() if now is None else now) - self.settings.idle_timeout_s
        idle = [session for session in self.sessions.values() if session.last_activity < limit]
        await asyncio.gather(*(session.close() for session in idle))
        return [session.id for session in idle]

    def template_names(self) -> tuple[str, ...]:
        """Scenarios whose templates are warm."""
        return tuple(self._templates)

    def processes(self) -> Mapping[str, int]:
        """Process ids of the zygote and the templates, by name."""
        found = {name: template.pid for name, template in self._templates.items()}
        return found if self._zygote is None else {"zygote": self._zygote.pid, **found}

    async def _start_process(self, scenario: str) -> tuple[Template, SessionProcess]:
        """A ready process: one kept in reserve, else a new one. A template that died is built once more."""
        for attempt in (1, 2):
            template = await self._template(scenario)
            started = template.take_reserve()
            try:
                if started is None:
                    self._check_room(template)
                    started = await template.fork()
            except SandboxError:
                if attempt == 2 or template.alive:
                    raise
                continue
            if self.settings.prefork:
                self.spawn(self._refill(template))
            return template, started
        raise AssertionError("unreachable")

    async def _refill(self, template: Template) -> None:
        with contextlib.suppress(SandboxError, ServerFull, OSError):
            while template.alive and len(template.reserve) < self.settings.prefork:
                self._check_room(template)
                await template.refill()

    def _check_room(self, template: Template) -> None:
        if not has_room(template.folder, template.snapshot_bytes):
            raise ServerFull(f"no room for another database of '{template.name}' beside {template.folder}")

    async def _template(self, scenario: str) -> Template:
        template = self._templates.get(scenario)
        if template is not None and template.alive:
            template.last_used = time.monotonic()
            return template
        if scenario not in self._building:
            task = asyncio.ensure_future(self._build(self.find_scenario(scenario)))
            self._building[scenario] = task
            task.add_done_callback(lambda _: self._building.pop(scenario, None))
        return await asyncio.shield(self._building[scenario])

    async def _build(self, scenario: Scenario) -> Template:
        await self._drop(self._templates.pop(scenario.name, None))
        await self._evict()
        zygote = await self._ensure_zygote()
        template = await build_template(
            zygote,
            scenario,
            self.workspace,
            cpu_seconds=self.settings.limits.cpu_seconds,
            enforced=self.enforced,
            allow_lost_rows=self.settings.allow_lost_rows,
        )
        self._templates[scenario.name] = template
        return template

    async def _evict(self) -> None:
        idle = sorted((t for t in self._templates.values() if not t.users), key=lambda t: t.last_used)
        while len(self._templates) >= self.settings.templates and idle:
            template = idle.pop(0)
            del self._templates[template.name]
            await template.stop()

    async def _drop(self, template: Template | None) -> None:
        """Let go of a template that died. Its sessions died with it; each removes its own folder when closed."""
        if template is not None:
            await template.stop(keep_folder=bool(template.users))

    async def _ensure_zygote(self) -> Zygote:
        async with self._zygote_lock:
            if self._zygote is not None and not self._zygote.alive:
                await self._zygote.stop()
                self._zygote = None
            if self._zygote is None:
                self._zygote = await Zygote.start(_WORLD_ZYGOTE, self.workspace.folders)
            return self._zygote

    def _forget(self, session: Session) -> None:
        self.sessions.pop(session.id, None)
        template = self._templates.get(session.scenario)
        if template is not None:
            template.users.discard(session.id)

    async def _reap_forever(self) -> None:
        while True:
            await asyncio.sleep(max(0.5, min(30.0, self.settings.idle_timeout_s / 4)))
            await self.reap_idle()

    def spawn(self, work: Awaitable[None]) -> None:
        """Run `work` in the background until the manager closes. Call on the event loop."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
