"""From a verdict and a trajectory to a reward: four components, each in [0, 1], weighted.

What must hold for every task: doing nothing earns 0; spam earns next to nothing; every complete episode earns
more than every incomplete one; the gold solution earns the most there is. Hence two rules. A component that
speaks of conduct (process, format, efficiency) counts in proportion to what the episode achieved, so that
conduct without achievement is worth nothing. And an incomplete episode, however close, achieves at most
`PARTIAL`, which is less than what the task component alone gives a complete one. docs/rewards.md names the
exploits that each component invites, and the tests that defeat them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from openenv.core.rubrics.base import Rubric

from ..scenarios.tool import FailureKind
from ..verifiers.verdict import Verdict

PARTIAL = 0.35
"""The most an incomplete episode can achieve; less than the weight of the task component."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call of an episode, as far as the reward looks at it."""

    tool: str
    arguments: str
    """Canonical JSON."""
    failure: FailureKind | None


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """What the reward is computed from."""

    verdict: Verdict
    calls: tuple[CallRecord, ...]
    gold_calls: int | None
    """How many calls the gold solution takes; None where there is none."""

    @property
    def complete(self) -> bool:
        """Whether the task was solved."""
        return self.verdict.outcome == "complete"

    @property
    def achieved(self) -> float:
        """1 for a complete task; else up to PARTIAL, by the receipt: required changes made, less damage.

        Half of that where the task asks for an answer and did not get the right one.
        """
        if self.complete:
            return 1.0
        receipt = self.verdict.receipt
        required = len(receipt.made) + len(receipt.missing)
        damage = len(receipt.collateral) + len(receipt.forbidden) + receipt.omitted
        share = max(0, len(receipt.made) - damage) / required if required else 0.0
        return PARTIAL * share * (0.5 if self.verdict.answer_matched is False else 1.0)


@dataclass(frozen=True, slots=True)
class RubricWeights:
    """What each component is worth. They sum to 1."""

    task: float = 0.40
    process: float = 0.25
    format: float = 0.20
    efficiency: float = 0.15

    def __post_init__(self) -> None:
        weights = (self.task, self.process, self.format, self.efficiency)
        if min(weights) < 0 or abs(sum(weights) - 1.0) > 1e-9:
            raise ValueError(f"the weights must be at least 0 and sum to 1, not {weights}")
        if self.task <= PARTIAL:
            raise ValueError(f"the task's weight must be over {PARTIAL}: complete must beat incomplete")


class TaskRubric(Rubric):
    """Was the task done? Partial credit from the receipt."""

    def forward(self, action: Any, observation: Any) -> float:
        """The achievement itself."""
        return _summary(observation).achieved


class ProcessRubric(Rubric):
    """Did the calls work? Falls with each call that a world refused, and each failing call made again."""

    def forward(self, action: Any, observation: Any) -> float:
        """Share of calls that were neither refused nor a repetition of a failed one."""
        summary = _summary(observation)
        failed: set[tuple[str, str]] = set()
        wasted = 0
        for call in summary.calls:
            again = (call.tool, call.arguments) in failed
            wasted += again or call.failure is FailureKind.TOOL_FAILED
            if call.failure is not None:
                failed.add((call.tool, call.arguments))
        return summary.achieved * _share(len(summary.calls) - wasted, len(summary.calls))


class FormatRubric(Rubric):
    """Were the calls well-formed? Unknown tools and arguments that do not fit the schema are not."""

    def forward(self, action: Any, observation: Any) -> float:
        """Share of calls that named a tool of the world with arguments that fit."""
        summary = _summary(observation)
        malformed = {FailureKind.TOOL_NOT_FOUND, FailureKind.INVALID_ARGUMENTS}
        good = sum(call.failure not in malformed for call in summary.calls)
        return summary.achieved * _share(good, len(summary.calls))


class EfficiencyRubric(Rubric):
    """How many calls did it take, beside the gold solution?"""

    def forward(self, action: Any, observation: Any) -> float:
        """Gold calls over calls made, at most 1; 1 where there is no gold solution to compare with."""
        summary = _summary(observation)
        if summary.gold_calls is None:
            return summary.achieved
        return summary.achieved * _share(summary.gold_calls, max(len(summary.calls), summary.gold_calls))


class EpisodeRubric(Rubric):
    """The reward of an episode: the weighted sum of its components."""

    def __init__(self, weights: RubricWeights | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # OpenEnv leaves it unannotated
        self.weights = weights or RubricWeights()
        self.task = TaskRubric()  # type: ignore[no-untyped-call]
        self.process = ProcessRubric()  # type: ignore[no-untyped-call]
        self.format = FormatRubric()  # type: ignore[no-untyped-call]
        self.efficiency = EfficiencyRubric()  # type: ignore[no-untyped-call]

    def forward(self, action: Any, observation: Any) -> float:
        """Score an EpisodeSummary. Invalid episodes must not get here: they have no reward."""
        total = 0.0
        for name, rubric in self.named_children():
            score: Any = rubric(action, observation)
            total += getattr(self.weights, name) * score
        return total

    def components(self) -> dict[str, float]:
        """The components' scores of the episode scored last."""
        return {name: float(rubric.last_score or 0.0) for name, rubric in self.named_children()}


def _summary(observation: Any) -> EpisodeSummary:
    return cast(EpisodeSummary, observation)


def _share(part: int, whole: int) -> float:
    """`part` of `whole`; an episode without calls has nothing to reproach."""
    return part / whole if whole else 1.0
