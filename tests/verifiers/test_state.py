"""The state check: fair to whoever reached the gold solution's end state, strict with everyone else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from subworlds.scenarios.task import Answer
from subworlds.verifiers.verdict import Change, Verdict

After: TypeAlias = Callable[..., Path]
Build: TypeAlias = Callable[[str], Path]
Judge: TypeAlias = Callable[..., Verdict]

RENAME = "UPDATE customers SET name = 'Eve' WHERE id = 3;"
TWO_ORDERS = """
    INSERT INTO orders (id, customer_id, note) VALUES (4, 1, 'a'), (5, 1, 'a');
    INSERT INTO items (order_id, product) VALUES (4, 'x'), (4, 'y'), (5, 'z');
"""


def test_same_changes_are_complete(after: After, judge: Judge) -> None:
    verdict = judge(after(RENAME), after(RENAME))
    assert (verdict.outcome, verdict.answer_matched) == ("complete", None)
    assert verdict.receipt.made == (
        Change("customers", "update", {"id": 3}, {"name": "Cyd"}, {"name": "Eve"}),
    )


def test_doing_nothing_leaves_the_change_missing(shop: Path, after: After, judge: Judge) -> None:
    verdict = judge(shop, after(RENAME))
    assert verdict.outcome == "incomplete"
    assert [change.after for change in verdict.receipt.missing] == [{"name": "Eve"}]
    assert verdict.reason == "1 required change is missing (customers)"


def test_wrong_value_is_a_missing_and_a_collateral_change(after: After, judge: Judge) -> None:
    verdict = judge(after("UPDATE customers SET name = 'Eva' WHERE id = 3"), after(RENAME))
    assert [change.after for change in verdict.receipt.missing] == [{"name": "Eve"}]
    assert [change.after for change in verdict.receipt.collateral] == [{"name": "Eva"}]
    assert verdict.reason == (
        "1 required change is missing (customers) and 1 change was not asked for (customers)"
    )


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE customers SET email = 'x' WHERE id = 3",
        "DELETE FROM log WHERE line = 'shut'",
        "INSERT INTO log VALUES ('open', 1)",
        "UPDATE products SET picture = x'00fe' WHERE code = 'tea'",
        "INSERT INTO stock VALUES ('east', 'tea', 0)",
    ],
)
def test_a_change_that_was_not_asked_for_makes_it_incomplete(harm: str, after: After, judge: Judge) -> None:
    verdict = judge(after(RENAME + harm), after(RENAME))
    assert verdict.outcome == "incomplete"
    assert verdict.receipt.collateral


def test_the_net_effect_counts_not_the_way(after: After, judge: Judge) -> None:
    detour = "UPDATE customers SET name = 'Zoe', email = NULL WHERE id IN (2, 3);"
    back = "UPDATE customers SET name = 'Bob' WHERE id = 2;"
    back += "UPDATE customers SET email = 'c@example.org' WHERE id = 3;"
    assert judge(after(detour + back + RENAME), after(RENAME)).outcome == "complete"


def test_numbers_of_inserted_rows_do_not_count(after: After, judge: Judge) -> None:
    final = """
        INSERT INTO orders (id, customer_id, note) VALUES (70, 1, 'a'), (40, 1, 'a');
        INSERT INTO items (id, order_id, product) VALUES (99, 40, 'z'), (98, 70, 'y'), (97, 70, 'x');
    """
    assert judge(after(final), after(TWO_ORDERS)).outcome == "complete"


def test_items_in_another_order_are_another_state(after: After, judge: Judge) -> None:
    final = """
        INSERT INTO orders (id, customer_id, note) VALUES (4, 1, 'a'), (5, 1, 'a');
        INSERT INTO items (order_id, product) VALUES (4, 'x'), (5, 'y'), (5, 'z');
    """
    assert judge(after(final), after(TWO_ORDERS)).outcome == "incomplete"
    swapped = final.replace("(4, 'x'), (5, 'y'), (5, 'z')", "(5, 'x'), (5, 'y'), (4, 'z')")
    assert judge(after(swapped), after(TWO_ORDERS)).outcome == "complete"


def test_children_of_distinct_parents_cannot_be_swapped(after: After, judge: Judge) -> None:
    gold = """
        INSERT INTO orders (id, note) VALUES (4, 'p'), (5, 'q');
        INSERT INTO items (order_id, product) VALUES (4, 'x'), (5, 'y');
    """
    assert (
        judge(after(gold.replace("(4, 'x'), (5, 'y')", "(5, 'x'), (4, 'y')")), after(gold)).outcome
        == "incomplete"
    )


def test_reference_to_a_row_that_was_there_counts_by_number(after: After, judge: Judge) -> None:
    gold = "INSERT INTO orders (customer_id, note) VALUES (1, 'a')"
    assert judge(after(gold.replace("(1,", "(2,")), after(gold)).outcome == "incomplete"


def test_key_that_is_also_a_reference_counts(after: After, judge: Judge) -> None:
    gold = "INSERT INTO profiles VALUES (2, 'new')"
    assert judge(after("INSERT INTO profiles VALUES (3, 'new')"), after(gold)).outcome == "incomplete"


def test_updated_row_must_point_at_the_right_inserted_row(after: After, judge: Judge) -> None:
    gold = """
        INSERT INTO customers (id, name) VALUES (10, 'new'), (11, 'other');
        UPDATE orders SET customer_id = 10 WHERE id = 1;
    """
    other_numbers = gold.replace("10", "31").replace("11", "30")
    assert judge(after(other_numbers), after(gold)).outcome == "complete"
    assert judge(after(gold.replace("= 10", "= 11")), after(gold)).outcome == "incomplete"


def test_updated_rows_share_an_inserted_row_or_do_not(after: After, judge: Judge) -> None:
    twins = "INSERT INTO customers (id, name) VALUES (10, 'twin'), (11, 'twin');"
    apart = twins + "UPDATE orders SET customer_id = 8 + id WHERE id IN (2, 3)"
    together = twins + "UPDATE orders SET customer_id = 10 WHERE id IN (2, 3)"
    crossed = twins + "UPDATE orders SET customer_id = 13 - id WHERE id IN (2, 3)"
    assert judge(after(together), after(apart)).outcome == "incomplete"
    assert judge(after(crossed), after(apart)).outcome == "complete"


def test_long_chains_are_followed_to_their_ends(build: Build, after: After, judge: Judge) -> None:
    start = build("CREATE TABLE parts (id INTEGER PRIMARY KEY, inside INTEGER REFERENCES parts, name TEXT)")

    def chain(first: int, size: int, name: str) -> str:
        rows = (
            f"({first + i}, {first + i - 1 if i else 'NULL'}, '{name if i == 0 else 'p'}')"
            for i in range(size)
        )
        return f"INSERT INTO parts VALUES {', '.join(rows)};"

    gold = chain(1, 20, "red") + chain(21, 15, "blue")
    same = chain(1, 15, "blue") + chain(21, 20, "red")
    swapped = chain(1, 20, "blue") + chain(21, 15, "red")
    assert judge(after(same, start), after(gold, start), start=start).outcome == "complete"
    assert judge(after(swapped, start), after(gold, start), start=start).outcome == "incomplete"


def test_composite_references_are_followed(build: Build, after: After, judge: Judge) -> None:
    start = build(
        "CREATE TABLE rooms (id INTEGER PRIMARY KEY, house TEXT, UNIQUE (house, id));"
        "CREATE TABLE beds (id INTEGER PRIMARY KEY, house TEXT, room INTEGER, size TEXT,"
        " FOREIGN KEY (house, room) REFERENCES ROOMS (house, id))"
    )
    gold = """
        INSERT INTO rooms VALUES (1, 'h'), (2, 'h');
        INSERT INTO beds VALUES (1, 'h', 1, 'a'), (2, 'h', 1, 'b');
    """
    renumbered = gold.replace("'h', 1,", "'h', 2,")
    apart = gold.replace("(2, 'h', 1, 'b')", "(2, 'h', 2, 'b')")
    assert judge(after(renumbered, start), after(gold, start), start=start).outcome == "complete"
    assert judge(after(apart, start), after(gold, start), start=start).outcome == "incomplete"


def test_natural_keys_count(after: After, judge: Judge) -> None:
    gold, other = (
        after("INSERT INTO items VALUES (50, 1, 'x', 1)"),
        after("INSERT INTO items VALUES (51, 1, 'x', 1)"),
    )
    assert judge(other, gold).outcome == "complete"
    assert judge(other, gold, natural_keys=["Items"]).outcome == "incomplete"


def test_text_keys_of_inserted_rows_count(after: After, judge: Judge) -> None:
    gold = "INSERT INTO products VALUES ('ink', 1, NULL)"
    assert judge(after(gold.replace("ink", "pen")), after(gold)).outcome == "incomplete"


def test_doubled_insert_is_collateral(after: After, judge: Judge) -> None:
    gold = "INSERT INTO items (product) VALUES ('x');"
    verdict = judge(after(gold * 2), after(gold))
    assert (len(verdict.receipt.made), len(verdict.receipt.collateral)) == (1, 1)


def test_which_of_two_equal_rows_without_key_is_deleted_does_not_count(after: After, judge: Judge) -> None:
    first, second = after("DELETE FROM log WHERE rowid = 1"), after("DELETE FROM log WHERE rowid = 2")
    assert judge(second, first).outcome == "complete"
    assert judge(after("DELETE FROM log WHERE rowid = 3"), first).outcome == "incomplete"


def test_row_without_key_may_be_updated_or_replaced(after: After, judge: Judge) -> None:
    updated = after("UPDATE log SET level = 9 WHERE line = 'shut'")
    replaced = after(
        "DELETE FROM log WHERE line = 'shut'; INSERT INTO log (rowid, line, level) VALUES (77, 'shut', 9)"
    )
    assert judge(replaced, updated).outcome == "complete"


def test_work_in_another_order_may_reuse_the_number_of_a_deleted_row(after: After, judge: Judge) -> None:
    insert = "INSERT INTO orders (customer_id, note) VALUES (1, 'new');"
    children = "INSERT INTO items (order_id, product) SELECT id, 'pen' FROM orders WHERE note = 'new';"
    delete = "DELETE FROM orders WHERE id = 3;"
    insert_first, delete_first = after(insert + children + delete), after(delete + insert + children)
    assert judge(delete_first, insert_first).outcome == "complete"
    assert judge(insert_first, delete_first).outcome == "complete"
    assert judge(after(delete), delete_first).outcome == "incomplete"
    assert judge(after(insert + children), delete_first).outcome == "incomplete"


def test_ignored_columns_do_not_count_whatever_the_case_of_their_names(after: After, judge: Judge) -> None:
    ignore = {"Customers": ("UPDATED_AT",), "log": ("level",)}
    touched = "UPDATE customers SET updated_at = 'now'; UPDATE log SET level = 7;"
    assert judge(after(RENAME + touched), after(RENAME), ignore=ignore).outcome == "complete"
    assert judge(after(RENAME + touched), after(RENAME)).outcome == "incomplete"


def test_ignored_reference_is_not_followed(after: After, judge: Judge) -> None:
    gold = "INSERT INTO orders (id, note) VALUES (8, 'p'), (9, 'q'); INSERT INTO items (order_id) VALUES (8)"
    other = after(gold.replace("VALUES (8)", "VALUES (9)"))
    assert judge(other, after(gold)).outcome == "incomplete"
    assert judge(other, after(gold), ignore={"items": ("order_id",)}).outcome == "complete"


LOGGED = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT, reference TEXT);
    CREATE TABLE audit (id INTEGER PRIMARY KEY, entity TEXT, entity_id INTEGER, line TEXT);
    INSERT INTO orders VALUES (700, 'old', 'R-700');
"""


