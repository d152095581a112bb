"""A fork server whose children do what they are told. Run with the descriptor of its control socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

from subworlds.sandbox.forkserver import ForkServer
from subworlds.sandbox.kernel import adopt_orphans
from subworlds.sandbox.messages import Message, send_message


def open_descriptors() -> list[int]:
    """What this process holds, the folder it is read from aside."""
    return sorted(fd for fd in map(int, os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{fd}"))


def run(request: Message, descriptors: list[int]) -> None:
    if request["do"] == "tell":
        told = {"pid": os.getpid(), "leads": os.getpgid(0) == os.getpid(), "held": open_descriptors()}
        os.write(descriptors[0], json.dumps({**told, "given": descriptors}).encode())
    elif request["do"] == "multiply":
        child = os.fork()
        if child != 0:
            os.write(descriptors[0], json.dumps({"pid": os.getpid(), "child": child}).encode())
        signal.pause()
    elif request["do"] == "fail":
        raise RuntimeError("as told")
    signal.pause()


if __name__ == "__main__":
    control = socket.socket(fileno=int(sys.argv[1]))
    adopt_orphans()
    send_message(control, {"ready": True})
    ForkServer(control, run, own_groups=True).serve()
