"""The server's handle on one scenario's template process."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import socket
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..sandbox import (
    ForkControl,
    ProcessDied,
    ProcessHandle,
    SandboxError,
    Workspace,
    WorkspaceFull,
    Zygote,
    has_room,
    remove_tree,
)
from .arguments import ArgumentChecker
from .errors import Problem, ScenarioError
from .scenario_file import REPORT_FILE, SNAPSHOT_FILE, SPEC_FILE, encode_scenario
from .session import SessionProcess
from .task import Scenario
from .tool import Tool

_BUILD_TIMEOUT_S = 120.0
_MAX_REPORT_BYTES = 32 * 1024 * 1024
_ODD_CHARACTERS = re.compile(r"[^\w-]")
_numbers = itertools.count(1)
_users = itertools.count(int.from_bytes(os.urandom(2), "big"))
"""Each world's user, where we are root; at random, for there may be other servers."""


class Template:
    """A warm template. Forks sessions, keeps a few in reserve, owns the scenario's folders."""

    def __init__(
        self,
        name: str,
        folders: Sequence[Path],
        zygote: Zygote,
        process: ProcessHandle,
        control: ForkControl,
        report: Mapping[str, Any],
        cpu_seconds: int,
    ) -> None:
        """Args:
        folders: one on each medium, the snapshot's first.
        """
        self.name = name
        self.tools = tuple(Tool(**tool) for tool in report["tools"])
        self.notes = tuple(Problem(*note) for note in report["notes"])
        """What was lost or left out when the world was built, though it starts."""
        self.cold: str | None = report["cold"]
        """Why its sessions start cold: what the app keeps outside its database. None if they start warm."""
        self.kept: str | None = report["kept"]
        """Where in the app's memory calls leave something; None where nothing was seen to stay."""
        self.shadowed = tuple(Problem(*problem) for problem in report["shadowed"])
        """Tools whose path an earlier route takes. They work here, and nowhere else."""
        self.checkers = {tool.name: ArgumentChecker(tool) for tool in self.tools}
        self.snapshot = folders[0] / SNAPSHOT_FILE
        self.snapshot.chmod(0o400)
        self.snapshot_bytes = self.snapshot.stat().st_size
        self.users: set[str] = set()
        """Ids of the sessions forked from it that still need its snapshot."""
        self.last_used = time.monotonic()
        self._folders = tuple(folders)
        self._zygote = zygote
        self._process = process
        self._control = control
        self._cpu_seconds = cpu_seconds
        self._reserve: deque[SessionProcess] = deque()
        self._refilling = False
        self._stopped = False
        self._session_numbers = itertools.count(1)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can still fork."""
        return not self._stopped and not self._control.closed.is_set()

    async def take(self, database: Path | None = None) -> SessionProcess:
        """A session process: one kept in reserve that still lives, else a new one.

        Args:
            database: start on a copy of this one, which lies in a session's folder, not of the snapshot.

        Raises:
            WorkspaceFull: no room for another database.
            SandboxError: it could not be started.
            OSError: no descriptor or no room for it.
        """
        while self._reserve and database is None:
            started = self._reserve.popleft()
            if started.alive:
                return started
            await started.discard()
        return await self._fork(database)

    async def refill(self, level: int) -> None:
        """Keep `level` processes in reserve. Raises as `take` does."""
        if self._refilling:
            return
        self._refilling = True
        try:
            while self.alive and len(self._reserve) < level:
                self._reserve.append(await self._fork())
        finally:
            self._refilling = False
            if self._stopped:
                await self._empty_reserve()

    def release(self, session_id: str) -> None:
        """A session is gone, and no longer needs the snapshot."""
        self.users.discard(session_id)
        self._remove_unused_folders()

    async def stop(self) -> None:
        """End the template and all that it forked. The snapshot stays for as long as a session needs it."""
        self._stopped = True
        await self._empty_reserve()
        await self._zygote.control.kill(self.pid)
        self._process.kill()
        await self._process.gone()
        await self._control.close()
        self._remove_unused_folders()

    async def _fork(self, database: Path | None = None) -> SessionProcess:
        folder = self._place() / str(next(self._session_numbers))
        return await SessionProcess.fork(self._control, self.pid, folder, self._cpu_seconds, database)

    def _place(self) -> Path:
        for folder in self._folders:
            if has_room(folder, self.snapshot_bytes):
                return folder
        raise WorkspaceFull(f"there is no room for another database of '{self.name}'")

    async def _empty_reserve(self) -> None:
        reserve, self._reserve = self._reserve, deque()
        await asyncio.gather(*(started.discard() for started in reserve))

    def _remove_unused_folders(self) -> None:
        if self._stopped and not self.users:
            _remove(self._folders)


class _Ended(Exception):
    """A template's process ended before it had reported."""


