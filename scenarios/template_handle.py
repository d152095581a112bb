"""The server's handle on one scenario's template process."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import socket
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..sandbox import ForkControl, ProcessDied, Workspace, Zygote
from .arguments import ArgumentChecker
from .errors import Problem, ScenarioError
from .scenario_file import REPORT_FILE, SNAPSHOT_FILE, SPEC_FILE, encode_scenario
from .session import SessionProcess
from .task import Scenario
from .tool import Tool

_BUILD_TIMEOUT_S = 120.0
_numbers = itertools.count(1)


class Template:
    """A warm template. Forks sessions, keeps a few in reserve, owns the scenario's folder."""

    def __init__(
        self, name: str, folder: Path, zygote: Zygote, pid: int, control: ForkControl, report: Mapping[str, Any], cpu_seconds: int
    ) -> None:
        self.name = name
        self.folder = folder
        self.pid = pid
        self.tools = tuple(Tool(**tool) for tool in report["tools"])
        self.notes = tuple(Problem(*note) for note in report["notes"])
        """What was lost or left out when the world was built, though it starts."""
        self.checkers = {tool.name: ArgumentChecker(tool) for tool in self.tools}
        self.snapshot = folder / SNAPSHOT_FILE
        self.snapshot_bytes = self.snapshot.stat().st_size
        self.users: set[str] = set()
        """Ids of the live sessions forked from it."""
        self.reserve: deque[SessionProcess] = deque()
        self.last_used = time.monotonic()
        self._zygote = zygote
        self._control = control
        self._cpu_seconds = cpu_seconds
        self._next_session = itertools.count(1)

    @property
    def alive(self) -> bool:
        """Whether it can still fork."""
        return not self._control.closed.is_set()

    async def fork(self) -> SessionProcess:
        """A new session process. Raises SandboxError."""
        folder = self.folder / "sessions" / str(next(self._next_session))
        return await SessionProcess.fork(self._control, self.pid, folder, self._cpu_seconds)

    async def refill(self) -> None:
        """Put one more process in reserve."""
        self.reserve.append(await self.fork())

    def take_reserve(self) -> SessionProcess | None:
        """A process kept in reserve that still lives, if there is one."""
        while self.reserve:
            started = self.reserve.popleft()
            if not started.channel.closed.is_set():
                return started
            started.process.release()
        return None

    async def stop(self, *, keep_folder: bool = False) -> None:
        """End the template and all that it forked; remove its folder."""
        await asyncio.gather(*(started.discard() for started in self.reserve))
        self.reserve.clear()
        await self._zygote.control.kill(self.pid)
        await self._control.close()
        if not keep_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


async def build_template(
    zygote: Zygote,
    scenario: Scenario,
    workspace: Workspace,
    *,
    cpu_seconds: int,
    enforced: bool,
    allow_lost_rows: bool,
) -> Template:
    """Fork a template from the zygote and have it build the scenario's world.

    Raises:
        ScenarioError: the world cannot start; says which statement failed.
        SandboxError: the process could not be had.
    """
    folder = _make_folder(scenario, workspace)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control = ForkControl(ours)
    pid: int | None = None
    try:
        with theirs:
            request = {"folder": str(folder), "enforced": enforced, "allow_lost_rows": allow_lost_rows}
            pid = await zygote.control.fork(request, [theirs.fileno()])
        report = await _read_report(scenario, control, folder)
        return Template(scenario.name, folder, zygote, pid, control, report, cpu_seconds)
    except BaseException:
        if pid is not None:
            await zygote.control.kill(pid)
        await control.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _make_folder(scenario: Scenario, workspace: Workspace) -> Path:
    written = sum(len(statement.sql) for statement in (*scenario.schema, *scenario.seed))
    folder = workspace.place(2 * written) / f"{next(_numbers)}-{scenario.name[:40]}"
    (folder / "sessions").mkdir(parents=True, mode=0o700)
    spec = folder / SPEC_FILE
    spec.touch(mode=0o600)
    spec.write_text(json.dumps(encode_scenario(scenario)))
    return folder


async def _read_report(scenario: Scenario, control: ForkControl, folder: Path) -> dict[str, Any]:
    file = scenario.app_file
    try:
        await asyncio.wait_for(asyncio.shield(control.ready), _BUILD_TIMEOUT_S)
        report: dict[str, Any] = json.loads((folder / REPORT_FILE).read_text())
    except TimeoutError as error:
        problem = Problem(file, None, None, f"the world was not built within {_BUILD_TIMEOUT_S:g} s")
        raise ScenarioError(scenario.name, [problem]) from error
    except (ProcessDied, OSError, ValueError) as error:
        problem = Problem(file, None, None, "the process that built the world died (out of memory or CPU time?)")
        raise ScenarioError(scenario.name, [problem]) from error
    if "problems" in report:
        raise ScenarioError(scenario.name, [Problem(*problem) for problem in report["problems"]])
    return report
