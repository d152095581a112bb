"""Demonstrations under other names: the same conversation in a world with other words in it.

Each name and each number is one token, so a demonstration that was recorded once can be told again with the
words exchanged for others of the training pool, the same one for the same one throughout.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from subworlds.training.proof.copying import Exercise


@dataclass(frozen=True, slots=True)
class Renaming:
    """Deals the tokens of each group anew among themselves."""

    groups: tuple[tuple[int, ...], ...]
    """Token ids that may stand for each other: names, numbers."""

    def __call__(self, row: Exercise, chance: random.Random) -> Exercise:
        """The row under other names."""
        other = {
            old: new
            for group in self.groups
            for old, new in zip(group, chance.sample(group, len(group)), strict=True)
        }
        return Exercise(_renamed(row.input_ids, other), _renamed(row.labels, other))


def _renamed(ids: Sequence[int], other: dict[int, int]) -> list[int]:
    return [other.get(token, token) for token in ids]
