"""Turns every database that a world's app opens into the session's own.

The app is never patched as text. Instead `sqlite3.connect` and SQLAlchemy's `create_engine` are replaced
before the app is imported: whatever path or URL it asks for, it gets the current world database, which tells
the world's time and follows the world's seed.
"""

from __future__ import annotations

import gc
import sqlite3
import time
import weakref
from collections.abc import Callable
from contextlib import closing
from typing import Any

import sqlalchemy
import sqlalchemy.engine
import sqlalchemy.engine.create
from sqlalchemy import Engine

from .chance import install_sqlite_chance
from .clock import connect_to_sqlite, install_clock

_WORLD_URL = "sqlite:///world.db"
_PROGRESS_STEPS = 50_000
_create_real_engine = sqlalchemy.create_engine


class WorldDatabase:
    """The database that this process's app works on. One per process."""

    def __init__(self) -> None:
        self._path = ":memory:"
        self._deadline: float | None = None
        self._engines: weakref.WeakSet[Engine] = weakref.WeakSet()

    def install(self) -> None:
        """Replace the ways to open a database. Call before any untrusted import."""
        sqlite3.connect = sqlite3.dbapi2.connect = self._connect
        for module in (sqlalchemy, sqlalchemy.engine, sqlalchemy.engine.create):
            setattr(module, "create_engine", self._create_engine)  # noqa: B010

    def use(self, path: str) -> None:
        """Work on the database at `path` from now on; connections opened before are dropped."""
        self.release()
        self._path = path

    def limit(self, seconds: float | None) -> None:
        """Interrupt any statement that still runs in `seconds`; None takes the limit away."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def reclaim(self) -> None:
        """Collect connections that a failed call left behind, so that they hold no lock."""
        if any(_checked_out(engine) for engine in self._engines):
            gc.collect()

    def release(self) -> None:
        """Close every pooled connection and roll back what was not committed."""
        self.reclaim()
        for engine in list(self._engines):
            engine.dispose()

    def complete(self) -> None:
        """Leave one complete database file: connections closed, journals folded in."""
        self.release()
        with closing(connect_to_sqlite(self._path, timeout=1.0, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()

    def _connect(self, database: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        if _in_memory(database):
            connection = connect_to_sqlite(database, *arguments, **options)
        else:
            options["uri"] = False
            connection = connect_to_sqlite(self._path, *arguments, **options)
            _prefer_speed(connection)
        install_clock(connection)
        install_sqlite_chance(connection)
        connection.set_progress_handler(self._overdue, _PROGRESS_STEPS)
        return connection

    def _create_engine(self, url: Any, **options: Any) -> Engine:
        if "poolclass" not in options:
            options["max_overflow"] = -1
        for unknown in ("creator", "module"):
            options.pop(unknown, None)
        engine = _create_real_engine(_WORLD_URL, **options)
        self._engines.add(engine)
        return engine

    def _overdue(self) -> int:
        return int(self._deadline is not None and time.monotonic() > self._deadline)


def _in_memory(database: Any) -> bool:
    text = str(database)
    return text in ("", ":memory:") or text.startswith("file::memory:") or "mode=memory" in text


def _prefer_speed(connection: sqlite3.Connection) -> None:
    """No syncing, and no journal file unless the world chose write-ahead logging for itself."""
    connection.execute("PRAGMA synchronous = OFF").close()
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode == "delete":
        connection.execute("PRAGMA journal_mode = MEMORY").fetchone()


def _checked_out(engine: Engine) -> bool:
    count: Callable[[], int] | None = getattr(engine.pool, "checkedout", None)
    return count is not None and count() > 0
