"""Connections for episodes that live together: one each, spread over the servers, kept between batches."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence

from ..envs.client import AccessDenied, ServerError, SubworldsEnv
from ..envs.models import ErrorType
from .assignments import Assignment, RolloutError

_OUR_MISTAKES = frozenset(
    {
        ErrorType.UNKNOWN_TASK,
        ErrorType.UNKNOWN_SCENARIO,
        ErrorType.INVALID_REQUEST,
        ErrorType.SCENARIO_ERROR,
    }
)


class Seats:
    """Owns its connections. Use on one event loop; `close` ends whatever is played on them."""

    def __init__(self, urls: Sequence[str], token: str | None = None) -> None:
        if not urls:
            raise ValueError("no server to play on")
        self._urls = tuple(urls)
        self._token = token
        self._taken: dict[int, SubworldsEnv] = {}
        self._left: Counter[int] = Counter()
        """How often each seat was given up: each time it moves on to the next server."""
        self._starting: set[asyncio.Task[SubworldsEnv]] = set()

    def start(self, number: int, assignment: Assignment) -> asyncio.Task[SubworldsEnv]:
        """Begin to reset a seat to a task; see `_start` for what awaiting it raises."""
        starting = asyncio.create_task(self._start(number, assignment))
        self._starting.add(starting)
        starting.add_done_callback(self._started)
        return starting

    async def leave(self, number: int) -> None:
        """Give up a seat whose connection cannot be trusted; its next start is on the next server."""
        self._left[number] += 1
        env = self._taken.pop(number, None)
        if env is not None:
            with contextlib.suppress(Exception):  # it is broken: that is why we leave
                await env.close()

    async def close(self) -> None:
        """Leave every seat."""
        for starting in self._starting:
            starting.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(self.leave(number) for number in list(self._taken)))
        self._left.clear()

    async def _start(self, number: int, assignment: Assignment) -> SubworldsEnv:
        """Reset a seat: once more on a new connection where an old one was dead, and on every other server.

        Raises:
            RolloutError: a server does not know the task, or its world cannot start.
            AccessDenied: a server does not let us in.
            ConnectionError: no server gave an episode; says why, server by server.
        """
        reasons: dict[str, str] = {}
        for _ in range(1 + len(self._urls)):
            try:
                return await self._start_here(number, assignment)
            except AccessDenied:
                raise
            except (ServerError, OSError) as error:
                reasons[self._url(number)] = str(error) or type(error).__name__
                await self.leave(number)
        told = "; ".join(f"{url}: {reason}" for url, reason in reasons.items())
        raise ConnectionError(f"no server gave an episode of {assignment.task}: {told}")

    async def _start_here(self, number: int, assignment: Assignment) -> SubworldsEnv:
        env = await self._take(number)
        error = (await env.reset(task=assignment.task, seed=assignment.seed)).observation.error
        if error is None:
            return env
        if error.error_type in _OUR_MISTAKES:
            raise RolloutError(f"task {assignment.task} on {self._url(number)}: {error}")
        raise ConnectionError(str(error))

    async def _take(self, number: int) -> SubworldsEnv:
        """The connection of one seat."""
        if number not in self._taken:
            env = SubworldsEnv(self._url(number), token=self._token)
            await env.connect()
            self._taken[number] = env
        return self._taken[number]

    def _url(self, number: int) -> str:
        return self._urls[(number + self._left[number]) % len(self._urls)]

    def _started(self, starting: asyncio.Task[SubworldsEnv]) -> None:
        """Whoever plays the episode meets its error; nobody else needs to hear of it."""
        self._starting.discard(starting)
        if not starting.cancelled():
            starting.exception()
