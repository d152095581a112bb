"""What can be wrong with what an author wrote, and how it is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong in a pack: where, and why."""

    file: str
    line: int | None
    field: str | None
    reason: str
    unreadable: bool = dataclasses.field(default=False, compare=False)
    """Whether a whole file, line or folder could not be read, for what it is, because of it."""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.field}: {self.reason}" if self.field else f"{where}: {self.reason}"


class PackError(Exception):
    """A pack could not be loaded. Carries every problem found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ScenarioError(Exception):
    """A world cannot start: its schema, its seed or its app failed. Names each failed statement."""

    def __init__(self, scenario: str, problems: Iterable[Problem]) -> None:
        self.scenario = scenario
        self.problems = tuple(problems)
        listed = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"world '{scenario}' cannot start:\n{listed}")


class UnknownScenario(LookupError):
    """No loaded pack has a scenario of this name."""


class UnknownTask(LookupError):
    """No loaded pack has this task."""
