"""The server's handle on one live sub-environment: a process and its own copy of the snapshot."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..sandbox import ForkControl, ProcessDied, ProcessHandle, SandboxError, entrust_like_parent, remove_tree
from .scenario_file import DATABASE_FILE
from .task import JSON
from .tool import FailureKind, Tool, ToolFailure, ToolResult
from .wire import Answer, WorldChannel

if TYPE_CHECKING:
    from .arguments import ArgumentChecker

_GRACE_S = 2.0
_FINISH_TIMEOUT_S = 10.0
_READY_TIMEOUT_S = 30.0


class WorldCrashed(Exception):
    """The session's process ended or broke before it was told to."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """What one session may use."""

    call_timeout_s: float = 30.0
    output_characters: int = 65_536
    cpu_seconds: int = 120


class SessionProcess:
    """A forked, confined world that nobody plays yet."""

    def __init__(self, folder: Path, process: ProcessHandle, channel: WorldChannel) -> None:
        self.folder = folder
        self.process = process
        self.channel = channel

    @classmethod
    async def fork(
        cls,
        control: ForkControl,
        template_pid: int,
        folder: Path,
        cpu_seconds: int,
        database: Path | None = None,
    ) -> SessionProcess:
        """Have the template fork a session that works in `folder`; returns when it is confined and ready.

        Args:
            database: what it starts on a copy of; None: the snapshot.

        Raises:
            SandboxError: it could not be started; nothing of it is left.
            OSError: no descriptor or no room for it.
        """
        ours, theirs = socket.socketpair()
        channel = await WorldChannel.open(ours)
        process: ProcessHandle | None = None
        try:
            with theirs:
                os.mkdir(folder, 0o700)
                entrust_like_parent(folder)
                request: dict[str, Any] = {"folder": str(folder), "cpu_seconds": cpu_seconds}
                if database is not None:
                    request["database"] = str(database)
                pid = await control.fork(request, [theirs.fileno()])
            process = ProcessHandle(pid, template_pid)
            await asyncio.wait_for(channel.ready, _READY_TIMEOUT_S)
        except BaseException as error:
            channel.close()
            if process is not None:
                process.kill()
                await process.gone()
            remove_tree(folder)
            if isinstance(error, TimeoutError):
                raise SandboxError("the session's process did not become ready") from error
            raise
        return cls(folder, process, channel)

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return not self.channel.closed.is_set()

    async def ask(self, answer: Answer, timeout_s: float) -> dict[str, Any]:
        """Wait for an answer, which stays awaited when we are cancelled.

        Raises:
            TimeoutError: it did not come; the process has been ended.
            ProcessDied: it will not come.
        """
        await asyncio.wait({answer}, timeout=timeout_s)
        if not answer.done():
            await self.end()
            raise TimeoutError
        return answer.result()

    async def end(self) -> None:
        """Kill the process and wait until it is gone. The folder stays."""
        self.channel.close()
        self.process.kill()
        await self.process.gone()

    async def discard(self) -> None:
        """End the process and remove the folder."""
        await self.end()
        try:
            (self.folder / DATABASE_FILE).unlink(missing_ok=True)
            self.folder.rmdir()
        except OSError:  # the world left more there, and who knows how much
            await asyncio.to_thread(remove_tree, self.folder)


