"""What a verifier process is asked to do, and how it answers: JSON in, JSON out, files only read."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..scenarios.task import Answer
from .answer import matches
from .certification.contents import read_contents
from .certification.end_state import end_state, unsteady_columns
from .certification.renumbering import plan_renumbering
from .changes import Difference, difference
from .claim import Claim
from .database import DamagedDatabase, FinalDatabaseError, open_pair
from .expectation import UnfitSolution, learn
from .sqlcheck import AssertionUnreadable, Territory, first_failure
from .state import Match, Rules, Window, asks_for_nothing, match
from .verdict import Change, Receipt, Verdict
from .wire import Job, decode_expectation, decode_runs, encode_expectation, encode_verdict, receipt
from .world_time import world_time

_ASKED_FOR_NOTHING = "an agent that does nothing would solve the task: it asks for no change and no answer"


def run_job(job: Job) -> dict[str, Any]:
    """Do one job: a verdict, or an expectation. A failure of ours is `{"error": text}`.

    A world that cannot be read is a verdict, unless it is the gold solution's own.
    """
    try:
        if job["kind"] in _EXAMINATIONS:
            return _EXAMINATIONS[job["kind"]](job)
        return encode_verdict(_judge(job))
    except (DamagedDatabase, UnfitSolution, AssertionUnreadable) as error:
        return {"error": str(error)}


def _judge(job: Job) -> Verdict:
    try:
        return _KINDS[job["kind"]](job)
    except FinalDatabaseError as error:
        return Verdict("world_error", str(error))
    except MemoryError:
        return Verdict("world_error", "the final database holds more than can be compared")


def _learn(job: Job) -> dict[str, Any]:
    try:
        first, second = (_difference(job["initial"], final) for final in job["finals"])
    except DamagedDatabase as error:
        raise UnfitSolution(f"after the gold solution {error}") from error
    return encode_expectation(learn(first, second, decode_runs(job["runs"])))


def _gather(job: Job) -> dict[str, Any]:
    """What a judge decides on; or, where the final database cannot be read, the verdict that says so."""
    try:
        actual = _difference(job["initial"], job["final"])
    except FinalDatabaseError as error:
        return encode_verdict(Verdict("world_error", str(error)))
    found = receipt(unsorted=actual.changes, unread=actual.unread.total())
    gathered = {"receipt": dataclasses.asdict(found), "answered": _answered(job)}
    if "claim" not in job:
        return {**gathered, "evidence": None, "result": None}
    claim: Claim = job["claim"]()  # asked for last: the author's function runs meanwhile
    if claim.result is None:
        return {"error": claim.failure or "the verifier found nothing"}
    return {**gathered, **json.loads(claim.result)}


def _judge_state(job: Job) -> Verdict:
    actual = _difference(job["initial"], job["final"])
    rules = _rules_of(job, actual)
    expectations = [decode_expectation(data) for data in job["expectations"]]
    if _answer_of(job) is None and any(asks_for_nothing(one, rules) for one in expectations):
        return Verdict("verifier_error", _ASKED_FOR_NOTHING)
    window = Window(job["clock_offset_s"], job["clock_offset_s"] + job["calls"])
    best = min((match(one, actual, rules, window) for one in expectations), key=lambda found: found.distance)
    return _verdict_of_match(best, actual, _answered(job))


def _verdict_of_match(best: Match, actual: Difference, answered: bool | None) -> Verdict:
    unread = actual.unread.total()
    sorted_changes = receipt(made=best.made, missing=best.missing, collateral=best.collateral, unread=unread)
    if best.missing or best.collateral or unread:
        reason = _explain(best, actual.unread) + (
            "; the answer is missing or wrong" if answered is False else ""
        )
        return Verdict("incomplete", reason, sorted_changes, answered)
    return _by_answer("every required change was made, and no other", sorted_changes, answered)


def _judge_sql(job: Job) -> Verdict:
    actual = _difference(job["initial"], job["final"])
    territory = Territory.of(job["unchanged"], job["may_change"])
    forbidden = [change for change in actual.changes if territory.forbids(change.table)]
    rest = [change for change in actual.changes if not territory.forbids(change.table)]
    sorted_changes = receipt(forbidden=forbidden, unsorted=rest, unread=actual.unread.total())
    number = len(forbidden) + sum(actual.unread[table] for table in actual.unread if territory.forbids(table))
    if number:
        tables = {change.table for change in actual.changes} | actual.unread.keys()
        names = ", ".join(sorted(table for table in tables if territory.forbids(table)))
        reason = f"{_count(number, 'change')} where nothing may change ({names})"
        return Verdict("incomplete", reason, sorted_changes, _answered(job))
    with world_time(job["clock"]):
        failure = first_failure(job["initial"], job["final"], job["assertions"])
    if failure is not None:
        return Verdict("incomplete", f"an assertion does not hold: {failure}", sorted_changes, _answered(job))
    return _by_answer("every assertion holds, and nothing else changed", sorted_changes, _answered(job))


def _judge_claim(job: Job) -> Verdict:
    actual = _difference(job["initial"], job["final"])
    sorted_changes = receipt(unsorted=actual.changes, unread=actual.unread.total())
    claim: Claim = job["claim"]()  # asked for last: the author's function runs meanwhile
    if claim.result is None:
        return Verdict("verifier_error", claim.failure or "the verifier claimed nothing", sorted_changes)
    if claim.result != "complete":
        reason = f"the task's verifier says {claim.result[:80]!r}"
        return Verdict("incomplete", reason, sorted_changes, _answered(job))
    return _by_answer("the task's verifier says 'complete'", sorted_changes, _answered(job))


_EXAMINATIONS: dict[str, Callable[[Job], dict[str, Any]]] = {
    "expectation": _learn,
    "evidence": _gather,
    "contents": lambda job: read_contents(job["initial"]),
    "end state": end_state,
    "unsteady columns": unsteady_columns,
    "renumbering": plan_renumbering,
}
"""Jobs that find out something about databases, and judge nothing."""

_KINDS = {"state": _judge_state, "sql": _judge_sql, "python": _judge_claim}


def _difference(first: str, final: str) -> Difference:
    with open_pair(first, final) as connection:
        return difference(connection)


def _rules_of(job: Job, actual: Difference) -> Rules:
    """What the task leaves out of account, under the names that tables and columns were defined with."""
    ignore = {table.lower(): {column.lower() for column in names} for table, names in job["ignore"].items()}
    natural = {table.lower() for table in job["natural_keys"]}
    tables = actual.tables
    return Rules(
        tables,
        {
            name: frozenset(column for column in table.columns if column.lower() in ignore[name.lower()])
            for name, table in tables.items()
            if name.lower() in ignore
        },
        frozenset(name for name in tables if name.lower() in natural),
    )


def _by_answer(reason: str, sorted_changes: Receipt, answered: bool | None) -> Verdict:
    if answered is False:
        return Verdict("incomplete", "the answer is missing or wrong", sorted_changes, answered)
    return Verdict(
        "complete", reason + (", and the answer is right" if answered else ""), sorted_changes, answered
    )


def _answer_of(job: Mapping[str, Any]) -> Answer | None:
    data = job["expected_answer"]
    return None if data is None else Answer(**data)


def _answered(job: Mapping[str, Any]) -> bool | None:
    expected = _answer_of(job)
    return None if expected is None else matches(expected, job["answer"])


def _explain(best: Match, unread: Counter[str]) -> str:
    parts: list[str] = []
    if best.missing:
        verb = "is" if len(best.missing) == 1 else "are"
        tables = _tables(best.missing)
        parts.append(f"{_count(len(best.missing), 'required change')} {verb} missing ({tables})")
    if best.collateral:
        verb = "was" if len(best.collateral) == 1 else "were"
        tables = _tables(best.collateral)
        parts.append(f"{_count(len(best.collateral), 'change')} {verb} not asked for ({tables})")
    if unread:
        parts.append(f"more rows changed than can be compared ({', '.join(sorted(unread))})")
    return " and ".join(parts)


def _tables(changes: Iterable[Change]) -> str:
    return ", ".join(sorted({change.table for change in changes}))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