def test_numbers_that_a_log_mentions_are_followed_like_references(
    build: Build, after: After, judge: Judge
) -> None:
    start = build(LOGGED)

    def placed(*whats: str, swapped: bool = False) -> Path:
        sql = ""
        for number, what in enumerate(whats, 701):
            about = 1403 - number if swapped else number
            sql += f"INSERT INTO orders VALUES ({number}, '{what}', 'R-{number}');"
            line = (
                f"INSERT INTO audit (entity, entity_id, line) VALUES ('order', {about}, '{what}: #{about}');"
            )
            sql += line
        return after(sql, start)

    gold = placed("tea", "jam")
    assert judge(placed("jam", "tea"), gold, start=start).outcome == "complete"
    assert judge(placed("tea", "jam", swapped=True), gold, start=start).outcome == "incomplete"
    assert judge(placed("tea", "ink"), gold, start=start).outcome == "incomplete"


def test_any_of_several_solutions_will_do(after: After, judge: Judge) -> None:
    gold, alternative = after(RENAME), after("DELETE FROM customers WHERE id = 3")
    assert judge(after("DELETE FROM customers WHERE id = 3"), gold, alternative).outcome == "complete"


def test_receipt_follows_the_closest_solution(after: After, judge: Judge) -> None:
    far = after("DELETE FROM customers; DELETE FROM orders")
    verdict = judge(after("UPDATE customers SET name = 'Eva' WHERE id = 3"), far, after(RENAME))
    assert [change.table for change in verdict.receipt.missing] == ["customers"]