class Session:
    """One live sub-environment. Its owner must `close` it, once or often."""

    def __init__(
        self,
        id: str,
        scenario: str,
        started: SessionProcess,
        checkers: Mapping[str, ArgumentChecker],
        snapshot: Path,
        limits: SessionLimits,
        on_close: Callable[[Session, asyncio.Task[None]], None],
    ) -> None:
        """Args:
        on_close: told, once, that the session is being closed, and by which task.
        """
        self.id = id
        self.scenario = scenario
        self.snapshot = snapshot
        """The first database. Never written."""
        self._started = started
        self._checkers = checkers
        self._limits = limits
        self._on_close = on_close
        self._asking = asyncio.Lock()
        self._last_answer: Answer | None = None
        self._finished = False
        self._closing: asyncio.Task[None] | None = None
        self.last_activity = time.monotonic()
        """When the session was last used, in monotonic seconds."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The world's tools."""
        return tuple(checker.tool for checker in self._checkers.values())

    @property
    def pid(self) -> int:
        """The process id of the world."""
        return self._started.process.pid

    @property
    def database(self) -> Path:
        """The session's own database."""
        return self._started.folder / DATABASE_FILE

    @property
    def alive(self) -> bool:
        """Whether the world can still answer."""
        return self._started.alive and not self._finished and not self.closed

    @property
    def closed(self) -> bool:
        """Whether somebody closed the session: its owner, or the reaper of idle sessions."""
        return self._closing is not None

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._asking.locked()

    def touch(self) -> None:
        """Count as used now."""
        self.last_activity = time.monotonic()

    async def begin(self, seed: int, clock_offset_s: float = 0.0) -> None:
        """Set the world's seed and clock and start its app.

        Raises:
            WorldCrashed: the app's start-up hooks failed or the process died.
        """
        parameters = {"seed": seed, "clock_offset_s": clock_offset_s}
        try:
            answer = await self._ask("world/begin", parameters, _READY_TIMEOUT_S)
        except (ProcessDied, TimeoutError) as error:
            raise WorldCrashed("the world's process died at its start") from error
        if answer.get("error"):
            raise WorldCrashed(f"the app's start-up hooks failed: {answer['error']}")

    async def call(self, name: str, arguments: Mapping[str, JSON]) -> ToolResult:
        """Call a tool. Every way to fail is a typed failure, never an exception."""
        self.touch()
        checker = self._checkers.get(name)
        if checker is None:
            return _failed(FailureKind.TOOL_NOT_FOUND, f"there is no tool '{name}' in this world")
        wrong = checker.explain(arguments)
        if wrong is not None:
            return _failed(FailureKind.INVALID_ARGUMENTS, wrong)
        try:
            async with self._asking:
                return await self._call(name, arguments)
        finally:
            self.touch()

    async def finish(self) -> Path:
        """Make the database complete, end the process, and return the database's path.

        Raises:
            WorldCrashed: the process died or was closed before it said that the database is complete.
        """
        async with self._asking:
            if self._finished:
                return self.database
            try:
                await self._ask("world/finish", {}, _FINISH_TIMEOUT_S)
            except (ProcessDied, TimeoutError) as error:
                raise WorldCrashed("the world's process died before its database was complete") from error
            self._finished = True
            await self._started.end()
        return self.database

    async def close(self) -> None:
        """End the process and remove the session's folder."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._started.discard())
            self._on_close(self, self._closing)
        await asyncio.shield(self._closing)

    async def _call(self, name: str, arguments: Mapping[str, JSON]) -> ToolResult:
        timeout = self._limits.call_timeout_s
        meta = {"timeout_s": timeout, "output_limit": self._limits.output_characters}
        parameters = {"name": name, "arguments": dict(arguments), "_meta": meta}
        try:
            answer = await self._ask("tools/call", parameters, timeout + _GRACE_S)
        except TimeoutError:
            message = f"'{name}' did not answer within {timeout:g} s, and its world had to be stopped"
            return _failed(FailureKind.TIMEOUT, message)
        except ProcessDied:
            return _CRASHED
        except (TypeError, ValueError) as error:
            return _failed(FailureKind.INVALID_ARGUMENTS, f"{name}: the arguments are not JSON: {error}")
        try:
            return _read_answer(answer)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            self._started.channel.close()
            return _CRASHED

    async def _ask(self, method: str, parameters: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Ask the world. A call that somebody gave up waiting for is let to its end first."""
        if self._last_answer is not None and not self._last_answer.done():
            await self._started.ask(self._last_answer, self._limits.call_timeout_s + _GRACE_S)
        self._last_answer = self._started.channel.request(method, parameters)
        return await self._started.ask(self._last_answer, timeout_s)


def _read_answer(answer: dict[str, Any]) -> ToolResult:
    text, meta = answer["content"][0]["text"], answer["_meta"]
    if meta["failure"] is not None:
        return _failed(FailureKind(meta["failure"]), str(text))
    return ToolResult(json.loads(text), truncated=bool(meta["truncated"]))


def _failed(kind: FailureKind, message: str) -> ToolResult:
    return ToolResult(failure=ToolFailure(kind, message))


_CRASHED = _failed(
    FailureKind.WORLD_CRASHED,
    "the world's process has died; this episode cannot go on and will not be scored",
)
