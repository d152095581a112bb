"""One errand of a zygote: a fresh fork is handed a request, answers once, and is gone."""

from __future__ import annotations

import asyncio
import socket

from .control import Zygote
from .errors import SandboxError


class AnswerTooLong(ValueError):
    """The process answered with more than it may."""


async def run_errand(zygote: Zygote, request: bytes, *, wall_s: float, most_bytes: int) -> bytes:
    """Fork a child, hand it `request` on a socket of its own, and read what it answers until it closes it.

    Nothing of the child is left, however this ends.

    Raises:
        TimeoutError: it took longer than `wall_s`.
        AnswerTooLong: it answered with more than `most_bytes`.
        SandboxError: it could not be had.
        OSError: it is gone.
    """
    ours, theirs = _channel()
    with ours:
        with theirs:
            pid = await zygote.control.fork({}, [theirs.fileno()])
        try:
            async with asyncio.timeout(wall_s):
                return await _converse(ours, request, most_bytes)
        finally:
            await zygote.control.kill(pid)


def _channel() -> tuple[socket.socket, socket.socket]:
    try:
        return socket.socketpair()
    except OSError as error:
        raise SandboxError(error.strerror) from error


async def _converse(channel: socket.socket, request: bytes, most_bytes: int) -> bytes:
    channel.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(channel, request)
    channel.shutdown(socket.SHUT_WR)
    answer = bytearray()
    while part := await loop.sock_recv(channel, 1 << 16):
        answer += part
        if len(answer) > most_bytes:
            raise AnswerTooLong(f"more than {most_bytes} bytes")
    return bytes(answer)


def read_request(channel: socket.socket) -> bytes:
    """In the child: the whole request."""
    parts: list[bytes] = []
    while part := channel.recv(1 << 20):
        parts.append(part)
    return b"".join(parts)
