"""A pack while it is being read."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import Problem
from .task import Scenario, Task


@dataclass(slots=True)
class Draft:
    """What was found so far, and everything that is wrong with it. Of use as a pack only without problems."""

    scenarios: dict[str, Scenario] = field(default_factory=dict[str, Scenario])
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    problems: list[Problem] = field(default_factory=list[Problem])
    """Each of them stops the whole pack."""
