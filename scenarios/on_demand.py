"""A mapping whose keys are known and whose values are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

V = TypeVar("V")


class OnDemand(Mapping[str, V]):
    """Keeps the values used last. Going through all of them reads all of them, one at a time."""

    def __init__(self, keys: Collection[str], read: Callable[[str], V], kept: int) -> None:
        """Args:
        read: the value of one of `keys`; what it raises, looking up raises.
        kept: how many values stay in memory.
        """
        self._keys = keys
        self._read: Callable[[str], V] = lru_cache(kept)(read)

    def __getitem__(self, key: str) -> V:
        if key not in self._keys:
            raise KeyError(key)
        return self._read(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
