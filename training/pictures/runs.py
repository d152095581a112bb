"""Runs as they lie on disk: what each logged, which arm it belongs to, how it was evaluated."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from .evaluated import ALL, Evaluated, Group, Measure, read_evaluation
from .jsonl import LogUnreadable, read_lines

METRICS, BEFORE, AFTER = "metrics.jsonl", "before.jsonl", "after.jsonl"
_SEED = re.compile(r"(seed)?[-_ ]?\d+", re.IGNORECASE)
_ZERO_SHOT = {Measure.SUCCESS: "zero_shot/success_rate", Measure.REWARD: "zero_shot/reward"}


@dataclass(frozen=True, slots=True)
class Run:
    """One run: an arm's, under one seed."""

    arm: str
    seed: str
    """Empty where the run is the only one of its arm."""
    entries: tuple[dict[str, Any], ...] = ()
    """Lines of metrics.jsonl in order, each with its `step`."""
    before: Evaluated | None = None
    after: Evaluated | None = None

    def series(self, name: str) -> dict[int, float]:
        """A figure by the step it was logged at; of a step that was logged twice, the later."""
        return {
            int(entry["step"]): float(entry[name])
            for entry in self.entries
            if isinstance(entry.get(name), int | float) and math.isfinite(entry[name])
        }

    def names(self, prefix: str) -> list[str]:
        """The figures it has whose names begin so, without the prefix."""
        found = {name for entry in self.entries for name in entry if name.startswith(prefix)}
        return sorted(name.removeprefix(prefix) for name in found)

    def untrained(self, measure: Measure, group: Group = ALL) -> float | None:
        """What it did before its first step: in the evaluation, or else in the ten zero-shot episodes."""
        if self.before is not None:
            return self.before.mean(group, measure)
        zero_shot = self.series(_ZERO_SHOT[measure])
        return fmean(zero_shot.values()) if zero_shot and group == ALL else None


@dataclass(frozen=True, slots=True)
class Arm:
    """The runs that differ by their seed only."""

    name: str
    runs: tuple[Run, ...]
    place: int
    """Among the arms: what it looks like in every picture."""

    def untrained(self, measure: Measure, group: Group = ALL) -> float | None:
        """The mean of its runs'; None where none knows."""
        found = [value for run in self.runs if (value := run.untrained(measure, group)) is not None]
        return fmean(found) if found else None


def arms_of(runs: Iterable[Run]) -> list[Arm]:
    """In the order in which they come first."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.arm, []).append(run)
    return [Arm(name, tuple(each), place) for place, (name, each) in enumerate(found.items())]


def read_runs(places: Sequence[str | Path]) -> list[Run]:
    """Read every run that lies at some places.

    Args:
        places: each a folder with a metrics.jsonl in it, such a file, a folder of seeds, or a folder
            ARM/SEED/metrics.jsonl; `NAME=PLACE` names the arm.

    Raises:
        LogUnreadable: there is no run, the same run twice, or a file that cannot be read.
    """
    found: dict[Path, Run] = {}
    for place in places:
        for folder, run in _runs_at(str(place)):
            if folder in found:
                raise LogUnreadable(f"{folder} is given twice")
            found[folder] = run
    return list(found.values())


def _runs_at(word: str) -> list[tuple[Path, Run]]:
    named, _, rest = word.partition("=")
    arm, root = (named, Path(rest)) if rest and not Path(word).exists() else (None, Path(word))
    root = root.parent if root.is_file() and root.name == METRICS else root
    if not root.is_dir():
        raise LogUnreadable(f"{root}: there is no such folder, and no such {METRICS}")
    depths = ("", "*/", "*/*/")
    logs = next(filter(None, (sorted(root.glob(depth + METRICS)) for depth in depths)), None)
    if logs is None:
        raise LogUnreadable(f"{root} has no {METRICS} in it, nor in a folder ARM/SEED/ below")
    folders = [log.parent.resolve() for log in logs]
    return [(folder, _run(root.resolve(), folder, arm)) for folder in folders]


def _run(root: Path, folder: Path, arm: str | None) -> Run:
    parts = folder.relative_to(root).parts
    is_seed = len(parts) == 2 or _SEED.fullmatch(folder.name) is not None
    run = Run(arm or (folder.parent.name if is_seed else folder.name), folder.name if is_seed else "")
    entries = tuple(_entry(folder / METRICS, number, line) for number, line in read_lines(folder / METRICS))
    return replace(
        run, entries=entries, before=_evaluation(folder / BEFORE), after=_evaluation(folder / AFTER)
    )


def _entry(path: Path, number: int, line: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(line.get("step"), int) or line["step"] < 0:
        raise LogUnreadable(f"{path}:{number}: an entry without a step: is this the log of a training run?")
    return line


def _evaluation(path: Path) -> Evaluated | None:
    return read_evaluation(path) if path.exists() else None
