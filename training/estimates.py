"""What a number of episodes says about an agent: rates over tasks, and how sure one may be of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

_RESAMPLES = 2_000
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Attempts:
    """How often one task was solved, out of how many valid episodes."""

    solved: int
    played: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tasks and its 95 % bootstrap interval, all in the unit of the value."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """As a JSON object."""
        return {"value": self.value, "low": self.low, "high": self.high}


def success(attempts: Attempts) -> float:
    """The share of episodes that solved the task."""
    return attempts.solved / attempts.played


def pass_at(k: int, attempts: Attempts) -> float:
    """The chance that one of `k` episodes at least solves the task (unbiased; Chen et al., 2021)."""
    return 1.0 - comb(attempts.played - attempts.solved, k) / comb(attempts.played, k)


def pass_all(k: int, attempts: Attempts) -> float:
    """The chance that each of `k` episodes solves the task: pass^k (Yao et al., 2024, tau-bench)."""
    return comb(attempts.solved, k) / comb(attempts.played, k)


def estimate(values: Sequence[float], *, seed: int = 0) -> Estimate | None:
    """The mean of one value per task, with a percentile bootstrap over tasks; None without a value."""
    if not values:
        return None
    chance = random.Random(seed)
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    return Estimate(fmean(values), means[int(_TAIL * _RESAMPLES)], means[int((1 - _TAIL) * _RESAMPLES) - 1])


def estimate_over(
    attempts: Sequence[Attempts], measure: Callable[[Attempts], float], *, least: int = 1
) -> Estimate | None:
    """`measure` over every task with at least `least` valid episodes."""
    return estimate([measure(each) for each in attempts if each.played >= least])
