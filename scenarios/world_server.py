"""A session: one world in one confined process, an MCP server on one socket.

It speaks newline-delimited JSON-RPC as the Model Context Protocol has it (`initialize`, `ping`, `tools/list`,
`tools/call`), plus three methods of the server's own: `world/begin` (seed and clock), `world/finish` (make
the database complete) and the notification `world/ready`. It does not know which task is played.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

from ..sandbox.confinement import Confinement, confine
from ..sandbox.workspace import clone_file
from .scenario_file import DATABASE_FILE
from .world import World

PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the Model Context Protocol that a world speaks, newest first."""

_METHOD_NOT_FOUND, _INVALID_PARAMS = -32601, -32602
_PRISTINE_FILE = "pristine.db"
_JOURNALS = ("-journal", "-wal", "-shm")


class WorldServer:
    """Serves one world on one socket, out of one folder."""

    def __init__(self, world: World, channel: socket.socket, folder: str) -> None:
        self._world = world
        self._channel = channel
        self._folder = folder
        self._database = os.path.join(folder, DATABASE_FILE)
        self._pristine = os.path.join(folder, _PRISTINE_FILE)
        self._methods: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "initialize": _initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": self._world.tools()},
            "tools/call": self._call,
            "world/begin": self._begin,
            "world/finish": self._finish,
        }

    def run(self, snapshot: str, confinement: Confinement) -> None:
        """Copy the snapshot, give up all but the session's folder, and serve until the channel closes."""
        clone_file(snapshot, self._database)
        if self._world.app.has_hooks:
            clone_file(snapshot, self._pristine)
        os.chdir(self._folder)
        confine(confinement)
        self._world.database.use(self._database)
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

    def _call(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        meta: dict[str, Any] = parameters.get("_meta") or {}
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
        self._world.begin(int(parameters["seed"]), float(parameters.get("clock_offset_s", 0.0)))
        return {"error": self._start_app() if self._world.app.has_hooks else None}

    def _start_app(self) -> str | None:
        """Run the start-up hooks for what they leave in memory, then put the database back to the snapshot.

        They ran once already when the snapshot was made, and rows that they write then are in it.
        """
        error = self._world.start_app()
        self._world.database.release()
        for suffix in _JOURNALS:
            if os.path.exists(self._database + suffix):
                os.unlink(self._database + suffix)
        os.rename(self._pristine, self._database)
        self._world.database.use(self._database)
        return error

    def _finish(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self._world.database.complete()
        return {}


def _initialize(parameters: Mapping[str, Any]) -> dict[str, Any]:
    wanted = parameters["protocolVersion"]
    return {
        "protocolVersion": wanted if wanted in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "world", "version": "1"},
    }
