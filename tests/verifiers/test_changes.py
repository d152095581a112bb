"""What counts as a changed row, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from subworlds.verifiers import changes
from subworlds.verifiers.changes import Difference
from subworlds.verifiers.verdict import Change
from subworlds.verifiers.wire import receipt

After: TypeAlias = Callable[..., Path]
Build: TypeAlias = Callable[[str], Path]
Compare: TypeAlias = Callable[..., Difference]


def told(found: Difference) -> list[tuple[str, str, Any]]:
    return [(change.table, change.kind, change.key) for change in found.changes]


def test_nothing_differs_between_equal_databases(shop: Path, compare: Compare) -> None:
    assert compare(shop) == Difference(tables=compare(shop).tables)


def test_update_names_the_row_and_its_receipt_only_the_changed_columns(
    after: After, compare: Compare
) -> None:
    found = compare(after("UPDATE customers SET email = 'bob@example.org' WHERE id = 2"))
    shown = receipt(unsorted=found.changes).unsorted
    assert shown == (Change("customers", "update", {"id": 2}, {"email": None}, {"email": "bob@example.org"}),)


def test_insert_and_delete_hold_whole_rows(after: After, compare: Compare) -> None:
    found = compare(after("DELETE FROM items WHERE id = 2; INSERT INTO items VALUES (9, 1, 'ink', 3)"))
    assert found.changes == [
        Change("items", "delete", {"id": 2}, {"id": 2, "order_id": 2, "product": "jam", "quantity": 2}, None),
        Change("items", "insert", {"id": 9}, None, {"id": 9, "order_id": 1, "product": "ink", "quantity": 3}),
    ]


def test_composite_key_of_a_table_without_rowid_names_its_row(after: After, compare: Compare) -> None:
    found = compare(
        after("UPDATE stock SET amount = 0 WHERE place = 'south'; DELETE FROM stock WHERE code = 'jam'")
    )
    assert told(found) == [
        ("stock", "update", {"place": "south", "code": "tea"}),
        ("stock", "delete", {"place": "north", "code": "jam"}),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE orders SET total = 10.0 WHERE id = 1",
        "UPDATE orders SET total = CAST(20 AS INTEGER) WHERE id = 2",
        "UPDATE customers SET email = NULL WHERE id = 2",
        "DELETE FROM items WHERE id = 1; INSERT INTO items VALUES (1, 1, 'tea', 1)",
        "UPDATE sqlite_sequence SET seq = seq",
        "ANALYZE",
    ],
)
def test_same_values_are_no_change(sql: str, build: Build, after: After, compare: Compare) -> None:
    start = build("CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT)")
    if "sqlite_sequence" in sql:
        assert not compare(
            after(f"INSERT INTO numbered VALUES (1); DELETE FROM numbered; {sql}", start), start
        ).changes
    else:
        assert not compare(after(sql)).changes


@pytest.mark.parametrize(
    ("before", "value"),
    [
        ("1", "'1'"),
        ("1", "x'31'"),
        ("'a'", "x'61'"),
        ("''", "NULL"),
        ("0", "NULL"),
        ("1", "1.5"),
        ("'a'", "'A'"),
        ("'a'", "'a '"),
        ("9007199254740993", "9007199254740992.0"),
        ("CAST(x'ff' AS TEXT)", "x'ff'"),
    ],
)
def test_values_of_another_kind_are_a_change(
    before: str, value: str, build: Build, after: After, compare: Compare
) -> None:
    start = build(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, v COLLATE NOCASE); INSERT INTO t VALUES (1, {before})"
    )
    found = compare(after(f"UPDATE t SET v = {value}", start), start)
    assert [change.kind for change in found.changes] == ["update"]
    assert found.changes[0].before != found.changes[0].after


def test_blobs_infinities_and_broken_text_become_json(after: After, compare: Compare) -> None:
    found = compare(
        after("INSERT INTO log VALUES (x'00ff', 9e999), (CAST(x'ff' AS TEXT), -9e999), (x'', 1e300)")
    )
    assert [change.after for change in found.changes] == [
        {"line": {"hex": "00ff"}, "level": {"real": "inf"}},
        {"line": {"hex": "ff", "text": True}, "level": {"real": "-inf"}},
        {"line": {"hex": ""}, "level": 1e300},
    ]


def test_key_that_differs_only_in_case_is_one_row_renamed(after: After, compare: Compare) -> None:
    (change,) = compare(after("UPDATE products SET code = 'TEA' WHERE code = 'tea'")).changes
    assert (change.kind, change.key) == ("update", {"code": "tea"})


def test_generated_columns_add_nothing_to_what_they_are_made_of(
    build: Build, after: After, compare: Compare
) -> None:
    start = build(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b AS (a * 2), c AS (a + 1) STORED);"
        "INSERT INTO t (id, a) VALUES (1, 1)"
    )
    (change,) = compare(after("UPDATE t SET a = 5", start), start).changes
    assert (change.before, change.after) == ({"id": 1, "a": 1}, {"id": 1, "a": 5})


def test_update_in_a_table_without_key_is_told_as_a_row_replaced(after: After, compare: Compare) -> None:
    found = compare(after("UPDATE log SET level = 3 WHERE line = 'shut'"))
    assert [(change.kind, change.before or change.after) for change in found.changes] == [
        ("delete", {"line": "shut", "level": 2}),
        ("insert", {"line": "shut", "level": 3}),
    ]


def test_row_of_a_table_without_key_may_move_to_another_rowid(after: After, compare: Compare) -> None:
    assert not compare(after("UPDATE log SET rowid = rowid + 100")).changes
    assert (
        len(compare(after("UPDATE log SET rowid = rowid + 100; DELETE FROM log WHERE rowid = 101")).changes)
        == 1
    )


def test_null_primary_keys_do_not_make_rows_differ_from_themselves(
    build: Build, after: After, compare: Compare
) -> None:
    start = build(
        "CREATE TABLE t (k TEXT PRIMARY KEY, v); INSERT INTO t VALUES (NULL, 1), (NULL, 2), ('a', 3)"
    )
    assert not compare(start, start).changes
    found = compare(after("UPDATE t SET v = 9 WHERE v = 2", start), start)
    assert [change.kind for change in found.changes] == ["delete", "insert"]


def test_column_called_rowid_is_not_taken_for_the_rowid(build: Build, after: After, compare: Compare) -> None:
    start = build("CREATE TABLE t (rowid TEXT, v); INSERT INTO t VALUES ('same', 1), ('same', 2)")
    assert not compare(start, start).changes
    assert len(compare(after("DELETE FROM t WHERE v = 2", start), start).changes) == 1


def test_odd_names_are_quoted(build: Build, after: After, compare: Compare) -> None:
    start = build('CREATE TABLE "a ""b""; --" ("select" INTEGER PRIMARY KEY, "x y" TEXT)')
    (change,) = compare(after("""INSERT INTO "a ""b""; --" VALUES (1, 'v')""", start), start).changes
    assert (change.table, change.after) == ('a "b"; --', {"select": 1, "x y": "v"})


def test_full_text_index_is_judged_by_its_content(build: Build, after: After, compare: Compare) -> None:
    start = build("CREATE VIRTUAL TABLE notes USING fts5 (body); INSERT INTO notes VALUES ('one')")
    found = compare(
        after("INSERT INTO notes VALUES ('two'); INSERT INTO notes VALUES ('three')", start), start
    )
    assert [(change.table, change.kind) for change in found.changes] == [("notes_content", "insert")] * 2


def test_rows_beyond_the_limit_are_counted_not_kept(
    monkeypatch: pytest.MonkeyPatch, after: After, compare: Compare
) -> None:
    monkeypatch.setattr(changes, "MOST_ROWS", 10)
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25) "
    found = compare(after(f"INSERT INTO items (product) {many} SELECT i FROM n"))
    assert (len(found.changes), found.unread) == (10, {"items": 15})


def test_text_beyond_the_limit_is_counted_not_kept(
    monkeypatch: pytest.MonkeyPatch, after: After, compare: Compare
) -> None:
    monkeypatch.setattr(changes, "MOST_CHARACTERS", 1_000)
    found = compare(after("UPDATE orders SET note = hex(zeroblob(300))"))
    assert (len(found.changes), found.unread) == (1, {"orders": 2})
