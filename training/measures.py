"""What is logged of each batch and step: to JSONL always, and to whatever else the trainer reports to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from transformers import TrainerCallback

from .assignments import Assignment
from .batch import BatchSeconds
from .played import Played

_COMPONENTS = ("task", "process", "format", "efficiency")


def measure_batch(played: Sequence[Played], seconds: BatchSeconds) -> dict[str, float]:
    """Figures of one batch, of one episode at least.

    Rates are over valid episodes, `env/invalid_rate` over all; format-error and timeout rates are shares of
    calls. `env/success/LEVEL` and `env/success/kind/KIND` are there for what the batch has tasks of. Seconds
    are of wall time: `env/seconds` while nothing went on but the worlds, `env/generation_seconds` while the
    model wrote.
    """
    valid = [episode for episode in played if episode.valid]
    figures = {
        "env/invalid_rate": 1.0 - len(valid) / len(played),
        "env/seconds": seconds.world,
        "env/generation_seconds": seconds.generation,
    }
    if not valid:
        return figures
    calls = sum(episode.calls for episode in valid)
    figures |= {
        "env/success_rate": fmean(episode.complete for episode in valid),
        "reward/overall": fmean(episode.reward or 0.0 for episode in valid),
        "env/format_error_rate": sum(episode.malformed for episode in valid) / max(1, calls),
        "env/timeout_rate": sum(episode.timeouts for episode in valid) / max(1, calls),
        "env/cut_rate": fmean(episode.cut is not None for episode in valid),
        "env/calls": calls / len(valid),
        "env/turns": fmean(episode.turns for episode in valid),
    }
    figures |= {f"reward/{name}": fmean(_component(each, name) for each in valid) for name in _COMPONENTS}
    figures |= _success_by("env/success", valid, lambda task: task.level)
    figures |= _success_by("env/success/kind", valid, lambda task: task.kind)
    return figures


def _success_by(
    prefix: str, played: Sequence[Played], group_of: Callable[[Assignment], str | None]
) -> dict[str, float]:
    """The success rate of each group of tasks that is in the batch; tasks without a group are in none."""
    groups: dict[str, list[bool]] = {}
    for episode in played:
        if (group := group_of(episode.assignment)) is not None:
            groups.setdefault(group, []).append(episode.complete)
    return {f"{prefix}/{group}": fmean(groups[group]) for group in sorted(groups)}


def _component(episode: Played, name: str) -> float:
    return 0.0 if episode.end is None or episode.end.components is None else episode.end.components[name]


class JsonLines(TrainerCallback):
    """Writes every log entry of the trainer to `metrics.jsonl`, a line an entry.

    A run that goes on from a checkpoint goes on in it: what was logged after that step is dropped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Keep the lines up to the step that the run starts from."""
        if not state.is_world_process_zero:
            return
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        kept = [line for line in lines if 0 <= _step(line) <= state.global_step]
        self._path.write_text("".join(line + "\n" for line in kept))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Append one line."""
        if not state.is_world_process_zero:
            return
        entry: dict[str, Any] = {"step": state.global_step, **{name: _finite(logs[name]) for name in logs}}
        append_line(self._path, entry)


def append_line(path: Path, entry: dict[str, Any]) -> None:
    """Add one entry to a JSONL file."""
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def _finite(figure: Any) -> Any:
    """JSON has no NaN: what could not be measured (the reward of a batch without a valid episode) is null."""
    return None if isinstance(figure, float) and not math.isfinite(figure) else figure


def _step(line: str) -> int:
    """-1 for a line that a killed run left unfinished."""
    try:
        return int(json.loads(line)["step"])
    except ValueError:
        return -1
