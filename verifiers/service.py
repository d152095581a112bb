"""Verification on the server's side: seals databases, learns what gold solutions reach, asks for verdicts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from ..sandbox import SandboxError, Zygote
from ..scenarios.clock import TICK_S
from ..scenarios.errors import ScenarioError
from ..scenarios.manager import ScenarioManager, ServerFull
from ..scenarios.session import WorldCrashed
from ..scenarios.task import PythonCheck, SqlCheck, StateCheck, Task, ToolCall
from .verdict import Verdict
from .wire import decode_verdict, expectation_job, python_job, sql_job, state_job

_ZYGOTE = "subworlds.verifiers.process"
_MAX_ANSWER_BYTES = 16 * 1024 * 1024
_CLOCKS = ((1, 0.0), (2, 127.0))
"""Seed and clock offset (s) of the two runs of a gold solution that tell volatile columns from the rest: far
enough for every timestamp to differ, as it may between episodes, near enough for no deadline to pass."""


@dataclass(frozen=True, slots=True)
class VerifierLimits:
    """What one verifier run may use."""

    wall_s: float = 20.0
    cpu_seconds: int = 15
    memory_bytes: int = 512 * 1024 * 1024
    at_once: int = 2 * (os.cpu_count() or 1)
    """Runs at the same time; more wait."""


class VerifierFailed(Exception):
    """A verifier run gave no verdict: it crashed, ran out of time, or its task cannot be judged."""


class Verification:
    """Owns the verifier zygote of one server. Use as an async context manager, inside the manager's."""

    def __init__(self, manager: ScenarioManager, limits: VerifierLimits) -> None:
        self._manager = manager
        self._limits = limits
        self._zygote: Zygote | None = None
        self._zygote_lock = asyncio.Lock()
        self._slots = asyncio.Semaphore(limits.at_once)
        self._expectations: dict[str, asyncio.Task[list[dict[str, Any]]]] = {}

    async def __aenter__(self) -> Verification:
        await self._ensure_zygote()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for learning in self._expectations.values():
            learning.cancel()
        await asyncio.gather(*self._expectations.values(), return_exceptions=True)
        if self._zygote is not None:
            await self._zygote.stop()

    @property
    def pid(self) -> int | None:
        """Process id of the verifier zygote."""
        return None if self._zygote is None else self._zygote.pid

    async def verify(
        self, task: Task, *, initial: Path, final: Path, answer: str | None, calls: int
    ) -> Verdict:
        """Judge a finished episode. Never raises for what worlds and verifiers do.

        Args:
            initial: the snapshot the session started from.
            final: the session's database; its process has ended.
            calls: how many calls the episode made; each moved the world's clock.
        """
        try:
            await self.seal(final)
        except VerifierFailed as error:
            return Verdict("world_error", str(error))
        try:
            job = await self._job(task, initial=initial, final=final, answer=answer, calls=calls)
            return decode_verdict(await self._run(job))
        except VerifierFailed as error:
            return Verdict("verifier_error", str(error))

    async def seal(self, database: Path) -> None:
        """Make sure that `database` is one complete file.

        Raises:
            VerifierFailed: it is damaged.
        """
        if _is_complete(database):
            return
        answer = await self._run({"kind": "seal", "final": str(database)})
        if not answer["sealed"]:
            raise VerifierFailed(answer["reason"])

    async def _job(
        self, task: Task, *, initial: Path, final: Path, answer: str | None, calls: int
    ) -> dict[str, Any]:
        match task.check:
            case StateCheck() as check:
                expectations = await self._expectations_of(task, check)
                return state_job(check, expectations, task.answer, initial=initial, final=final, given=answer)
            case SqlCheck() as check:
                return sql_job(check, task.answer, initial=initial, final=final, given=answer)
            case PythonCheck() as check:
                clock = self._manager.find_scenario(task.scenario).clock + timedelta(seconds=calls * TICK_S)
                return python_job(check, task.answer, initial=initial, final=final, given=answer, clock=clock)

    async def _expectations_of(self, task: Task, check: StateCheck) -> list[dict[str, Any]]:
        """What the gold solution and each alternative change, learned once per task."""
        if task.id not in self._expectations:
            self._expectations[task.id] = asyncio.ensure_future(self._learn(task, check))
        try:
            return await asyncio.shield(self._expectations[task.id])
        except VerifierFailed:
            self._expectations.pop(task.id, None)
            raise

    async def _learn(self, task: Task, check: StateCheck) -> list[dict[str, Any]]:
        if task.solution is None:
            raise VerifierFailed(f"task '{task.id}' is checked by its end state but has no gold solution")
        return [
            await self._learn_one(task, check, solution) for solution in (task.solution, *check.alternatives)
        ]

    async def _learn_one(self, task: Task, check: StateCheck, solution: Sequence[ToolCall]) -> dict[str, Any]:
        """What a solution changes.

        Raises:
            VerifierFailed: it cannot be played.
        """
        try:
            return await self._play_twice(task, check, solution)
        except (WorldCrashed, ScenarioError, ServerFull, SandboxError) as error:
            raise VerifierFailed(f"the gold solution of '{task.id}' cannot be played: {error}") from error

    async def _play_twice(
        self, task: Task, check: StateCheck, solution: Sequence[ToolCall]
    ) -> dict[str, Any]:
        """Play a solution under two clocks and two seeds, and have the changes compared."""
        async with contextlib.AsyncExitStack() as stack:
            finals: list[Path] = []
            initial: Path | None = None
            for seed, offset in _CLOCKS:
                session = await self._manager.start_session(
                    task.scenario, seed=seed, clock_offset_s=offset, counted=False
                )
                stack.push_async_callback(session.close)
                for number, call in enumerate(solution):
                    outcome = await session.call(call.tool, call.arguments)
                    if outcome.failure is not None:
                        raise VerifierFailed(
                            f"the gold solution of '{task.id}' fails at call {number} ({call.tool}): "
                            f"{outcome.failure.kind}: {outcome.failure.message}"
                        )
                initial = session.snapshot
                finals.append(await session.finish())
                await self.seal(finals[-1])
            assert initial is not None
            return await self._run(expectation_job(initial=initial, finals=finals))

    async def _run(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Run one job in a process of its own.

        Raises:
            VerifierFailed: no answer.
        """
        limits = self._limits
        full = {
            **job,
            "memory_bytes": limits.memory_bytes,
            "cpu_seconds": limits.cpu_seconds,
            "enforced": self._manager.enforced,
        }
        async with self._slots:
            answer = await self._exchange(json.dumps(full).encode())
        if "error" in answer:
            raise VerifierFailed(str(answer["error"]))
        return answer

    async def _exchange(self, request: bytes) -> dict[str, Any]:
        try:
            zygote = await self._ensure_zygote()
            ours, theirs = socket.socketpair()
            with theirs:
                pid = await zygote.control.fork({}, [theirs.fileno()])
        except SandboxError as error:
            raise VerifierFailed(f"the verifier's process could not be started: {error}") from error
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        try:
            writer.write(request)
            writer.write_eof()
            answer = await asyncio.wait_for(_read_all(reader), self._limits.wall_s)
            return dict(json.loads(answer))
        except TimeoutError as error:
            raise VerifierFailed(f"the verifier gave no verdict within {self._limits.wall_s:g} s") from error
        except (OSError, ValueError) as error:
            raise VerifierFailed("the verifier's process died without a verdict") from error
        finally:
            writer.transport.abort()
            await zygote.control.kill(pid)

    async def _ensure_zygote(self) -> Zygote:
        async with self._zygote_lock:
            if self._zygote is not None and not self._zygote.alive:
                await self._zygote.stop()
                self._zygote = None
            if self._zygote is None:
                self._zygote = await Zygote.start(_ZYGOTE)
            return self._zygote


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while part := await reader.read(1 << 16):
        data += part
        if len(data) > _MAX_ANSWER_BYTES:
            raise ValueError("the verifier's answer is too long")
    return bytes(data)


def _is_complete(database: Path) -> bool:
    """Whether the file says that it needs no journal, and none lies beside it."""
    if any(database.with_name(database.name + suffix).exists() for suffix in ("-wal", "-journal", "-shm")):
        return False
    try:
        with database.open("rb") as file:
            header = file.read(20)
    except OSError:
        return False
    return header[18:20] == b"\x01\x01"
