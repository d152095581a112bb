"""What a world keeps outside of its database: found by going on from one database in a new process.

An episode is played, and then some questions are asked: once in the same process, once in a process that was
forked anew and has only the database. The answers must be the same. Where they are not, and the second
process would answer so whatever the seed, the world remembers something that is not in its database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...scenarios.task import TICK_S, ToolCall
from .databases import is_whole
from .player import Player, as_text, cut

_MOST_HISTORIES = 6
_OTHER_SEED = 97


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer that depends on what a process remembers."""

    tool: str
    reason: str


async def find_hidden_state(
    player: Player, scenario: str, histories: Iterable[Sequence[ToolCall]], questions: Sequence[ToolCall]
) -> list[Remembered]:
    """The tools whose answers change where an episode goes on in a new process. Raises as `played` does."""
    found: dict[str, Remembered] = {}
    for history in _varied([questions, *histories]):
        for remembered in await _ask_twice(player, scenario, history, questions):
            found.setdefault(remembered.tool, remembered)
    return list(found.values())


def _varied(histories: Sequence[Sequence[ToolCall]]) -> list[Sequence[ToolCall]]:
    """A few that call every tool between them: the first, then those that add most."""
    chosen = [histories[0]]
    called = {call.tool for call in histories[0]}
    rest = sorted(histories[1:], key=len, reverse=True)
    for _ in range(_MOST_HISTORIES - 1):
        best = max(rest, key=lambda calls: len({call.tool for call in calls} - called), default=None)
        if best is None:
            break
        rest.remove(best)
        chosen.append(best)
        called |= {call.tool for call in best}
    return chosen


async def _ask_twice(
    player: Player, scenario: str, history: Sequence[ToolCall], questions: Sequence[ToolCall]
) -> list[Remembered]:
    later = len(history) * TICK_S
    async with player.played(scenario, history) as played:
        if played.final is None or not is_whole(played.final):
            return []
        database = played.final
        async with player.played(scenario, [*history, *questions]) as gone_on:
            same = gone_on.outcomes[len(history) :]
        async with player.played(scenario, questions, clock_offset_s=later, database=database) as anew:
            new = anew.outcomes
        if list(map(as_text, same)) == list(map(as_text, new)):
            return []
        async with player.played(
            scenario, questions, seed=_OTHER_SEED, clock_offset_s=later, database=database
        ) as other:
            by_chance = [as_text(one) != as_text(two) for one, two in zip(new, other.outcomes, strict=True)]
    found: list[Remembered] = []
    for number, call in enumerate(questions):
        before, after = as_text(same[number]), as_text(new[number])
        if before != after and not by_chance[number]:
            reason = f"answers {cut(before)}, and in a new process on the same database {cut(after)}"
            found.append(Remembered(call.tool, reason))
    return found
