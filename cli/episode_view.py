"""An episode on the screen: the calls, the receipt, the reward."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from ..training.agents import EpisodeRecord, Step
from ..verifiers.verdict import Change, Receipt

_LONGEST_VALUE = 48
_LONGEST_RESULT = 200
_OUTCOME_STYLES = {"complete": "bold green", "incomplete": "bold red"}
_PARTS = (
    ("made", "✓ asked for and made", "green"),
    ("missing", "✗ asked for and not made", "red"),
    ("forbidden", "✗ forbidden", "red"),
    ("collateral", "✗ not asked for", "red"),
    ("unsorted", "• changed", "yellow"),
)
"""The parts of a receipt: field, label, style."""


def step_line(step: Step) -> Text:
    """A call and what it answered."""
    arguments = ", ".join(f"{name}={_short(value)}" for name, value in step.arguments.items())
    call = Text.assemble((step.tool, "cyan"), f"({arguments}) → ")
    if step.error is None:
        return call.append(_short(step.result, _LONGEST_RESULT))
    return call.append(str(step.error), "red")


def end_line(record: EpisodeRecord) -> Text:
    """The hidden done, with the reward and the reason."""
    answer = "" if record.answer is None else f'answer "{record.answer}", '
    reward = "none" if record.reward is None else f"{record.reward:.2f}"
    outcome = record.outcome or "no verdict"
    style = _OUTCOME_STYLES.get(outcome, "bold yellow")
    return Text.assemble(f"done: {answer}reward ", (f"{reward} {outcome}", style), f" — {record.reason}")


def components_line(record: EpisodeRecord) -> Text:
    """What the reward is made of."""
    components = record.end.components or {}
    return Text(", ".join(f"{name} {score:.2f}" for name, score in components.items()), style="dim")


def receipt_lines(record: EpisodeRecord) -> Iterator[Text]:
    """Every row that changed, or should have, sorted by what the task asked for."""
    if record.end.verdict is not None:
        yield from receipt_lines_of(record.end.verdict.receipt)


def receipt_lines_of(receipt: Receipt) -> Iterator[Text]:
    """The same, of a receipt alone."""
    for field, label, style in _PARTS:
        for change in getattr(receipt, field):
            yield Text.assemble((label, style), f": {_change(change)}")
    if receipt.omitted:
        yield Text(f"… and {receipt.omitted} more changes")


def _change(change: Change) -> str:
    where = f"{change.table} ({_pairs(change.key)})"
    if change.kind == "insert":
        return f"new row in {where}: {_pairs(_without(change.after, change.key))}"
    if change.kind == "delete":
        return f"row gone from {where}"
    before, after = change.before or {}, change.after or {}
    changes = (f"{name} {_short(before.get(name))} → {_short(value)}" for name, value in after.items())
    return f"{where}: {', '.join(changes)}"


def _without(row: Mapping[str, Any] | None, key: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (row or {}).items() if name not in key}


def _pairs(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in row.items())


def _short(value: Any, longest: int = _LONGEST_VALUE) -> str:
    """A JSON value on one line, its end left out where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= longest else text[: longest - 1] + "…"
