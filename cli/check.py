"""`subworlds check`: what is wrong with packs, each finding with its place, its reason and a remedy."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ..sandbox import SandboxError
from ..scenarios.awm import AwmReading
from ..scenarios.checking.finding import Finding, Findings
from ..scenarios.checking.worlds import CheckedWorld, read_worlds
from ..scenarios.manager import ServerFull
from ..verifiers.checking.checker import opened_checker
from .failure import BadInput, CommandFailed
from .screen import counted, screen
from .worlds import Worlds

_COLOURS = {"error": "bold red", "warning": "bold yellow"}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found."""

    findings: tuple[Finding, ...]
    worlds: int
    tasks: int
    episodes: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "worlds": self.worlds,
            "tasks": self.tasks,
            "episodes": self.episodes,
            "seconds": round(self.seconds, 2),
        }

    def print(self, console: Console) -> None:
        """For people: each finding, then one line on all of it."""
        for finding in self.findings:
            head = Text.assemble((finding.severity, _COLOURS[finding.severity]), f"  {finding.problem}")
            console.print(head, soft_wrap=True)
            console.print(f"       {finding.remedy}  [{finding.kind}]", soft_wrap=True)
        done = f"{counted(self.worlds, 'world')}, {counted(self.tasks, 'task')}"
        console.print(
            f"checked {done}, {counted(self.episodes, 'episode')} in {self.seconds:.1f} s: {self.told}"
        )

    @property
    def told(self) -> str:
        """How many findings there are, in words."""
        errors = sum(finding.severity == "error" for finding in self.findings)
        counts = ((errors, "error"), (len(self.findings) - errors, "warning"))
        return " and ".join(counted(count, thing) for count, thing in counts if count) or "nothing found"


def check(worlds: Worlds, paths: Sequence[Path], *, as_json: bool) -> None:
    """Check packs and show what was found.

    Raises:
        BadInput: part of a pack could not be read; the rest was checked.
        CommandFailed: something was found; or worlds cannot be played here.
    """
    worlds.require_sandbox()
    findings = Findings()
    try:
        known = read_worlds(paths, AwmReading(worlds.cache, worlds.prefer_judge), findings)
        episodes, seconds = asyncio.run(_play(worlds, known, findings))
    except* (SandboxError, ServerFull) as group:
        raise CommandFailed(str(group.exceptions[0])) from group
    report = CheckReport(
        tuple(findings.sorted()), len(known), sum(world.tasks for world in known), episodes, seconds
    )
    if as_json:
        print(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        report.print(screen())
    if findings.unreadable:
        raise BadInput(f"{report.told}; some of it could not be read")
    if report.findings:
        raise CommandFailed(f"{report.told}")


async def _play(worlds: Worlds, known: Sequence[CheckedWorld], findings: Findings) -> tuple[int, float]:
    """How many episodes were played, in how many seconds."""
    if not known:
        return 0, 0.0
    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = screen(stderr=True)
    started = time.monotonic()
    async with opened_checker(worlds.manager_settings(), findings) as checker:
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            playing = bar.add_task("checking", total=sum(world.tasks for world in known))
            await checker.check(known, lambda more: bar.advance(playing, more))
        return checker.episodes, time.monotonic() - started
