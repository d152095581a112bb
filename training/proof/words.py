"""Names and numbers that nobody has seen before: the pools that worlds draw theirs from.

Training, validation and test draw from pools of their own, which share no name and no number. So who solves a
test task has not met its words in any demonstration, nor in any episode that it was paid for. The copy
curriculum (copying.py) alone has seen them all, as strings without a meaning: a word that a model never saw
has an embedding that was never trained, and no model can write it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

_NUMBERS = range(100, 1000)
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SEED = 20
"""Of which word is in which pool: the same for every proof, so that no run can mix them up."""


@dataclass(frozen=True, slots=True)
class Words:
    """What the worlds of a split call their people, shelves and things. Each is one token of the model."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]

    @property
    def tokens(self) -> list[str]:
        """All of them as text."""
        return [*self.names, *map(str, self.numbers)]


SIZES = {"train": 160, "validation": 60, "test": 120}
"""Names in each split's pool; there are as many numbers."""


def pools() -> dict[str, Words]:
    """The words of each split."""
    chance = random.Random(_SEED)
    names = [
        "".join(letters).capitalize()
        for letters in product(_CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS, _CONSONANTS)
    ]
    names, numbers = chance.sample(names, sum(SIZES.values())), chance.sample(_NUMBERS, sum(SIZES.values()))
    found: dict[str, Words] = {}
    for split, size in SIZES.items():
        found[split] = Words(tuple(names[:size]), tuple(numbers[:size]))
        names, numbers = names[size:], numbers[size:]
    return found
