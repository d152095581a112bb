"""What a verifier process is asked to do, and how it answers: JSON in, JSON out, files only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..scenarios.task import Answer
from .answer import matches
from .changes import Difference, difference
from .claim import Claim
from .database import FinalDatabaseError, FirstDatabaseError, open_pair
from .expectation import Match, NotRepeatable, learn, match
from .sqlcheck import AssertionUnreadable, first_failure, sort_changes
from .verdict import Receipt, Verdict
from .wire import Job, decode_expectation, encode_expectation, encode_verdict, receipt

_ASKED_FOR_NOTHING = "the task asks for no change and no answer: there is nothing to check"


def run_job(job: Job) -> dict[str, Any]:
    """Do one job. A failure of ours is `{"error": text}`; a failure of the world is a verdict."""
    try:
        if job["kind"] == "expectation":
            return _learn(job)
        return encode_verdict(_KINDS[job["kind"]](job))
    except FinalDatabaseError as error:
        return encode_verdict(Verdict("world_error", str(error)))
    except (FirstDatabaseError, NotRepeatable, AssertionUnreadable) as error:
        return {"error": str(error)}


def _learn(job: Job) -> dict[str, Any]:
    first, second = (_difference(job["initial"], final) for final in job["finals"])
    if first.unread:
        raise NotRepeatable("the gold solution changes more rows than can be compared")
    return encode_expectation(learn(first, second))


def _judge_state(job: Job) -> Verdict:
    actual = _difference(job["initial"], job["final"])
    ignore = {table: frozenset(columns) for table, columns in job["ignore"].items()}
    natural = frozenset(job["natural_keys"])
    expectations = [decode_expectation(data) for data in job["expectations"]]
    if _answer_of(job) is None and not any(expectation.changes for expectation in expectations):
        return Verdict("verifier_error", _ASKED_FOR_NOTHING)
    found = [match(expectation, actual, ignore, natural) for expectation in expectations]
    return _verdict_of_match(min(found, key=lambda one: one.distance), actual, _answered(job))


def _verdict_of_match(best: Match, actual: Difference, answered: bool | None) -> Verdict:
    sorted_changes = receipt(
        made=best.made, missing=best.missing, collateral=best.collateral, unread=actual.unread
    )
    if best.missing or best.collateral or actual.unread:
        return Verdict("incomplete", _explain(best, actual.unread), sorted_changes, answered)
    return _by_answer("every required change was made, and no other", sorted_changes, answered)


def _judge_sql(job: Job) -> Verdict:
    actual = _difference(job["initial"], job["final"])
    forbidden, rest = sort_changes(actual, job["unchanged"], job["may_change"])
    sorted_changes = receipt(forbidden=forbidden, unsorted=rest, unread=actual.unread)
    if forbidden or actual.unread:
        tables = ", ".join(sorted({change.table for change in forbidden}))
        reason = (
            f"{len(forbidden)} changes where nothing may change: {tables}"
            if forbidden
            else "too many changes"
        )
        return Verdict("incomplete", reason, sorted_changes, _answered(job))
    failure = first_failure(job["initial"], job["final"], job["assertions"])
    if failure is not None:
        return Verdict("incomplete", f"an assertion does not hold: {failure}", sorted_changes, _answered(job))
    return _by_answer("every assertion holds, and nothing else changed", sorted_changes, _answered(job))


def _judge_claim(job: Job) -> Verdict:
    claim: Claim = job["claim"]
    actual = _difference(job["initial"], job["final"])
    sorted_changes = receipt(unsorted=tuple(actual.changes), unread=actual.unread)
    if claim.result is None:
        return Verdict("verifier_error", claim.failure or "the verifier claimed nothing", sorted_changes)
    if claim.result != "complete":
        reason = f"the task's verifier says '{claim.result[:80]}'"
        return Verdict("incomplete", reason, sorted_changes, _answered(job))
    return _by_answer("the task's verifier says 'complete'", sorted_changes, _answered(job))


_KINDS = {"state": _judge_state, "sql": _judge_sql, "python": _judge_claim}


def _difference(first: str, final: str) -> Difference:
    with open_pair(first, final) as connection:
        return difference(connection)


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


def _explain(best: Match, unread: int) -> str:
    parts: list[str] = []
    if best.missing:
        tables = ", ".join(sorted({change.table for change in best.missing}))
        parts.append(f"{_count(best.missing, 'required change')} missing ({tables})")
    if best.collateral:
        tables = ", ".join(sorted({change.table for change in best.collateral}))
        parts.append(f"{_count(best.collateral, 'change')} not asked for ({tables})")
    if unread:
        parts.append("too many changes to read")
    return "; ".join(parts)


def _count(changes: tuple[Any, ...], noun: str) -> str:
    return f"{len(changes)} {noun}{'' if len(changes) == 1 else 's'}"
