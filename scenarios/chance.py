"""A world's own chance: every source of randomness in the process follows one seed.

Python's `random`, `secrets`, `uuid` and `os.urandom`, and SQLite's `random()` and `randomblob()`, all draw
from it, so that the same seed and the same calls leave the same database.
"""

from __future__ import annotations

import os
import random
import sqlite3
import uuid

_source = random.Random(0)
_seed_generator = random.Random.seed
_FIXED_NODE = 0x5AB0_0000_0001


def install_chance() -> None:
    """Replace the process's sources of randomness. Call once, before any untrusted import."""
    os.urandom = _random_bytes
    setattr(random, "_urandom", _random_bytes)  # noqa: B010 - the name `random` bound at import
    setattr(random.Random, "seed", _seed)  # noqa: B010
    for name in ("_generate_time_safe", "_UuidCreate"):
        setattr(uuid, name, None)
    setattr(uuid, "_node", _FIXED_NODE)  # noqa: B010
    seed_chance(0)


def seed_chance(seed: int) -> None:
    """Start every source of randomness over from `seed`."""
    _seed_generator(_source, seed)
    random.seed(seed)
    setattr(uuid, "_last_timestamp", None)  # noqa: B010


def install_sqlite_chance(connection: sqlite3.Connection) -> None:
    """Make `random()` and `randomblob(n)` of `connection` follow the seed."""
    connection.create_function("random", 0, lambda: _source.getrandbits(64) - (1 << 63))
    connection.create_function("randomblob", 1, lambda size: _source.randbytes(max(1, int(size or 0))))


def _random_bytes(size: int, /) -> bytes:
    return _source.randbytes(size)


def _seed(self: random.Random, a: int | float | str | bytes | bytearray | None = None, version: int = 2) -> None:
    _seed_generator(self, _source.getrandbits(64) if a is None else a, version)
