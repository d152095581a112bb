"""Interrupts Python code that runs out of time, in the process's main thread."""

from __future__ import annotations

import signal

_INSIST_S = 0.25


class OutOfTime(BaseException):
    """Raised inside the code that ran out of time. Not an Exception: it shall not be swallowed in passing."""


class Deadline:
    """Raises `OutOfTime` in the block after `seconds`, and again until the block ends.

    Again, since an interrupt may land where nobody hears it: in a destructor, in a callback of SQLite, in an
    `except:`. A block that ends all the same has `expired`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.expired = False

    def __enter__(self) -> Deadline:
        signal.signal(signal.SIGALRM, self._interrupt)
        signal.setitimer(signal.ITIMER_REAL, self.seconds, _INSIST_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _interrupt(self, _signal: int, _frame: object) -> None:
        self.expired = True
        raise OutOfTime
