"""A scenario's template: a confined process that has executed the app once and forks sessions from it.

Runs below the world zygote (see sandbox/forkserver.py). It reads its scenario from `spec.json` in its folder,
builds the snapshot, executes the app, writes what it found to `report.json`, and then serves forks. It never
sees a task, a gold solution or a verifier.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import os
import socket
import sys
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from sqlalchemy.orm import configure_mappers

from ..sandbox.confinement import Confinement, Limits, confine, silence_standard_streams
from ..sandbox.forkserver import ForkServer
from ..sandbox.messages import Message, send_message
from ..sandbox.seccomp import Profile
from ..sandbox.timezones import time_zone_folders
from .chance import install_chance, seed_chance
from .clock import WorldClock, connect_to_sqlite
from .errors import Problem, ScenarioError
from .imports import preload_imports
from .interception import WorldDatabase
from .rehearsal import rehearse
from .scenario_file import REPORT_FILE, SNAPSHOT_FILE, SPEC_FILE, decode_scenario
from .snapshot import build_snapshot
from .task import Scenario
from .toolset import Endpoint, endpoints_of
from .world import World, run_world

_TIME_ZONES = time_zone_folders()
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
    """Runs in a fresh fork of the zygote: become the template of the scenario in `request["folder"]`."""
    silence_standard_streams()
    folder = Path(request["folder"])
    control = socket.socket(fileno=descriptors[0])
    template = _Template(folder, request)
    report = template.prepare()
    (folder / REPORT_FILE).write_text(json.dumps(report))
    gc.collect()
    gc.freeze()
    send_message(control, {"ready": "problems" not in report})
    if "problems" not in report:
        ForkServer(control, template.run_session, own_groups=False).serve()


class _Template:
    """What a template process knows."""

    def __init__(self, folder: Path, request: Message) -> None:
        self._folder = folder
        self._enforced = bool(request["enforced"])
        self._allow_lost_rows = bool(request["allow_lost_rows"])
        spec = folder / SPEC_FILE
        self._scenario = decode_scenario(json.loads(spec.read_text()))
        spec.unlink()
        self._app: FastAPI
        self._endpoints: dict[str, Endpoint]

    def prepare(self) -> dict[str, Any]:
        """Build the world. Returns the report for the server: tools, or the problems that stop it."""
        preload_imports(self._scenario.app_source)
        confine(
            Confinement(
                Profile.FORKSERVER, _TIME_ZONES, (str(self._folder),), _PROCESS_LIMITS, enforced=self._enforced
            )
        )
        self._clock = WorldClock(self._scenario.clock)
        try:
            notes = self._build()
        except ScenarioError as error:
            return {"problems": [dataclasses.astuple(problem) for problem in error.problems]}
        return {
            "tools": [dataclasses.asdict(endpoint.tool) for endpoint in self._endpoints.values()],
            "notes": [dataclasses.astuple(note) for note in notes],
        }

    def _build(self) -> list[Problem]:
        building = str(self._folder / "building.db")
        seed_chance(0)
        notes = list(build_snapshot(self._scenario, building, allow_lost_rows=self._allow_lost_rows))
        _database.use(building)
        self._app = _execute_app(self._scenario)
        self._endpoints, fatal, lost = endpoints_of(self._app, self._scenario.app_file)
        if fatal:
            raise ScenarioError(self._scenario.name, fatal)
        self._start_once()
        _prepare(self._app)
        _database.complete()
        os.rename(building, self._folder / SNAPSHOT_FILE)
        return notes + lost

    def _start_once(self) -> None:
        """Run start-up hooks on the database under construction, in a child: they may start loops and threads."""
        if not _has_lifespan(self._app):
            return
        pid = os.fork()
        if pid == 0:
            world = World(self._app, self._endpoints, _database, self._clock)
            os._exit(0 if world.start_app() is None else 1)
        _, status = os.waitpid(pid, 0)
        if status != 0:
            problem = Problem(self._scenario.app_file, None, None, "the app's start-up hooks failed")
            raise ScenarioError(self._scenario.name, [problem])

    def run_session(self, request: Message, descriptors: list[int]) -> None:
        """Runs in a fresh fork of this template: become one session."""
        world = World(self._app, self._endpoints, _database, self._clock)
        confinement = Confinement(
            Profile.LEAF,
            _TIME_ZONES,
            (request["folder"],),
            Limits(memory_bytes=None, cpu_seconds=request["cpu_seconds"]),
            enforced=self._enforced,
        )
        run_world(
            world,
            socket.socket(fileno=descriptors[0]),
            snapshot=str(self._folder / SNAPSHOT_FILE),
            folder=request["folder"],
            confinement=confinement,
        )


def _execute_app(scenario: Scenario) -> FastAPI:
    module = types.ModuleType("world_app")
    module.__file__ = scenario.app_file
    sys.modules[module.__name__] = module
    try:
        exec(compile(scenario.app_source, scenario.app_file, "exec"), module.__dict__)
    except BaseException as error:
        raise ScenarioError(scenario.name, [_app_problem(scenario.app_file, error)]) from error
    apps = [value for value in (module.__dict__.get("app"), *module.__dict__.values()) if isinstance(value, FastAPI)]
    if not apps:
        problem = Problem(scenario.app_file, None, None, "defines no FastAPI application")
        raise ScenarioError(scenario.name, [problem])
    return apps[0]


def _app_problem(file: str, error: BaseException) -> Problem:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
    return Problem(file, line, None, f"the app failed: {type(error).__name__}: {error}")


def _prepare(app: FastAPI) -> None:
    """Do what the first request would, short of a request: no route runs, no row is read."""
    configure_mappers()
    if app.middleware_stack is None:
        app.middleware_stack = app.build_middleware_stack()


def _has_lifespan(app: FastAPI) -> bool:
    router = app.router
    own = getattr(router, "lifespan_context", None)
    default = getattr(FastAPI().router, "lifespan_context", None)
    hooks = [*getattr(router, "on_startup", ()), *getattr(router, "on_shutdown", ())]
    return bool(hooks) or type(own) is not type(default)


def _run_threads_inline() -> None:
    """Run plain `def` endpoints in the only thread there is: calls come one by one, and order is repeatable."""
    import anyio.to_thread

    async def run_inline(function: Any, *arguments: Any, **_options: Any) -> Any:
        return function(*arguments)

    anyio.to_thread.run_sync = run_inline
