"""Verification on the server's side: seals databases, learns what gold solutions reach, asks for verdicts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from ..sandbox import ProcessDied, SandboxError, Zygote, run_errand
from ..scenarios.errors import ScenarioError
from ..scenarios.manager import ScenarioManager, ServerFull
from ..scenarios.session import WorldCrashed
from ..scenarios.task import TICK_S, JudgeCheck, PythonCheck, SqlCheck, StateCheck, Task, ToolCall
from .expectation import Runs
from .judge import Judge, JudgeFailed, JudgeSettings
from .judge_prompt import Case
from .judgment import judged
from .verdict import Verdict
from .wire import (
    Job,
    decode_receipt,
    decode_verdict,
    evidence_job,
    expectation_job,
    python_job,
    sql_job,
    state_job,
)

_ZYGOTE = "subworlds.verifiers.process"
_MAX_ANSWER_BYTES = 16 * 1024 * 1024
_SHIFT_S = 127.0
"""How much later the second of the two runs of a gold solution starts that tell volatile columns from the
rest: far enough for every timestamp to differ, as it may between episodes, near enough for no deadline to
pass."""

_RUNS = ((1, 0.0), (2, _SHIFT_S))
"""Seed and clock offset (s) of these runs."""


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


class DatabaseDamaged(Exception):
    """The database that a session left is not one that can be judged."""


class Verification:
    """Owns the verifier zygote of one server. Use as an async context manager, inside the manager's."""

    def __init__(
        self, manager: ScenarioManager, limits: VerifierLimits, judge: JudgeSettings | None = None
    ) -> None:
        """Args:
        judge: for tasks that are judged; without one, they end in verifier errors.
        """
        self._manager = manager
        self._judge = None if judge is None else Judge(judge)
        self._limits = limits
        self._zygote: Zygote | None = None
        self._zygote_lock = asyncio.Lock()
        self._closing = False
        self._slots = asyncio.Semaphore(limits.at_once)
        self._expectations: dict[str, asyncio.Task[list[dict[str, Any]]]] = {}

    async def __aenter__(self) -> Verification:
        await self.warm_up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def warm_up(self) -> None:
        """Start the zygote, which the first verdict would do as well. Raises SandboxError."""
        await self._ensure_zygote()

    async def stop(self) -> None:
        """End everything; once stopped, it stays so."""
        self._closing = True
        learning = list(self._expectations.values())
        for task in learning:
            task.cancel()
        await asyncio.gather(*learning, return_exceptions=True)
        async with self._zygote_lock:
            if self._zygote is not None:
                await self._zygote.stop()

    @property
    def pid(self) -> int | None:
        """Process id of the verifier zygote."""
        return None if self._zygote is None else self._zygote.pid

    async def verify(
        self,
        task: Task,
        *,
        initial: Path,
        final: Path,
        answer: str | None,
        calls: int,
        clock_offset_s: float = 0.0,
    ) -> Verdict:
        """Judge a finished episode. Never raises for what worlds and verifiers do.

        Args:
            initial: the snapshot the session started from.
            final: the session's database; its process has ended.
            calls: how many calls the episode made; each moved the world's clock.
            clock_offset_s: what the session was started with.
        """
        try:
            await self._seal(final)
            self._require_judge(task)
            job = await self._job(task, initial, final, answer, calls, clock_offset_s)
            found = await self._run(job)
            if isinstance(task.check, JudgeCheck) and "outcome" not in found:
                return await self._ask_judge(task, task.check, found, answer)
            return decode_verdict(found)
        except DatabaseDamaged as error:
            return Verdict("world_error", str(error))
        except (VerifierFailed, ScenarioError) as error:
            return Verdict("verifier_error", str(error))
        except (KeyError, TypeError, ValueError, AttributeError):
            return Verdict(
                "verifier_error", "the verifier's process answered with something that is no verdict"
            )

    async def examine(self, job: Job) -> dict[str, Any]:
        """Have databases examined in a confined process, as for a verdict (see job.py for the jobs).

        Raises:
            VerifierFailed: nothing was found out.
        """
        return await self._run(job)

    async def seal(self, database: Path) -> None:
        """Make sure that `database` is one complete file. Raises DatabaseDamaged or VerifierFailed."""
        await self._seal(database)

    async def _seal(self, database: Path) -> None:
        """Make sure that `database` is one complete file, and no link to another.

        Raises:
            DatabaseDamaged: it is not, and cannot be made so.
            VerifierFailed: nobody knows.
        """
        if not _is_plain_file(database):
            raise DatabaseDamaged("the final database is missing, or is no plain file")
        if not _is_complete(database):
            answer = await self._run({"kind": "seal", "final": str(database)})
            if not answer.get("sealed"):
                raise DatabaseDamaged(str(answer.get("reason")))

    async def _job(
        self, task: Task, initial: Path, final: Path, answer: str | None, calls: int, clock_offset_s: float
    ) -> dict[str, Any]:
        clock = self._start(task) + timedelta(seconds=clock_offset_s + calls * TICK_S)
        match task.check:
            case StateCheck() as check:
                expectations = await self._expectations_of(task, check)
                return state_job(
                    check,
                    expectations,
                    task.answer,
                    initial=initial,
                    final=final,
                    given=answer,
                    calls=calls,
                    clock_offset_s=clock_offset_s,
                )
            case SqlCheck() as check:
                return sql_job(check, task.answer, initial=initial, final=final, given=answer, clock=clock)
            case PythonCheck() as check:
                return python_job(check, task.answer, initial=initial, final=final, given=answer, clock=clock)
            case JudgeCheck() as check:
                return evidence_job(
                    check, task.answer, initial=initial, final=final, given=answer, clock=clock
                )

    def _require_judge(self, task: Task) -> None:
        """Raises VerifierFailed if a judge must decide the task and there is none."""
        if isinstance(task.check, JudgeCheck) and self._judge is None:
            raise VerifierFailed(
                f"task '{task.id}' is decided by a judge, and none is configured "
                "(set SUBWORLDS_JUDGE_URL and SUBWORLDS_JUDGE_MODEL where the server starts)"
            )

    async def _ask_judge(
        self, task: Task, check: JudgeCheck, found: Mapping[str, Any], answer: str | None
    ) -> Verdict:
        """The judge's verdict on what a verifier process gathered.

        Raises:
            VerifierFailed: there is no judgment.
        """
        assert self._judge is not None  # see _require_judge
        receipt = decode_receipt(found["receipt"])
        if found["answered"] is False:
            return Verdict("incomplete", "the answer is missing or wrong", receipt, False)
        case = Case(task.prompt, check.criteria, found["evidence"], receipt, answer)
        try:
            opinion = await self._judge.judge(case)
        except JudgeFailed as error:
            raise VerifierFailed(str(error)) from error
        return judged(opinion, self._judge.model, found["result"], receipt, found["answered"])

    def _start(self, task: Task) -> datetime:
        """The world's time at the start of an episode."""
        return self._manager.find_scenario(task.scenario).clock

    async def _expectations_of(self, task: Task, check: StateCheck) -> list[dict[str, Any]]:
        """What the gold solution and each alternative change, learned once per task."""
        learning = self._expectations.get(task.id)
        if learning is None:
            learning = asyncio.create_task(self._learn(task, check))
            self._expectations[task.id] = learning
            learning.add_done_callback(partial(self._forget_failure, task.id))
        return await asyncio.shield(learning)

    def _forget_failure(self, task_id: str, learning: asyncio.Task[list[dict[str, Any]]]) -> None:
        """What could not be learned is tried again for the next who asks."""
        if learning.cancelled() or learning.exception() is not None:
            del self._expectations[task_id]

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
        except (WorldCrashed, ScenarioError, ServerFull, SandboxError, DatabaseDamaged) as error:
            raise VerifierFailed(f"the gold solution of '{task.id}' cannot be played: {error}") from error

    async def _play_twice(
        self, task: Task, check: StateCheck, solution: Sequence[ToolCall]
    ) -> dict[str, Any]:
        """Play a solution under two clocks and two seeds, and have the changes compared."""
        async with contextlib.AsyncExitStack() as stack:
            finals: list[Path] = []
            initial: Path | None = None
            for seed, offset in _RUNS:
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
                await self._seal(finals[-1])
            assert initial is not None
            runs = Runs(self._start(task), _SHIFT_S, len(solution))
            return await self._run(expectation_job(initial=initial, finals=finals, runs=runs))

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
            answer = json.loads(await self._ask_process(request))
        except TimeoutError as error:
            raise VerifierFailed(f"the verifier gave no verdict within {self._limits.wall_s:g} s") from error
        except SandboxError as error:
            raise VerifierFailed(f"the verifier's process could not be started: {error}") from error
        except (OSError, ValueError, RecursionError) as error:
            raise VerifierFailed("the verifier's process died without a verdict") from error
        if not isinstance(answer, dict):
            raise VerifierFailed("the verifier's process answered with something that is no verdict")
        return cast("dict[str, Any]", answer)

    async def _ask_process(self, request: bytes) -> bytes:
        """One errand of the zygote. Where it died on us, another is started."""
        zygote = await self._ensure_zygote()
        try:
            return await self._send(zygote, request)
        except ProcessDied:
            await zygote.control.closed.wait()
        return await self._send(await self._ensure_zygote(), request)

    async def _send(self, zygote: Zygote, request: bytes) -> bytes:
        return await run_errand(zygote, request, wall_s=self._limits.wall_s, most_bytes=_MAX_ANSWER_BYTES)

    async def _ensure_zygote(self) -> Zygote:
        async with self._zygote_lock:
            if self._closing:
                raise SandboxError("the server is stopping")
            if self._zygote is not None and not self._zygote.alive:
                await self._zygote.stop()
                self._zygote = None
            if self._zygote is None:
                self._zygote = await Zygote.start(_ZYGOTE, layers=self._manager.settings.layers)
            return self._zygote


def _is_plain_file(database: Path) -> bool:
    try:
        return stat.S_ISREG(database.lstat().st_mode)
    except OSError:
        return False


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
