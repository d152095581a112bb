"""The expert's part in a run, phase by phase; and where the seconds of a step went."""

# matplotlib leaves the keywords that it passes on without a type.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from .curves import SMOOTHING, draw_line, smoothed
from .runs import Arm
from .style import NothingToDraw, headline, legend_below, look, panels, steps_axis

_PHASES = ("scaffold", "balanced", "independence")
_BANDS = (("0.80", "////"), ("0.89", "..."), ("0.97", ""))
"""Shade and hatch of each."""
_LINES = (
    ("expert/ratio", "episodes offered the expert"),
    ("expert/ask_rate", "episodes that asked"),
    ("env/success_rate", "episodes that solved their task"),
    ("env/format_error_rate", "calls that broke the format"),
)


def expert_phases(arms: Sequence[Arm]) -> Figure:
    """A panel a run: its phases as bands; over them who was offered the expert, who asked, and success."""
    runs = [run for arm in arms for run in arm.runs if run.series("expert/phase")]
    if not runs:
        raise NothingToDraw("no run had an expert")
    figure, axes = panels(len(runs), height=2.6)
    for each, run in zip(axes, runs, strict=True):
        each.set_title(" ".join(filter(None, [run.arm, run.seed])))
        _bands(each, run.series("expert/phase"))
        for place, (metric, label) in enumerate(_LINES):
            if found := run.series(metric):
                decided = metric == "expert/ratio"  # not measured: it is shown as it was
                reach = 0 if decided else len(found) // SMOOTHING
                draw_line(each, *smoothed([found], reach), look(place), label, stairs=decided)
    steps_axis(axes, "share", rate=True)
    reach = max(len(run.series("expert/phase")) for run in runs) // SMOOTHING
    headline(
        figure,
        "The expert's part in training, phase by phase",
        f"means over {2 * reach + 1} steps" if reach else "",
    )
    handles, labels = axes[0].get_legend_handles_labels()
    bands = [Patch(facecolor=shade, hatch=hatch, edgecolor="0.65") for shade, hatch in _BANDS]
    figure.legend(
        [*handles, *bands],
        [*labels, *(f"phase: {phase}" for phase in _PHASES)],
        loc="outside lower center",
        ncols=2,
    )
    return figure


def _bands(axes: Axes, phases: dict[int, float]) -> None:
    """Each from half a step before its first to half a step after its last."""
    for phase, steps in groupby(sorted(phases), key=lambda step: int(phases[step])):
        of_phase = list(steps)
        left, right = of_phase[0] - 0.5, of_phase[-1] + 0.5
        shade, hatch = _BANDS[phase]
        axes.axvspan(left, right, facecolor=shade, edgecolor="0.65", hatch=hatch, zorder=0)


_SECONDS = (
    ("env/generation_seconds", "generation", "0.55", ""),
    ("env/seconds", "worlds, while nothing was generated", "0.15", ""),
    ("rest", "learning", "0.9", "///"),
)


def seconds(arms: Sequence[Arm]) -> Figure:
    """A panel an arm: the wall time of a step in parts."""
    shown = [arm for arm in arms if any(run.series("env/generation_seconds") for run in arm.runs)]
    if not shown:
        raise NothingToDraw("no run has logged its seconds")
    figure, axes = panels(len(shown), height=2.8)
    for each, arm in zip(axes, shown, strict=True):
        steps, parts = _parts(arm)
        each.stackplot(
            steps,
            *parts,
            labels=[label for _, label, _, _ in _SECONDS],
            colors=[color for _, _, color, _ in _SECONDS],
            hatch=[hatch for _, _, _, hatch in _SECONDS],
            edgecolor="0.4",
            linewidth=0.4,
        )
        whole = sum(map(sum, parts))
        share = sum(parts[1]) / whole if whole else 0.0
        each.set_title(f"{arm.name}: {share:.1%} of the time was the worlds'")
        each.set_ylim(bottom=0)
    steps_axis(axes, "seconds per step", rate=False)
    headline(figure, "Where a step's wall time went, mean over runs")
    legend_below(figure, axes[0])
    return figure


def _parts(arm: Arm) -> tuple[list[int], list[list[float]]]:
    runs = [run for run in arm.runs if run.series("env/generation_seconds")]
    steps, generation = smoothed([run.series("env/generation_seconds") for run in runs], 0)
    _, worlds = smoothed([run.series("env/seconds") for run in runs], 0)
    rest = [run.series("step_time") for run in runs]
    whole = dict(zip(*smoothed([found for found in rest if found], 0), strict=True)) if any(rest) else {}
    left = [
        max(0.0, whole.get(step, 0.0) - wrote - waited)
        for step, wrote, waited in zip(steps, generation, worlds, strict=True)
    ]
    return steps, [generation, worlds, left]
