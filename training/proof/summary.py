"""What came of it, in figures: success on the test split before and after, and how sure one may be of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from subworlds.training.estimates import Estimate, estimate
from subworlds.training.machine import describe_machine
from subworlds.training.pictures.runs import AFTER, BEFORE, METRICS, read_runs
from subworlds.training.plots import draw
from subworlds.training.proof.errands import KINDS
from subworlds.training.proof.playing import Episode, mixed_groups, read_episodes
from subworlds.training.proof.runs import Arm

SUMMARY, PICTURES, TABLE = "summary.json", "pictures", "table.md"
LEVELS = ("easy", "medium", "hard")
HEADLINE, CONTROL = "success", "shuffled"


def publish(folder: Path, results: Path, arms: Sequence[Arm]) -> None:
    """Copy the logs of a proof into `results`, and write from them what `redraw` writes."""
    for arm in arms:
        for seed in arm.seeds:
            run, place = folder / "runs" / arm.name / str(seed), results / arm.name / str(seed)
            place.mkdir(parents=True, exist_ok=True)
            for source in (run / METRICS, run / AFTER, folder / BEFORE):
                shutil.copyfile(source, place / source.name)
    shutil.copyfile(folder / "validation.jsonl", results / "validation.jsonl")
    shutil.copyfile(folder / "seconds.jsonl", results / "seconds.jsonl")
    (results / "machine.json").write_text(json.dumps(describe_machine(), indent=1) + "\n")
    redraw(results)


def redraw(results: Path) -> None:
    """Write everything that follows from the logs in `results`, from these alone."""
    found = summarize(results)
    (results / SUMMARY).write_text(json.dumps(found, indent=1) + "\n")
    (results / TABLE).write_text(table(found))
    draw(read_runs([results]), results / PICTURES, lambda line: None)


def summarize(results: Path) -> dict[str, Any]:
    """Of each arm: success at temperature 1 over the test tasks, and its rise, by seed, level and kind."""
    arms = {
        place.name: {
            seed.name: read_episodes(seed / AFTER)
            for seed in sorted(place.iterdir())
            if (seed / AFTER).exists()
        }
        for place in sorted(results.iterdir())
        if place.is_dir() and place.name != PICTURES
    }
    before = read_episodes(next(results.glob(f"*/*/{BEFORE}")))
    seen = read_episodes(results / "validation.jsonl")
    return {
        "test_tasks": len({episode.task for episode in before}),
        "mixed_groups_on_validation": mixed_groups(seen),
        "before": _by_group(lambda group: _estimate(_rates(group.of(before)))),
        "arms": {name: _arm(before, seeds) for name, seeds in arms.items()},
        "headline_minus_control": _json(_above(arms.get(HEADLINE, {}), arms.get(CONTROL, {}))),
    }


@dataclass(frozen=True, slots=True)
class _Group:
    """Some of the tasks: all of them, or those of a level or a kind."""

    by: str
    name: str = ""

    def of(self, episodes: Iterable[Episode]) -> list[Episode]:
        match self.by:
            case "level":
                return [episode for episode in episodes if episode.level == self.name]
            case "kind":
                return [episode for episode in episodes if episode.kind == self.name]
            case _:
                return list(episodes)


def _by_group(measure: Callable[[_Group], Any]) -> dict[str, Any]:
    """Of all tasks, of each level, of each kind."""
    return {
        "all": measure(_Group("all")),
        "level": {level: measure(_Group("level", level)) for level in LEVELS},
        "kind": {kind.name: measure(_Group("kind", kind.name)) for kind in KINDS},
    }


def _arm(before: Sequence[Episode], seeds: Mapping[str, Sequence[Episode]]) -> dict[str, Any]:
    after = [episode for episodes in seeds.values() for episode in episodes]
    return {
        "after": _by_group(lambda group: _estimate(_rates(group.of(after)))),
        "rise": _by_group(lambda group: _estimate(_less(_rates(group.of(after)), _rates(group.of(before))))),
        "seeds": {
            seed: {
                "after": _estimate(_rates(episodes)),
                "rise": _estimate(_less(_rates(episodes), _rates(before))),
                "reward": round(fmean(episode.reward for episode in episodes), 4),
            }
            for seed, episodes in seeds.items()
        },
    }


def _rates(episodes: Iterable[Episode]) -> dict[str, float]:
    """Success by task, over all episodes of it."""
    ends: dict[str, list[bool]] = {}
    for episode in episodes:
        ends.setdefault(episode.task, []).append(episode.complete)
    return {task: fmean(each) for task, each in sorted(ends.items())}


def _less(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """The rise of each task that was played both times."""
    return {task: rate - before[task] for task, rate in after.items() if task in before}


def _above(
    headline: Mapping[str, Sequence[Episode]], control: Mapping[str, Sequence[Episode]]
) -> Estimate | None:
    one, other = (
        _rates([episode for episodes in arm.values() for episode in episodes]) for arm in (headline, control)
    )
    return estimate(list(_less(one, other).values()))


def _estimate(rates: Mapping[str, float]) -> dict[str, float] | None:
    return _json(estimate(list(rates.values())))


def _json(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else {name: round(each, 4) for name, each in found.to_json().items()}


# ---- As text -----------------------------------------------------------------------------------------------


def table(found: Mapping[str, Any]) -> str:
    """The summary as Markdown: a row an arm, and then what the headline did by level and kind."""
    lines = [
        "| what was paid | seeds | before | after | rise | after, by seed |",
        "|---|---|---|---|---|---|",
    ]
    for name, arm in sorted(found["arms"].items(), key=lambda item: _place(item[0])):
        seeds = ", ".join(f"{100 * seed['after']['value']:.0f}" for seed in arm["seeds"].values())
        cells = [
            _percent(found["before"]["all"]),
            _percent(arm["after"]["all"]),
            _percent(arm["rise"]["all"], sign=True),
        ]
        lines.append(f"| {name} | {len(arm['seeds'])} | {' | '.join(cells)} | {seeds} |")
    headline = found["arms"].get(HEADLINE)
    if headline:
        lines += ["", f"| `{HEADLINE}`, by level and kind | before | after | rise |", "|---|---|---|---|"]
        for by in ("level", "kind"):
            for group, after in headline["after"][by].items():
                if after:
                    cells = [
                        _percent(found["before"][by][group]),
                        _percent(after),
                        _percent(headline["rise"][by][group], sign=True),
                    ]
                    lines.append(f"| {group} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _percent(found: Mapping[str, float] | None, *, sign: bool = False) -> str:
    if found is None:
        return ""
    value, low, high = (100 * found[name] for name in ("value", "low", "high"))
    form = "+.1f" if sign else ".1f"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def _place(arm: str) -> tuple[int, str]:
    order = (HEADLINE, CONTROL)
    return (order.index(arm) if arm in order else len(order)), arm
