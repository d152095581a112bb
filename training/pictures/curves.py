"""Curves over the steps of training: a thin line a run, a thick one an arm, and where it began."""

# matplotlib leaves the keywords that it passes on without a type.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .evaluated import ALL, Group, Measure
from .runs import Arm
from .style import Look, NothingToDraw, headline, legend_below, look, panels, steps_axis

COMPONENTS = ("task", "process", "format", "efficiency")
_LEVELS = ("easy", "medium", "hard")
SMOOTHING = 30
"""A mean reaches over a thirtieth of the run on either side."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure of the log, over the steps."""

    metric: str
    title: str
    start: tuple[Measure, Group] | None = None
    """What the untrained model is measured by, if it was."""


def reward(arms: Sequence[Arm]) -> Figure:
    """What episodes were paid, and what the untrained model was."""
    shown = [Panel("reward/overall", "", (Measure.REWARD, ALL))]
    return _curves(arms, shown, "Reward of training episodes", "reward per episode (0 to 1)")


def success(arms: Sequence[Arm]) -> Figure:
    """The share of episodes that solved their task, and the untrained model's."""
    shown = [Panel("env/success_rate", "", (Measure.SUCCESS, ALL))]
    return _curves(arms, shown, "Success of training episodes", "success rate")


def success_by_level(arms: Sequence[Arm]) -> Figure:
    """A panel a level."""
    shown = [
        Panel(f"env/success/{level}", level, (Measure.SUCCESS, Group("level", level))) for level in _LEVELS
    ]
    return _curves(arms, shown, "Success of training episodes by level", "success rate", columns=3)


def success_by_kind(arms: Sequence[Arm]) -> Figure:
    """A panel a kind."""
    kinds = sorted({kind for arm in arms for run in arm.runs for kind in run.names("env/success/kind/")})
    shown = [
        Panel(f"env/success/kind/{kind}", kind, (Measure.SUCCESS, Group("kind", kind))) for kind in kinds
    ]
    return _curves(arms, shown, "Success of training episodes by kind", "success rate", columns=3)


def components(arms: Sequence[Arm]) -> Figure:
    """A panel a component of the reward."""
    shown = [Panel(f"reward/{name}", name) for name in COMPONENTS]
    return _curves(arms, shown, "Components of the reward", "component (0 to 1)", columns=2)


def format_errors(arms: Sequence[Arm]) -> Figure:
    """The share of tool calls that broke the format."""
    shown = [Panel("env/format_error_rate", "")]
    return _curves(arms, shown, "Tool calls that broke the format", "share of tool calls")


def _curves(
    arms: Sequence[Arm], shown: Sequence[Panel], title: str, label: str, *, columns: int = 1
) -> Figure:
    """Raises NothingToDraw where no run has any of it."""
    shown = [panel for panel in shown if any(run.series(panel.metric) for arm in arms for run in arm.runs)]
    if not shown:
        raise NothingToDraw("no run has logged it")
    figure, axes = panels(len(shown), columns=columns, height=3.4 if columns == 1 else 2.4)
    reach = 0
    for each, panel in zip(axes, shown, strict=True):
        each.set_title(panel.title)
        for arm in arms:
            reach = max(reach, _arm(each, arm, panel.metric))
        if panel.start is not None:
            _starts(each, arms, *panel.start, with_value=len(shown) == 1)
    steps_axis(axes, label, rate=True)
    headline(
        figure, title, f"thick: mean over {2 * reach + 1} steps; thin: each run as logged" if reach else ""
    )
    legend_below(figure, axes[0])
    return figure


def _arm(axes: Axes, arm: Arm, metric: str) -> int:
    """Draw it; returns over how many steps on either side the thick line is a mean."""
    of_runs = [found for run in arm.runs if (found := run.series(metric))]
    if not of_runs:
        return 0
    reach = max(len(found) for found in of_runs) // SMOOTHING
    if reach or len(of_runs) > 1:
        for found in of_runs:
            axes.plot(
                list(found), list(found.values()), color=look(arm.place).color, linewidth=0.7, alpha=0.4
            )
    steps, means = smoothed(of_runs, reach)
    name = arm.name if len(of_runs) == 1 else f"{arm.name} (mean of {len(of_runs)} runs)"
    draw_line(axes, steps, means, look(arm.place), name)
    return reach


def draw_line(
    axes: Axes,
    steps: Sequence[int],
    values: Sequence[float],
    how: Look,
    label: str,
    *,
    stairs: bool = False,
) -> None:
    """One thick line with a few markers on it; `stairs` for what changes all at once."""
    axes.plot(
        steps,
        values,
        color=how.color,
        linestyle=how.line,
        linewidth=2,
        marker=how.marker,
        markersize=5,
        markevery=max(1, len(steps) // 8),
        drawstyle="steps-mid" if stairs else "default",
        label=label,
    )


def smoothed(of_runs: Sequence[dict[int, float]], reach: int) -> tuple[list[int], list[float]]:
    """The mean over runs and over `reach` steps on either side, as far as the shortest run goes."""
    last = min(max(found) for found in of_runs)
    steps = sorted({step for found in of_runs for step in found if step <= last})
    at = {step: [found[step] for found in of_runs if step in found] for step in steps}
    means: list[float] = []
    for step in steps:
        near = [value for other in range(step - reach, step + reach + 1) for value in at.get(other, ())]
        means.append(fmean(near))
    return steps, means


def _starts(axes: Axes, arms: Sequence[Arm], measure: Measure, group: Group, *, with_value: bool) -> None:
    """A level line where the untrained model stood; one for all arms where it is the same for all."""
    found = [(arm, value) for arm in arms if (value := arm.untrained(measure, group)) is not None]
    alike = len(found) == len(arms) and len({round(value, 9) for _, value in found}) == 1
    for arm, value in found[:1] if alike else found:
        seen = "in evaluation" if arm.runs[0].before else "zero-shot"
        name = f"untrained, {seen}" if alike else f"{arm.name}, untrained, {seen}"
        axes.axhline(
            value,
            color="black" if alike else look(arm.place).color,
            linestyle=(0, (1, 1.5)),
            linewidth=1.4,
            label=f"{name}: {value:.2f}" if with_value else name,
        )
