"""A world's generator.py, seen from outside: read, run in a confined process, and its answer checked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from ...sandbox import AnswerTooLong, SandboxError, Zygote, require_confinement, run_errand
from ..errors import Problem
from ..fields import Place
from ..files import read_text
from ..task import JSON
from .answers import DrawnTask, NoAnswer, SeedRow, read_drafts, read_failure, read_rows

GENERATOR = "generator.py"

TakenTask: TypeAlias = tuple[str, JSON, JSON]
"""Prompt, solution and answer of a task that is there already."""

T = TypeVar("T")

_ZYGOTE = "subworlds.scenarios.generation.process"
_MOST_ANSWER_BYTES = 64 * 1024 * 1024


class GeneratorError(Exception):
    """A world's generator.py cannot be used. Says where and why."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class GeneratorLimits:
    """What one run of a generator may use."""

    draw_s: float = 10.0
    """One draw from one template."""
    load_s: float = 30.0
    """Loading the module; producing all rows."""
    wall_s: float = 300.0
    cpu_seconds: int = 240
    memory_bytes: int = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class DrawOrder:
    """Which tasks to draw."""

    seed: int
    count: int
    template: str | None = None
    """Only from this one."""
    taken: tuple[TakenTask, ...] = ()
    """Tasks whose prompts and golds are not to be drawn again."""


class Generators:
    """Owns the zygote that generators are forked from. An async context manager."""

    def __init__(self, *, allow_unconfined: bool = False, limits: GeneratorLimits | None = None) -> None:
        self._allow_unconfined = allow_unconfined
        self._limits = limits or GeneratorLimits()
        self._enforced = True
        self._zygote: Zygote

    async def __aenter__(self) -> Generators:
        """Raises SandboxError where generators cannot be confined and nobody accepted that."""
        try:
            require_confinement()
        except SandboxError:
            if not self._allow_unconfined:
                raise
            self._enforced = False
        self._zygote = await Zygote.start(_ZYGOTE)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._zygote.stop()

    async def rows(self, folder: Path, clock: datetime) -> list[SeedRow]:
        """The seed rows of the world in `folder`, in insertion order.

        Raises:
            GeneratorError: the generator is missing, fails, or yields what is no row.
            SandboxError: its process could not be had.
        """
        return await self._ask(folder, clock, {}, read_rows)

    async def drafts(
        self, folder: Path, clock: datetime, database: Path, order: DrawOrder
    ) -> list[DrawnTask]:
        """Tasks over the seeded `database`, not more than asked for, fewer where there are no more.

        Raises as `rows` does.
        """
        wanted = {"database": _absolute(database), **asdict(order)}
        return await self._ask(folder, clock, wanted, read_drafts)

    async def _ask(
        self, folder: Path, clock: datetime, wanted: Mapping[str, Any], read: Callable[[JSON], T]
    ) -> T:
        file = folder / GENERATOR
        request = {
            **asdict(self._limits),
            **wanted,
            "source": _source(file),
            "file": str(file),
            "folder": _absolute(folder),
            "clock": clock.isoformat(),
            "enforced": self._enforced,
        }
        answer = await self._run(file, json.dumps(request).encode())
        try:
            failure = read_failure(answer)
            if failure is None:
                return read(answer)
        except NoAnswer as error:
            raise _failed(
                file, "its process answered with something that is neither rows nor tasks"
            ) from error
        raise GeneratorError([Problem(str(file), failure.line, failure.field, failure.reason)])

    async def _run(self, file: Path, request: bytes) -> JSON:
        try:
            answer = await run_errand(
                self._zygote, request, wall_s=self._limits.wall_s, most_bytes=_MOST_ANSWER_BYTES
            )
            return json.loads(answer)
        except TimeoutError as error:
            raise _failed(file, f"did not end within {self._limits.wall_s:g} s") from error
        except AnswerTooLong as error:
            raise _failed(file, f"produced {error}") from error
        except (OSError, ValueError, RecursionError) as error:
            reason = "its process ended without an answer (out of memory or CPU time, or the code ended it)"
            raise _failed(file, reason) from error


def _source(file: Path) -> str:
    problems: list[Problem] = []
    source = read_text(file, Place(problems, str(file)))
    if source is None:
        raise GeneratorError(problems)
    return source


def _absolute(path: Path) -> str:
    """As the process sees it, which works elsewhere."""
    return os.path.abspath(path)


def _failed(file: Path, reason: str) -> GeneratorError:
    return GeneratorError([Problem(str(file), None, None, reason)])
