"""One JSON message with descriptors, over a SOCK_SEQPACKET Unix socket."""

from __future__ import annotations

import json
import socket
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

MAX_MESSAGE = 64 * 1024
MAX_DESCRIPTORS = 8


def send_message(channel: socket.socket, message: Message, descriptors: list[int] | None = None) -> None:
    """Send one message; `descriptors` are duplicated into the receiver.

    Raises:
        BlockingIOError: the channel is non-blocking and full.
        OSError: the other end is gone.
    """
    socket.send_fds(channel, [json.dumps(message).encode()], descriptors or [])


def receive_message(channel: socket.socket) -> tuple[Message, list[int]] | None:
    """The next message and the descriptors that came with it; None when the other end is gone."""
    data, descriptors, _, _ = socket.recv_fds(channel, MAX_MESSAGE, MAX_DESCRIPTORS)
    if not data:
        return None
    return json.loads(data), list(descriptors)