async def build_template(
    zygote: Zygote,
    scenario: Scenario,
    workspace: Workspace,
    *,
    cpu_seconds: int,
    processes: int,
    own_user: bool,
    enforced: bool,
    allow_lost_rows: bool,
    warm: bool,
) -> Template:
    """Fork a template from the zygote and have it build the scenario's world.

    Raises:
        ScenarioError: the world cannot start; says which statement failed.
        SandboxError: the process could not be had.
    """
    folders = _make_folders(scenario, workspace)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control = ForkControl(ours)
    process: ProcessHandle | None = None
    try:
        with theirs:
            request = {
                "folders": [str(folder) for folder in folders],
                "user": next(_users) if own_user else None,
                "processes": processes,
                "enforced": enforced,
                "allow_lost_rows": allow_lost_rows,
                "warm": warm,
            }
            process = ProcessHandle(await zygote.control.fork(request, [theirs.fileno()]), zygote.pid)
        report = await _read_report(scenario, control, folders[0])
        return Template(scenario.name, folders, zygote, process, control, report, cpu_seconds)
    except BaseException as error:
        if process is not None:
            await zygote.control.kill(process.pid)
            process.kill()
            await process.gone()
        await control.close()
        _remove(folders)
        if not isinstance(error, Exception) or isinstance(error, ScenarioError | SandboxError):
            raise
        raise _explain(error, scenario, zygote) from error


def _explain(error: Exception, scenario: Scenario, zygote: Zygote) -> Exception:
    """Whose fault it is that a template was not built."""
    if not isinstance(error, _Ended):
        return _broken(scenario, "the process that built the world reported nonsense")
    if not zygote.alive:
        return ProcessDied("the zygote died while it was needed")
    reason = "the process that built the world ended (out of memory or CPU time, or the app ended it)"
    return _broken(scenario, reason)


def _make_folders(scenario: Scenario, workspace: Workspace) -> tuple[Path, ...]:
    """A folder on each medium: the first for the snapshot, all for the databases of sessions."""
    written = sum(len(statement.sql) for statement in (*scenario.schema, *scenario.seed))
    home = workspace.place(2 * written)
    name = f"{next(_numbers)}-{_ODD_CHARACTERS.sub('_', scenario.name)[:40]}"
    folders = tuple(base / name for base in sorted(workspace.folders, key=lambda base: base != home))
    try:
        for folder in folders:
            folder.mkdir(mode=0o700)
        spec = folders[0] / SPEC_FILE
        spec.touch(mode=0o600)
        spec.write_text(json.dumps(encode_scenario(scenario)))
    except BaseException:
        _remove(folders)
        raise
    return folders


async def _read_report(scenario: Scenario, control: ForkControl, folder: Path) -> dict[str, Any]:
    """What the template found. It is an untrusted process's word: any exception may come of it.

    Raises:
        ScenarioError: why the world cannot start.
    """
    try:
        await asyncio.wait_for(asyncio.shield(control.ready), _BUILD_TIMEOUT_S)
    except TimeoutError as error:
        raise _broken(scenario, f"the world was not built within {_BUILD_TIMEOUT_S:g} s") from error
    except ProcessDied as error:
        raise _Ended from error
    file = folder / REPORT_FILE
    if file.stat().st_size > _MAX_REPORT_BYTES:
        raise ValueError("the report is too long")
    report = json.loads(file.read_text())
    if "problems" in report:
        raise ScenarioError(scenario.name, [Problem(*problem) for problem in report["problems"]])
    return dict(report)


def _broken(scenario: Scenario, reason: str) -> ScenarioError:
    return ScenarioError(scenario.name, [Problem(scenario.app_file, None, None, reason)])


def _remove(folders: Sequence[Path]) -> None:
    for folder in folders:
        remove_tree(folder)
