"""The answer of a verifier, and the row-level receipt that explains it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Outcome: TypeAlias = Literal["complete", "incomplete", "verifier_error", "world_error"]

Row: TypeAlias = dict[str, Any]
"""Column name to a JSON value. A blob is `{"hex": "..."}`."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row that differs between the first and the final database."""

    table: str
    kind: Literal["insert", "update", "delete"]
    key: Row
    """The primary key of the row (the rowid where a table has none)."""
    before: Row | None = None
    """The row as it was; for an update, only the columns that changed. None for an insert."""
    after: Row | None = None
    """The row as it is; for an update, only the columns that changed. None for a delete."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Every change of an episode, sorted by what the task asked for."""

    made: tuple[Change, ...] = ()
    """Required and made."""
    missing: tuple[Change, ...] = ()
    """Required and not made."""
    forbidden: tuple[Change, ...] = ()
    """Made where the task says that nothing may change."""
    collateral: tuple[Change, ...] = ()
    """Made, though the task did not ask for them."""
    unsorted: tuple[Change, ...] = ()
    """Made, in a task whose verifier (author's code) does not say what it required."""
    omitted: int = 0
    """Changes left out above to keep the receipt short."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """What a language model judged, beside what the task's own code thinks."""

    outcome: Literal["complete", "incomplete"]
    reason: str
    confidence: float
    """How sure the judge says it is, from 0 to 1."""
    model: str
    prompt_version: int
    code_result: str | None
    """The `result` in the evidence of the task's own code; None where it has none."""
    disagrees: bool
    """Whether the code's result is another one than the judge's."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier found, once, after done."""

    outcome: Outcome
    reason: str
    """One sentence for a person: why this outcome."""
    receipt: Receipt = field(default_factory=Receipt)
    answer_matched: bool | None = None
    """Whether the answer was right; None where the task asks for none."""
    judgment: Judgment | None = None
    """Of a judged task: what the judge said. It decides the outcome."""

    @property
    def valid(self) -> bool:
        """Whether the episode can be scored: False where the world or the verifier broke."""
        return self.outcome in ("complete", "incomplete")
