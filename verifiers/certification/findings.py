"""What certification found: of one variant, and of one task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from ...scenarios.certificate import Finding as Standing
from ...scenarios.certificate import TaskCertificate
from ..verdict import Verdict
from .player import Call
from .variant import Role, Variant

Finding: TypeAlias = Literal[
    "killed", "survived", "choice", "equivalent", "passed", "rejected", "unjudged", "void"
]
"""Of a mutant or policy: killed, or survived; or it changed nothing but what the author leaves to the agent
(choice), or it ended as the solution does after all (equivalent). Of a harmless variant: passed or rejected.
unjudged: the verifier failed. void: it could not be played as meant, and tells nothing."""

_MOST_REASONS = 20

FEWEST_MUTANTS = 12
FEWEST_HARMLESS = 4


@dataclass(frozen=True, slots=True)
class Judged:
    """A variant that was played."""

    variant: Variant
    calls: tuple[Call, ...]
    verdict: Verdict
    finding: Finding


@dataclass(frozen=True, slots=True)
class Flaw:
    """One reason for which a task is not certified."""

    code: str
    """`gold-fails`, `gold-rejected`, `gold-rejected-later`, `nothing-passes`, `policy-passes`, `survivor`,
    `false-reject`, `unjudged`, `world-broken`."""
    reason: str
    """A sentence or two for the author: what happened and what that says about the verifier."""
    judged: Judged | None = None
    """The episode, where there is one to look at."""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What certification found of one task."""

    task: str
    standing: Standing | Literal["skipped"]
    flaws: tuple[Flaw, ...] = ()
    counts: Counter[tuple[Role, Finding]] = field(default_factory=Counter[tuple[Role, Finding]])
    equivalents: tuple[str, ...] = ()
    """Mutants that ended as the solution does, and so are no mutants."""
    choices: tuple[str, ...] = ()
    """Mutants that passed in what the author leaves to the agent."""
    notes: tuple[str, ...] = ()
    """What the author should know though nothing failed."""

    def noted(self, notes: Sequence[str]) -> TaskReport:
        """The report with notes added."""
        return replace(self, notes=(*self.notes, *notes))

    def certificate(self, content: str) -> TaskCertificate:
        """What certificate.json says of the task. Raises ValueError where nothing was found out.

        Args:
            content: the hash of what was certified.
        """
        if self.standing == "skipped":
            raise ValueError(f"{self.task} was not certified")
        return TaskCertificate(
            content,
            self.standing,
            tuple(flaw.reason for flaw in self.flaws[:_MOST_REASONS]),
            mutants=self.mutants,
            killed=self.killed,
            equivalent=len(self.equivalents),
            choices=len(self.choices),
            harmless=self.harmless,
            rejected=self.rejected,
        )

    @property
    def mutants(self) -> int:
        """How many mutants told right from wrong."""
        return (
            self.counts["mutant", "killed"]
            + self.counts["mutant", "survived"]
            + self.counts["mutant", "unjudged"]
        )

    @property
    def killed(self) -> int:
        """How many of them the verifier saw through."""
        return self.counts["mutant", "killed"]

    @property
    def harmless(self) -> int:
        """How many episodes should have passed, the gold solution's own not counted."""
        return self.counts["harmless", "passed"] + self.rejected

    @property
    def rejected(self) -> int:
        """How many of them did not."""
        return sum(self.counts[role, "rejected"] for role in ("mutant", "harmless", "policy"))


def flaw_of(judged: Judged) -> Flaw | None:
    """What a played variant says against the verifier; None where nothing."""
    variant, verdict = judged.variant, judged.verdict
    match judged.finding:
        case "survived" if variant.kind == "nothing":
            return Flaw(
                "nothing-passes", "an agent that does nothing and says nothing completes the task", judged
            )
        case "survived" if variant.role == "policy":
            return Flaw(
                "policy-passes",
                f"{variant.kind}: completes the task, though all it does is: {variant.what}",
                judged,
            )
        case "survived":
            hint = _SURVIVOR_HINTS.get(variant.kind, "the verifier does not see the difference")
            return Flaw("survivor", f"{variant.kind}: {variant.what}: judged complete; {hint}", judged)
        case "rejected":
            hint = _REJECT_HINTS.get(variant.kind, "the verifier asks for more than the end state")
            return Flaw(
                "false-reject",
                f"{variant.kind}: {variant.what}: ends as the solution does, and is judged incomplete "
                f"({verdict.reason}); {hint}",
                judged,
            )
        case "unjudged":
            return Flaw(
                "unjudged", f"{variant.kind}: {variant.what}: cannot be judged: {verdict.reason}", judged
            )
        case _:
            return None


_SURVIVOR_HINTS = {
    "dropped": "the verifier does not look for what this call changes",
    "truncated": "the verifier does not look for what the missing calls change",
    "other row": "the verifier does not look at which row it is",
    "other argument": "the verifier does not look at this value",
    "extra write": "the verifier does not see that something else changed",
    "doubled": "the verifier does not see that it was done twice",
    "swapped": "the verifier does not see that another state was reached",
    "undone": "the verifier does not look at how it ended",
    "wrong answer": "the verifier does not read the answer closely",
}
_REJECT_HINTS = {
    "later": "the verifier depends on when something was done",
    "other numbers": "the verifier depends on the numbers of inserted rows",
    "reordered": "the verifier depends on the order of the work",
    "answer in other words": "the verifier depends on how the answer is written",
}
