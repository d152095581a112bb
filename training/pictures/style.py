"""How every picture looks: the same on every machine, and readable without colour."""

# matplotlib leaves the keywords that it passes on without a type.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "subworlds",
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "savefig.dpi": 150,
}
_WIDTH = 7.5
"""Inches."""


class NothingToDraw(Exception):
    """The runs have no data for a picture; says which."""


@dataclass(frozen=True, slots=True)
class Look:
    """What tells one line or bar from the next: colours of different lightness, and three things besides."""

    color: str
    line: str | tuple[int, tuple[float, ...]]
    marker: str
    hatch: str


_LOOKS = (
    Look("#0b3c5d", "-", "o", ""),
    Look("#d1701f", "--", "s", "///"),
    Look("#3f8f5b", "-.", "^", "..."),
    Look("#8f6bb3", ":", "D", "xxx"),
    Look("#c9a227", (0, (6, 1, 1, 1, 1, 1)), "v", "---"),
    Look("#7a7a7a", (0, (1, 2)), "P", "\\\\\\"),
)


def look(place: int) -> Look:
    """Of the arm, or the line, at a place."""
    return _LOOKS[place % len(_LOOKS)]


@contextmanager
def house_style() -> Generator[None]:
    """matplotlib's own defaults and ours, whatever the user's configuration says."""
    with style.context(["default", _SETTINGS]):
        yield


def panels(
    count: int, *, columns: int = 1, height: float = 3.4, share_y: bool = True
) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels over a common x axis, each `height` inches high."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(_WIDTH, height * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False)
    axes: list[Axes] = list(grid.flat)
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def steps_axis(axes: Sequence[Axes], label: str, *, rate: bool) -> None:
    """Name both axes; a rate runs from 0 to 1."""
    for each in axes:
        grid = each.get_subplotspec()
        if grid is None or grid.is_first_col():
            each.set_ylabel(label)
        each.xaxis.set_major_locator(MaxNLocator(integer=True))
        if rate:
            each.set_ylim(-0.03, 1.03)
    for each in axes[-columns_of(axes) :]:
        each.set_xlabel("optimiser step")
        each.tick_params(labelbottom=True)


def columns_of(axes: Sequence[Axes]) -> int:
    """How many panels stand beside each other."""
    grid = axes[0].get_subplotspec()
    return 1 if grid is None else min(grid.get_gridspec().ncols, len(axes))


def headline(figure: Figure, title: str, note: str = "") -> None:
    """What the picture shows, and under it how."""
    figure.suptitle("\n".join(filter(None, [title, note])), fontsize=11)


def legend_below(figure: Figure, axes: Axes, columns: int = 3) -> None:
    """One legend for all panels, under them."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)))
