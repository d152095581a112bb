"""The bakery's rows and tasks."""

import random
from collections.abc import Iterator
from datetime import date, timedelta

from breads import BREADS
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

FIRST = ("Ada", "Bo", "Cleo", "Dan", "Eve", "Finn")
LAST = ("O'Hara", "Baker; Sons", "Müller", "Line\nBreak")


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """Customers, then their orders."""
    names = [f"{first} {last}" for last in LAST for first in FIRST]
    for number, name in enumerate(names, 1):
        since = date(2020, 1, 1) + timedelta(days=rng.randrange(900))
        yield "customers", {"id": number, "name": name, "since": since}
    for number in range(1, 61):
        customer, bread = rng.randint(1, len(names)), rng.choice(BREADS)
        order = {"customer_id": customer, "order": bread, "loaves": rng.randint(1, 9)}
        yield "orders", {"id": number, **order, "cancelled": rng.random() < 0.2}


ORDERS = """
    SELECT orders.id, name, "order" AS bread, loaves, customer_id FROM orders
    JOIN customers ON customers.id = customer_id WHERE cancelled = 0 ORDER BY orders.id
"""


@template("customer-since", difficulty="easy", tags=("read",))
def customer_since(world: World, rng: random.Random) -> Draft | None:
    """Since when somebody has been a customer."""
    customer = pick(rng, world.rows("SELECT * FROM customers ORDER BY id"))
    if customer is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Since when has {name} been a customer? Answer with the date, YYYY-MM-DD.",
            "When did {name} become a customer (YYYY-MM-DD)?",
            "The first day of {name} with us, please, as YYYY-MM-DD.",
            name=customer["name"],
        ),
        solution=[call("search_customers", query=customer["name"])],
        answer={"text": customer["since"]},
    )


@template("cancel-order", difficulty="medium", tags=("write",))
def cancel_order(world: World, rng: random.Random) -> Draft | None:
    """Cancel the only order that somebody has of a bread."""
    orders = world.rows(ORDERS)
    order = pick(rng, orders)
    if order is None or sum((o["name"], o["bread"]) == (order["name"], order["bread"]) for o in orders) > 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{name} no longer wants the {bread}. Please cancel that order.",
            "Cancel {name}'s order of {bread}.",
            "No {bread} for {name} after all: take the order off.",
            name=order["name"],
            bread=order["bread"],
        ),
        solution=[
            call("search_customers", query=order["name"]),
            call("list_orders", customer_id=order["customer_id"]),
            call("cancel_order", order_id=order["id"]),
        ],
    )
