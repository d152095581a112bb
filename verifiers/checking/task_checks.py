"""Whether the tasks of a world hold: their solutions play, the same way twice, and doing nothing fails."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...scenarios.arguments import ArgumentChecker
from ...scenarios.checking.finding import Findings, Spot
from ...scenarios.checking.references import Tables, check_calls, check_names, solutions_of
from ...scenarios.task import JSON, JudgeCheck, Task, ToolCall
from ..answer import answer_text
from ..service import Verification
from ..verdict import Change, Receipt, Verdict
from .databases import Databases, UnreadableDatabase
from .player import Played, Player, as_text, cut


@dataclass(slots=True)
class Learned:
    """What playing solutions shows of a world's tools."""

    working: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    """A call of each tool that succeeded right after the start of an episode or later in a solution."""
    answers: list[JSON] = field(default_factory=list[JSON])
    histories: list[Sequence[ToolCall]] = field(default_factory=list[Sequence[ToolCall]])
    """Solutions that play."""
    reads: set[str] = field(default_factory=set[str])
    """Ids of the tasks whose solution changes nothing."""

    def take(self, calls: Sequence[ToolCall], played: Played) -> None:
        """Note a solution that plays."""
        self.histories.append(calls)
        for call, outcome in zip(calls, played.outcomes, strict=True):
            self.working.setdefault(call.tool, call)
            self.answers.append(outcome.result)


class TaskChecks:
    """Checks the tasks of one world."""

    def __init__(
        self,
        player: Player,
        again: Player,
        verification: Verification,
        databases: Databases,
        tables: Tables,
        checkers: Mapping[str, ArgumentChecker],
        findings: Findings,
    ) -> None:
        """Args:
        again: plays in processes that share nothing with those of `player`.
        """
        self._player = player
        self._again = again
        self._verification = verification
        self._databases = databases
        self._tables = tables
        self._checkers = checkers
        self._findings = findings
        self.learned = Learned()

    async def check(self, task: Task, spot: Spot) -> None:
        """Check one task. Raises as Player.played does."""
        check_names(task, spot, self._tables, self._findings)
        if not check_calls(task, spot, self._checkers, self._findings):
            return
        plays = [await self._plays(task, place, calls, spot) for place, calls in solutions_of(task, spot)]
        if all(plays) and not isinstance(task.check, JudgeCheck):
            await self._idleness_fails(task, spot)

    async def _plays(self, task: Task, place: Spot, calls: Sequence[ToolCall], spot: Spot) -> bool:
        """Whether every call of a solution succeeds, and the solution completes the task.

        Notes as well where two runs are not the same.
        """
        async with self._player.played(task.scenario, calls) as first:
            failed = first.failed_call
            if failed is not None:
                self._findings.add("gold-fails", place.at(failed), _failure(calls[failed], first))
                return False
            self.learned.take(calls, first)
            async with self._again.played(task.scenario, calls) as second:
                await self._compare(place, calls, first, second)
            return isinstance(task.check, JudgeCheck) or await self._completes(task, place, spot, first)

    async def _compare(self, place: Spot, calls: Sequence[ToolCall], first: Played, second: Played) -> None:
        for number, (one, other) in enumerate(zip(first.outcomes, second.outcomes, strict=True)):
            if as_text(one) != as_text(other):
                reason = f"{calls[number].tool} answers one thing in one run and another in the next: "
                shown = f"{cut(as_text(one))} and {cut(as_text(other))}"
                self._findings.add("nondeterministic", place.at(number), reason + shown)
                return
        try:
            if first.final is None or second.final is None:
                return
            change = await self._databases.first_difference(first.final, second.final)
        except UnreadableDatabase as error:
            self._findings.add("gold-fails", place, f"leaves a database that cannot be read: {error}")
            return
        if change is not None:
            reason = f"two runs with one seed and one clock leave different rows: {_told(change)}"
            self._findings.add("nondeterministic", place, reason)

    async def _completes(self, task: Task, place: Spot, spot: Spot, played: Played) -> bool:
        said = None if task.answer is None else answer_text(task.answer)
        verdict = await self._judged(task, played, said)
        if verdict.outcome == "complete":
            if not _changes(verdict.receipt):
                self.learned.reads.add(task.id)
            return True
        if verdict.valid:
            reason = f"the solution does not complete the task: {verdict.reason}"
            self._findings.add("gold-incomplete", place, reason)
        else:
            self._findings.add("verifier-fails", spot.at("verify"), verdict.reason)
        return False

    async def _idleness_fails(self, task: Task, spot: Spot) -> None:
        async with self._player.played(task.scenario, ()) as played:
            verdict = await self._judged(task, played, None)
        if verdict.outcome == "complete":
            reason = f"an agent that does nothing and says nothing completes the task: {verdict.reason}"
            self._findings.add("passes-idle", spot, reason)
        elif not verdict.valid:
            self._findings.add("verifier-fails", spot.at("verify"), verdict.reason)

    async def _judged(self, task: Task, played: Played, answer: str | None) -> Verdict:
        if played.final is None:
            return Verdict("world_error", "the world did not live to the end of the episode")
        return await self._verification.verify(
            task, initial=played.initial, final=played.final, answer=answer, calls=len(played.outcomes)
        )


def _failure(call: ToolCall, played: Played) -> str:
    outcome = next(outcome for outcome in played.outcomes if outcome.failure is not None)
    assert outcome.failure is not None
    message, _, _ = outcome.failure.message.partition("\n")
    return f"{call.tool} fails: {outcome.failure.kind}: {message}"


def _changes(receipt: Receipt) -> bool:
    sections = (receipt.made, receipt.missing, receipt.forbidden, receipt.collateral, receipt.unsorted)
    return any(sections) or bool(receipt.omitted)


def _told(change: Change) -> str:
    row = json.dumps({"before": change.before, "after": change.after}, ensure_ascii=False)
    return f"{change.table} {json.dumps(change.key, ensure_ascii=False)}: {cut(row)}"
