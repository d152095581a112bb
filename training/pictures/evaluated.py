"""What evaluations found before and after training: rates by level and kind, with their intervals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from ..estimates import Estimate, estimate
from .jsonl import LogUnreadable, read_lines

_LEVELS = ("easy", "medium", "hard")


class Measure(StrEnum):
    """What an episode is judged by."""

    SUCCESS = "success"
    REWARD = "reward"


@dataclass(frozen=True, slots=True)
class Group:
    """Some of the tasks: all of them, or those of one level or one kind."""

    by: str = "all"
    """`all`, `level` or `kind`."""
    name: str = "all"


ALL = Group()


@dataclass(frozen=True, slots=True)
class Episode:
    """A valid episode."""

    task: str
    level: str | None
    kind: str | None
    complete: bool
    reward: float

    def is_in(self, group: Group) -> bool:
        """Whether its task is one of the group's."""
        return group == ALL or group.name == (self.level if group.by == "level" else self.kind)

    def value(self, measure: Measure) -> float:
        """Between 0 and 1."""
        return float(self.complete) if measure is Measure.SUCCESS else self.reward


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One evaluation: its valid episodes, or only the estimates of a report."""

    episodes: tuple[Episode, ...] = ()
    estimates: Mapping[tuple[Measure, Group], Estimate] = field(
        default_factory=dict[tuple[Measure, Group], Estimate]
    )

    def groups(self) -> list[Group]:
        """What it has tasks of: all, then levels from easy to hard, then kinds by name."""
        found = {group for _, group in self.estimates} | {ALL}
        found |= {Group("level", each.level) for each in self.episodes if each.level is not None}
        found |= {Group("kind", each.kind) for each in self.episodes if each.kind is not None}
        return sorted(found, key=_place)

    def mean(self, group: Group = ALL, measure: Measure = Measure.SUCCESS) -> float | None:
        """Over the group's tasks; None where there is none."""
        if found := self.estimates.get((measure, group)):
            return found.value
        values = by_task([self], group, measure)
        return fmean(values.values()) if values else None


def _place(group: Group) -> tuple[int, int, str]:
    level = _LEVELS.index(group.name) if group.by == "level" and group.name in _LEVELS else len(_LEVELS)
    return ("all", "level", "kind").index(group.by), level, group.name


def groups_of(evaluations: Iterable[Evaluated]) -> list[Group]:
    """What any of them has tasks of, in order."""
    return sorted({group for each in evaluations for group in each.groups()}, key=_place)


def by_task(evaluations: Sequence[Evaluated], group: Group, measure: Measure) -> dict[str, float]:
    """Each task's mean over all its episodes in all evaluations."""
    values: dict[str, list[float]] = {}
    for evaluation in evaluations:
        for episode in evaluation.episodes:
            if episode.is_in(group):
                values.setdefault(episode.task, []).append(episode.value(measure))
    return {task: fmean(values[task]) for task in sorted(values)}


def estimated(
    evaluations: Sequence[Evaluated], group: Group, measure: Measure = Measure.SUCCESS
) -> Estimate | None:
    """Over the group's tasks, all evaluations taken together; a report's own estimate where that is all."""
    if len(evaluations) == 1 and (found := evaluations[0].estimates.get((measure, group))):
        return found
    return estimate(list(by_task(evaluations, group, measure).values()))


def rise(
    before: Sequence[Evaluated],
    after: Sequence[Evaluated],
    group: Group,
    measure: Measure = Measure.SUCCESS,
) -> Estimate | None:
    """After less before, task by task, over the tasks that both played; None where there is none."""
    old, new = by_task(before, group, measure), by_task(after, group, measure)
    return estimate([new[task] - old[task] for task in old if task in new])


def read_evaluation(path: Path) -> Evaluated:
    """Read episodes, a JSON object a line, or the report of `subworlds eval --json`.

    Invalid episodes (without a reward) are left out.

    Raises:
        LogUnreadable: it is neither, or has no valid episode.
    """
    report = _report(path)
    if report is not None:
        return report
    episodes = [_episode(path, number, line) for number, line in read_lines(path)]
    valid = tuple(episode for episode in episodes if episode is not None)
    if not valid:
        raise LogUnreadable(f"{path}: no valid episode is in it; nothing can be drawn of it")
    return Evaluated(valid)


def _episode(path: Path, number: int, line: Mapping[str, Any]) -> Episode | None:
    """None where it is invalid. A trajectory of `subworlds eval` says `outcome` instead of `complete`."""
    try:
        task, reward = str(line["task"]), line["reward"]
        complete = bool(line["complete"]) if "complete" in line else line["outcome"] == "complete"
        if reward is None:
            return None
        level, kind = line.get("level", line.get("difficulty")), line.get("kind")
        return Episode(task, _text(level), _text(kind), complete, float(reward))
    except (KeyError, TypeError, ValueError) as error:
        raise LogUnreadable(
            f"{path}:{number}: not an episode ({type(error).__name__}: {error}): it takes task, reward, and "
            "complete or outcome; level and kind if it has them"
        ) from error


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _report(path: Path) -> Evaluated | None:
    """None where the file is no report."""
    try:
        found: Any = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or "by_difficulty" not in found:
        return None
    try:
        return Evaluated(estimates=_estimates(cast("dict[str, Any]", found)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LogUnreadable(
            f"{path}: a report of `subworlds eval --json` that cannot be read: {error!r}"
        ) from error


def _estimates(report: Mapping[str, Any]) -> dict[tuple[Measure, Group], Estimate]:
    named: dict[tuple[Measure, Group], Any] = {
        (Measure.SUCCESS, ALL): report["success"],
        (Measure.REWARD, ALL): report["reward"],
    }
    named |= {(Measure.SUCCESS, Group("level", name)): each for name, each in report["by_difficulty"].items()}
    named |= {
        (Measure.SUCCESS, Group("kind", name)): each for name, each in report.get("by_kind", {}).items()
    }
    return {
        key: Estimate(float(each["value"]), float(each["low"]), float(each["high"]))
        for key, each in named.items()
        if each is not None
    }
