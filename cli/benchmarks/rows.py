"""The rows of the report: what each figure means, and what it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .episodes import Compared
from .figures import Figure
from .growth import Medium, count_row, size_row
from .plan import MEMORY_CALLS, Plan

Unit: TypeAlias = Literal["ms", "MiB", "1/s"]


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure must not exceed (rates: not fall below)."""

    p50: float | None = None
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report."""

    name: str
    group: str
    title: str
    unit: Unit
    ours: Figure | None
    """None where the subject has no such thing (a task without a gold solution has no write)."""
    baseline: Figure | None
    """A fresh interpreter per session, in the same run."""
    floor: Figure | None
    """An empty OpenEnv environment, in the same run."""
    target: Target | None

    @property
    def ratio(self) -> float | None:
        """How many times better than the baseline: at the median, the higher the better."""
        if self.ours is None or self.baseline is None:
            return None
        ours, baseline = self.ours.p50, self.baseline.p50
        return ours / baseline if self.unit == "1/s" else baseline / ours

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.ours is None or self.target is None:
            return None
        bounds = ((self.ours.p50, self.target.p50), (self.ours.p95, self.target.p95))
        pairs = [(value, bound) for value, bound in bounds if value is not None and bound is not None]
        return all(value >= bound if self.unit == "1/s" else value <= bound for value, bound in pairs)

    def to_json(self) -> dict[str, Any]:
        """The row as JSON; figures as objects with p50, p95 (or null) and samples."""
        return {
            "name": self.name,
            "group": self.group,
            "title": self.title,
            "unit": self.unit,
            "ours": _figure_json(self.ours),
            "baseline": _figure_json(self.baseline),
            "floor": _figure_json(self.floor),
            "ratio": self.ratio,
            "target": None if self.target is None else {"p50": self.target.p50, "p95": self.target.p95},
            "met": self.met,
        }


def build_rows(plan: Plan, media: tuple[Medium, ...], figures: Compared) -> list[Row]:
    """Every row of the report, in order; a row without a figure is there as well."""
    return [
        Row(
            line.name,
            line.group,
            line.title,
            line.unit,
            figures.ours.get(line.name),
            figures.baseline.get(line.baseline or line.name),
            figures.floor.get(line.name),
            line.target,
        )
        for line in (*_EPISODE, *_levels(plan), *_sizes(plan, media), *_counts(plan), *_CONFINEMENT)
    ]


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    group: str
    title: str
    unit: Unit = "ms"
    target: Target | None = None
    baseline: str | None = None
    """The baseline's figure, where it has another name."""


_ONE = "One client"
_EPISODE = (
    _Line("reset", _ONE, "reset", target=Target(p50=10)),
    _Line("list_tools", _ONE, "list tools"),
    _Line("call", _ONE, "tool call, all of an episode", target=Target(1.5, 3)),
    _Line("call_first", _ONE, "tool call, the first of a session"),
    _Line("call_read", _ONE, "tool call, reads after it", target=Target(1.5, 3)),
    _Line("call_write", _ONE, "tool call, writes", target=Target(1.5, 3)),
    _Line("done", _ONE, "done: verdict and end", target=Target(p50=15)),
    _Line("verifier", _ONE, "verifier alone", target=Target(p50=8)),
    _Line("template", _ONE, "first reset of a scenario"),
    _Line("done_first", _ONE, "first done of a task"),
    _Line("reset_burst", "Several clients", "reset, all at once"),
    _Line("episodes", "Several clients", "whole episodes", "1/s", Target(p50=40)),
)
_CONFINEMENT = (
    _Line("confine_session", "Confinement", "of a session"),
    _Line("confine_verifier", "Confinement", "of a verifier run"),
)


def _levels(plan: Plan) -> list[_Line]:
    return [line for sessions in plan.levels for line in _level(sessions)]


def _level(sessions: int) -> list[_Line]:
    group = f"{sessions} live sessions"
    return [
        _Line(
            f"memory_listed_{sessions}", group, "memory of one, after list", "MiB", Target(6), "memory_listed"
        ),
        _Line(
            f"memory_used_{sessions}",
            group,
            f"memory of one, after {MEMORY_CALLS} calls",
            "MiB",
            Target(20),
            "memory_used",
        ),
        _Line(
            f"memory_all_{sessions}",
            group,
            "memory of everything, per session",
            "MiB",
            baseline="memory_used",
        ),
        _Line(f"call_among_{sessions}", group, "tool call, read, under load", target=Target(p95=50)),
        _Line(f"rate_among_{sessions}", group, "tool calls, under load", "1/s"),
    ]


def _sizes(plan: Plan, media: tuple[Medium, ...]) -> list[_Line]:
    return [
        _Line(
            size_row(size, medium),
            "Growth",
            f"reset, {size:g} MB database, {medium.file_system}",
        )
        for medium in media
        for size in plan.database_mb
    ]


def _counts(plan: Plan) -> list[_Line]:
    return [
        _Line(count_row(count), "Growth", f"reset, {count} scenario{'s' if count > 1 else ''} loaded")
        for count in plan.scenario_counts
    ]


def _figure_json(figure: Figure | None) -> Mapping[str, Any] | None:
    return None if figure is None else {"p50": figure.p50, "p95": figure.p95, "samples": figure.samples}
