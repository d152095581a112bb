"""What two runs of a gold solution teach: what it changes, and what follows the clock or chance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from subworlds.verifiers.expectation import Runs
from subworlds.verifiers.job import run_job
from subworlds.verifiers.verdict import Verdict
from subworlds.verifiers.wire import expectation_job

from .shop import CLOCK

After: TypeAlias = Callable[..., Path]
Build: TypeAlias = Callable[[str], Path]
Judge: TypeAlias = Callable[..., Verdict]

CLOSE = "UPDATE orders SET note = 'closed', closed_at = 'NOW' WHERE id = 1;"
PLACE = "INSERT INTO orders (customer_id, note, placed_at) VALUES (1, 'new', 'NOW');"


def at(time: str, sql: str) -> str:
    """What a solution does at a time of day."""
    return sql.replace("NOW", time)


def runs(after: After, sql: str, **options: Path) -> tuple[Path, Path]:
    """The shop after two runs of a solution under two clocks."""
    return after(at("09:00", sql), **options), after(at("09:02", sql), **options)


def learned(start: Path, finals: tuple[Path, Path]) -> dict[str, Any]:
    return run_job(expectation_job(initial=start, finals=finals, runs=Runs(CLOCK, 0.0, 1)))


def test_columns_that_differ_between_the_runs_are_volatile(shop: Path, after: After) -> None:
    expectation = learned(shop, runs(after, CLOSE + PLACE))
    assert expectation["volatile"] == {"orders": ["closed_at", "placed_at"]}


def test_columns_that_agree_are_not_volatile(shop: Path, after: After) -> None:
    assert learned(shop, (after(CLOSE), after(CLOSE)))["volatile"] == {}


@pytest.mark.parametrize("sql", [CLOSE, PLACE])
def test_time_of_a_change_does_not_count(sql: str, after: After, judge: Judge) -> None:
    assert judge(after(at("17:45", sql)), runs(after, sql)).outcome == "complete"


def test_other_columns_of_the_row_still_count(after: After, judge: Judge) -> None:
    final = after(at("17:45", PLACE).replace("'new'", "'old'"))
    assert judge(final, runs(after, PLACE)).outcome == "incomplete"


def test_volatile_columns_count_in_other_tables(after: After, judge: Judge) -> None:
    final = after(at("17:45", CLOSE) + "UPDATE customers SET updated_at = 'x'")
    assert judge(final, runs(after, CLOSE)).outcome == "incomplete"


def test_whether_a_time_is_set_at_all_counts(shop: Path, after: After, judge: Judge) -> None:
    """Returning, closing, paying: often the whole change is a NULL that becomes the time."""
    only_time = "UPDATE orders SET closed_at = 'NOW' WHERE id = 1;"
    gold = runs(after, only_time)
    assert judge(shop, gold).outcome == "incomplete"
    assert judge(after(at("17:45", only_time)), gold).outcome == "complete"
    assert judge(after(at("17:45", only_time).replace("id = 1", "id = 2")), gold).outcome == "incomplete"
    assert judge(after(PLACE.replace("'NOW'", "NULL")), runs(after, PLACE)).outcome == "incomplete"


def test_touching_a_time_that_was_set_is_no_change(after: After, judge: Judge) -> None:
    touched = "UPDATE orders SET placed_at = 'NOW' WHERE id = 1;"
    final = after(at("17:45", CLOSE) + "UPDATE orders SET placed_at = 'later' WHERE id = 2")
    assert judge(final, runs(after, CLOSE + touched)).outcome == "complete"


def test_task_whose_only_change_is_a_touched_time_cannot_be_judged(
    shop: Path, after: After, judge: Judge
) -> None:
    assert (
        judge(shop, runs(after, "UPDATE orders SET placed_at = 'NOW' WHERE id = 1")).outcome
        == "verifier_error"
    )


def test_random_text_keys_are_followed_like_numbers(build: Build, after: After, judge: Judge) -> None:
    start = build(
        "CREATE TABLE carts (id TEXT PRIMARY KEY NOT NULL, name TEXT);"
        "CREATE TABLE lines (id TEXT PRIMARY KEY NOT NULL, cart TEXT REFERENCES carts, what TEXT)"
    )
    sql = (
        "INSERT INTO carts VALUES ('NOW-a', 'one'), ('NOW-b', 'two');"
        "INSERT INTO lines VALUES ('NOW-c', 'NOW-a', 'x'), ('NOW-d', 'NOW-b', 'y');"
    )
    gold = runs(after, sql, start=start)
    assert judge(after(at("f00", sql), start), gold, start=start).outcome == "complete"
    crossed = at("f00", sql).replace("'f00-a', 'x'", "'f00-b', 'x'").replace("'f00-b', 'y'", "'f00-a', 'y'")
    assert judge(after(crossed, start), gold, start=start).outcome == "incomplete"


def test_random_keys_do_not_make_other_columns_volatile(build: Build, after: After) -> None:
    start = build("CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT, size INTEGER) WITHOUT ROWID")
    first = after("INSERT INTO t VALUES ('a', 'one', 1), ('b', 'two', 2)", start)
    second = after("INSERT INTO t VALUES ('d', 'one', 1), ('c', 'two', 2)", start)
    assert learned(start, (first, second))["volatile"] == {"t": ["id"]}


def test_column_that_is_null_in_one_run_only_does_not_count_at_all(
    shop: Path, after: After, judge: Judge
) -> None:
    gold = (after(PLACE), after(PLACE.replace("'NOW'", "NULL")))
    expectation = learned(shop, gold)
    assert (expectation["volatile"], expectation["erratic"]) == ({}, {"orders": ["placed_at"]})
    assert (
        judge(after(PLACE), gold).outcome
        == judge(after(PLACE.replace("'NOW'", "NULL")), gold).outcome
        == "complete"
    )


@pytest.mark.parametrize(
    "other",
    [
        "UPDATE orders SET note = 'closed' WHERE id = 2",
        "DELETE FROM orders WHERE id = 1",
        "INSERT INTO log VALUES ('x', 1)",
        "SELECT 1",
    ],
)
def test_runs_that_change_different_rows_teach_nothing(other: str, shop: Path, after: After) -> None:
    assert "different rows" in learned(shop, (after(CLOSE), after(other)))["error"]


def test_solution_that_alters_tables_teaches_nothing(shop: Path, after: After) -> None:
    altered = after("ALTER TABLE log ADD COLUMN more")
    assert "definitions" in learned(shop, (altered, altered))["error"]


def test_solution_that_changes_too_much_teaches_nothing(
    monkeypatch: pytest.MonkeyPatch, shop: Path, after: After
) -> None:
    monkeypatch.setattr("subworlds.verifiers.changes.MOST_ROWS", 2)
    final = after("UPDATE orders SET note = 'x'")
    assert learned(shop, (final, final))["error"] == "the gold solution changes too many rows of orders"


def test_damaged_final_database_of_a_gold_solution_is_its_error(shop: Path, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.db"
    assert "after the gold solution the final database" in learned(shop, (missing, missing))["error"]
