"""Draw what runs logged and what evaluations found: a PNG and an SVG for each picture.

    python training/plots.py runs/grpo --output pictures
    python training/plots.py training/results --output training/results/pictures
    python training/plots.py warm=runs/a cold=runs/b --output pictures            # two arms, by name
    python training/plots.py --before before.jsonl --after after.jsonl --output pictures

A run is a folder that train_grpo.py wrote. A comparison is laid out as

    RESULTS/ARM/SEED/metrics.jsonl    what training logged, a step a line
    RESULTS/ARM/SEED/before.jsonl     episodes on held-out tasks before training, one a line; may be missing
    RESULTS/ARM/SEED/after.jsonl      the same tasks after it

and an episode has at least "task", "reward" (null where it was invalid) and "complete", and to be drawn by
group "level" and "kind". The episodes that `subworlds eval --out` stores are such; `--before` and `--after`
take its `--json` report as well. Runs of one arm differ by their seed: they are thin lines, the arm a thick
one. What the untrained model did is taken from before.jsonl, or else from the ten zero-shot episodes.

Intervals are percentile bootstraps over tasks (2,000 resamples, seeded): a task's value is its mean over all
episodes of all seeds. Same logs, same bytes. In a notebook: `figures(read_runs(["runs/grpo"]))`.
"""

# matplotlib leaves the keywords that it passes on without a type.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from matplotlib.figure import Figure

from subworlds.training.pictures import bars, curves, phases
from subworlds.training.pictures.evaluated import read_evaluation
from subworlds.training.pictures.jsonl import LogUnreadable
from subworlds.training.pictures.runs import Arm, Run, arms_of, read_runs
from subworlds.training.pictures.style import NothingToDraw, house_style

PICTURES: Mapping[str, Callable[[Sequence[Arm]], Figure]] = {
    "reward": curves.reward,
    "success": curves.success,
    "success_by_level": curves.success_by_level,
    "success_by_kind": curves.success_by_kind,
    "components": curves.components,
    "format_errors": curves.format_errors,
    "expert_phases": phases.expert_phases,
    "seconds": phases.seconds,
    "before_after": bars.before_after,
    "success_rise": bars.success_rise,
}
"""By the name of its file."""

__all__ = ["PICTURES", "LogUnreadable", "Run", "draw", "figures", "read_runs"]


def figures(runs: Sequence[Run], tell: Callable[[str], None] = print) -> dict[str, Figure]:
    """Every picture that the runs have data for, by name.

    Args:
        tell: told of each picture that is left out, and why.
    """
    found: dict[str, Figure] = {}
    with house_style():
        for name, picture in PICTURES.items():
            try:
                found[name] = picture(arms_of(runs))
            except NothingToDraw as reason:
                tell(f"{name}: skipped, {reason}")
    return found


def draw(runs: Sequence[Run], folder: Path, tell: Callable[[str], None] = print) -> list[Path]:
    """Write every picture that the runs have data for; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, figure in figures(runs, tell).items():
        files = [folder / f"{name}.{form}" for form in ("png", "svg")]
        with house_style():
            figure.savefig(files[0], metadata={"Software": None})
            figure.savefig(files[1], metadata={"Date": None, "Creator": None})
        tell(f"{name}: {files[0]} and .svg")
        written += files
    return written


def main(words: Sequence[str]) -> None:
    """From the command line to the files."""
    args = _parse(words)
    runs = read_runs(args.run)
    if args.before or args.after:
        runs = [_evaluated(runs, args.before, args.after)]
    if not runs:
        raise LogUnreadable("there is nothing to draw: give a run, or --before and --after")
    if not draw(runs, args.output):
        raise LogUnreadable("there is nothing to draw: every picture was skipped")


def _evaluated(runs: Sequence[Run], before: Path | None, after: Path | None) -> Run:
    """The run with these evaluations; without one, evaluations alone."""
    if len(runs) > 1:
        raise LogUnreadable(
            "--before and --after are for one run; of several, each has its before.jsonl and after.jsonl"
        )
    run = runs[0] if runs else Run("agent", "")
    return replace(
        run,
        before=read_evaluation(before) if before else run.before,
        after=read_evaluation(after) if after else run.after,
    )


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="plots.py"
    )
    parser.add_argument(
        "run", nargs="*", help="a run's folder, a folder of arms, or ARM=FOLDER; several, if you like"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the pictures go")
    parser.add_argument("--before", type=Path, metavar="FILE", help="an evaluation of the untrained model")
    parser.add_argument("--after", type=Path, metavar="FILE", help="an evaluation of the trained one")
    return parser.parse_args(list(words))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (LogUnreadable, OSError) as error:
        sys.exit(f"plots.py: {error}")
