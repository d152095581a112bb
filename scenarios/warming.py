"""Warms an app up in its template: every tool is called once, on a copy of the database that is thrown away.

Whatever first use makes (compiled statements, validators, imports) is then there in every session, which is
forked from the template. A child plays it first, to see that nothing else would stay: if the app keeps
anything in memory, starts a thread, or breaks, the template is left cold.
"""

from __future__ import annotations

import json
import os
import resource
import select
import sqlite3
import threading
import time
import types
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from typing import Any

from ..sandbox.confinement import enter_child
from ..sandbox.workspace import clone_file, remove_tree
from .chance import seed_chance
from .clock import WorldClock, connect_to_sqlite
from .interception import WorldDatabase
from .memory import TooMuchMemory, first_difference, read_memory
from .tool import FailureKind
from .world import World, WorldApp

_SCRATCH = "scratch"
_CALL_S = 1.0
_PLAY_S = 5.0
_TRIAL_S = 20.0
_TRIAL_CPU_S = 10
_ANSWER_BYTES = 1 << 16
_TYPES: Mapping[str, type | tuple[type, ...]] = {"integer": int, "string": str, "number": (int, float)}
_DEFAULTS: Mapping[str, Any] = {
    "integer": 1,
    "number": 1,
    "string": "abc",
    "boolean": True,
    "array": [],
    "object": {},
}


class _NotSound(Exception):
    """Why a template has to stay cold."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What calling every tool leaves in a process."""

    reason: str | None = None
    """Why the template has to stay cold; None where it may be warm."""
    place: str | None = None
    """Where in the app's memory something stays, if that is why."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What it takes to play a world once more before it opens."""

    app: WorldApp
    module: types.ModuleType
    database: WorldDatabase
    clock: WorldClock
    snapshot: str
    """The database to play on a copy of. No connection to it may be open."""

    def warm(self) -> Traces:
        """Call every tool in this process, if that leaves nothing behind. Returns what it would leave."""
        traces = self._try_in_child()
        if traces.reason is None:
            with self._scratch_database() as scratch:
                self._play(scratch)
        return traces

    def _try_in_child(self) -> Traces:
        parent = os.getpid()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become_trial(parent, writing)
        os.close(writing)
        try:
            answer = _read_answer(reading)
        finally:
            os.close(reading)
        if answer is None:
            return Traces("its tools take too long")  # the child ends by its CPU limit, or with this process
        os.waitpid(pid, 0)
        remove_tree(_SCRATCH)
        return _understand(answer)

    def _become_trial(self, parent: int, answer: int) -> None:
        """Play, say what would have stayed, and end: nothing of the template may go on in this process."""
        try:
            enter_child(parent, {answer})
            resource.setrlimit(resource.RLIMIT_CPU, (_TRIAL_CPU_S, _TRIAL_CPU_S))
            with self._scratch_database() as scratch:
                os.write(answer, json.dumps(astuple(self._find_traces(scratch))).encode())
        finally:
            os._exit(0)

    def _find_traces(self, scratch: str) -> Traces:
        try:
            before = read_memory(self.module)
            self._play(scratch)
            place = first_difference(before, read_memory(self.module))
        except (_NotSound, TooMuchMemory) as error:
            return Traces(str(error))
        if place is not None:
            return Traces(f"its tools change what it keeps in memory: {place}", place)
        return Traces("its tools leave threads behind" if threading.active_count() > 1 else None)

    def _play(self, scratch: str) -> None:
        """Call every tool once, those that read first, with values from the database as arguments."""
        seed_chance(0)
        self.database.use(os.path.abspath(scratch))
        world = World(self.app, self.database, self.clock)
        values = _sample(scratch)
        ends = time.perf_counter() + _PLAY_S
        try:
            for endpoint in sorted(
                self.app.endpoints.values(), key=lambda endpoint: endpoint.method != "get"
            ):
                outcome = world.call(
                    endpoint.tool.name, _arguments(endpoint.tool.input_schema, values), _CALL_S
                )
                late = outcome.failure is not None and outcome.failure.kind is FailureKind.TIMEOUT
                if late or time.perf_counter() > ends:
                    raise _NotSound("its tools take too long")
        finally:
            world.close()
            self.database.release()
            self.clock.reset()

    @contextmanager
    def _scratch_database(self) -> Generator[str]:
        """A copy of the snapshot in a working folder of its own, both gone afterwards."""
        home = os.getcwd()
        os.mkdir(_SCRATCH)
        try:
            clone_file(self.snapshot, os.path.join(_SCRATCH, "world.db"))
            os.chdir(_SCRATCH)
            yield "world.db"
        finally:
            os.chdir(home)
            remove_tree(_SCRATCH)


def _read_answer(reading: int) -> bytes | None:
    """All that comes from the trial, or None if it has not ended in time."""
    ends = time.perf_counter() + _TRIAL_S
    answer = bytearray()
    while select.select([reading], [], [], max(0.0, ends - time.perf_counter()))[0]:
        part = os.read(reading, 1 << 12)
        answer += part
        if not part or len(answer) > _ANSWER_BYTES:
            return bytes(answer)
    return None


def _understand(answer: bytes) -> Traces:
    try:
        reason, place = json.loads(answer)
    except (ValueError, TypeError):
        return Traces("calling its tools ended the process")
    return Traces(*(None if part is None else str(part) for part in (reason, place)))


def _sample(database: str) -> dict[str, Any]:
    """A value of the database for each column's name, and for `<table in singular>_<column>`."""
    found: dict[str, Any] = {}
    with closing(connect_to_sqlite(database)) as connection:
        for table in _tables(connection):
            quoted = table.replace('"', '""')
            cursor = connection.execute(f'SELECT * FROM "{quoted}" LIMIT 1')
            row = cursor.fetchone() or ()
            for (name, *_), value in zip(cursor.description, row, strict=False):
                if value is not None:
                    found.setdefault(name, value)
                    found.setdefault(f"{table.rstrip('s')}_{name}", value)
    return found


def _tables(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    return [name for (name,) in rows]


def _arguments(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """What the tool requires, and nothing else."""
    return {name: _value(name, schema["properties"][name], values) for name in schema.get("required", ())}


def _value(name: str, schema: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    for branch in schema.get("anyOf", ()):
        if branch.get("type") != "null":
            return _value(name, branch, values)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if isinstance(values.get(name), _TYPES.get(kind, ())):
        return values[name]
    return schema.get("default", _DEFAULTS.get(kind, "abc"))
