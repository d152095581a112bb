"""A finding: one thing that is wrong with a pack, where, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from ..errors import Problem
from ..manual import AUTHORING

Severity: TypeAlias = Literal["error", "warning"]
"""error: a world or a task does not hold. warning: it does, and yet its author would want to know."""


class Kind(NamedTuple):
    """What all findings of one kind have in common."""

    severity: Severity
    remedy: str


KINDS: Mapping[str, Kind] = {
    "unreadable": Kind("error", f"Mend the file so that it can be read; {AUTHORING} shows each one."),
    "invalid": Kind("error", f"Write the field as {AUTHORING} describes it."),
    "name-taken": Kind("error", "Rename one of the two worlds: they cannot be served together."),
    "left-out": Kind("error", "Complete the scenario's lines, or remove them: it is not served as it is."),
    "repaired": Kind(
        "warning", "Correct the statement as the repair shows, so that other tools read it, too."
    ),
    "world-does-not-start": Kind(
        "error", "Correct the statement or the line named; no task can be played before."
    ),
    "row-lost": Kind("error", "Correct the seed row, or remove it."),
    "tool-lost": Kind("error", "Give each route an operation_id of its own that is not reserved."),
    "route-shadowed": Kind("warning", "Give the route another path or method, or move it before the other."),
    "tool-never-succeeds": Kind(
        "error", "Correct the tool; if it is right, let a gold solution call it with arguments that work."
    ),
    "keeps-memory": Kind(
        "warning", "Keep it in the database: what a process remembers is lost when an episode starts anew."
    ),
    "hidden-state": Kind(
        "error", "Keep everything that answers depend on in the database, nothing in modules or objects."
    ),
    "nondeterministic": Kind(
        "error",
        "Draw from `random` or `uuid` and read `datetime.now`, which follow seed and clock; "
        "order every query.",
    ),
    "unknown-table": Kind("error", "Name a table of schema.sql."),
    "unknown-column": Kind("error", "Name a column of that table."),
    "needless-natural-key": Kind("warning", "Leave the table out: its keys count anyway."),
    "unknown-tool": Kind("error", "Call a tool of the world; `subworlds show` lists them."),
    "wrong-arguments": Kind(
        "error", "Give the arguments that the tool's schema asks for; see `subworlds show`."
    ),
    "gold-fails": Kind(
        "error",
        "Correct the call, or the tool: every call of a solution must succeed on the seeded database.",
    ),
    "gold-incomplete": Kind("error", "Correct the solution, the answer or the check until they agree."),
    "passes-idle": Kind(
        "error", "Have the check ask for something that is not so at the start, or ask for an answer."
    ),
    "verifier-fails": Kind(
        "error", "Correct the verifier: it must answer for every database a session leaves."
    ),
    "prompt-has-sql": Kind("error", "Ask as a person would: nobody who knows the query needs an agent."),
    "prompt-has-answer": Kind("warning", "Leave the answer out of the prompt: it can be copied from there."),
    "prompt-names-tool": Kind("warning", "Say what is wanted in a person's words, not which tool does it."),
    "prompt-ambiguous": Kind("error", "Say in each prompt what makes it ask for something else."),
    "prompt-repeated": Kind("warning", "Remove one of the two, or ask for something else in it."),
}
"""Every kind of finding."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a pack."""

    file: str
    line: int | None = None
    field: str | None = None

    def at(self, *steps: str | int) -> Spot:
        """A field of it: `at("solution", 2, "tool")` is `solution[2].tool`."""
        field = self.field or ""
        for step in steps:
            field += f"[{step}]" if isinstance(step, int) else f".{step}" if field else step
        return replace(self, field=field)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    severity: Severity
    kind: str
    """One of KINDS."""
    file: str
    line: int | None
    field: str | None
    reason: str
    remedy: str

    @property
    def problem(self) -> Problem:
        """Where and why, as it is written in one line."""
        return Problem(self.file, self.line, self.field, self.reason)


@dataclass(slots=True)
class Findings:
    """Collects findings, each once."""

    found: dict[Finding, None] = field(default_factory=dict[Finding, None])

    def add(self, kind: str, spot: Spot, reason: str, remedy: str | None = None) -> None:
        """Note something.

        Args:
            remedy: what to do, where more can be said than for all of the kind.
        """
        severity, usual = KINDS[kind]
        self.found[Finding(severity, kind, spot.file, spot.line, spot.field, reason, remedy or usual)] = None

    def sorted(self) -> list[Finding]:
        """By file and line."""
        return sorted(
            self.found,
            key=lambda one: (one.file, one.line or 0, one.field or "", one.severity, one.kind, one.reason),
        )

    @property
    def unreadable(self) -> bool:
        """Whether part of the pack could not be read."""
        return any(finding.kind == "unreadable" for finding in self.found)
