"""The server's end of a session's socket: newline-delimited JSON-RPC, one answer per request."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

from ..sandbox import ProcessDied

MAX_LINE = 16 * 1024 * 1024
"""Bytes one answer of a world may have. A world that sends more is cut off."""


class WorldChannel(asyncio.Protocol):
    """Requests to one world. Answers come in order, since a world works on one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
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

    async def request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Send one request and wait for its result.

        Raises:
            ProcessDied: the world is gone, or answered nonsense.
        """
        if self.closed.is_set() or self._transport is None:
            raise ProcessDied("the world's process is gone")
        self._next_id += 1
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[self._next_id] = future
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": parameters}
        self._transport.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        return await future

    def close(self) -> None:
        """Cut the world off."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._take(line)
        if len(self._buffer) > MAX_LINE:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()
        for future in (*self._waiting.values(), self.ready):
            if not future.done():
                future.set_exception(ProcessDied("the world's process died"))
                future.exception()
        self._waiting.clear()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            future = self._waiting.pop(message["id"]) if "id" in message else None
            result = message["result"] if future is not None else None
        except (ValueError, KeyError, TypeError, RecursionError):
            self.close()
            return
        if future is None:
            if not self.ready.done():
                self.ready.set_result(None)
        elif not future.done() and isinstance(result, dict):
            future.set_result(result)
