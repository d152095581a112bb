"""How a child process learns that the benchmark is over: its stdin ends, however we ended."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


def when_stdin_ends(stop: Callable[[], None]) -> None:
    """Call `stop`, on a thread, once stdin is at its end."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        stop()

    threading.Thread(target=wait, daemon=True).start()
