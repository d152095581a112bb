"""Messages with descriptors between a server and its fork servers."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from subworlds.sandbox.messages import receive_message, send_message


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a channel."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def test_a_message_arrives_with_its_descriptors(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    reading, writing = os.pipe()
    send_message(ours, {"text": "grüße"}, [writing])
    os.close(writing)
    received = receive_message(theirs)
    assert received is not None
    message, (duplicate,) = received
    assert message == {"text": "grüße"}
    os.write(duplicate, b"through")
    os.close(duplicate)
    assert os.read(reading, 16) == b"through"
    os.close(reading)


def test_messages_stay_apart(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    for number in range(3):
        send_message(ours, {"number": number})
    assert [receive_message(theirs) for _ in range(3)] == [({"number": number}, []) for number in range(3)]


def test_a_closed_channel_has_no_message(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    ours.close()
    assert receive_message(theirs) is None


def test_a_full_channel_says_so(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = pair
    ours.setblocking(False)
    with pytest.raises(BlockingIOError):
        send_for_ever(ours)


def send_for_ever(channel: socket.socket) -> None:
    while True:
        send_message(channel, {"text": "x" * 1000})
