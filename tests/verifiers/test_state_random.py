"""The state check against chance: what must pass in any order, what must never pass, and an oracle."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from subworlds.verifiers.verdict import Verdict

After: TypeAlias = Callable[..., Path]
Judge: TypeAlias = Callable[..., Verdict]


def order(chance: random.Random) -> list[str]:
    """SQL that places an order with some items; its numbers depend on when it runs."""
    customer, note = chance.choice((1, 2, 3)), chance.choice("ab")
    items = [f"'{chance.choice('xyz')}', {chance.choice((1, 2))}" for _ in range(chance.randrange(4))]
    last = "(SELECT max(id) FROM orders)"
    return [
        f"INSERT INTO orders (customer_id, note) VALUES ({customer}, '{note}');",
        *(f"INSERT INTO items (order_id, product, quantity) VALUES ({last}, {item});" for item in items),
    ]


def work(chance: random.Random) -> list[list[str]]:
    """Independent pieces of work, each a list of statements."""
    pieces = [order(chance) for _ in range(chance.randrange(1, 5))]
    pieces.append(
        [f"UPDATE customers SET name = 'n{chance.randrange(9)}' WHERE id = {chance.choice((1, 2))};"]
    )
    pieces.append([f"DELETE FROM stock WHERE code = '{chance.choice(('tea', 'jam'))}';"])
    pieces.append([f"INSERT INTO log VALUES ('{chance.choice('pq')}', {chance.randrange(3)});"])
    return pieces


def script(pieces: list[list[str]]) -> str:
    return "".join(statement for piece in pieces for statement in piece)


def shift(chance: random.Random) -> str:
    """SQL after which inserted rows get other numbers."""
    number = chance.randrange(10, 99)
    return f"INSERT INTO orders (id) VALUES ({number}); INSERT INTO items (id) VALUES ({number});"


UNSHIFT = "DELETE FROM orders WHERE customer_id IS NULL; DELETE FROM items WHERE order_id IS NULL;"


@pytest.mark.parametrize("seed", range(25))
def test_independent_work_in_any_order_is_complete(seed: int, after: After, judge: Judge) -> None:
    chance = random.Random(seed)
    pieces = work(chance)
    shuffled = chance.sample(pieces, len(pieces))
    final = after(shift(chance) + script(shuffled) + UNSHIFT)
    assert judge(final, after(script(pieces))).outcome == "complete"


@pytest.mark.parametrize("seed", range(25))
def test_work_with_a_statement_dropped_or_doubled_is_incomplete(
    seed: int, after: After, judge: Judge
) -> None:
    chance = random.Random(seed)
    pieces = work(chance)
    piece = chance.choice([piece for piece in pieces if piece[-1].startswith("INSERT")])
    mutated = [piece[:-1] if seed % 2 else [*piece, piece[-1]]]
    final = after(script([other for other in pieces if other is not piece] + mutated))
    assert judge(final, after(script(pieces))).outcome == "incomplete"


@pytest.mark.parametrize("seed", range(25))
def test_verdict_agrees_with_an_oracle_of_items_in_orders(seed: int, after: After, judge: Judge) -> None:
    """Orders look alike, so that two states are equal if and only if the same items share orders."""
    chance = random.Random(seed)
    products = [chance.choice("xy") for _ in range(4)]

    def placed() -> tuple[list[list[str]], Path]:
        baskets: list[list[str]] = [[] for _ in range(3)]
        for product in products:
            chance.choice(baskets).append(product)
        rows = ", ".join(f"({number}, 1)" for number in range(10, 13))
        items = ", ".join(
            f"({10 + number}, '{product}')" for number, basket in enumerate(baskets) for product in basket
        )
        orders = f"INSERT INTO orders (id, customer_id) VALUES {rows};"
        sql = f"{orders} INSERT INTO items (order_id, product) VALUES {items}"
        return sorted(sorted(basket) for basket in baskets), after(sql)

    for _ in range(6):
        (wanted, gold), (found, final) = placed(), placed()
        assert (judge(final, gold).outcome == "complete") is (wanted == found)
