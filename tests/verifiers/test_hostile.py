"""Final databases made to deceive: none may be complete, and none may break the verifier."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from subworlds.scenarios.task import SqlAssertion, SqlCheck
from subworlds.verifiers.database import FinalDatabaseError, FirstDatabaseError, open_pair
from subworlds.verifiers.job import run_job
from subworlds.verifiers.verdict import Verdict
from subworlds.verifiers.wire import decode_verdict, sql_job

from .shop import CLOCK

After: TypeAlias = Callable[..., Path]
Build: TypeAlias = Callable[[str], Path]
Judge: TypeAlias = Callable[..., Verdict]

RENAME = "UPDATE customers SET name = 'Eve' WHERE id = 3;"
ASSERTION = SqlAssertion("SELECT name FROM customers WHERE id = 3", (("Eve",),))

SCHEMA_TRICKS = {
    "a view in the place of a renamed table": (
        "ALTER TABLE log RENAME TO log_2; CREATE VIEW log AS SELECT 'open' AS line, 1 AS level"
    ),
    "a virtual table in the place of a table": "DROP TABLE log; CREATE VIRTUAL TABLE log USING fts5 (line)",
    "an added trigger": "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM orders; END",
    "an added view": "CREATE VIEW v AS SELECT * FROM orders",
    "an added index": "CREATE INDEX i ON items (product)",
    "a dropped index": "DROP INDEX orders_by_note",
    "an index in another place": "DROP INDEX orders_by_note; CREATE INDEX orders_by_note ON orders (total)",
    "a dropped table": "DROP TABLE log",
    "an added table": "CREATE TABLE hoard (x)",
    "an added column": "ALTER TABLE log ADD COLUMN more",
    "an added generated column": "ALTER TABLE log ADD COLUMN more AS (upper(line))",
    "a renamed column": "ALTER TABLE log RENAME COLUMN level TO depth",
    "a loosened table": "DROP TABLE log; CREATE TABLE log (line, level); INSERT INTO log VALUES ('open', 1)",
}


@pytest.mark.parametrize("trick", SCHEMA_TRICKS.values(), ids=SCHEMA_TRICKS.keys())
def test_changed_definitions_are_never_complete(trick: str, shop: Path, after: After, judge: Judge) -> None:
    final = after(RENAME + trick)
    by_state = judge(final, after(RENAME))
    check = SqlCheck((ASSERTION,), unchanged=frozenset())
    by_sql = decode_verdict(run_job(sql_job(check, None, initial=shop, final=final, given=None, clock=CLOCK)))
    assert (by_state.outcome, by_sql.outcome) == ("incomplete", "incomplete")
    assert {change.table for change in by_state.receipt.collateral} == {"sqlite_schema"}
    assert {change.table for change in by_sql.receipt.forbidden} == {"sqlite_schema"}


def test_schema_change_is_told_with_its_sql(after: After, judge: Judge) -> None:
    (change,) = judge(after(RENAME + "CREATE TABLE hoard (x)"), after(RENAME)).receipt.collateral
    assert (change.key, change.after) == (
        {"type": "table", "name": "hoard"},
        {"sql": "CREATE TABLE hoard (x)"},
    )


def test_view_is_not_read_as_the_table_it_replaces(after: After, judge: Judge) -> None:
    trick = (
        "ALTER TABLE customers RENAME TO c; CREATE VIEW customers AS "
        "SELECT id, iif(id = 3, 'Eve', name) AS name, email, updated_at FROM c"
    )
    verdict = judge(after(trick), after(RENAME))
    assert verdict.outcome == "incomplete"
    assert [change.table for change in verdict.receipt.missing] == ["customers"]


def test_index_that_hides_rows_is_damage(shop: Path, after: After, judge: Judge) -> None:
    """Rows changed behind the index of a text key: a query that trusts the index sees them as they were."""
    final = after(RENAME)
    honest = _entry(final, "orders_by_note")
    _redefine(final, "orders_by_note", "CREATE INDEX orders_by_note ON items (product)", "items")
    _run(final, "UPDATE orders SET note = 'gone' WHERE id = 3")
    _redefine(final, "orders_by_note", honest, "orders")
    verdict = judge(final, after(RENAME))
    assert verdict.outcome == "world_error"


def test_text_in_a_column_of_integers_is_not_its_number(after: After, judge: Judge) -> None:
    gold = after("UPDATE items SET quantity = 3 WHERE id = 1")
    final = after("SELECT 1")
    honest = _entry(final, "items")
    _redefine(final, "items", honest.replace("quantity INTEGER", "quantity"), "items")
    _run(final, "UPDATE items SET quantity = '3' WHERE id = 1")
    _redefine(final, "items", honest, "items")
    assert judge(final, gold).outcome in ("incomplete", "world_error")


@pytest.mark.parametrize("name", ["not sqlite", "empty", "missing", "cut", "garbage in the middle", "folder"])
def test_unreadable_final_database_is_a_world_error(
    name: str, tmp_path: Path, after: After, judge: Judge
) -> None:
    final = tmp_path / "final.db"
    content = after(
        RENAME + "INSERT INTO log SELECT hex(randomblob(400)), 1 FROM orders, orders"
    ).read_bytes()
    match name:
        case "not sqlite":
            final.write_bytes(b"this is no database" * 100)
        case "empty":
            final.write_bytes(b"")
        case "cut":
            final.write_bytes(content[: len(content) // 2])
        case "garbage in the middle":
            middle = len(content) // 2
            final.write_bytes(content[:middle] + b"\xa5" * 4096 + content[middle + 4096 :])
        case "folder":
            final.mkdir()
        case _:
            pass
    verdict = judge(final, after(RENAME))
    assert verdict.outcome == ("incomplete" if name == "empty" else "world_error")
    assert name == "empty" or verdict.reason.startswith("the final database is damaged: ")


@pytest.mark.parametrize("seed", range(40))
def test_no_flipped_bytes_break_the_verifier(seed: int, tmp_path: Path, after: After, judge: Judge) -> None:
    chance = random.Random(seed)
    content = bytearray(after(RENAME).read_bytes())
    for _ in range(chance.choice((1, 5, 50))):
        content[chance.randrange(len(content))] = chance.randrange(256)
    final = tmp_path / "flipped.db"
    final.write_bytes(content)
    assert judge(final, after(RENAME)).outcome in ("complete", "incomplete", "world_error")


def test_damaged_first_database_is_the_verifiers_error(shop: Path, after: After, tmp_path: Path) -> None:
    content = after("INSERT INTO log SELECT hex(randomblob(400)), 1 FROM orders, orders").read_bytes()
    first = tmp_path / "first.db"
    first.write_bytes(content[: len(content) // 2])
    check = SqlCheck((ASSERTION,), unchanged=frozenset())
    for initial in (first, tmp_path / "missing.db"):
        found = run_job(sql_job(check, None, initial=initial, final=shop, given=None, clock=CLOCK))
        assert "the first database is damaged" in found["error"]


def test_database_in_another_encoding_is_a_world_error(build: Build, after: After, judge: Judge) -> None:
    final = build("COMMIT; PRAGMA encoding = 'UTF-16'; BEGIN; CREATE TABLE t (x)")
    assert judge(final, after(RENAME)).outcome == "world_error"


def test_huge_values_make_a_short_receipt(after: After, judge: Judge) -> None:
    spam = "UPDATE orders SET note = hex(zeroblob(500000)); INSERT INTO log VALUES (zeroblob(500000), 1);"
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
    verdict = judge(after(spam + f"INSERT INTO log {many} SELECT 'spam', i FROM n"), after(RENAME))
    receipt = verdict.receipt
    shown = len(receipt.made + receipt.missing + receipt.collateral)
    assert verdict.outcome == "incomplete"
    assert (shown, receipt.omitted) == (60, 3005 - 60)
    assert len(repr(verdict)) < 30_000


def test_memory_that_runs_out_is_a_world_error(
    monkeypatch: pytest.MonkeyPatch, after: After, judge: Judge
) -> None:
    def exhaust(*_: Any) -> None:
        raise MemoryError

    gold = after(RENAME)
    monkeypatch.setattr("subworlds.verifiers.job.match", exhaust)
    assert judge(gold, gold).outcome == "world_error"


def test_reading_leaves_no_trace(shop: Path, after: After, judge: Judge) -> None:
    final = after(RENAME)
    before = final.read_bytes(), shop.read_bytes()
    folder = set(os.listdir(final.parent))
    for path in (shop, final):
        path.chmod(0o444)
    judge(final, final)
    assert (final.read_bytes(), shop.read_bytes()) == before
    assert set(os.listdir(final.parent)) == folder


def test_nothing_can_be_written_through_the_connection(shop: Path, after: After) -> None:
    with open_pair(str(shop), str(after(RENAME))) as connection:
        for which in ("main", "final"):
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                connection.execute(f"DELETE FROM {which}.orders")


def test_errors_name_the_file_that_broke(shop: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.db")
    with pytest.raises(FirstDatabaseError), open_pair(missing, str(shop)):
        pass
    with pytest.raises(FinalDatabaseError), open_pair(str(shop), missing):
        pass


def _entry(path: Path, name: str) -> str:
    """The SQL that defines `name`."""
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()[0])


def _redefine(path: Path, name: str, sql: str, table: str) -> None:
    """Say that `name` is what `sql` defines, without doing what that takes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = ?, tbl_name = ? WHERE name = ?", (sql, table, name)
        )


def _run(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(sql)
