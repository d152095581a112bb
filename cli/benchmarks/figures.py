"""Measured numbers: laps of a stopwatch, and what is left of them."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity, in the unit of its row."""

    p50: float
    """The median of the samples; the quantity itself where it was measured once."""
    p95: float | None
    """None where a 95th percentile means nothing: rates, sizes, a single sample."""
    samples: int

    @classmethod
    def once(cls, value: float) -> Figure:
        """A quantity that was measured as a whole."""
        return cls(value, None, 1)

    @classmethod
    def of(cls, samples: Sequence[float]) -> Figure:
        """The distribution of at least one sample."""
        ordered = sorted(samples)
        return cls(_rank(ordered, 0.50), _rank(ordered, 0.95) if len(ordered) > 1 else None, len(ordered))


Figures: TypeAlias = dict[str, Figure]
"""Figures by the name of their row."""


class Stopwatch:
    """Collects laps by name, in milliseconds."""

    def __init__(self) -> None:
        self._laps: defaultdict[str, list[float]] = defaultdict(list)

    @contextmanager
    def lap(self, *names: str) -> Generator[None]:
        """Time the block under each of `names`. A block that raises is no lap."""
        start = time.perf_counter()
        yield
        self.add((time.perf_counter() - start) * 1000, *names)

    def add(self, milliseconds: float, *names: str) -> None:
        """Count a lap that was timed elsewhere."""
        for name in names:
            self._laps[name].append(milliseconds)

    def figures(self) -> Figures:
        """What the laps amount to."""
        return {name: Figure.of(laps) for name, laps in self._laps.items()}


def _rank(ordered: Sequence[float], quantile: float) -> float:
    """The nearest-rank quantile of sorted samples."""
    return ordered[max(0, math.ceil(quantile * len(ordered)) - 1)]
