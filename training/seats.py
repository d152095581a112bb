"""Connections for episodes that live together: one each, spread over the servers, kept between batches.

What the next batch will probably play can be prepared on spare seats, while the present one is played or
learnt from. A wrong guess costs a reset: its seat is used for something else.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

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

Starting = asyncio.Task[SubworldsEnv]
"""A reset, under way or through; gives the connection."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A seat that was reset before anybody asked for it."""

    seat: int
    assignment: Assignment
    reset: Starting


class Seats:
    """Owns its connections. Use on one event loop; `close` ends whatever is played on them."""

    def __init__(self, urls: Sequence[str], token: str | None = None) -> None:
        if not urls:
            raise ValueError("no server to play on")
        self._urls = tuple(urls)
        self._token = token
        self._connected: dict[int, SubworldsEnv] = {}
        self._left: Counter[int] = Counter()
        """How often each seat was given up: each time it moves on to the next server."""
        self._seat_of: dict[int, int] = {}
        """Where each episode sits, by its number."""
        self._prepared: list[list[_Prepared]] = []
        """Of each batch that is expected, what is not yet asked for; the batch expected first comes first."""
        self._free: list[int] = []
        """A heap: low numbers are used first."""
        self._count = 0
        self._starting: set[Starting] = set()
        """Under way."""
        self._latest: dict[int, Starting] = {}
        """The last reset of each seat."""

    def start(self, number: int, assignment: Assignment) -> Starting:
        """Begin to reset a seat, or hand out a prepared one; see `_start` for what awaiting it raises."""
        for batch in self._prepared:
            for prepared in batch:
                if prepared.assignment == assignment:
                    batch.remove(prepared)
                    self._vacate(number)
                    self._seat_of[number] = prepared.seat
                    return self._heeded(self._take_up(prepared))
        if number not in self._seat_of:
            self._seat_of[number] = self._free_seat()
        return self._reset(self._seat_of[number], assignment)

    def expect(self, assignments: Sequence[Assignment]) -> None:
        """Prepare a batch. Of those expected before, only the last may still come, before this one."""
        *forgotten, last = self._prepared or [[]]
        for prepared in (each for batch in forgotten for each in batch):
            heapq.heappush(self._free, prepared.seat)
        self._prepared = [last, [self._prepare(assignment) for assignment in assignments]]

    def end_batch(self) -> None:
        """No episode is played any more: their seats are for the next."""
        for number in list(self._seat_of):
            self._vacate(number)

    async def leave(self, number: int) -> None:
        """Give up an episode's connection, which cannot be trusted; its seat's next is to the next server."""
        await self._leave(self._seat_of[number])

    async def close(self) -> None:
        """Leave every seat."""
        for starting in self._starting:
            starting.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(self._leave(seat) for seat in list(self._connected)))
        self._prepared, self._free, self._seat_of, self._latest, self._count = [], [], {}, {}, 0
        self._left.clear()

    def _reset(self, seat: int, assignment: Assignment) -> Starting:
        starting = self._heeded(self._start(seat, assignment, after=self._latest.get(seat)))
        self._latest[seat] = starting
        return starting

    async def _take_up(self, prepared: _Prepared) -> SubworldsEnv:
        """What was prepared; where that failed, it is begun now, and raises as `_start` does."""
        try:
            return await prepared.reset
        except (ServerError, OSError):
            return await self._reset(prepared.seat, prepared.assignment)

    def _heeded(self, work: Coroutine[Any, Any, SubworldsEnv]) -> Starting:
        """Begin to work. Whoever plays the episode meets its error; nobody else needs to hear of it."""
        starting = asyncio.create_task(work)
        self._starting.add(starting)
        starting.add_done_callback(self._started)
        return starting

    def _prepare(self, assignment: Assignment) -> _Prepared:
        seat = self._free_seat()
        return _Prepared(seat, assignment, self._reset(seat, assignment))

    def _free_seat(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._count += 1
        return self._count - 1

    def _vacate(self, number: int) -> None:
        if number in self._seat_of:
            heapq.heappush(self._free, self._seat_of.pop(number))

    async def _start(self, seat: int, assignment: Assignment, *, after: Starting | None) -> SubworldsEnv:
        """Reset a seat: once more on a new connection where an old one was dead, and on every other server.

        Raises:
            RolloutError: a server does not know the task, or its world cannot start.
            AccessDenied: a server does not let us in.
            ConnectionError: no server gave an episode; says why, server by server.
        """
        if after is not None:
            await asyncio.wait([after])
        reasons: dict[str, str] = {}
        for _ in range(1 + len(self._urls)):
            try:
                return await self._start_here(seat, assignment)
            except AccessDenied:
                raise
            except (ServerError, OSError) as error:
                reasons[self._url(seat)] = str(error) or type(error).__name__
                await self._leave(seat)
        told = "; ".join(f"{url}: {reason}" for url, reason in reasons.items())
        raise ConnectionError(f"no server gave an episode of {assignment.task}: {told}")

    async def _start_here(self, seat: int, assignment: Assignment) -> SubworldsEnv:
        env = await self._connect(seat)
        error = (await env.reset(task=assignment.task, seed=assignment.seed)).observation.error
        if error is None:
            return env
        if error.error_type in _OUR_MISTAKES:
            raise RolloutError(f"task {assignment.task} on {self._url(seat)}: {error}")
        raise ConnectionError(str(error))

    async def _connect(self, seat: int) -> SubworldsEnv:
        """The connection of one seat."""
        if seat not in self._connected:
            env = SubworldsEnv(self._url(seat), token=self._token)
            await env.connect()
            self._connected[seat] = env
        return self._connected[seat]

    async def _leave(self, seat: int) -> None:
        self._left[seat] += 1
        env = self._connected.pop(seat, None)
        if env is not None:
            with contextlib.suppress(Exception):  # it is broken: that is why we leave
                await env.close()

    def _url(self, seat: int) -> str:
        return self._urls[(seat + self._left[seat]) % len(self._urls)]

    def _started(self, starting: Starting) -> None:
        self._starting.discard(starting)
        if not starting.cancelled():
            starting.exception()
