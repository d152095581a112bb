"""Turns every database that a world's app opens into the session's own.

The app is never patched as text. Instead `sqlite3.connect` and SQLAlchemy's `create_engine` are replaced
before the app is imported: whatever path or URL it asks for, it gets the current world database, which tells
the world's time and follows the world's seed.

No connection is carried across a fork. One that the app still holds (a module's global, say) is closed before
and opened again after, on the database that is current then.
"""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import sqlite3.dbapi2
import time
import weakref
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import sqlalchemy
import sqlalchemy.engine
import sqlalchemy.engine.create
from sqlalchemy import Engine

from .chance import install_sqlite_chance
from .clock import connect_to_sqlite, install_clock

_WORLD_URL = "sqlite:///world.db"
_PROGRESS_STEPS = 50_000
_OPTIONS = (
    "timeout",
    "detect_types",
    "isolation_level",
    "check_same_thread",
    "factory",
    "cached_statements",
    "uri",
    "autocommit",
)
"""What `sqlite3.connect` takes after the path, in its order."""
_create_real_engine = sqlalchemy.create_engine


class WorldConnection(sqlite3.Connection):
    """A connection that can be kept track of: the standard library's own takes no weak references."""


@dataclass(frozen=True, slots=True)
class _Parked:
    """A connection that was closed under the app's hands, and what it takes to open it again."""

    connection: sqlite3.Connection
    options: dict[str, Any]
    row_factory: Any
    text_factory: Any
    foreign_keys: int


class WorldDatabase:
    """The database that this process's app works on. One per process."""

    def __init__(self) -> None:
        self._path = ":memory:"
        self._deadline: float | None = None
        self._engines: weakref.WeakSet[Engine] = weakref.WeakSet()
        self._open: weakref.WeakKeyDictionary[sqlite3.Connection, dict[str, Any]]
        self._open = weakref.WeakKeyDictionary()
        """Connections to the world database and the options they were opened with."""
        self._unpooled: weakref.WeakSet[sqlite3.Connection] = weakref.WeakSet()
        """Those of them that no engine owns."""
        self._unpooled_before = 0
        self._parked: list[_Parked] = []

    def install(self) -> None:
        """Replace the ways to open a database. Call before any untrusted import."""
        _replace(sqlite3, "connect", self._connect)
        _replace(sqlite3.dbapi2, "connect", self._connect_for_engine)
        for module in (sqlalchemy, sqlalchemy.engine, sqlalchemy.engine.create):
            _replace(module, "create_engine", self._create_engine)

    def use(self, path: str) -> None:
        """Work on the database at `path` from now on. What was not committed before is lost."""
        if self._open:
            self.release()
        self._path = path
        parked, self._parked = self._parked, []
        for connection in parked:
            self._reopen(connection)

    def limit(self, seconds: float) -> None:
        """Interrupt any statement that still runs in `seconds`, until `reclaim`."""
        self._deadline = time.monotonic() + seconds
        self._unpooled_before = len(self._unpooled)

    def reclaim(self) -> None:
        """End the limit, and collect connections that a failed call left behind: they may hold locks."""
        self._deadline = None
        if len(self._unpooled) > self._unpooled_before or any(map(_checked_out, self._engines)):
            gc.collect()

    def release(self) -> None:
        """Close every connection and roll back what was not committed."""
        self._deadline = None
        if self._open:
            gc.collect()
        for engine in list(self._engines):
            engine.dispose()
        for connection, options in list(self._open.items()):
            with contextlib.suppress(sqlite3.Error):
                self._parked.append(_park(connection, options))
        self._open.clear()

    def complete(self) -> None:
        """Leave one complete database file: connections closed, journals folded in.

        Raises:
            sqlite3.Error: the world left no database, or one that is still in use.
        """
        self.release()
        with closing(connect_to_sqlite(self._path, timeout=1.0, isolation_level=None)) as connection:
            mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        if mode != "delete":
            raise sqlite3.OperationalError(f"the database stayed in journal mode {mode}")

    def _connect(self, database: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        if _in_memory(database):
            connection: sqlite3.Connection = connect_to_sqlite(database, *arguments, **options)
            self._prepare(connection)
            return connection
        connection = self._connect_for_engine(database, *arguments, **options)
        self._unpooled.add(connection)
        return connection

    def _connect_for_engine(self, _: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        named = dict(zip(_OPTIONS, arguments, strict=False)) | options
        known = {name: value for name, value in named.items() if name in _OPTIONS}
        known.update(uri=False, check_same_thread=False)
        factory: type[sqlite3.Connection] = known.pop("factory", WorldConnection)
        if factory is sqlite3.Connection:
            factory = WorldConnection
        connection: sqlite3.Connection = connect_to_sqlite(self._path, factory=factory, **known)
        _prefer_speed(connection)
        self._prepare(connection)
        self._open[connection] = known
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        install_clock(connection)
        install_sqlite_chance(connection)
        connection.set_progress_handler(self._overdue, _PROGRESS_STEPS)

    def _reopen(self, parked: _Parked) -> None:
        connection = parked.connection
        sqlite3.Connection.__init__(connection, self._path, **parked.options)
        connection.execute(f"PRAGMA foreign_keys = {parked.foreign_keys}").close()
        connection.row_factory, connection.text_factory = parked.row_factory, parked.text_factory
        _prefer_speed(connection)
        self._prepare(connection)
        self._open[connection] = parked.options

    def _create_engine(self, url: Any, **options: Any) -> Engine:
        if "poolclass" not in options and "pool" not in options:
            options["max_overflow"] = -1
        for unknown in ("creator", "module"):
            options.pop(unknown, None)
        engine = _create_real_engine(_WORLD_URL, **options)
        self._engines.add(engine)
        return engine

    def _overdue(self) -> int:
        return int(self._deadline is not None and time.monotonic() > self._deadline)


def _replace(module: ModuleType, name: str, function: Callable[..., Any]) -> None:
    """Type checkers hold that a module's functions stay what they are."""
    setattr(module, name, function)


def _park(connection: sqlite3.Connection, options: dict[str, Any]) -> _Parked:
    """Close a connection that the app still holds. Raises sqlite3.Error if the app has closed it."""
    connection.rollback()
    row_factory, connection.row_factory = connection.row_factory, None
    foreign_keys = connection.execute("PRAGMA foreign_keys").fetchone()[0]
    connection.close()
    return _Parked(connection, options, row_factory, connection.text_factory, foreign_keys)


def _in_memory(database: Any) -> bool:
    text = str(database)
    return text in ("", ":memory:") or text.startswith("file::memory:") or "mode=memory" in text


def _prefer_speed(connection: sqlite3.Connection) -> None:
    """No syncing, and no journal file unless the world chose write-ahead logging for itself."""
    row_factory, connection.row_factory = connection.row_factory, None
    connection.execute("PRAGMA synchronous = OFF").close()
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode == "delete":
        connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
    connection.row_factory = row_factory


def _checked_out(engine: Engine) -> bool:
    count: Callable[[], int] | None = getattr(engine.pool, "checkedout", None)
    return count is not None and count() > 0
