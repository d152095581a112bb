"""A session: one world in one confined process, an MCP server on one socket.

It speaks newline-delimited JSON-RPC as the Model Context Protocol has it (`initialize`, `ping`, `tools/list`,
`tools/call`), plus three methods of the server's own: `world/begin` (seed and clock), `world/finish` (make the
database complete) and the notification `world/ready`. It does not know which task is played.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

from fastapi import FastAPI

from ..sandbox.confinement import Confinement, confine
from ..sandbox.workspace import clone_file
from .chance import seed_chance
from .clock import TICK_S, WorldClock
from .interception import WorldDatabase
from .tool import FailureKind, ToolFailure, ToolResult
from .scenario_file import DATABASE_FILE
from .toolset import Endpoint, read_response, request

PROTOCOL_VERSION = "2025-06-18"

_METHOD_NOT_FOUND, _INVALID_PARAMS = -32601, -32602
_MESSAGE_CHARACTERS = 500


class _CallTimeout(BaseException):
    """Raised inside a call that ran out of time. Not an Exception, so that the app does not swallow it."""


class World:
    """The app of a session, its database, its clock, and the loop that drives it."""

    def __init__(
        self, app: FastAPI, endpoints: Mapping[str, Endpoint], database: WorldDatabase, clock: WorldClock
    ) -> None:
        self._app = app
        self._endpoints = endpoints
        self._database = database
        self._clock = clock
        self._loop = asyncio.new_event_loop()
        self._lifespan = AsyncExitStack()
        self.output_limit = 65_536
        """Characters of JSON a result may have before it is cut."""

    def use(self, database: str) -> None:
        """Work on the database at this path."""
        self._database.use(database)

    def start_app(self) -> str | None:
        """Run the app's start-up hooks. Returns what they raised, if they did."""
        try:
            context = self._app.router.lifespan_context(self._app)
            self._loop.run_until_complete(self._lifespan.enter_async_context(context))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def begin(self, seed: int, clock_offset_s: float) -> str | None:
        """Set the seed and the clock, and start the app. Returns what start-up raised, if it did."""
        seed_chance(seed)
        self._clock.shift(clock_offset_s)
        return self.start_app()

    def finish(self) -> None:
        """Stop the app and leave one complete database file."""
        with contextlib.suppress(Exception):
            self._loop.run_until_complete(self._lifespan.aclose())
        self._database.complete()

    def call(self, name: str, arguments: Mapping[str, Any], timeout_s: float) -> ToolResult:
        """Call a tool; the world's clock ticks."""
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            return _failed(FailureKind.TOOL_NOT_FOUND, f"there is no tool '{name}'")
        self._clock.shift(TICK_S)
        self._database.limit(timeout_s)
        try:
            with _time_limit(timeout_s):
                response = self._loop.run_until_complete(request(self._app, endpoint, arguments))
        except _CallTimeout:
            return _failed(FailureKind.TIMEOUT, f"'{name}' did not answer within {timeout_s:g} s")
        except Exception as error:
            message = f"'{name}' failed: {type(error).__name__}: {error}"
            return _failed(FailureKind.TOOL_FAILED, message[:_MESSAGE_CHARACTERS])
        finally:
            self._database.limit(None)
            self._database.reclaim()
        result, failure = read_response(response)
        return ToolResult(result, failure) if failure else self._cut(result)

    def tools(self) -> list[dict[str, Any]]:
        """The tools as MCP lists them."""
        return [
            {
                "name": endpoint.tool.name,
                "description": endpoint.tool.description,
                "inputSchema": endpoint.tool.input_schema,
            }
            for endpoint in self._endpoints.values()
        ]

    def _cut(self, result: Any) -> ToolResult:
        text = json.dumps(result, ensure_ascii=False)
        if len(text) <= self.output_limit:
            return ToolResult(result)
        note = f"… [cut: the first {self.output_limit} of {len(text)} characters; ask for less]"
        return ToolResult(text[: self.output_limit] + note, truncated=True)


def run_world(
    world: World, channel: socket.socket, *, snapshot: str, folder: str, confinement: Confinement
) -> None:
    """Copy the snapshot, give up everything but the session's folder, and serve until the channel closes."""
    database = os.path.join(folder, DATABASE_FILE)
    clone_file(snapshot, database)
    os.chdir(folder)
    confine(confinement)
    world.use(database)
    _Server(world, channel).serve()


class _Server:
    """The JSON-RPC loop of a session."""

    def __init__(self, world: World, channel: socket.socket) -> None:
        self._world = world
        self._channel = channel
        self._methods: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": self._world.tools()},
            "tools/call": self._call,
            "world/begin": self._begin,
            "world/finish": self._finish,
        }

    def serve(self) -> None:
        self._send({"jsonrpc": "2.0", "method": "world/ready"})
        with self._channel.makefile("rb") as lines:
            for line in lines:
                answer = self._answer(json.loads(line))
                if answer is not None:
                    self._send(answer)

    def _answer(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        if "id" not in message:
            return None
        method = self._methods.get(message["method"])
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if method is None:
            return {**answer, "error": {"code": _METHOD_NOT_FOUND, "message": "method not found"}}
        try:
            return {**answer, "result": method(message.get("params") or {})}
        except KeyError as error:
            return {**answer, "error": {"code": _INVALID_PARAMS, "message": f"missing parameter {error}"}}

    def _send(self, message: Mapping[str, Any]) -> None:
        self._channel.sendall(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def _initialize(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": parameters.get("protocolVersion", PROTOCOL_VERSION),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "world", "version": "1"},
        }

    def _call(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        meta = parameters.get("_meta", {})
        self._world.output_limit = int(meta.get("output_limit", self._world.output_limit))
        outcome = self._world.call(
            parameters["name"], parameters.get("arguments") or {}, float(meta.get("timeout_s", 30.0))
        )
        failure = outcome.failure
        body = failure.message if failure else json.dumps(outcome.result, ensure_ascii=False)
        return {
            "content": [{"type": "text", "text": body}],
            "isError": failure is not None,
            "_meta": {"failure": failure.kind if failure else None, "truncated": outcome.truncated},
        }

    def _begin(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        error = self._world.begin(int(parameters["seed"]), float(parameters.get("clock_offset_s", 0.0)))
        return {"error": error}

    def _finish(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self._world.finish()
        return {}


def _failed(kind: FailureKind, message: str) -> ToolResult:
    return ToolResult(failure=ToolFailure(kind, message))


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise _CallTimeout

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
