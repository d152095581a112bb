"""Certification's own opinion on whether two episodes ended the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from subworlds.verifiers.job import run_job

from .shop import CLOCK

After: TypeAlias = Callable[..., Path]
Ends: TypeAlias = Callable[..., bool]

PLACED = """
    INSERT INTO orders (id, customer_id, note, placed_at)
        VALUES (4, 1, 'a', '2026-03-01 09:00:01'), (5, 2, 'b', NULL);
    INSERT INTO items (order_id, product) VALUES (4, 'x'), (5, 'y');
"""


@pytest.fixture
def ends_alike(shop: Path, after: After) -> Ends:
    """Whether two pieces of SQL leave the shop in the same state, `placed_at` being unsteady."""

    def end(sql: str) -> str:
        job = {
            "kind": "end state",
            "initial": str(shop),
            "final": str(after(sql)),
            "started": CLOCK.isoformat(),
            "ignore": {"customers": ["updated_at"]},
            "natural_keys": [],
            "unsteady": {"orders": ["placed_at"]},
        }
        return str(run_job(job)["end"])

    return lambda one, other: end(one) == end(other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(4,", "(40,"),
        ("09:00:01", "09:00:31"),
    ],
)
def test_numbers_and_moments_of_new_rows_do_not_count(old: str, new: str, ends_alike: Ends) -> None:
    assert ends_alike(PLACED, PLACED.replace(old, new))


def test_order_of_the_work_does_not_count(ends_alike: Ends) -> None:
    other = """
        INSERT INTO orders (id, customer_id, note) VALUES (4, 2, 'b');
        INSERT INTO orders (id, customer_id, note, placed_at) VALUES (5, 1, 'a', '2026-03-01 09:00:03');
        INSERT INTO items (order_id, product) VALUES (4, 'y'), (5, 'x');
    """
    assert ends_alike(PLACED, other)
    assert not ends_alike(PLACED, other.replace("(4, 'y'), (5, 'x')", "(5, 'y'), (4, 'x')"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'a'", "'c'"),
        ("(4, 1,", "(4, 3,"),
        ("(5, 'y')", "(4, 'y')"),
        ("2026-03-01 09:00:01", "2026-03-08 09:00:01"),
        ("'2026-03-01 09:00:01'", "NULL"),
        ("(5, 'y')", "(5, 'y'), (5, 'y')"),
    ],
)
def test_anything_else_counts(old: str, new: str, ends_alike: Ends) -> None:
    assert not ends_alike(PLACED, PLACED.replace(old, new))


def test_ignored_columns_do_not_count(ends_alike: Ends) -> None:
    assert ends_alike(PLACED, PLACED + "UPDATE customers SET updated_at = 'now';")
    assert not ends_alike(PLACED, PLACED + "UPDATE customers SET name = 'Zed' WHERE id = 3;")


def test_row_that_was_only_touched_is_the_same(ends_alike: Ends) -> None:
    touched = "UPDATE orders SET placed_at = '{}' WHERE id = 2;"
    old = touched.format("2026-02-01 10:00:00")
    assert ends_alike(
        old + touched.format("2026-03-01 09:00:04"), old + touched.format("2026-03-01 09:00:09")
    )
    assert not ends_alike(touched.format("2026-03-01 09:00:04"), touched.format("2026-04-01 09:00:04"))


def test_columns_that_differ_between_two_runs_are_unsteady(shop: Path, after: After) -> None:
    runs = [after(PLACED), after(PLACED.replace("09:00:01", "09:02:08").replace("'b'", "'B'"))]
    job = {"kind": "unsteady columns", "initial": str(shop), "finals": [str(run) for run in runs]}
    assert run_job(job)["unsteady"] == {"orders": ["note", "placed_at"]}
