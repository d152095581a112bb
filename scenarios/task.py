"""What travels: scenarios, tasks and their checks, as frozen data. Nothing here acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

JSON: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list or dict of the same."""

Difficulty: TypeAlias = Literal["easy", "medium", "hard"]

DEFAULT_CLOCK = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)
"""When a world's clock starts if its scenario does not say."""

TICK_S = 1.0
"""How far a world's clock moves with every tool call, in seconds."""

RESERVED_TOOL_NAMES = frozenset({"done", "verify", "reset", "step", "state", "close"})
"""Names of the control plane. No world may have a tool called so; calling one is calling an unknown tool."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement and where it was written, so that a failure can be pointed at."""

    sql: str
    file: str
    line: int
    table: str | None = None
    """The table an AWM statement was listed under; native SQL files leave it out."""
    repaired: str | None = None
    """What was mended in `sql` and why, or None where it stands as written."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One world as its author wrote it: schema, seed rows and the app whose routes are its tools."""

    name: str
    title: str
    description: str
    schema: tuple[Statement, ...]
    seed: tuple[Statement, ...]
    app_source: str
    app_file: str
    clock: datetime = DEFAULT_CLOCK
    strict_references: bool = True
    """Whether a seed row that points at a missing row stops the world (native packs) or not (AWM)."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a world's tool."""

    tool: str
    arguments: Mapping[str, JSON] = field(default_factory=dict[str, JSON])


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent must say at the end. `kind` decides how its text is compared (verifiers/answer.py)."""

    kind: Literal["number", "text", "list"]
    value: JSON
    """A number, a text, or a list of texts and numbers."""
    tolerance: float = 0.0
    """number only: the largest accepted absolute difference."""
    ordered: bool = False
    """list only: whether the order counts."""


@dataclass(frozen=True, slots=True)
class StateCheck:
    """The final database must equal, row for row, what the gold solution (or an alternative) reaches."""

    ignore: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Table to columns whose values do not count."""
    alternatives: tuple[tuple[ToolCall, ...], ...] = ()
    """Other solutions whose end state is as good."""
    natural_keys: frozenset[str] = frozenset()
    """Tables whose integer primary key is chosen by the agent and so must match, too."""


@dataclass(frozen=True, slots=True)
class SqlAssertion:
    """One SELECT over the final database (the first one is attached as `initial`) and what it must give."""

    sql: str
    equals: tuple[tuple[JSON, ...], ...]
    """The expected rows, in order."""


@dataclass(frozen=True, slots=True)
class SqlCheck:
    """Assertions that must all hold, plus the tables in which nothing may have changed."""

    assertions: tuple[SqlAssertion, ...]
    unchanged: frozenset[str] | None = None
    """Tables that must stay as they were, or None: every table that is not in `may_change`."""
    may_change: frozenset[str] = frozenset()
    choices: frozenset[str] = frozenset()
    """Arguments of the gold calls that are the agent's to choose, as `tool.argument`: what certification does
    not hold against the verifier."""


@dataclass(frozen=True, slots=True)
class PythonCheck:
    """The author's function: `(initial_db_path, final_db_path, final_answer) -> {"result": "complete"}`."""

    code: str
    function: str
    choices: frozenset[str] = frozenset()
    """As in SqlCheck."""


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """A language model judges, on evidence: what the author's function finds, and what changed."""

    code: str | None = None
    """The author's code, or None: the judge sees what changed and no more."""
    function: str = ""
    """`(initial_db_path, final_db_path, final_answer) -> dict`: the evidence. Its `result`, if it has one,
    is what the code itself thinks."""
    criteria: str = ""
    """What makes the task complete, in the author's words, if the prompt does not say it all."""


Check: TypeAlias = StateCheck | SqlCheck | PythonCheck | JudgeCheck


CheckKind: TypeAlias = Literal["state", "sql", "python", "judge"]


@dataclass(frozen=True, slots=True)
class ScenarioEntry:
    """What a catalog knows of a scenario without reading it whole."""

    name: str
    title: str
    description: str
    tools: int | None = None
    """How many tools its app seems to have; None where only its start can tell."""


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """What a catalog knows of a task without reading it whole; the fields are those of Task."""

    id: str
    scenario: str
    index: int
    prompt: str
    kind: CheckKind
    """What kind of check it has."""
    difficulty: Difficulty | None = None
    split: str = "train"
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One instruction in a scenario, with what it takes to check and to solve it."""

    id: str
    """`scenario/slug`, unique in all loaded packs."""
    scenario: str
    index: int
    """Position among the tasks of its scenario, from 0."""
    prompt: str
    check: Check
    answer: Answer | None = None
    solution: tuple[ToolCall, ...] | None = None
    """The gold solution; None where the pack has none (AWM)."""
    difficulty: Difficulty | None = None
    split: str = "train"
    tags: tuple[str, ...] = ()
    template: str | None = None
    """The template of the world's generator that it was drawn from; None where it was written by hand."""

    @property
    def entry(self) -> TaskEntry:
        """What a catalog lists of it."""
        return TaskEntry(
            self.id,
            self.scenario,
            self.index,
            self.prompt,
            _KINDS[type(self.check)],
            self.difficulty,
            self.split,
            self.tags,
        )


_KINDS: Mapping[type[Check], CheckKind] = {
    StateCheck: "state",
    SqlCheck: "sql",
    PythonCheck: "python",
    JudgeCheck: "judge",
}
