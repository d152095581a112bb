"""Gold solutions for a trainer: read from packs by `subworlds solutions`, never from a server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .tool_calls import ToolRequest

_COMMAND = "from subworlds.cli.main import main; main()"


class NoSolutions(RuntimeError):
    """There are none to be had; says why."""


@dataclass(frozen=True, slots=True)
class Solution:
    """How one task is solved."""

    task: str
    scenario: str
    prompt: str
    difficulty: str | None
    certified: bool
    """Whether certification found that the task's verifier tells right from wrong."""
    calls: tuple[ToolRequest, ...]
    answer: str | None
    """What is said at the end, where the task asks for something."""


def read_solutions(packs: Sequence[Path], split: str = "train") -> list[Solution]:
    """The solved tasks of a split, without those that certification found to fail.

    Args:
        packs: the built-in ones if there are none.

    Raises:
        NoSolutions: a pack cannot be read, the split has none, or it is the test split.
    """
    command = [sys.executable, "-P", "-c", _COMMAND, "solutions", "--split", split]
    for pack in packs:
        command += ["--pack", str(pack)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise NoSolutions(ran.stderr.strip())
    return [_read(line) for line in ran.stdout.splitlines()]


def _read(line: str) -> Solution:
    fields = json.loads(line)
    return Solution(
        fields["task"],
        fields["scenario"],
        fields["prompt"],
        fields["difficulty"],
        fields["standing"] == "certified",
        tuple(ToolRequest(call["tool"], call["arguments"]) for call in fields["calls"]),
        fields["answer"],
    )
