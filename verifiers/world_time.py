"""The world's time for checks that ask for the time themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from sqlite3 import dbapi2
from typing import Any

from ..scenarios.clock import WorldClock, install_clock


@contextmanager
def world_time(clock: str) -> Generator[None]:
    """The world's time (ISO 8601), in Python and in every SQLite connection opened meanwhile."""
    world_clock = WorldClock(datetime.fromisoformat(clock))
    connect = sqlite3.connect

    def connect_in_world_time(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        install_clock(connection)
        return connection

    _replace_connect(connect_in_world_time)
    try:
        yield
    finally:
        _replace_connect(connect)
        world_clock.stop()


def _replace_connect(connect: Callable[..., sqlite3.Connection]) -> None:
    for module in (sqlite3, dbapi2):
        setattr(module, "connect", connect)  # noqa: B010 - the type of connect is overloaded
