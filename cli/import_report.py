"""What an import of an AWM folder found, scenario by scenario."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from rich.console import Console
from rich.text import Text

from .screen import counted, indented

FindingKind: TypeAlias = Literal[
    "cannot_be_imported",
    "task_left_out",
    "lost_row",
    "repaired_statement",
    "duplicate_route",
    "tool_left_out",
    "tool_never_succeeds",
    "passes_without_acting",
    "verifier_raises",
    "needs_a_judge",
    "renamed",
]

_LOSSES: frozenset[FindingKind] = frozenset({"task_left_out", "lost_row"})
_MOST_SHOWN = 5
"""Findings of a kind on a page for people."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an author should know."""

    kind: FindingKind
    subject: str
    """A task's id, a tool's name, a table, or a file and line."""
    detail: str


@dataclass(slots=True)
class ScenarioReport:
    """One scenario's import."""

    name: str
    title: str
    imported: bool = False
    tools: int = 0
    tasks: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def losses(self) -> int:
        """How many tasks and rows the world goes without; 1 if it is not there itself."""
        return sum(finding.kind in _LOSSES for finding in self.findings) if self.imported else 1

    def find(self, kind: FindingKind, subject: str, detail: str) -> None:
        self.findings.append(Finding(kind, subject, detail))


@dataclass(frozen=True, slots=True)
class ImportReport:
    """A whole import."""

    source: str
    out: str
    scenarios: tuple[ScenarioReport, ...]
    left_out: tuple[str, ...]
    """Scenarios and tasks that the folder itself left unfinished: where, and why."""

    @property
    def imported(self) -> int:
        """How many scenarios were imported."""
        return sum(scenario.imported for scenario in self.scenarios)

    @property
    def losses(self) -> int:
        """How many scenarios, tasks and rows the worlds go without."""
        return len(self.left_out) + sum(scenario.losses for scenario in self.scenarios)

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "out": self.out,
            "imported": self.imported,
            "losses": self.losses,
            "findings": dict(self._kinds()),
            "left_out": list(self.left_out),
            "scenarios": [asdict(scenario) for scenario in self.scenarios],
        }

    def print(self, console: Console) -> None:
        for scenario in self.scenarios:
            _print_scenario(console, scenario)
        for problem in self.left_out:
            console.print(Text(f"left out: {problem}"))
        console.print(f"{self.imported} of {counted(len(self.scenarios), 'scenario')} imported to {self.out}")

    def _kinds(self) -> Counter[str]:
        return Counter(finding.kind for scenario in self.scenarios for finding in scenario.findings)


def _print_scenario(console: Console, scenario: ScenarioReport) -> None:
    state = f"{counted(scenario.tools, 'tool')}, {counted(scenario.tasks, 'task')}"
    console.print(
        Text.assemble((scenario.name, "bold"), f"  {state if scenario.imported else 'not imported'}")
    )
    by_kind: dict[str, list[Finding]] = {}
    for finding in scenario.findings:
        by_kind.setdefault(finding.kind, []).append(finding)
    for kind, findings in by_kind.items():
        for finding in findings[:_MOST_SHOWN]:
            console.print(indented(f"{kind.replace('_', ' ')}: {finding.subject}: {finding.detail}"))
        if len(findings) > _MOST_SHOWN:
            console.print(indented(f"{kind.replace('_', ' ')}: {len(findings) - _MOST_SHOWN} more (--json)"))
