"""A scenario's template: a confined process that has executed the app once and forks sessions from it.

Runs below the world zygote (see sandbox/forkserver.py). It reads its scenario from `spec.json` in its folder,
builds the snapshot, executes the app, writes what it found to `report.json`, and then serves forks. It never
sees a task, a gold solution or a verifier.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import socket
import sys
import traceback
import types
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from sqlalchemy.orm import configure_mappers

from ..sandbox.confinement import Confinement, Limits, confine, numb_descriptors, silence_standard_streams
from ..sandbox.forkserver import ForkServer
from ..sandbox.identity import entrust
from ..sandbox.messages import Message, send_message
from ..sandbox.seccomp import Profile
from ..sandbox.timezones import time_zone_folders
from .chance import install_chance, seed_chance
from .clock import WorldClock
from .errors import Problem, ScenarioError
from .imports import forgo_servers, library_entries, library_folders, preload_imports
from .interception import WorldDatabase
from .rehearsal import rehearse
from .scenario_file import REPORT_FILE, SNAPSHOT_FILE, SPEC_FILE, decode_scenario
from .snapshot import build_snapshot
from .task import Scenario
from .toolset import endpoints_of, shadowed_routes
from .warming import WarmUp
from .world import World, WorldApp, describe
from .world_server import WorldServer

_TIME_ZONES = time_zone_folders()
_LIBRARIES = (*_TIME_ZONES, *library_folders())
_LIBRARIES_BUT_OURS = (*_TIME_ZONES, *library_entries())
_PROCESS_LIMITS = Limits(cpu_seconds=3600)
_database = WorldDatabase()


def warm_up() -> None:
    """Runs once in the zygote: imports and initialises everything that every world needs, and no world."""
    warnings.simplefilter("ignore")
    _run_threads_inline()
    install_chance()
    _database.install()
    rehearse()
    _database.release()


def run(request: Message, descriptors: list[int]) -> None:
    """Runs in a fresh fork of the zygote: become the template of the scenario in `request["folders"][0]`."""
    silence_standard_streams()
    control = socket.socket(fileno=descriptors[0])
    template = _Template(request)
    report = template.prepare()
    (template.folder / REPORT_FILE).write_text(json.dumps(report))
    gc.collect()
    gc.freeze()
    send_message(control, {"ready": "problems" not in report})
    if "problems" not in report:
        held = numb_descriptors({control.fileno()})
        ForkServer(control, template.run_session, own_groups=False, inherited=held).serve()


class _Template:
    """What a template process knows."""

    def __init__(self, request: Message) -> None:
        self._folders = tuple(request["folders"])
        self.folder = Path(self._folders[0])
        self._enforced = bool(request["enforced"])
        self._allow_lost_rows = bool(request["allow_lost_rows"])
        self._warm = bool(request["warm"])
        spec = self.folder / SPEC_FILE
        self._scenario = decode_scenario(json.loads(spec.read_text()))
        spec.unlink()
        if request["user"] is not None:
            entrust(self._folders, request["user"])
        self._limits = replace(_PROCESS_LIMITS, processes=request["processes"])
        self._app: WorldApp
        self._clock: WorldClock
        self._cold: str | None = "nobody asked for more"
        self._kept: str | None = None

    def prepare(self) -> dict[str, Any]:
        """Build the world. Returns the report for the server: tools, or the problems that stop it."""
        preload_imports(self._scenario.app_source)
        forgo_servers()
        try:
            _require_single_thread(self._scenario)
            self._confine()
            self._clock = WorldClock(self._scenario.clock)
            notes = self._build()
        except ScenarioError as error:
            return {"problems": [dataclasses.astuple(problem) for problem in error.problems]}
        except Exception as error:
            return {"problems": [dataclasses.astuple(_app_problem(self._scenario.app_file, error))]}
        return {
            "tools": [dataclasses.asdict(endpoint.tool) for endpoint in self._app.endpoints.values()],
            "notes": [dataclasses.astuple(note) for note in notes],
            "shadowed": [
                dataclasses.astuple(route)
                for route in shadowed_routes(self._app.endpoints.values(), self._scenario.app_file)
            ],
            "cold": self._cold,
            "kept": self._kept,
        }

    def _confine(self) -> None:
        os.chdir(self.folder)
        confine(
            Confinement(
                Profile.FORKSERVER,
                _LIBRARIES_BUT_OURS,
                self._folders,
                self._limits,
                enforced=self._enforced,
            )
        )

    def _build(self) -> list[Problem]:
        building = str(self.folder / "building.db")
        seed_chance(0)
        notes = list(build_snapshot(self._scenario, building, allow_lost_rows=self._allow_lost_rows))
        _database.use(building)
        module = _execute_app(self._scenario)
        fastapi = _find_app(module, self._scenario)
        endpoints, fatal, lost = endpoints_of(fastapi, self._scenario.app_file)
        if fatal:
            raise ScenarioError(self._scenario.name, fatal)
        _prepare(fastapi)
        _database.complete()
        self._app = WorldApp(fastapi, endpoints, _has_hooks(fastapi))
        if self._app.has_hooks:
            self._run_hooks(building)
            self._cold = "it has start-up hooks"
        elif self._warm:
            traces = WarmUp(self._app, module, _database, self._clock, building).warm()
            self._cold, self._kept = traces.reason, traces.place
        os.rename(building, self.folder / SNAPSHOT_FILE)
        return notes + lost

    def _run_hooks(self, building: str) -> None:
        """Run the start-up hooks on the database, in a child: they may start loops and threads."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become_first_start(building, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
        error = json.loads(answer) if answer else "they ended the process"
        if error is not None:
            reason = f"the app's start-up hooks failed: {error}"
            raise ScenarioError(self._scenario.name, [Problem(self._scenario.app_file, None, None, reason)])

    def _become_first_start(self, building: str, answer: int) -> None:
        """Run the hooks and end: nothing of the template may go on in this process."""
        try:
            seed_chance(0)
            _database.use(building)
            error = World(self._app, _database, self._clock).start_app()
            _database.complete()
            os.write(answer, json.dumps(error).encode())
        except BaseException:
            os._exit(1)
        os._exit(0)

    def run_session(self, request: Message, descriptors: list[int]) -> None:
        """Runs in a fresh fork of this template: become one session."""
        world = World(self._app, _database, self._clock)
        confinement = Confinement(
            Profile.LEAF,
            _LIBRARIES,
            (request["folder"],),
            Limits(memory_bytes=None, cpu_seconds=request["cpu_seconds"]),
            enforced=self._enforced,
        )
        server = WorldServer(world, socket.socket(fileno=descriptors[0]), request["folder"])
        server.run(request.get("database", str(self.folder / SNAPSHOT_FILE)), confinement)


