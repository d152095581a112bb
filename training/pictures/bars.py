"""Before and after training, and what may be said of it: bars side by side, and the rise itself."""

# matplotlib leaves the keywords that it passes on without a type.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..estimates import Estimate
from .evaluated import ALL, Evaluated, Group, estimated, groups_of, rise
from .runs import Arm
from .style import NothingToDraw, headline, legend_below, look, panels

_BAR = 0.36
"""Width of a bar, where groups are 1 apart."""
_BEFORE: dict[str, Any] = {"facecolor": "0.92", "hatch": "///", "edgecolor": "0.35"}
_AFTER: dict[str, Any] = {"facecolor": "0.45", "hatch": "", "edgecolor": "0.2"}


@dataclass(frozen=True, slots=True)
class Sides:
    """An arm's evaluations before and after, of the runs that have both, in the same order."""

    arm: Arm
    before: list[Evaluated]
    after: list[Evaluated]


def _sides(arms: Sequence[Arm]) -> list[Sides]:
    found: list[Sides] = []
    for arm in arms:
        both = [(run.before, run.after) for run in arm.runs if run.before and run.after]
        if both:
            before, after = zip(*both, strict=True)
            found.append(Sides(arm, list(before), list(after)))
    if not found:
        raise NothingToDraw("no run was evaluated both before and after it")
    return found


def before_after(arms: Sequence[Arm]) -> Figure:
    """A panel an arm: success before and after, of all tasks, by level and by kind, with 95 % intervals."""
    shown = _sides(arms)
    groups = groups_of(each for sides in shown for each in (*sides.before, *sides.after))
    figure, axes = panels(len(shown), height=2.8)
    for each, sides in zip(axes, shown, strict=True):
        _draw_side(each, sides.before, groups, -_BAR / 2, "before", _BEFORE)
        _draw_side(each, sides.after, groups, _BAR / 2, "after", _AFTER)
        each.set_title(sides.arm.name)
        each.set_ylabel("success rate")
        each.set_ylim(0, 1.03)
        each.grid(visible=False, axis="x")
        _part(groups, each.axvline)
    axes[-1].set_xticks(range(len(groups)), _names(groups), **_slanted(groups))
    headline(figure, "Success before and after training, with 95 % bootstrap intervals over tasks")
    legend_below(figure, axes[0])
    return figure


def _draw_side(
    axes: Axes,
    side: Sequence[Evaluated],
    groups: Sequence[Group],
    shift: float,
    label: str,
    how: dict[str, Any],
) -> None:
    found = [(place, value) for place, group in enumerate(groups) if (value := estimated(side, group))]
    places = [place + shift for place, _ in found]
    values = [value for _, value in found]
    heights = [value.value for value in values]
    axes.bar(places, heights, width=_BAR, label=label, linewidth=0.8, **how)
    axes.errorbar(
        places, heights, yerr=_whiskers(values), fmt="none", ecolor="black", capsize=3, linewidth=1.2
    )
    if len(side) > 1:
        dots = [
            (place + shift, mean)
            for place, group in enumerate(groups)
            for each in side
            if (mean := each.mean(group)) is not None
        ]
        axes.plot(
            *([place for place, _ in dots], [mean for _, mean in dots]),
            linestyle="none",
            marker="o",
            markersize=4,
            markerfacecolor="white",
            markeredgecolor="black",
            label="each run" if label == "after" else None,
        )


def success_rise(arms: Sequence[Arm]) -> Figure:
    """After less before, task by task, in percentage points: a dot an arm and group, with its interval."""
    shown = [sides for sides in _sides(arms) if all(each.episodes for each in (*sides.before, *sides.after))]
    if not shown:
        raise NothingToDraw("reports hold no episodes; a rise is measured task by task")
    groups = groups_of(each for sides in shown for each in (*sides.before, *sides.after))
    figure, (axes,) = panels(1, height=0.6 + len(groups) * (0.12 + 0.12 * len(shown)))
    for place, sides in enumerate(shown):
        shift = 0.6 * ((place + 0.5) / len(shown) - 0.5)
        _draw_rise(axes, sides, groups, shift)
    axes.axvline(0, color="black", linewidth=1)
    axes.set_yticks(range(len(groups)), _names(groups))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    _part(groups, axes.axhline)
    axes.set_xlabel("rise of the success rate (percentage points), with 95 % bootstrap interval over tasks")
    axes.set_ylabel("tasks")
    headline(figure, "What training changed, on the same tasks before and after")
    legend_below(figure, axes, columns=2)
    return figure


def _draw_rise(axes: Axes, sides: Sides, groups: Sequence[Group], shift: float) -> None:
    found = [
        (place, value)
        for place, group in enumerate(groups)
        if (value := rise(sides.before, sides.after, group)) is not None
    ]
    if not found:
        raise NothingToDraw(f"the evaluations of {sides.arm.name} have no task in common")
    points = [Estimate(100 * value.value, 100 * value.low, 100 * value.high) for _, value in found]
    how = look(sides.arm.place)
    axes.errorbar(
        [point.value for point in points],
        [place + shift for place, _ in found],
        xerr=_whiskers(points),
        fmt=how.marker,
        color=how.color,
        capsize=3,
        markersize=5,
        linewidth=1.2,
        label=f"{sides.arm.name}: {_signed(points[0])}",
    )


def _signed(all_tasks: Estimate) -> str:
    return f"{all_tasks.value:+.0f} [{all_tasks.low:+.0f}, {all_tasks.high:+.0f}]"


def _whiskers(values: Sequence[Estimate]) -> list[list[float]]:
    """From the value down and up; a float's rounding is no negative length."""
    return [
        [max(0.0, each.value - each.low) for each in values],
        [max(0.0, each.high - each.value) for each in values],
    ]


def _part(groups: Sequence[Group], line: Any) -> None:
    """A thin line between all tasks, levels and kinds."""
    for place in range(1, len(groups)):
        if groups[place].by != groups[place - 1].by:
            line(place - 0.5, color="0.6", linewidth=0.8)


def _names(groups: Sequence[Group]) -> list[str]:
    return ["all tasks" if group == ALL else group.name for group in groups]


def _slanted(groups: Sequence[Group]) -> dict[str, Any]:
    """Long names do not run into each other."""
    crowded = sum(len(group.name) + 2 for group in groups) > 90
    return {"rotation": 30, "ha": "right"} if crowded else {}
