"""Right solutions that are not the gold one: each must be judged complete."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ...scenarios.task import Task, ToolCall
from ...scenarios.tool import Tool
from ..answer import answer_text
from .answers import equal_answers
from .variant import Step, Variant, replaced, steps, told
from .world import Made, World

_MANY = 30
"""Reads after which an episode's clock stands well past the gold solution's."""

_NOBODY = 987_654_321


def harmless_of(task: Task, gold: Sequence[Made], world: World, chance: random.Random) -> list[Variant]:
    """Harmless variants. Whether one is indeed harmless shows when it was played: it ends the same."""
    return list(_Maker(task, gold, world, chance).all())


class _Maker:
    """Makes the harmless variants of one task."""

    def __init__(self, task: Task, gold: Sequence[Made], world: World, chance: random.Random) -> None:
        self._task = task
        self._world = world
        self._chance = chance
        self._calls = [made.call for made in gold]
        self._gold = gold
        self._writes = [place for place, made in enumerate(gold) if made.wrote]
        self._answer = None if task.answer is None else answer_text(task.answer)
        self._reads = [made.call for made in gold if made.is_read] or list(world.reads)

    def all(self) -> Iterator[Variant]:
        """Every one there is."""
        yield from self._with_reads()
        yield from self._with_failures()
        yield from self._without_reads()
        yield from self._reordered()
        yield from self._answered()

    def _with_reads(self) -> Iterator[Variant]:
        if self._reads:
            repeated = [call for made in self._gold for call in ([made.call] * (2 if made.is_read else 1))]
            yield self._variant("read repeated", "every read made twice", steps(repeated))
        reads = self._world.reads or tuple(self._reads)
        if not reads:
            return
        inserted = [call for gold in self._calls for call in (self._chance.choice(reads), gold)]
        yield self._variant("reads inserted", "a read before every call", steps(inserted))
        after = [*self._calls, *(reads[number % len(reads)] for number in range(3))]
        yield self._variant("reads inserted", "three reads at the end", steps(after))
        many = [*(reads[number % len(reads)] for number in range(_MANY)), *self._calls]
        yield self._variant("later", f"{_MANY} reads first, so that the clock is further on", steps(many))

    def _with_failures(self) -> Iterator[Variant]:
        """Calls that fail before the right one: refused by the schema, and by the world."""
        place = self._writes[0] if self._writes else 0
        if not self._calls:
            return
        call = self._calls[place]
        refused = ToolCall(call.tool, {**call.arguments, "no_such_argument": 1})
        unknown = ToolCall("no_such_tool")
        for failing, what in ((refused, "an argument too many"), (unknown, "a tool that is not there")):
            yield self._variant(
                "failure and retry",
                f"{what}, then {told(call)}",
                replaced(self._calls, place, (failing,), (call,)),
            )
        for place in self._writes[:2]:
            call = self._calls[place]
            nobody = _about_nobody(call, self._world.tools.get(call.tool))
            if nobody is not None:
                retried = replaced(self._calls, place, (nobody,), (call,))
                yield self._variant("failure and retry", f"{told(nobody)} first", retried)

    def _without_reads(self) -> Iterator[Variant]:
        writes = [self._calls[place] for place in self._writes]
        if len(writes) < len(self._calls):
            yield self._variant("reads left out", "the writes alone", steps(writes))

    def _reordered(self) -> Iterator[Variant]:
        """Writes the other way round, where they do not depend on each other."""
        if len(self._writes) > 1:
            calls = list(self._calls)
            for place, other in zip(self._writes, reversed(self._writes), strict=True):
                calls[place] = self._calls[other]
            yield self._variant("reordered", "the writes the other way round", steps(calls))

    def _answered(self) -> Iterator[Variant]:
        if self._task.answer is not None:
            for said, what in equal_answers(self._task.answer):
                played = steps(self._calls)
                yield Variant("harmless", "answer in other words", f"{what}: {said!r}", played, said)

    def _variant(self, kind: str, what: str, played: tuple[Step, ...]) -> Variant:
        return Variant("harmless", kind, what, played, self._answer)


def _about_nobody(call: ToolCall, tool: Tool | None) -> ToolCall | None:
    """The call about a row that does not exist."""
    for name, value in call.arguments.items():
        if (
            name.endswith("id")
            and isinstance(value, int)
            and not isinstance(value, bool)
            and tool is not None
        ):
            return ToolCall(call.tool, {**call.arguments, name: _NOBODY})
    return None