def _require_single_thread(scenario: Scenario) -> None:
    """A thread that an import started would stay unconfined: Landlock confines one thread at a time."""
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        reason = f"importing what the app imports started {threads - 1} threads, which cannot be confined"
        raise ScenarioError(scenario.name, [Problem(scenario.app_file, None, None, reason)])


def _execute_app(scenario: Scenario) -> types.ModuleType:
    module = types.ModuleType("world_app")
    module.__file__ = scenario.app_file
    sys.modules[module.__name__] = module
    process = os.getpid()
    try:
        exec(compile(scenario.app_source, scenario.app_file, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        raise ScenarioError(scenario.name, [_app_problem(scenario.app_file, error)]) from error
    finally:
        if os.getpid() != process:
            os._exit(0)  # the app forked: there is one template
    return module


def _find_app(module: types.ModuleType, scenario: Scenario) -> FastAPI:
    for value in (module.__dict__.get("app"), *module.__dict__.values()):
        if isinstance(value, FastAPI):
            return value
    problem = Problem(scenario.app_file, None, None, "defines no FastAPI application")
    raise ScenarioError(scenario.name, [problem])


def _app_problem(file: str, error: BaseException) -> Problem:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = frames[-1].lineno if frames else None
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno
    return Problem(file, line, None, f"the app failed: {describe(error)}")


def _prepare(app: FastAPI) -> None:
    """Do what the first request would, short of a request: no route runs, no row is read."""
    configure_mappers()
    if app.middleware_stack is None:
        app.middleware_stack = app.build_middleware_stack()


def _has_hooks(app: FastAPI) -> bool:
    """Whether the app has a lifespan or start-up hooks of its own."""
    hooks = [*getattr(app.router, "on_startup", ()), *getattr(app.router, "on_shutdown", ())]
    return bool(hooks) or type(app.router.lifespan_context) is not type(FastAPI().router.lifespan_context)


def _run_threads_inline() -> None:
    """Run plain `def` endpoints in the only thread there is: calls come one by one, in a repeatable order."""

    async def run_inline(function: Any, *arguments: Any, **_options: Any) -> Any:
        return function(*arguments)

    setattr(anyio.to_thread, "run_sync", run_inline)  # noqa: B010 - a module's function, for a type checker
