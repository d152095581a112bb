"""Verifiers for tasks of the shop whose end state the agent may choose."""

import sqlite3
from contextlib import closing
from typing import Any

Rows = set[tuple[Any, ...]]

HOME_OF_FIONA = """
    SELECT customers.id, addresses.id FROM customers JOIN addresses ON addresses.customer_id = customers.id
    WHERE customers.name = 'Fiona O''Leary' AND addresses.label = 'home'
"""
NEW_TO_FIONA = """
    SELECT id FROM products WHERE category = 'cooking' AND status = 'active' AND id NOT IN (
      SELECT order_items.product_id FROM order_items
      JOIN orders ON orders.id = order_items.order_id JOIN customers ON customers.id = orders.customer_id
      WHERE customers.name = 'Fiona O''Leary')
"""
WITH_ONE_LESS_OF_EACH_ORDERED = """
    SELECT id, sku, name, category, supplier_id, price_cents,
      on_hand - (id IN ({})), reorder_level, status FROM products
"""


def verify_three_new_cooking_products_are_ordered(
    initial_db_path: str, final_db_path: str, final_answer: str | None
) -> dict[str, str]:
    """One order of Fiona O'Leary's has three cooking products, new to her, for $75 to $90; else no change."""
    with closing(read_only(initial_db_path)) as initial, closing(read_only(final_db_path)) as final:
        before, after = everything(initial), everything(final)
        [home] = initial.execute(HOME_OF_FIONA)
        new_to_her = {product for (product,) in initial.execute(NEW_TO_FIONA)}
        new_orders = after["orders"] - before["orders"]
        new_items = after["order_items"] - before["order_items"]
        ordered = {product for _, _, product, _, _ in new_items}
        remaining = WITH_ONE_LESS_OF_EACH_ORDERED.format(", ".join(map(str, ordered)))
        before["products"] = set(initial.execute(remaining))
    wanted = [*home, None, "standard", "placed", "2026-03-02", None, None]
    before["orders"] |= new_orders
    before["order_items"] |= new_items
    complete = (
        before == after
        and [order for _, *order, _ in new_orders] == [wanted]
        and len(new_items) == len(ordered) == 3
        and ordered <= new_to_her
        and {order for _, order, *_ in new_items} == {key for key, *_ in new_orders}
        and all(quantity == 1 for *_, quantity, _ in new_items)
        and 7500 <= sum(cents for *_, cents in new_items) <= 9000
    )
    return {"result": "complete" if complete else "others"}


def read_only(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def everything(db: sqlite3.Connection) -> dict[str, Rows]:
    """All rows of all tables."""
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {table: set(db.execute(f'SELECT * FROM "{table}"')) for table in tables}
