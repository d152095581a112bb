"""A world at work in its own process: the app, its database, its clock, and the loop that drives it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import FastAPI

from .chance import seed_chance
from .clock import WorldClock
from .deadline import Deadline
from .exchange import Response, UnreachableRoute, read_response, request
from .interception import WorldDatabase
from .task import TICK_S
from .tool import FailureKind, ToolFailure, ToolResult
from .toolset import Endpoint

_MESSAGE_CHARACTERS = 500
_START_UP_S = 20.0
_SETTLE_S = 1.0

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class WorldApp:
    """An app that a template has executed."""

    fastapi: FastAPI
    endpoints: Mapping[str, Endpoint]
    has_hooks: bool
    """Whether it wants code of its own run at start-up."""


class World:
    """One live world. Whatever its code does, `call` answers."""

    def __init__(self, app: WorldApp, database: WorldDatabase, clock: WorldClock) -> None:
        self.app = app
        self.database = database
        self._clock = clock
        self._loop = asyncio.new_event_loop()
        self._lifespan = AsyncExitStack()
        self._state: dict[str, Any] = {}
        self._resident: set[asyncio.Task[Any]] = set()
        """Tasks that the app started at start-up, to live as long as it."""
        self.output_limit = 65_536
        """Characters of JSON a result may have before it is cut."""

    def begin(self, seed: int, clock_offset_s: float) -> None:
        """Set the seed and the clock."""
        seed_chance(seed)
        self._clock.shift(clock_offset_s)

    def start_app(self) -> str | None:
        """Run the app's start-up hooks. Returns what they raised, if they did.

        Its shutdown hooks never run: the database is judged as the agent left it.
        """
        self.database.limit(_START_UP_S)
        deadline = Deadline(_START_UP_S)
        try:
            with deadline:
                self._state = self._run(self._enter_lifespan(), deadline)
        except BaseException as error:  # whatever a world's code raises ends here
            return _describe(error, deadline)
        finally:
            self.database.reclaim()
            self._resident = asyncio.all_tasks(self._loop)
        return None

    def call(self, name: str, arguments: Mapping[str, Any], timeout_s: float) -> ToolResult:
        """Call a tool; the world's clock ticks."""
        endpoint = self.app.endpoints.get(name)
        if endpoint is None:
            return _failed(FailureKind.TOOL_NOT_FOUND, f"there is no tool '{name}'")
        self._clock.shift(TICK_S)
        self.database.limit(timeout_s)
        deadline = Deadline(timeout_s)
        try:
            with deadline:
                response = self._run(request(self.app.fastapi, endpoint, arguments, self._state), deadline)
        except UnreachableRoute as error:
            return _failed(FailureKind.INVALID_ARGUMENTS, f"{name}: {error}")
        except BaseException as error:  # whatever a world's code raises ends with this call
            kind = FailureKind.TIMEOUT if deadline.expired else FailureKind.TOOL_FAILED
            return _failed(kind, f"'{name}' failed: {_describe(error, deadline)}")
        finally:
            self.database.reclaim()
        return self._read(response)

    def tools(self) -> list[dict[str, Any]]:
        """The tools as MCP lists them."""
        return [
            {
                "name": endpoint.tool.name,
                "description": endpoint.tool.description,
                "inputSchema": endpoint.tool.input_schema,
            }
            for endpoint in self.app.endpoints.values()
        ]

    def close(self) -> None:
        """Close the event loop. The database stays as it is."""
        self._loop.close()

    async def _enter_lifespan(self) -> dict[str, Any]:
        fastapi = self.app.fastapi
        state = await self._lifespan.enter_async_context(fastapi.router.lifespan_context(fastapi))
        return dict(state or {})

    def _run(self, work: Coroutine[Any, Any, _T], deadline: Deadline) -> _T:
        """Run `work` to its end. If it runs out of time, nothing of it goes on in the next call."""
        try:
            result = self._loop.run_until_complete(work)
        finally:
            if deadline.expired:
                self._settle(asyncio.all_tasks(self._loop) - self._resident)
        if deadline.expired:
            raise TimeoutError
        return result

    def _settle(self, tasks: set[asyncio.Task[Any]]) -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            with Deadline(_SETTLE_S):
                self._loop.run_until_complete(asyncio.wait(tasks))

    def _read(self, response: Response) -> ToolResult:
        result, failure = read_response(response)
        if failure is not None:
            return ToolResult(failure=failure)
        try:
            text = json.dumps(result, ensure_ascii=False)
        except RecursionError:
            return _failed(FailureKind.TOOL_FAILED, "the answer is nested too deeply")
        if len(text) <= self.output_limit:
            return ToolResult(result)
        note = f"… [cut: the first {self.output_limit} of {len(text)} characters; ask for less]"
        return ToolResult(text[: self.output_limit] + note, truncated=True)


def _failed(kind: FailureKind, message: str) -> ToolResult:
    return ToolResult(failure=ToolFailure(kind, message))


def _describe(error: BaseException, deadline: Deadline) -> str:
    return f"it did not answer within {deadline.seconds:g} s" if deadline.expired else describe(error)


def describe(error: BaseException) -> str:
    """One short text for what a world's code raised."""
    try:
        text = str(error)
    except Exception:  # its message is the world's code, too
        text = ""
    return f"{type(error).__name__}: {text}"[:_MESSAGE_CHARACTERS]
