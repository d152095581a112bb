"""What certification found, on the screen and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..verifiers.certification.findings import Flaw, TaskReport
from ..verifiers.certification.player import Call
from ..verifiers.certification.variant import told
from .episode_view import receipt_lines_of
from .screen import counted, indented

_MOST_CALLS = 15
_MOST_CHANGES = 8
_MOST_FLAWS = 4
_STYLES = {"certified": "green", "floor-checked": "cyan", "failed": "bold red", "skipped": "dim"}


def print_reports(
    console: Console, reports: Sequence[TaskReport], episodes: int, seconds: float, written: Sequence[Path]
) -> None:
    """A line per world, then every flaw with its episode, then the rates."""
    console.print(_table(reports))
    for report in reports:
        for note in (*report.notes, *_listed("equivalent to the solution", report.equivalents)):
            console.print(Text(f"note: {report.task}: {note}", style="dim"))
        for note in _listed("the agent's choice", report.choices):
            console.print(Text(f"note: {report.task}: {note}", style="dim"))
    for report in _once_per_broken_world(reports):
        _print_flaws(console, report)
    console.print(Text(_summary(reports, episodes, seconds), style="bold"))
    for path in written:
        console.print(f"wrote {path}")


def _once_per_broken_world(reports: Sequence[TaskReport]) -> Iterator[TaskReport]:
    """The reports with flaws; of a world that cannot start only the first, for they all say so."""
    broken: set[str] = set()
    for report in reports:
        world = report.task.partition("/")[0]
        if report.flaws and world not in broken:
            yield report
        if any(flaw.code == "world-broken" for flaw in report.flaws):
            broken.add(world)


def report_json(
    reports: Sequence[TaskReport], episodes: int, seconds: float, written: Sequence[Path]
) -> dict[str, Any]:
    """All of it as a JSON object."""
    return {
        "tasks": [_task_json(report) for report in reports],
        "mutants": sum(report.mutants for report in reports),
        "killed": sum(report.killed for report in reports),
        "kill_rate": kill_rate(reports),
        "harmless": sum(report.harmless for report in reports),
        "rejected": sum(report.rejected for report in reports),
        "false_reject_rate": false_reject_rate(reports),
        "episodes": episodes,
        "seconds": round(seconds, 2),
        "written": [str(path) for path in written],
    }


def kill_rate(reports: Sequence[TaskReport]) -> float | None:
    """The share of mutants that were seen through; None where there were none."""
    mutants = sum(report.mutants for report in reports)
    return sum(report.killed for report in reports) / mutants if mutants else None


def false_reject_rate(reports: Sequence[TaskReport]) -> float | None:
    """The share of right episodes that were rejected; None where there were none."""
    harmless = sum(report.harmless for report in reports)
    return sum(report.rejected for report in reports) / harmless if harmless else None


def _table(reports: Sequence[TaskReport]) -> Table:
    table = Table("world", box=None, pad_edge=False, header_style="bold")
    columns = ("certified", "floor-checked", "failed", "mutants", "killed", "harmless", "rejected")
    for column in columns:
        table.add_column(column, justify="right")
    by_world: dict[str, list[TaskReport]] = {}
    for report in reports:
        by_world.setdefault(report.task.partition("/")[0], []).append(report)
    for world, rows in by_world.items():
        standings = [sum(row.standing == standing for row in rows) for standing in columns[:3]]
        sums = [sum(getattr(row, column) for row in rows) for column in columns[3:]]
        table.add_row(world, *map(str, standings), *map(str, sums))
    return table


def _print_flaws(console: Console, report: TaskReport) -> None:
    console.print(
        Text.assemble("\n", (report.task, "bold"), "  ", (report.standing, _STYLES[report.standing]))
    )
    for flaw in report.flaws[:_MOST_FLAWS]:
        console.print(indented(Text(f"{flaw.code}: {flaw.reason}", style="red")))
        for line in _evidence(flaw):
            console.print(Padding(line, (0, 0, 0, 4), expand=False))
    if len(report.flaws) > _MOST_FLAWS:
        console.print(
            indented(f"… and {counted(len(report.flaws) - _MOST_FLAWS, 'more flaw')}; --json has all")
        )


def _evidence(flaw: Flaw) -> Iterator[Text]:
    """The episode: its calls, its answer, its receipt."""
    if flaw.judged is None:
        return
    calls = flaw.judged.calls
    for call in calls[:_MOST_CALLS]:
        yield _call(call)
    if len(calls) > _MOST_CALLS:
        yield Text(f"… and {len(calls) - _MOST_CALLS} more calls", style="dim")
    if flaw.judged.variant.answer is not None:
        yield Text(f"answer: {flaw.judged.variant.answer!r}")
    changes = list(receipt_lines_of(flaw.judged.verdict.receipt))
    yield from changes[:_MOST_CHANGES]
    if len(changes) > _MOST_CHANGES:
        yield Text(f"… and {counted(len(changes) - _MOST_CHANGES, 'more change')}", style="dim")


def _call(call: Call) -> Text:
    line = Text(told(call.call), style="cyan")
    return line if call.failure is None else line.append(f" → {call.failure.kind}", style="red")


def _summary(reports: Sequence[TaskReport], episodes: int, seconds: float) -> str:
    killed, rejected = kill_rate(reports), false_reject_rate(reports)
    rates = [
        "no mutants" if killed is None else f"kill rate {killed:.2%}",
        "no harmless variants" if rejected is None else f"false-reject rate {rejected:.2%}",
    ]
    a_minute = 60 * episodes / max(seconds, 1e-9)
    speed = f"{counted(episodes, 'episode')} in {seconds:.1f} s ({a_minute:.0f} a minute)"
    return f"\n{counted(len(reports), 'task')}: {', '.join(rates)}; {speed}"


def _listed(what: str, rows: Sequence[str]) -> Iterator[str]:
    for row in rows:
        yield f"{what}: {row}"


def _task_json(report: TaskReport) -> dict[str, Any]:
    return {
        "task": report.task,
        "standing": report.standing,
        "mutants": report.mutants,
        "killed": report.killed,
        "harmless": report.harmless,
        "rejected": report.rejected,
        "equivalent": list(report.equivalents),
        "choices": list(report.choices),
        "notes": list(report.notes),
        "flaws": [_flaw_json(flaw) for flaw in report.flaws],
    }


def _flaw_json(flaw: Flaw) -> dict[str, Any]:
    plain: dict[str, Any] = {"code": flaw.code, "reason": flaw.reason}
    if flaw.judged is None:
        return plain
    judged = flaw.judged
    return {
        **plain,
        "kind": judged.variant.kind,
        "calls": [
            {
                "tool": call.call.tool,
                "arguments": dict(call.call.arguments),
                **({} if call.failure is None else {"failure": call.failure.message}),
            }
            for call in judged.calls
        ],
        "answer": judged.variant.answer,
        "verdict": asdict(judged.verdict),
    }
