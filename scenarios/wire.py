"""The server's end of a session's socket: newline-delimited JSON-RPC, one answer per request.

A world is untrusted: one that sends anything but its answers, once each, is cut off.
"""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any, TypeAlias

from ..sandbox import ProcessDied
from .json_values import is_object

MAX_LINE = 16 * 1024 * 1024
"""Bytes one answer of a world may have. A world that sends more is cut off."""

Answer: TypeAlias = "asyncio.Future[dict[str, Any]]"


class WorldChannel(asyncio.Protocol):
    """Requests to one world. Answers come in order, since a world works on one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._waiting: dict[int, Answer] = {}
        self._next_id = 0
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the world is confined and waits for requests."""
        self.closed = asyncio.Event()
        """Set when the world is gone or was cut off."""

    @classmethod
    async def open(cls, connection: socket.socket) -> WorldChannel:
        """Take over our end of a socket pair."""
        connection.setblocking(False)
        _, channel = await asyncio.get_running_loop().create_unix_connection(cls, sock=connection)
        return channel

    def request(self, method: str, parameters: dict[str, Any]) -> Answer:
        """Send one request. The answer is its result, or ProcessDied.

        Raises:
            ProcessDied: the world is gone already.
            TypeError, ValueError: the parameters are not JSON; nothing was sent.
        """
        if self.closed.is_set() or self._transport is None:
            raise ProcessDied("the world's process is gone")
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": parameters}
        line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        answer: Answer = asyncio.get_running_loop().create_future()
        self._waiting[self._next_id] = answer
        self._transport.write(line)
        return answer

    def close(self) -> None:
        """Cut the world off."""
        if self._transport is not None:
            self._transport.abort()
        self._fail_all()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._buffer += first
        for part in others:
            line = bytes(self._buffer)
            self._buffer = bytearray(part)
            self._take(line)
            if self.closed.is_set():
                return
        if len(self._buffer) > MAX_LINE:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail_all()

    def _take(self, line: bytes) -> None:
        try:
            self._accept(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError):
            self.close()

    def _accept(self, message: Any) -> None:
        """Raises ValueError, KeyError or TypeError for what is neither an answer nor the one notification."""
        if not is_object(message):
            raise TypeError("a message is an object")
        if "id" in message:
            self._settle(message["id"], message["result"])
        elif self.ready.done():
            raise ValueError("a world is ready only once")
        else:
            self.ready.set_result(None)

    def _settle(self, number: int, result: Any) -> None:
        answer = self._waiting[number]
        if not is_object(result):
            raise TypeError("a result is an object")
        del self._waiting[number]
        if not answer.done():
            answer.set_result(result)

    def _fail_all(self) -> None:
        self.closed.set()
        unanswered: list[asyncio.Future[Any]] = [*self._waiting.values(), self.ready]
        for future in unanswered:
            if not future.done():
                future.set_exception(ProcessDied("the world's process died"))
                future.exception()
        self._waiting.clear()
