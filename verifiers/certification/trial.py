"""The trial of one task: its solution, cheats, mutants and harmless variants, all played and judged."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...scenarios.certificate import Finding as Standing
from ...scenarios.session import WorldCrashed
from ...scenarios.task import PythonCheck, SqlCheck, StateCheck, Task, ToolCall
from ..answer import answer_text
from ..service import DatabaseDamaged, Verification
from ..verdict import Verdict
from .findings import FEWEST_HARMLESS, FEWEST_MUTANTS, Finding, Flaw, Judged, TaskReport, flaw_of
from .harmless import harmless_of
from .mutants import mutants_of
from .player import Conditions, Ended, Player
from .policies import floor_policies, gold_policies
from .variant import Role, Variant, steps, told
from .world import Made, World

_LATER_S = 61.0
"""How much later the second run of the solution starts: no day later, and no round number of minutes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a trial is held with."""

    player: Player
    verification: Verification
    seed: int
    clock: datetime
    """The world's time at the start of an episode."""


class Trial:
    """One task on trial. Everything is played under the same conditions, the second gold run aside."""

    def __init__(self, task: Task, setting: Setting) -> None:
        self._task = task
        self._setting = setting
        self._conditions = Conditions(setting.seed)
        self._later = Conditions(setting.seed + 1, _LATER_S)
        self._answer = None if task.answer is None else answer_text(task.answer)
        self._ends: frozenset[str] = frozenset()
        """How the solution, or an alternative, ends."""
        self._unsteady: Mapping[str, Sequence[str]] = {}

    async def floor(self, trials: Sequence[Made]) -> TaskReport:
        """A task without a solution: whether anybody completes it without knowing how."""
        judged = await asyncio.gather(*(self._floor_episode(policy) for policy in floor_policies(trials)))
        return self._report(judged, "floor-checked")

    async def whole(self, gold: Sequence[Made], trials: Sequence[Made], world: World) -> TaskReport:
        """A task with a solution.

        Where the solution is not judged right, or doing nothing is, no more is played.
        """
        flaws = _failing_calls(gold) or await self._play_gold([made.call for made in gold])
        if flaws:
            return TaskReport(self._task.id, "failed", tuple(flaws))
        nothing, *policies = floor_policies(trials)
        idle = await self._floor_episode(nothing)
        if idle.finding != "killed":
            return self._report([idle], "certified")
        chance = random.Random(f"{self._setting.seed}/{self._task.id}")
        variants = [
            *policies,
            *gold_policies(self._task, gold, world),
            *mutants_of(self._task, gold, world, chance),
            *harmless_of(self._task, gold, world, chance),
        ]
        judged = [idle, *await asyncio.gather(*(self._episode(variant) for variant in variants))]
        judged += await self._other_numbers([made.call for made in gold])
        return self._report(judged, "certified")

    async def _play_gold(self, calls: Sequence[ToolCall]) -> list[Flaw]:
        """Play the solution now and later, and learn how it ends."""
        played = steps(calls)
        try:
            async with (
                self._setting.player.ended(self._task, played, self._conditions) as now,
                self._setting.player.ended(self._task, played, self._later) as later,
            ):
                flaws = await self._judge_gold(now, later)
                if not flaws:
                    finals = [str(now.final), str(later.final)]
                    found = await self._setting.verification.examine(
                        {"kind": "unsteady columns", "initial": str(now.initial), "finals": finals}
                    )
                    self._unsteady = found["unsteady"]
                    self._ends = frozenset([await self._end(now, self._conditions)])
            if not flaws:
                self._ends |= frozenset(await self._alternatives())
        except (WorldCrashed, DatabaseDamaged) as error:
            return [Flaw("gold-fails", f"the gold solution leaves no database to judge: {error}")]
        return flaws

    async def _judge_gold(self, now: Ended, later: Ended) -> list[Flaw]:
        player, task = self._setting.player, self._task
        verdict = await player.judged(task, now, self._answer, self._conditions)
        if verdict.outcome != "complete":
            code = "gold-rejected" if verdict.valid else "unjudged"
            return [
                Flaw(
                    code,
                    f"the gold solution is judged {verdict.outcome}: {verdict.reason}",
                    _gold(now, verdict),
                )
            ]
        verdict = await player.judged(task, later, self._answer, self._later)
        if verdict.outcome != "complete":
            reason = (
                f"the gold solution, under another clock ({_LATER_S:g} s later) and seed, is judged "
                f"{verdict.outcome}: {verdict.reason}; the verifier depends on when it was done, or on chance"
            )
            return [Flaw("gold-rejected-later", reason, _gold(later, verdict))]
        return []

    async def _alternatives(self) -> list[str]:
        """How the author's other solutions end."""
        if not isinstance(self._task.check, StateCheck):
            return []
        ends: list[str] = []
        for solution in self._task.check.alternatives:
            async with self._setting.player.ended(self._task, steps(solution), self._conditions) as ended:
                ends.append(await self._end(ended, self._conditions))
        return ends

    async def _floor_episode(self, variant: Variant) -> Judged:
        try:
            async with self._setting.player.ended(self._task, variant.steps, self._conditions) as ended:
                verdict = await self._setting.player.judged(
                    self._task, ended, variant.answer, self._conditions
                )
        except (WorldCrashed, DatabaseDamaged) as error:
            return Judged(variant, (), Verdict("world_error", str(error)), "killed")
        return Judged(variant, ended.calls, verdict, self._finding(variant, verdict, is_right=False))

    async def _episode(self, variant: Variant) -> Judged:
        player = self._setting.player
        try:
            async with player.ended(self._task, variant.steps, self._conditions, variant.tried) as ended:
                if not ended.landed and variant.kind in ("doubled", "extra write", "undone"):
                    return Judged(variant, ended.calls, Verdict("incomplete", "not played"), "void")
                verdict = await player.judged(self._task, ended, variant.answer, self._conditions)
                is_right = await self._is_right(variant, ended)
        except (WorldCrashed, DatabaseDamaged) as error:
            verdict = Verdict("world_error", str(error))
            return Judged(variant, (), verdict, "void" if variant.role == "harmless" else "killed")
        return Judged(variant, ended.calls, verdict, self._finding(variant, verdict, is_right=is_right))

    async def _is_right(self, variant: Variant, ended: Ended) -> bool:
        """Whether the episode is as good as the solution, by its end and by what was said."""
        says_right = self._answer is None or variant.answer == self._answer or variant.role == "harmless"
        return says_right and await self._end(ended, self._conditions) in self._ends

    async def _end(self, ended: Ended, conditions: Conditions) -> str:
        """How an episode ended, by an opinion that is not the verifier's (see end_state.py)."""
        check = self._task.check
        state = check if isinstance(check, StateCheck) else StateCheck()
        found = await self._setting.verification.examine(
            {
                "kind": "end state",
                "initial": str(ended.initial),
                "final": str(ended.final),
                "started": (self._setting.clock + timedelta(seconds=conditions.clock_offset_s)).isoformat(),
                "ignore": {table: list(columns) for table, columns in state.ignore.items()},
                "natural_keys": sorted(state.natural_keys),
                "unsteady": self._unsteady,
            }
        )
        return str(found["end"])

    def _finding(self, variant: Variant, verdict: Verdict, *, is_right: bool) -> Finding:
        match verdict.outcome:
            case "verifier_error":
                return "unjudged"
            case "world_error":
                return "killed" if variant.role != "harmless" else "void"
            case "complete" if is_right:
                return "passed" if variant.role == "harmless" else "equivalent"
            case "incomplete" if is_right:
                return "rejected"
            case "complete":
                return self._passed_wrong(variant)
            case "incomplete":
                return "void" if variant.role == "harmless" else "killed"

    def _passed_wrong(self, variant: Variant) -> Finding:
        """What to say of an episode that ended otherwise than the solution, and passed."""
        check = self._task.check
        choices = check.choices if isinstance(check, SqlCheck | PythonCheck) else frozenset[str]()
        if variant.role == "harmless":  # it changed something after all; then it is no better than a mutant
            return "choice" if choices else "void"
        return "choice" if variant.choice in choices else "survived"

    async def _other_numbers(self, calls: Sequence[ToolCall]) -> list[Judged]:
        """The solution once more, its new rows renumbered afterwards."""
        what = "the rows that the solution inserts under other numbers"
        variant = Variant("harmless", "other numbers", what, steps(calls), self._answer)
        check = self._task.check
        natural = sorted(check.natural_keys) if isinstance(check, StateCheck) else []
        examine = self._setting.verification.examine
        async with self._setting.player.ended(self._task, variant.steps, self._conditions) as ended:
            files = {"initial": str(ended.initial), "final": str(ended.final)}
            plan = await examine(
                {"kind": "renumbering", **files, "natural_keys": natural, "said": self._answer or ""}
            )
            if not plan["statements"]:
                return []
            done = await examine({"kind": "renumber", **files, "statements": plan["statements"]})
            if not done["renumbered"] or await self._end(ended, self._conditions) not in self._ends:
                return []
            verdict = await self._setting.player.judged(self._task, ended, self._answer, self._conditions)
        finding = self._finding(variant, verdict, is_right=True)
        return [Judged(variant, ended.calls, verdict, finding)]

    def _report(self, judged: Iterable[Judged], standing: Standing) -> TaskReport:
        rows = list(judged)
        flaws = [flaw for row in rows if (flaw := flaw_of(row)) is not None]
        counts = Counter[tuple[Role, Finding]]((row.variant.role, row.finding) for row in rows)
        report = TaskReport(
            self._task.id,
            "failed" if flaws else standing,
            tuple(flaws),
            counts,
            tuple(_named(rows, "equivalent")),
            tuple(_named(rows, "choice")),
        )
        return report if standing == "floor-checked" else report.noted(_notes(report))


def _notes(report: TaskReport) -> list[str]:
    notes: list[str] = []
    if report.mutants < FEWEST_MUTANTS:
        notes.append(f"only {report.mutants} mutants that differ could be made of this task")
    if report.harmless < FEWEST_HARMLESS:
        notes.append(f"only {report.harmless} harmless variants could be made of this task")
    return notes


def _named(rows: Iterable[Judged], finding: Finding) -> list[str]:
    return [
        f"{row.variant.kind}: {row.variant.what}"
        for row in rows
        if row.finding == finding and row.variant.role == "mutant"
    ]


def _failing_calls(gold: Sequence[Made]) -> list[Flaw]:
    return [
        Flaw(
            "gold-fails",
            f"call {number} of the gold solution, {told(made.call)}, fails: "
            f"{made.failure.kind}: {made.failure.message}",
        )
        for number, made in enumerate(gold, 1)
        if made.failure is not None
    ]


def _gold(ended: Ended, verdict: Verdict) -> Judged:
    variant = Variant("harmless", "gold", "the gold solution", steps(call.call for call in ended.calls), None)
    return Judged(variant, ended.calls, verdict, "rejected" if verdict.valid else "unjudged")
