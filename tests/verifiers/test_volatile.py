"""Times and tokens that a solution leaves: what an episode at another time may leave in their place."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import pytest

from subworlds.verifiers.verdict import Verdict
from subworlds.verifiers.volatile import pattern_of

from .shop import CLOCK

After: TypeAlias = Callable[..., Path]
Build: TypeAlias = Callable[[str], Path]
Judge: TypeAlias = Callable[..., Verdict]

SHIFT = 127.0
FORMATS = [
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S+00:00",
    "%Y-%m-%d %H:%M",
    "%H:%M:%S",
    "%H:%M",
    "%Y%m%d%H%M%S",
    "closed %Y-%m-%d %H:%M:%S by Ada",
]


def written(form: str, **passed: float) -> str:
    """The shop's clock, and some time more, in a format."""
    return (CLOCK + timedelta(**passed)).strftime(form)


def close(time: str) -> str:
    """SQL that closes an order at a time."""
    return f"UPDATE orders SET note = 'closed', closed_at = '{time}' WHERE id = 1;"


@pytest.fixture
def closes_at(after: After, judge: Judge) -> Callable[..., str]:
    """Judges an order closed at a time, where the solution closes it 1 s after its start (or at `gold`)."""

    def run(time: str, form: str = "%Y-%m-%d %H:%M:%S", calls: int = 5, **gold: float) -> str:
        passed = {"seconds": 1.0, **gold}
        seconds = timedelta(**passed).total_seconds()
        golds = (
            after(close(written(form, seconds=seconds))),
            after(close(written(form, seconds=seconds + SHIFT))),
        )
        return judge(after(close(time)), golds, shift_s=SHIFT, calls=calls).outcome

    return run


@pytest.mark.parametrize("form", FORMATS)
def test_time_of_the_episode_itself_is_right(form: str, closes_at: Callable[..., str]) -> None:
    assert closes_at(written(form, seconds=4), form) == "complete"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("passed", [{"hours": 1}, {"hours": -1}, {"minutes": 5}])
def test_another_time_is_wrong(form: str, passed: dict[str, float], closes_at: Callable[..., str]) -> None:
    assert closes_at(written(form, **passed), form) == "incomplete"


@pytest.mark.parametrize("value", ["", "soon", "2026-13-45 00:00:00", "9", "2026-03-01"])
def test_what_is_no_time_is_wrong(value: str, closes_at: Callable[..., str]) -> None:
    assert closes_at(value) == "incomplete"


def test_time_is_as_late_as_the_episode_is_long(closes_at: Callable[..., str]) -> None:
    late = written("%Y-%m-%d %H:%M:%S", seconds=60)
    assert (closes_at(late, calls=5), closes_at(late, calls=60)) == ("incomplete", "complete")


def test_due_date_that_follows_the_clock_counts(closes_at: Callable[..., str]) -> None:
    """What is due in a week shifts with the clock, too: no reason to accept what is due in two."""
    form = "%Y-%m-%d %H:%M:%S"
    assert closes_at(written(form, days=7, seconds=3), days=7) == "complete"
    assert closes_at(written(form, days=14, seconds=3), days=7) == "incomplete"
    assert closes_at(written(form, seconds=3), days=7) == "incomplete"


def test_words_around_a_time_count(closes_at: Callable[..., str]) -> None:
    form = "closed %Y-%m-%d %H:%M:%S by Ada"
    assert closes_at(written(form.replace("Ada", "Bob"), seconds=1), form) == "incomplete"


def test_due_dates_of_two_rows_cannot_be_exchanged(after: After, judge: Judge) -> None:
    def placed(first: int, second: int, shift: float = 0.0) -> str:
        times = [written("%Y-%m-%d %H:%M:%S", days=days, seconds=shift) for days in (first, second)]
        return f"INSERT INTO orders (note, placed_at) VALUES ('tea', '{times[0]}'), ('jam', '{times[1]}');"

    golds = after(placed(1, 2)), after(placed(1, 2, SHIFT))
    assert judge(after(placed(1, 2, 1)), golds, shift_s=SHIFT).outcome == "complete"
    assert judge(after(placed(2, 1, 1)), golds, shift_s=SHIFT).outcome == "incomplete"


