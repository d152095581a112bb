"""The report of one run: on what machine, with what settings, and every row."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...training.machine import describe_machine
from .figures import Figure
from .growth import Medium
from .plan import Plan
from .rows import Row, Target
from .subject import Subject


@dataclass(frozen=True, slots=True)
class Report:
    """What one run found."""

    subject: Subject
    plan: Plan
    media: tuple[Medium, ...]
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """One document. It names neither the machine nor any path."""
        return {
            "machine": describe_machine(),
            "settings": {
                **asdict(self.plan),
                "scenario": self.subject.scenario.name,
                "task": self.subject.task.id,
                "calls": [
                    {"tool": step.call.tool, "writes": step.writes}
                    for step in self.subject.script(self.plan.episode_calls)
                ],
                "media": {medium.name: medium.file_system for medium in self.media},
            },
            "rows": [row.to_json() for row in self.rows],
        }

    def print_on(self, console: Console) -> None:
        """A table for people."""
        console.print(_table(self.rows))
        console.print(f"\n{self._about()}")

    def _about(self) -> str:
        machine, plan = describe_machine(), self.plan
        return (
            f"On {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}, "
            f"Python {machine['python']}. Task {self.subject.task.id}, {plan.episode_calls} calls. "
            f"Several clients: {plan.clients} playing, {plan.burst} resetting at once. "
            f"Under load: {plan.in_flight} calls at any moment. By database size: no session in reserve.\n"
            "Baseline: a fresh interpreter for every session and every verdict; no MCP, OpenEnv or sandbox. "
            "Floor: an OpenEnv environment that does nothing.\n"
            "Ratios travel between machines, milliseconds do not."
        )


def _table(rows: tuple[Row, ...]) -> Table:
    table = Table("", box=None, pad_edge=False, header_style="bold")
    for heading in ("p50", "p95", "", "baseline", "better", "floor", "target", ""):
        table.add_column(heading, justify="left" if heading == "" else "right", no_wrap=True)
    group = None
    for row in rows:
        if row.group != group:
            group = row.group
            table.add_row(Text(group, style="bold cyan"))
        table.add_row(
            f"  {row.title}",
            _p50(row.ours),
            "" if row.ours is None or row.ours.p95 is None else _number(row.ours.p95),
            row.unit,
            _p50(row.baseline),
            _ratio(row.ratio),
            _p50(row.floor),
            _target(row.target, row.unit),
            _met(row.met),
        )
    return table


def _p50(figure: Figure | None) -> str:
    return "" if figure is None else _number(figure.p50)


def _ratio(ratio: float | None) -> Text:
    if ratio is None:
        return Text("")
    return Text(f"{_number(ratio)}x", style="bold green" if ratio > 1 else "bold red")


def _target(target: Target | None, unit: str) -> str:
    if target is None:
        return ""
    sign = "≥" if unit == "1/s" else "≤"
    bounds = " / ".join(f"{bound:g}" for bound in (target.p50, target.p95) if bound is not None)
    return f"{sign} {bounds}" if target.p50 is not None else f"p95 {sign} {bounds}"


def _met(met: bool | None) -> Text:
    return (
        Text("") if met is None else Text("met", style="green") if met else Text("missed", style="bold red")
    )


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
