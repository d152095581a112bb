"""Clients that play the subject on a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from ...envs.client import SubworldsEnv
from ..failure import CommandFailed
from .figures import Stopwatch
from .subject import Step, Subject

T = TypeVar("T")

_CONNECTING = 16
"""Connections opened at the same time."""


class Player:
    """One client of a server, playing the subject's task. A failure is no figure: it is raised."""

    def __init__(self, env: SubworldsEnv, subject: Subject, watch: Stopwatch) -> None:
        self._env = env
        self._subject = subject
        self._watch = watch

    async def reset(self, row: str = "reset") -> None:
        """Start an episode, timed under `row`."""
        with self._watch.lap(row):
            result = await self._env.reset(task=self._subject.task.id)
        _require_ok("reset", result.observation.error)

    async def list_tools(self) -> None:
        """Ask for the tools."""
        with self._watch.lap("list_tools"):
            tools = await self._env.list_tools()
        if not tools:
            raise CommandFailed("the server listed no tools")

    async def call(self, step: Step, *rows: str) -> None:
        """Make one call of the script, timed under each of `rows`."""
        with self._watch.lap(*rows):
            result = await self._env.call_tool(step.call.tool, **step.call.arguments)
        _require_ok(step.call.tool, result.observation.error)

    async def done(self, row: str = "done") -> None:
        """End the episode with its verdict, timed under `row`."""
        with self._watch.lap(row):
            result = await self._env.done()
        verdict = result.observation.verdict
        if verdict is None or not verdict.valid:
            raise CommandFailed(
                f"the episode was not judged: {verdict.reason if verdict else result.observation.error}"
            )

    async def episode(self, script: Sequence[Step]) -> None:
        """One whole episode. First calls, reads and writes are timed apart as well."""
        await self.reset()
        await self.list_tools()
        for number, step in enumerate(script):
            await self.call(step, "call", rows_of_call(number, step))
        await self.done()


def rows_of_call(number: int, step: Step) -> str:
    """The row of a call, beside the row of all calls."""
    if number == 0:
        return "call_first"
    return "call_write" if step.writes else "call_read"


def _require_ok(what: str, error: object) -> None:
    if error is not None:
        raise CommandFailed(f"{what} failed while it was measured: {error}")


@asynccontextmanager
async def players(url: str, count: int, subject: Subject, watch: Stopwatch) -> AsyncGenerator[list[Player]]:
    """`count` connected clients of the server at `url`."""
    async with AsyncExitStack() as stack:
        found: list[Player] = []

        async def connect(_: int) -> None:
            env = await stack.enter_async_context(SubworldsEnv(base_url=url))
            found.append(Player(env, subject, watch))

        await spread(range(count), connect, at_once=_CONNECTING)
        yield found


async def spread(items: Iterable[T], work: Callable[[T], Awaitable[None]], *, at_once: int) -> None:
    """Do `work` for every item, `at_once` items at a time. The first failure ends it all and is raised."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(worker())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
