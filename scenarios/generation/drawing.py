"""Drawing tasks from templates: seeded, balanced, without duplicates. Runs in the confined process.

The k-th task of a run depends on the seed and on the tasks before it, never on how many were asked for, so
that asking for more adds to the end.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..chance import seed_chance
from .authoring import Draft, TaskTemplate

SHARES = {"easy": 2, "medium": 2, "hard": 1}
"""How many of each difficulty there are beside each other, where templates have them."""

_VAIN_DRAWS = 80
"""A template that gives nothing new in so many draws on end is exhausted."""

DrawOne = Callable[[TaskTemplate, random.Random], Draft | None]


@dataclass(slots=True)
class Seen:
    """Prompts and golds that are taken."""

    prompts: set[str] = field(default_factory=set[str])
    golds: set[str] = field(default_factory=set[str])

    def add(self, prompt: str, solution: Any, answer: Any) -> bool:
        """Take them; False where either is taken already."""
        plain, gold = " ".join(prompt.split()).casefold(), canonical([solution, answer])
        if plain in self.prompts or gold in self.golds:
            return False
        self.prompts.add(plain)
        self.golds.add(gold)
        return True


@dataclass(slots=True)
class _Source:
    """A template and how far it has been drawn from."""

    template: TaskTemplate
    attempts: int = 0
    kept: int = 0
    exhausted: bool = False


def draw_tasks(
    templates: Sequence[TaskTemplate], draw_one: DrawOne, seed: int, seen: Seen
) -> Iterator[tuple[TaskTemplate, Draft]]:
    """Tasks, one after the other, until every template is exhausted."""
    sources = [_Source(template) for template in templates]
    kept: Counter[str] = Counter()
    while open_sources := [source for source in sources if not source.exhausted]:
        source = min(open_sources, key=lambda source: _urgency(source, kept))
        draft = _next_new(source, draw_one, seed, seen)
        if draft is not None:
            source.kept += 1
            kept[source.template.difficulty] += 1
            yield source.template, draft


def split_of(template: str, draft: Draft) -> str:
    """train, validation or test (70, 15, 15 % of instances): by what it is about, whatever else is drawn."""
    about = [list(draft.solution), draft.answer] if draft.about is None else draft.about
    digest = hashlib.sha256(canonical([template, about]).encode()).digest()
    place = int.from_bytes(digest[:4], "big") % 100
    return "train" if place < 70 else "validation" if place < 85 else "test"


def canonical(value: Any) -> str:
    """JSON with one spelling for one value."""
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _urgency(source: _Source, kept: Counter[str]) -> tuple[float, int]:
    difficulty = source.template.difficulty
    return kept[difficulty] / SHARES[difficulty], source.kept


def _next_new(source: _Source, draw_one: DrawOne, seed: int, seen: Seen) -> Draft | None:
    for _ in range(_VAIN_DRAWS):
        key = f"{seed}/{source.template.name}/{source.attempts}"
        source.attempts += 1
        seed_chance(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))
        draft = draw_one(source.template, random.Random(key))
        if draft is not None and seen.add(draft.prompt, list(draft.solution), draft.answer):
            return draft
    source.exhausted = True
    return None