def test_due_date_must_be_moved_where_the_solution_moves_it(after: After, judge: Judge) -> None:
    """A row that is merely touched counts for nothing; one whose due date moves does."""

    def renewed(days: int, shift: float = 0.0) -> str:
        due = written("%Y-%m-%d %H:%M:%S", days=days, seconds=shift)
        return f"UPDATE orders SET placed_at = '{due}' WHERE id = 1"

    due = after(renewed(7)), after(renewed(7, SHIFT))
    assert judge(after(renewed(7, 1)), due, shift_s=SHIFT).outcome == "complete"
    assert judge(after("SELECT 1"), due, shift_s=SHIFT).outcome == "incomplete"
    assert judge(after(renewed(8, 1)), due, shift_s=SHIFT).outcome == "incomplete"


def test_touched_row_is_no_change_but_a_wrong_time_is(after: After, judge: Judge) -> None:
    now, later = (written("%Y-%m-%d %H:%M:%S", seconds=seconds) for seconds in (1, 1 + SHIFT))
    touched = f"UPDATE orders SET closed_at = '{now}' WHERE id = 2;"
    start = after("UPDATE orders SET closed_at = 'then' WHERE id = 2")
    golds = after(close(now), start), after(close(later), start)
    assert judge(after(close(now) + touched, start), golds, start=start, shift_s=SHIFT).outcome == "complete"
    wrong = touched.replace(now, "2030-01-01 00:00:00")
    assert judge(after(close(now) + wrong, start), golds, start=start, shift_s=SHIFT).outcome == "incomplete"


@pytest.mark.parametrize("unit", [1, 1000, 1_000_000])
def test_numbers_may_count_time(unit: int, build: Build, after: After, judge: Judge) -> None:
    start = build("CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER)")

    def put(seconds: float) -> Path:
        return after(f"INSERT INTO t (at) VALUES ({int((CLOCK.timestamp() + seconds) * unit)})", start)

    golds = put(1), put(1 + SHIFT)
    assert judge(put(4), golds, start=start, shift_s=SHIFT, calls=5).outcome == "complete"
    assert judge(put(400), golds, start=start, shift_s=SHIFT, calls=5).outcome == "incomplete"


def test_time_left_counts_down(build: Build, after: After, judge: Judge) -> None:
    start = build("CREATE TABLE t (id INTEGER PRIMARY KEY, seconds_left INTEGER)")
    put = {
        left: after(f"INSERT INTO t (seconds_left) VALUES ({left})", start) for left in (5000, 4873, 4998, 9)
    }
    golds = put[5000], put[4873]
    assert judge(put[4998], golds, start=start, shift_s=SHIFT, calls=5).outcome == "complete"
    assert judge(put[9], golds, start=start, shift_s=SHIFT, calls=5).outcome == "incomplete"


def test_tokens_are_free_and_the_words_around_them_are_not(build: Build, after: After, judge: Judge) -> None:
    start = build("CREATE TABLE t (id INTEGER PRIMARY KEY, token TEXT)")

    def put(token: str) -> Path:
        return after(f"INSERT INTO t (token) VALUES ('{token}')", start)

    def outcome(final: str, *golds: str) -> str:
        first, second = map(put, golds)
        return judge(put(final), (first, second), start=start, shift_s=SHIFT).outcome

    uuids = [f"{digit * 8}-0000-4000-8000-{digit * 12}" for digit in "abc"]
    assert outcome(uuids[2], *uuids[:2]) == "complete"
    assert outcome("Xy-_z", "qW3_x", "0a-Zz") == "complete"
    refunds = [f"refund of 500 under {uuid}" for uuid in uuids]
    assert outcome(refunds[2], *refunds[:2]) == "complete"
    assert outcome(refunds[2].replace("500", "900"), *refunds[:2]) == "incomplete"


def test_chance_is_not_taken_for_time() -> None:
    started = datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert pattern_of(17, 42, SHIFT, started, 3) is None
    assert pattern_of("red", "blue", SHIFT, started, 3) is None
    assert pattern_of({"hex": "00"}, {"hex": "01"}, SHIFT, started, 3) is None
    assert pattern_of("2026-03-01 09:00:00", "2026-03-01 10:00:00", SHIFT, started, 3) is None