def test_half_of_two_solutions_is_none(after: After, judge: Judge) -> None:
    one = after(RENAME + "DELETE FROM items WHERE id = 1")
    other = after("UPDATE customers SET name = 'Eve' WHERE id = 2; DELETE FROM items WHERE id = 2")
    assert judge(after(RENAME + "DELETE FROM items WHERE id = 2"), one, other).outcome == "incomplete"


def test_receipt_pairs_a_good_child_of_a_wrong_parent(after: After, judge: Judge) -> None:
    gold = (
        "INSERT INTO orders (id, note) VALUES (4, 'a'); INSERT INTO items (order_id, product) VALUES (4, 'x')"
    )
    verdict = judge(after(gold.replace("'a'", "'b'")), after(gold))
    assert [change.table for change in verdict.receipt.made] == ["items"]
    assert [change.table for change in verdict.receipt.missing] == ["orders"]
    assert [change.table for change in verdict.receipt.collateral] == ["orders"]


def test_answer_must_match_as_well(shop: Path, after: After, judge: Judge) -> None:
    three = Answer("number", 3)
    right = judge(after(RENAME), after(RENAME), expected=three, given="3")
    wrong = judge(after(RENAME), after(RENAME), expected=three, given="4")
    neither = judge(shop, after(RENAME), expected=three, given=None)
    assert [(one.outcome, one.answer_matched) for one in (right, wrong, neither)] == [
        ("complete", True),
        ("incomplete", False),
        ("incomplete", False),
    ]
    assert wrong.reason == "the answer is missing or wrong"
    assert neither.reason == "1 required change is missing (customers); the answer is missing or wrong"


