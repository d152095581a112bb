"""Jobs for the verifier process, and its verdicts, as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

from ..scenarios.task import Answer, JudgeCheck, PythonCheck, SqlCheck, StateCheck
from .expectation import Expectation, Runs
from .verdict import Change, Outcome, Receipt, Row, Verdict
from .volatile import Hole, Pattern

Job: TypeAlias = dict[str, Any]

MOST_SHOWN = 60
"""Changes a receipt holds."""

_LONGEST_TEXT = 200


def state_job(
    check: StateCheck,
    expectations: Sequence[Mapping[str, Any]],
    expected_answer: Answer | None,
    *,
    initial: Path,
    final: Path,
    given: str | None,
    calls: int = 0,
    clock_offset_s: float = 0.0,
) -> Job:
    """Judge by end state.

    Args:
        expectations: what `expectation_job` answered for each solution.
        calls: how many calls the episode made; each moved the world's clock by a second.
        clock_offset_s: how much later than the solutions' first run the episode started.
    """
    return {
        "kind": "state",
        "expectations": list(expectations),
        "ignore": {table: list(columns) for table, columns in check.ignore.items()},
        "natural_keys": sorted(check.natural_keys),
        "calls": calls,
        "clock_offset_s": clock_offset_s,
        **_common(initial, final, expected_answer, given),
    }


def sql_job(
    check: SqlCheck,
    expected_answer: Answer | None,
    *,
    initial: Path,
    final: Path,
    given: str | None,
    clock: datetime,
) -> Job:
    """Judge by assertions, asked at the world's time `clock`."""
    return {
        "kind": "sql",
        "assertions": [dataclasses.asdict(assertion) for assertion in check.assertions],
        "unchanged": None if check.unchanged is None else sorted(check.unchanged),
        "may_change": sorted(check.may_change),
        "clock": clock.isoformat(),
        **_common(initial, final, expected_answer, given),
    }


def python_job(
    check: PythonCheck,
    expected_answer: Answer | None,
    *,
    initial: Path,
    final: Path,
    given: str | None,
    clock: datetime,
) -> Job:
    """Judge by the author's function, called at the world's time `clock`."""
    return {
        "kind": "python",
        "code": check.code,
        "function": check.function,
        "clock": clock.isoformat(),
        **_common(initial, final, expected_answer, given),
    }


def evidence_job(
    check: JudgeCheck,
    expected_answer: Answer | None,
    *,
    initial: Path,
    final: Path,
    given: str | None,
    clock: datetime,
) -> Job:
    """Gather what a judge decides on; the author's function is called at the world's time `clock`."""
    return {
        "kind": "evidence",
        "code": check.code,
        "function": check.function,
        "clock": clock.isoformat(),
        **_common(initial, final, expected_answer, given),
    }


def expectation_job(*, initial: Path, finals: Sequence[Path], runs: Runs) -> Job:
    """Learn what a solution changes from the two databases that two runs of it left."""
    return {
        "kind": "expectation",
        "initial": str(initial),
        "finals": [str(final) for final in finals],
        "runs": {**dataclasses.asdict(runs), "started": runs.started.isoformat()},
    }


def decode_runs(data: Mapping[str, Any]) -> Runs:
    """How the two runs were made, as `expectation_job` wrote it."""
    return Runs(datetime.fromisoformat(data["started"]), data["shift_s"], data["calls"])


def receipt(
    *,
    made: Sequence[Change] = (),
    missing: Sequence[Change] = (),
    forbidden: Sequence[Change] = (),
    collateral: Sequence[Change] = (),
    unsorted: Sequence[Change] = (),
    unread: int = 0,
) -> Receipt:
    """A receipt short enough to send: what is missing or wrong comes before what is right."""
    room = MOST_SHOWN
    kept: dict[str, tuple[Change, ...]] = {}
    sections = {
        "missing": missing,
        "forbidden": forbidden,
        "collateral": collateral,
        "made": made,
        "unsorted": unsorted,
    }
    for name, changes in sections.items():
        kept[name] = tuple(_shorten(change) for change in changes[:room])
        room -= len(kept[name])
    omitted = sum(len(changes) for changes in sections.values()) - (MOST_SHOWN - room) + unread
    return Receipt(**kept, omitted=omitted)


def encode_verdict(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON."""
    return dataclasses.asdict(verdict)


def decode_verdict(data: Mapping[str, Any]) -> Verdict:
    """The verdict that `encode_verdict` wrote.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: `data` is no such thing.
    """
    if data["outcome"] not in get_args(Outcome):
        raise ValueError(f"there is no outcome {data['outcome']!r}")
    whole: dict[str, Any] = {**data, "receipt": decode_receipt(data["receipt"])}
    return Verdict(**whole)


def decode_receipt(data: Mapping[str, Any]) -> Receipt:
    """The receipt in what a verifier process answered. Raises as decode_verdict does."""
    fields = dict(data)
    sections = {name: _decode_changes(value) for name, value in fields.items() if name != "omitted"}
    return Receipt(**sections, omitted=fields["omitted"])


def encode_expectation(expectation: Expectation) -> dict[str, Any]:
    """An expectation as JSON."""
    return {
        "changes": [dataclasses.asdict(change) for change in expectation.changes],
        "volatile": {table: sorted(columns) for table, columns in expectation.volatile.items()},
        "erratic": {table: sorted(columns) for table, columns in expectation.erratic.items()},
        "timed": {
            table: {
                column: [dataclasses.asdict(pattern) for pattern in patterns]
                for column, patterns in columns.items()
            }
            for table, columns in expectation.timed.items()
        },
        "calls": expectation.calls,
    }


def decode_expectation(data: Mapping[str, Any]) -> Expectation:
    """The expectation that `encode_expectation` wrote."""
    volatile, erratic = (
        {table: frozenset(columns) for table, columns in data[name].items()}
        for name in ("volatile", "erratic")
    )
    timed = {
        table: {column: tuple(map(_decode_pattern, patterns)) for column, patterns in columns.items()}
        for table, columns in data["timed"].items()
    }
    return Expectation(_decode_changes(data["changes"]), volatile, erratic, timed, data["calls"])


def _decode_pattern(data: Mapping[str, Any]) -> Pattern:
    return Pattern(tuple(data["texts"]), tuple(Hole(**hole) for hole in data["holes"]), data["is_now"])


def _common(initial: Path, final: Path, expected: Answer | None, given: str | None) -> Job:
    return {
        "initial": str(initial),
        "final": str(final),
        "expected_answer": None if expected is None else dataclasses.asdict(expected),
        "answer": given,
    }


def _decode_changes(data: Iterable[Mapping[str, Any]]) -> tuple[Change, ...]:
    return tuple(Change(**change) for change in data)


def _shorten(change: Change) -> Change:
    """The change with its long values cut, and of an update only the columns that changed."""
    before, after = change.before, change.after
    if before is not None and after is not None:
        altered = [column for column in after if before[column] != after[column]]
        before, after = ({column: row[column] for column in altered} for row in (before, after))
    return dataclasses.replace(
        change,
        key=_short_row(change.key),
        before=None if before is None else _short_row(before),
        after=None if after is None else _short_row(after),
    )


def _short_row(row: Row) -> Row:
    return {column: _short(value) for column, value in row.items()}


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "…"
    if isinstance(value, dict):
        return {name: _short(part) for name, part in cast("dict[str, Any]", value).items()}
    return value
