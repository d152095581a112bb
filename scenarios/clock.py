"""A world's own time: a fixed start, a fixed tick per call, seen by Python and by SQLite alike."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import time_machine

connect_to_sqlite = sqlite3.connect
"""The standard library's connect, taken before anything replaces it."""

_TIMED_FUNCTIONS = ("date", "time", "datetime", "julianday", "unixepoch")
_FIXED_FUNCTIONS = {"current_timestamp": "datetime", "current_date": "date", "current_time": "time"}


class WorldClock:
    """Replaces the time that this process sees. One per process."""

    def __init__(self, start: datetime) -> None:
        self._start = start.astimezone(UTC)
        self._travel = time_machine.travel(self._start, tick=False)
        self._traveller = self._travel.start()

    def shift(self, seconds: float) -> None:
        """Move the clock forward by `seconds`."""
        self._traveller.shift(timedelta(seconds=seconds))

    def reset(self) -> None:
        """Go back to the start."""
        self._traveller.move_to(self._start)

    def stop(self) -> None:
        """Give the process its real time back."""
        self._travel.stop()


def install_clock(connection: sqlite3.Connection) -> None:
    """Make `connection` tell the time of this process: CURRENT_TIMESTAMP, datetime('now'), and their kin.

    Defaults in table definitions follow as well. The functions count as deterministic, since SQLite's own are
    accepted in defaults and checks.
    """
    calendar = _Calendar()
    for name in _TIMED_FUNCTIONS:
        connection.create_function(
            name, -1, calendar.function(name, first_is_format=False), deterministic=True
        )
    connection.create_function(
        "strftime", -1, calendar.function("strftime", first_is_format=True), deterministic=True
    )
    for name, function in _FIXED_FUNCTIONS.items():
        connection.create_function(
            name, 0, calendar.function(function, first_is_format=False), deterministic=True
        )


class _Calendar:
    """SQLite's own date arithmetic, asked with an explicit time instead of 'now'."""

    def __init__(self) -> None:
        self._sqlite: sqlite3.Connection | None = None

    def function(self, name: str, *, first_is_format: bool) -> Callable[..., Any]:
        position = 1 if first_is_format else 0

        def evaluate(*arguments: Any) -> Any:
            values = list(arguments)
            if len(values) == position:
                values.append(_now())
            elif len(values) > position and _means_now(values[position]):
                values[position] = _now()
            return self._evaluate(name, values)

        return evaluate

    def _evaluate(self, name: str, values: list[Any]) -> Any:
        if self._sqlite is None:
            self._sqlite = connect_to_sqlite(":memory:", check_same_thread=False)
        places = ", ".join("?" * len(values))
        return self._sqlite.execute(f"SELECT {name}({places})", values).fetchone()[0]


def _means_now(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() == "now"


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
