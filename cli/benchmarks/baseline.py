"""The baseline, measured in the same run: a fresh interpreter for every session and for every verdict.

It does less than a real environment of that kind: no MCP server in the session, no OpenEnv in front of it,
no sandbox, and its end is a kill. What it shows is the price of the process itself: ratios are understated.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from ...sandbox import Workspace
from ...scenarios.scenario_file import encode_scenario
from ...scenarios.task import ToolCall
from ..failure import CommandFailed
from .baseline_world import DATABASE, INITIAL
from .children import Child, child, memory_mib, output_of
from .figures import Figure, Figures, Stopwatch
from .plan import MEMORY_CALLS
from .players import rows_of_call
from .subject import Step, Subject

_WORLD = str(Path(__file__).with_name("baseline_world.py"))
_VERIFIER = str(Path(__file__).with_name("baseline_verifier.py"))
_TIMEOUT_S = 60.0
_ROOM_BYTES = 64 * 1024 * 1024


@contextmanager
def open_baseline(subject: Subject) -> Generator[Baseline]:
    """The baseline, with a place for its databases on the medium that ours would use."""
    with Workspace() as workspace:
        yield Baseline(subject, workspace.place(_ROOM_BYTES))


class Baseline:
    """Starts sessions of the subject's scenario."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        self._subject = subject
        self._folder = folder
        self._spec = folder / "spec.json"
        self._spec.write_text(json.dumps(encode_scenario(subject.scenario)))
        self._numbers = count(1)

    async def episode(self, script: Sequence[Step], watch: Stopwatch) -> None:
        """One whole episode, timed like ours."""
        start = time.perf_counter()
        async with self.session() as session:
            watch.add((time.perf_counter() - start) * 1000, "reset")
            with watch.lap("list_tools"):
                await session.list_tools()
            for number, step in enumerate(script):
                with watch.lap("call", rows_of_call(number, step)):
                    await session.call(step.call)
            with watch.lap("done"):
                with watch.lap("verifier"):
                    await session.verify()
                await session.end()

    async def memory(self, sessions: int) -> Figures:
        """Memory of one of so many live sessions."""
        async with AsyncExitStack() as stack:
            live = [await stack.enter_async_context(self.session()) for _ in range(sessions)]
            pids = [session.pid for session in live]
            for session in live:
                await session.list_tools()
            listed = memory_mib(pids) / len(pids)
            for session in live:
                for step in self._subject.script(MEMORY_CALLS):
                    await session.call(step.call)
            used = memory_mib(pids) / len(pids)
        return {"memory_listed": Figure.once(listed), "memory_used": Figure.once(used)}

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[_Session]:
        """A fresh process with its own database, answering."""
        folder = self._folder / f"baseline-{next(self._numbers)}"
        folder.mkdir()
        try:
            async with (
                child(_WORLD, str(self._spec), str(folder)) as process,
                httpx.AsyncClient(
                    base_url=f"http://127.0.0.1:{process.first_line}", timeout=_TIMEOUT_S, trust_env=False
                ) as http,
            ):
                yield _Session(process, http, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Route:
    """Where a tool's arguments go in a request: into the path, the query, or the body."""

    method: str
    path: str
    path_names: tuple[str, ...]
    query_names: tuple[str, ...]

    def request(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What to tell httpx."""
        path = self.path
        for name in self.path_names:
            path = path.replace("{" + name + "}", quote(str(arguments[name]), safe=""))
        placed = {*self.path_names, *self.query_names}
        body = {name: value for name, value in arguments.items() if name not in placed}
        query = {name: arguments[name] for name in self.query_names if name in arguments}
        return {"method": self.method, "url": path, "params": query, "json": body or None}


class _Session:
    """One session of the baseline, and a client of it."""

    def __init__(self, process: Child, http: httpx.AsyncClient, folder: Path) -> None:
        self.pid = process.pid
        self._process = process
        self._http = http
        self._folder = folder
        self._routes: dict[str, _Route] = {}

    async def list_tools(self) -> None:
        """Fetch the app's OpenAPI document: its list of tools."""
        self._routes = _routes((await self._http.get("/openapi.json")).raise_for_status().json())

    async def call(self, call: ToolCall) -> None:
        """Send a call to its route.

        Raises:
            CommandFailed: it was refused.
        """
        response = await self._http.request(**self._routes[call.tool].request(call.arguments))
        if response.is_error:
            raise CommandFailed(
                f"the baseline's {call.tool} failed: {response.status_code} {response.text[:200]}"
            )

    async def verify(self) -> None:
        """Compare the databases in a process of its own."""
        await output_of(_VERIFIER, str(self._folder / INITIAL), str(self._folder / DATABASE))

    async def end(self) -> None:
        """End the process the quickest way there is."""
        await self._process.kill()


def _routes(document: Mapping[str, Any]) -> dict[str, _Route]:
    return {
        operation["operationId"]: _route(method, path, operation.get("parameters", []))
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def _route(method: str, path: str, parameters: Sequence[Mapping[str, Any]]) -> _Route:
    def names(place: str) -> tuple[str, ...]:
        return tuple(parameter["name"] for parameter in parameters if parameter["in"] == place)

    return _Route(method.upper(), path, names("path"), names("query"))
