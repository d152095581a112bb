"""Wrong solutions made from the right one: each must be judged incomplete."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from ...scenarios.json_values import is_array, is_object
from ...scenarios.task import JSON, Task, ToolCall
from ...scenarios.tool import Tool
from ..answer import answer_text
from .answers import wrong_answers
from .arguments import Change, changes_of
from .variant import Step, Variant, replaced, script, steps, told
from .world import Made, World

MOST = 20
"""Mutants that are played per task."""

_TRIES = 4
_EXTRAS = 12
_UNDOING = re.compile(
    r"^(cancel|delete|remove|undo|revert|revoke|return|reopen|release|withdraw|close|end|void|unassign|drop)(_|$)"
)


def mutants_of(task: Task, gold: Sequence[Made], world: World, chance: random.Random) -> list[Variant]:
    """Up to MOST mutants, as many of each kind as there is room for. None plays what another one plays."""
    maker = _Maker(task, gold, world, chance)
    kinds = (
        maker.dropped(),
        maker.other_rows(),
        maker.wrong_answers(),
        maker.other_arguments(),
        maker.extra_writes(),
        maker.doubled(),
        maker.undone(),
        maker.truncated(),
        maker.swapped(),
    )
    turns = chain.from_iterable(zip_longest(*kinds))
    known = {script(steps(made.call for made in gold), maker.answer)}
    found: list[Variant] = []
    for mutant in turns:
        if mutant is not None and (played := script(mutant.steps, mutant.answer)) not in known:
            known.add(played)
            found.append(mutant)
    return found[:MOST]


class _Maker:
    """Makes the mutants of one task, kind by kind, the most telling ones first."""

    def __init__(self, task: Task, gold: Sequence[Made], world: World, chance: random.Random) -> None:
        self._task = task
        self._gold = gold
        self._world = world
        self._chance = chance
        self._calls = [made.call for made in gold]
        self._writes = [place for place, made in enumerate(gold) if made.wrote]
        self.answer = None if task.answer is None else answer_text(task.answer)

    def dropped(self) -> Iterator[Variant]:
        for place in self._writes:
            call = self._calls[place]
            yield self._mutant("dropped", f"without {told(call)}", replaced(self._calls, place))

    def doubled(self) -> Iterator[Variant]:
        for place in self._writes:
            call = self._calls[place]
            doubled = replaced(self._calls, place, (call,), (call,))
            yield self._mutant("doubled", f"{told(call)} twice", doubled, place + 1)

    def other_rows(self) -> Iterator[Variant]:
        yield from self._changed("other row", is_row=True)

    def other_arguments(self) -> Iterator[Variant]:
        yield from self._changed("other argument", is_row=False)

    def _changed(self, kind: str, *, is_row: bool) -> Iterator[Variant]:
        """Each argument of each write in turn, then each once more with other values."""
        changes = [
            (place, change)
            for place in self._writes
            for change in changes_of(self._calls[place], self._tool(place), self._world.contents)
            if change.is_row is is_row
        ]
        for turn in range(3):
            for place, change in changes:
                tries = change.calls[turn::3][:_TRIES]
                if tries:
                    yield self._with_change(kind, place, change, tries)

    def _with_change(self, kind: str, place: int, change: Change, tries: Step) -> Variant:
        call = self._calls[place]
        what = f"{told(call)} with another {change.argument}"
        choice = f"{call.tool}.{change.argument}"
        return self._mutant(kind, what, replaced(self._calls, place, tries), place, choice)

    def extra_writes(self) -> Iterator[Variant]:
        others = [call for call in self._world.writes if call not in self._calls]
        for call in self._chance.sample(others, min(_EXTRAS, len(others))):
            extra = (*steps(self._calls), (call,))
            yield self._mutant("extra write", f"and {told(call)} besides", extra, len(self._calls))

    def swapped(self) -> Iterator[Variant]:
        for first, second in zip(self._writes, self._writes[1:], strict=False):
            calls = list(self._calls)
            calls[first], calls[second] = calls[second], calls[first]
            what = f"{told(calls[first])} before {told(calls[second])}"
            yield self._mutant("swapped", what, steps(calls))

    def undone(self) -> Iterator[Variant]:
        """The last write taken back: the old values written again, or what it made cancelled."""
        if not self._writes:
            return
        last = self._writes[-1]
        old = self._with_old_values(self._calls[last])
        undoing = ([old] if old is not None else []) + list(self._undoing_calls(self._gold[last]))
        for tries in (tuple(undoing[:1]), tuple(undoing[1:])):
            if tries:
                undone = (*steps(self._calls), tries)
                what = f"{told(self._calls[last])} undone"
                yield self._mutant("undone", what, undone, len(self._calls))

    def truncated(self) -> Iterator[Variant]:
        """Given up before a write."""
        for place in self._writes:
            yield self._mutant("truncated", f"only the first {place} calls", steps(self._calls[:place]))

    def wrong_answers(self) -> Iterator[Variant]:
        if self._task.answer is None:
            return
        played = steps(self._calls)
        for said, what in wrong_answers(self._task.answer, self._world.contents, self._chance):
            yield Variant("mutant", "wrong answer", f"{what}: {said!r}", played, said or None)

    def _mutant(
        self,
        kind: str,
        what: str,
        played: tuple[Step, ...],
        tried: int | None = None,
        choice: str | None = None,
    ) -> Variant:
        return Variant("mutant", kind, what, played, self.answer, tried=tried, choice=choice)

    def _tool(self, place: int) -> Tool:
        name = self._calls[place].tool
        return self._world.tools.get(name, Tool(name, "", {}))

    def _with_old_values(self, call: ToolCall) -> ToolCall | None:
        """The call that writes what stood in the row before; None where no argument is a column of it."""
        for name, value in call.arguments.items():
            row = self._world.contents.row_of(name, value)
            old = {key: row[key] for key in call.arguments if key != name and row.get(key) is not None}
            if old and any(call.arguments[key] != value for key, value in old.items()):
                return ToolCall(call.tool, {**call.arguments, **old})
        return None

    def _undoing_calls(self, made: Made) -> Iterator[ToolCall]:
        """Calls of tools that take something back, on what the write made or was about."""
        numbers = [
            *_numbers(made.result),
            *(value for value in made.call.arguments.values() if isinstance(value, int)),
        ]
        for tool in self._world.tools.values():
            required = tool.input_schema.get("required", ())
            if len(required) == 1 and _UNDOING.search(tool.name) and tool.name != made.call.tool:
                for number in dict.fromkeys(numbers):
                    yield ToolCall(tool.name, {required[0]: number})


def _numbers(result: JSON) -> Iterator[int]:
    """Whole numbers in a tool's answer that are called an id."""
    if is_object(result):
        for key, value in result.items():
            if isinstance(value, int) and not isinstance(value, bool) and key.endswith("id"):
                yield value
            else:
                yield from _numbers(value)
    elif is_array(result):
        for item in result[:3]:
            yield from _numbers(item)