def test_read_only_task_is_its_answer_and_no_change(shop: Path, after: After, judge: Judge) -> None:
    three = Answer("number", 3)
    assert judge(shop, shop, expected=three, given="3").outcome == "complete"
    assert judge(shop, shop, expected=three, given=None).outcome == "incomplete"
    assert judge(after(RENAME), shop, expected=three, given="3").outcome == "incomplete"


def test_task_that_asks_for_nothing_is_the_verifiers_error(shop: Path, after: After, judge: Judge) -> None:
    assert judge(after(RENAME), shop).outcome == "verifier_error"
    assert judge(shop, after(RENAME), shop).outcome == "verifier_error"
    ignored = judge(shop, after(RENAME), ignore={"customers": ("name",)})
    assert ignored.outcome == "verifier_error"
    assert "does nothing" in ignored.reason


def test_more_changes_than_can_be_read_are_never_complete(
    monkeypatch: pytest.MonkeyPatch, after: After, judge: Judge
) -> None:
    gold, final = (
        after(RENAME),
        after(RENAME + "INSERT INTO log SELECT 'spam', 1 FROM orders, orders, orders"),
    )
    monkeypatch.setattr("subworlds.verifiers.changes.MOST_ROWS", 3)
    verdict = judge(final, gold)
    assert verdict.outcome == "incomplete"
    assert verdict.receipt.omitted == 24
