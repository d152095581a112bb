"""Assertions on the final database: what they may ask, how their rows are compared, what may change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from subworlds.scenarios.task import Answer, SqlAssertion, SqlCheck
from subworlds.verifiers.job import run_job
from subworlds.verifiers.sqlcheck import AssertionUnreadable, first_failure
from subworlds.verifiers.verdict import Verdict
from subworlds.verifiers.wire import decode_verdict, sql_job

from .shop import CLOCK

After: TypeAlias = Callable[..., Path]

RENAME = "UPDATE customers SET name = 'Eve' WHERE id = 3;"
EVE = SqlAssertion("SELECT name FROM customers WHERE id = 3", (("Eve",),))


def asserted(first: Path, final: Path, sql: str, *equals: Sequence[Any]) -> str | None:
    return first_failure(str(first), str(final), [{"sql": sql, "equals": equals}])


def judged(
    first: Path, final: Path, check: SqlCheck, expected: Answer | None = None, given: str | None = None
) -> Verdict:
    return decode_verdict(
        run_job(sql_job(check, expected, initial=first, final=final, given=given, clock=CLOCK))
    )


@pytest.mark.parametrize(
    ("sql", "equals"),
    [
        ("SELECT 1, 1.0, 2.5, 'a', NULL", [(1.0, 1, 2.5, "a", None)]),
        ("SELECT x'00ff'", [({"hex": "00ff"},)]),
        ("SELECT name FROM customers ORDER BY id DESC", [("Cyd",), ("Bob",), ("Ada",)]),
        ("SELECT 1 WHERE 0", []),
        ("SELECT count(*) FROM initial.orders", [(3,)]),
        ("SELECT count(*) FROM orders o JOIN initial.orders i USING (id) WHERE o.note <> i.note", [(0,)]),
        (
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5) SELECT sum(i) FROM n",
            [(15,)],
        ),
        ("SELECT upper(group_concat(name)) FROM customers", [("ADA,BOB,CYD",)]),
        ("VALUES (1), (2)", [(1,), (2,)]),
    ],
)
def test_assertion_holds(sql: str, equals: list[tuple[Any, ...]], shop: Path) -> None:
    assert asserted(shop, shop, sql, *equals) is None


@pytest.mark.parametrize(
    ("sql", "equals"),
    [
        ("SELECT '1'", [(1,)]),
        ("SELECT 'a'", [("A",)]),
        ("SELECT 1, 2", [(2, 1)]),
        ("SELECT id FROM customers", [(1,), (2,)]),
        ("SELECT id FROM customers WHERE id < 3", [(1,), (2,), (3,)]),
        ("SELECT NULL", [(0,)]),
        ("SELECT CAST(x'ff' AS TEXT)", [({"hex": "ff"},)]),
    ],
)
def test_assertion_that_does_not_hold_says_what_it_found(
    sql: str, equals: list[tuple[Any, ...]], shop: Path
) -> None:
    assert (asserted(shop, shop, sql, *equals) or "").startswith(f"{sql} gives [[")


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE '/etc/passwd' AS p",
        "DETACH DATABASE initial",
        "PRAGMA query_only = OFF",
        "PRAGMA table_info(customers)",
        "DELETE FROM customers",
        "UPDATE customers SET name = 'Eve'",
        "INSERT INTO log VALUES ('x', 1)",
        "CREATE TEMP TABLE t (x)",
        "CREATE TEMP VIEW customers AS SELECT 'Eve'",
        "VACUUM INTO '/tmp/stolen.db'",
        "BEGIN",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "SELECT nothing FROM customers",
        "SELECT * FROM nowhere",
        "SELECT json('{')",
        "",
        "-- nothing",
    ],
)
def test_what_is_no_query_is_the_authors_error(sql: str, shop: Path) -> None:
    with pytest.raises(AssertionUnreadable):
        asserted(shop, shop, sql, ("x",))


def test_endless_assertion_is_stopped(shop: Path) -> None:
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(AssertionUnreadable, match="interrupted"):
        first_failure(str(shop), str(shop), [{"sql": endless, "equals": []}], seconds=0.05)


def test_unreadable_assertion_is_a_verifier_error(shop: Path) -> None:
    check = SqlCheck((SqlAssertion("SELEKT", ()),), unchanged=frozenset())
    assert (
        "SELEKT" in run_job(sql_job(check, None, initial=shop, final=shop, given=None, clock=CLOCK))["error"]
    )


def test_complete_where_all_hold_and_nothing_else_changed(shop: Path, after: After) -> None:
    verdict = judged(shop, after(RENAME), SqlCheck((EVE,), may_change=frozenset({"Customers"})))
    assert verdict.outcome == "complete"
    assert [change.table for change in verdict.receipt.unsorted] == ["customers"]


def test_incomplete_where_one_does_not_hold(shop: Path) -> None:
    verdict = judged(shop, shop, SqlCheck((EVE,), may_change=frozenset({"customers"})))
    assert verdict.outcome == "incomplete"
    assert verdict.reason == (
        "an assertion does not hold: SELECT name FROM customers WHERE id = 3 gives [['Cyd']], not [['Eve']]"
    )


@pytest.mark.parametrize(
    "check",
    [
        SqlCheck((EVE,), may_change=frozenset({"customers"})),
        SqlCheck((EVE,), unchanged=frozenset({"LOG"})),
    ],
)
def test_change_in_a_table_that_must_not_change_is_forbidden(
    check: SqlCheck, shop: Path, after: After
) -> None:
    verdict = judged(shop, after(RENAME + "DELETE FROM log WHERE rowid = 1"), check)
    assert (verdict.outcome, verdict.reason) == ("incomplete", "1 change where nothing may change (log)")
    assert [change.table for change in verdict.receipt.forbidden] == ["log"]
    assert [change.table for change in verdict.receipt.unsorted] == ["customers"]


def test_change_outside_the_named_tables_is_allowed(shop: Path, after: After) -> None:
    final = after(RENAME + "DELETE FROM log")
    assert judged(shop, final, SqlCheck((EVE,), unchanged=frozenset({"orders"}))).outcome == "complete"


def test_uncounted_changes_are_forbidden_only_where_nothing_may_change(
    monkeypatch: pytest.MonkeyPatch, shop: Path, after: After
) -> None:
    monkeypatch.setattr("subworlds.verifiers.changes.MOST_ROWS", 0)
    allowed = judged(shop, after(RENAME), SqlCheck((EVE,), may_change=frozenset({"customers"})))
    forbidden = judged(shop, after(RENAME), SqlCheck((EVE,), unchanged=frozenset({"customers"})))
    assert (allowed.outcome, allowed.receipt.omitted) == ("complete", 1)
    assert (forbidden.outcome, forbidden.reason) == (
        "incomplete",
        "1 change where nothing may change (customers)",
    )


def test_answer_must_match_as_well(shop: Path, after: After) -> None:
    check = SqlCheck((EVE,), may_change=frozenset({"customers"}))
    right = judged(shop, after(RENAME), check, Answer("text", "Cyd"), "cyd")
    wrong = judged(shop, after(RENAME), check, Answer("text", "Cyd"), "Eve")
    assert (right.outcome, right.answer_matched) == ("complete", True)
    assert (wrong.outcome, wrong.answer_matched) == ("incomplete", False)


def test_broken_text_in_the_final_database_does_not_stop_an_assertion(shop: Path, after: After) -> None:
    final = after("UPDATE customers SET name = CAST(x'ff' AS TEXT) WHERE id = 3")
    verdict = judged(shop, final, SqlCheck((EVE,), may_change=frozenset({"customers"})))
    assert verdict.outcome == "incomplete"
