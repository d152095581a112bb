"""A world's own chance: every source of randomness in the process follows one seed.

Python's `random`, `secrets`, `uuid` and `os.urandom`, and SQLite's `random()` and `randomblob()`, all draw
from it, so that the same seed and the same calls leave the same database.
"""

from __future__ import annotations

import os
import random
import sqlite3
import uuid
import weakref
from typing import Any, TypeAlias

_Seed: TypeAlias = int | float | str | bytes | bytearray | None

_source = random.Random(0)
_seed_generator = random.Random.seed
_unseeded: weakref.WeakValueDictionary[int, random.Random] = weakref.WeakValueDictionary()
"""Generators that nobody gave a seed: they follow the world's, also when they are older than it."""
_FIXED_NODE = 0x5AB0_0000_0001


def install_chance() -> None:
    """Replace the process's sources of randomness. Call once, before any untrusted import."""
    _replace(os, "urandom", _random_bytes)
    _replace(os, "getrandom", _random_bytes)
    _replace(random, "_urandom", _random_bytes)  # the name that SystemRandom, and so `secrets`, draws from
    _replace(random.Random, "seed", _seed)
    _replace(random, "seed", _seed.__get__(_shared_generator()))
    for name in ("_generate_time_safe", "_UuidCreate"):
        _replace(uuid, name, None)
    _replace(uuid, "_node", _FIXED_NODE)
    seed_chance(0)


def seed_chance(seed: int) -> None:
    """Start every source of randomness over from `seed`."""
    _seed_generator(_source, seed)
    random.seed(seed)
    for generator in list(_unseeded.values()):
        _seed_generator(generator, _source.getrandbits(64))
    for name in ("_last_timestamp", "_last_timestamp_v6", "_last_timestamp_v7"):
        _replace(uuid, name, None)


def install_sqlite_chance(connection: sqlite3.Connection) -> None:
    """Make `random()` and `randomblob(n)` of `connection` follow the seed."""
    connection.create_function("random", 0, lambda: _source.getrandbits(64) - (1 << 63))
    connection.create_function("randomblob", 1, _random_blob)


def _replace(owner: Any, name: str, value: Any) -> None:
    """Names that a type checker does not expect to change, or to exist in every version of Python."""
    if hasattr(owner, name):
        setattr(owner, name, value)


def _shared_generator() -> random.Random:
    """The generator behind the functions of `random`, which are its methods, bound when it was imported."""
    shared: random.Random = getattr(random, "_inst")  # noqa: B009 - no public name leads to it
    return shared


def _random_bytes(size: int, _flags: int = 0) -> bytes:
    return _source.randbytes(size)


def _random_blob(size: Any) -> bytes:
    return _source.randbytes(max(1, int(size or 0)))


def _seed(self: random.Random, a: _Seed = None, version: int = 2) -> None:
    if a is None:
        _unseeded[id(self)] = self
        _seed_generator(self, _source.getrandbits(64))
    else:
        _unseeded.pop(id(self), None)
        _seed_generator(self, a, version)
