"""The shop's rows, and templates of what its back office is asked for.

Reading order: the rows; what templates look up; then the templates, easy, medium, hard.
"""

import random
from collections.abc import Iterator
from datetime import date
from math import ceil
from typing import Any

from cast import CAST
from filler import CITIES, STREETS, Filler
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]

INSURED_CENTS = 20_000
LATE_DAYS, LATE_CREDIT, MOST_CREDIT_HELD = 7, {"regular": 5, "gold": 10}, 2000
RETURN_DAYS = {"regular": 20, "gold": 30}
LEAST_TO_CARD = 2000
MOST_DIFFERENCE = 10


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """The cast, table by table, each followed by its filler."""
    filler = Filler(rng)
    for table, (columns, cast_rows) in CAST.items():
        for row in cast_rows:
            yield table, dict(zip(columns.split(), row, strict=True))
        for extra in filler.tables.get(table, []):
            yield table, extra


# ---------------------------------------------------------------- what templates look up


def today(world: World) -> date:
    return world.clock.date()


def customers(world: World, where: str = "1") -> list[Row]:
    """Customers with `called` and `wanted`: the name, or what tells apart two who share it."""
    return world.rows(f"""
        SELECT customers.*, alike > 1 AS shared,
            CASE WHEN alike > 1 THEN name || ' (' || email || ')' ELSE name END AS called,
            CASE WHEN alike > 1 THEN email ELSE name END AS wanted
        FROM (SELECT *, count(*) OVER (PARTITION BY name) AS alike FROM customers) AS customers
        WHERE {where} ORDER BY id
    """)


def customer(world: World, key: int) -> Row:
    [found] = customers(world, f"id = {key}")
    return found


def products(world: World, where: str = "1") -> list[Row]:
    """Products with the quantity of their open purchase order, if there is one."""
    return world.rows(f"""
        SELECT products.*, suppliers.name AS supplier, lead_days, minimum_quantity,
            (SELECT quantity FROM purchase_orders WHERE product_id = products.id AND status = 'open') AS coming,
            (SELECT expected_on FROM purchase_orders WHERE product_id = products.id AND status = 'open') AS expected_on
        FROM products JOIN suppliers ON suppliers.id = supplier_id WHERE {where} ORDER BY products.id
    """)


ORDERS = """
    SELECT orders.*, subtotal, pieces, kinds, label,
        subtotal * coalesce(percent_off, 0) / 100 AS discount,
        subtotal - subtotal * coalesce(percent_off, 0) / 100 + CASE
            WHEN shipping = 'express' THEN 1500
            WHEN tier = 'gold' OR subtotal - subtotal * coalesce(percent_off, 0) / 100 >= 7500 THEN 0
            ELSE 600 END AS total
    FROM orders JOIN customers ON customers.id = orders.customer_id JOIN addresses ON addresses.id = address_id
    LEFT JOIN coupons ON coupons.id = coupon_id
    JOIN (SELECT order_id, sum(quantity * unit_price_cents) AS subtotal, sum(quantity) AS pieces, count(*) AS kinds
        FROM order_items GROUP BY order_id) ON order_id = orders.id
"""


def orders(world: World, where: str = "1") -> list[Row]:
    """Orders with what they come to, the newest first."""
    return world.rows(f"{ORDERS} WHERE {where} ORDER BY placed_on DESC, orders.id DESC")


def waiting(world: World, where: str = "1") -> list[Row]:
    """Orders that have not been shipped."""
    return orders(world, f"status = 'placed' AND {where}")


def items(world: World, order: Row) -> list[Row]:
    return world.rows(
        "SELECT order_items.*, products.name, on_hand, status FROM order_items "
        "JOIN products ON products.id = product_id WHERE order_id = ? ORDER BY order_items.id",
        order["id"],
    )


def telling_item(world: World, rng: random.Random, order: Row) -> Row | None:
    """An item by which a customer's order is told from the others that wait."""
    others = waiting(world, f"orders.customer_id = {order['customer_id']} AND orders.id <> {order['id']}")
    elsewhere = {item["product_id"] for other in others for item in items(world, other)}
    return pick(rng, [item for item in items(world, order) if item["product_id"] not in elsewhere])


def addresses(world: World, who: Row) -> list[Row]:
    return world.rows("SELECT * FROM addresses WHERE customer_id = ? ORDER BY id", who["id"])


def returns(world: World, where: str) -> list[Row]:
    return world.rows(f"""
        SELECT returns.*, orders.customer_id, products.name AS product, unit_price_cents,
            coalesce(percent_off, 0) AS percent_off
        FROM returns JOIN order_items ON order_items.id = order_item_id JOIN orders ON orders.id = order_id
        JOIN products ON products.id = product_id LEFT JOIN coupons ON coupons.id = coupon_id
        WHERE {where} ORDER BY requested_on, returns.id
    """)


def next_id(world: World, table: str) -> int:
    return int(world.value(f"SELECT max(id) + 1 FROM {table}"))


def fitting_coupons(world: World, who: Row, subtotal: int) -> list[Row]:
    """Those of today whose terms an order of this customer's meets, the best first."""
    day = today(world).isoformat()
    return world.rows(
        "SELECT * FROM coupons WHERE ? BETWEEN starts_on AND ends_on AND min_subtotal_cents <= ? "
        "AND gold_only <= ? ORDER BY percent_off DESC",
        day,
        subtotal,
        who["tier"] == "gold",
    )


def dollars(cents: int) -> float | int:
    return cents // 100 if cents % 100 == 0 else cents / 100


def money(cents: int) -> str:
    return f"${cents // 100}" if cents % 100 == 0 else f"${cents / 100:.2f}"


def spoken(day: str) -> str:
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {parsed:%B} {parsed.year}"


def look_up(who: Row) -> Row:
    return call("search_customers", query=who["wanted"])


def look_up_product(product: Row) -> Row:
    return call("search_products", query=product["name"])


def orders_of(who: Row, status: str | None = None) -> Row:
    if status is None:
        return call("list_orders", customer_id=who["id"])
    return call("list_orders", customer_id=who["id"], status=status)


# ---------------------------------------------------------------- easy


@template("what-is-left", difficulty="easy", tags=("read",))
def what_is_left(world: World, rng: random.Random) -> Draft | None:
    """The pieces on hand, the price or the number of a product."""
    product = pick(rng, products(world, "on_hand > 0 AND status = 'active'"))
    if product is None:
        return None
    column, wanted = rng.choice(
        (
            ("on_hand", "How many pieces are on hand? Number only."),
            ("price_cents", "What does one piece cost? Dollars, number only."),
            ("sku", "What is its SKU? Answer with the SKU only."),
        )
    )
    value = product[column]
    text = column == "sku"
    return Draft(
        prompt=phrase(
            rng,
            "A customer asks about the {product}. {wanted}",
            "About our {product}: {wanted}",
            "I am updating the catalogue and need one thing about the {product}. {wanted}",
            product=product["name"],
            wanted=wanted,
        ),
        solution=[look_up_product(product)],
        answer={"text": value} if text else {"number": dollars(value) if column == "price_cents" else value},
    )


@template("latest-order", difficulty="easy", tags=("read",))
def latest_order(world: World, rng: random.Random) -> Draft | None:
    """What a customer's newest order comes to, or when it was placed."""
    who = pick(rng, customers(world))
    if who is None:
        return None
    found = orders(world, f"orders.customer_id = {who['id']}")
    if len(found) < 2 or found[0]["placed_on"] == found[1]["placed_on"]:
        return None
    asks_day = rng.random() < 0.4
    return Draft(
        prompt=phrase(
            rng,
            "{who} is on the line about the order placed last. {wanted}",
            "Please look at the most recent order of {who}. {wanted}",
            "The newest order that we have from {who}: {wanted}",
            who=who["called"],
            wanted="On which day was it placed? Date only, YYYY-MM-DD."
            if asks_day
            else "What does it come to in total? Dollars, number only.",
        ),
        solution=[look_up(who), orders_of(who)],
        answer={"text": found[0]["placed_on"]} if asks_day else {"number": dollars(found[0]["total"])},
    )


@template("when-it-comes", difficulty="easy", tags=("read",))
def when_it_comes(world: World, rng: random.Random) -> Draft | None:
    """When new stock of a product arrives."""
    product = pick(rng, products(world, "coming IS NOT NULL"))
    if product is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "By when do we expect the {product} that is on order? Date only, YYYY-MM-DD.",
            "On which day should the new stock of {product} arrive? Answer with the date, YYYY-MM-DD, nothing else.",
            "A customer wants to know when more {product} come in. Give me the expected date as YYYY-MM-DD.",
            product=product["name"],
        ),
        solution=[look_up_product(product), call("get_product", product_id=product["id"])],
        answer={"text": product["expected_on"]},
    )


@template("terms-of-supplier", difficulty="easy", tags=("read",))
def terms_of_supplier(world: World, rng: random.Random) -> Draft | None:
    """Who delivers a product, how fast, and how few."""
    product = pick(rng, products(world, "status = 'active'"))
    if product is None:
        return None
    column, wanted = rng.choice(
        (
            ("supplier", "Who is the supplier? Answer with the name only."),
            ("minimum_quantity", "How many pieces must we buy at least? Number only."),
            ("lead_days", "How many days does the supplier take to deliver? Number only."),
        )
    )
    value = product[column]
    return Draft(
        prompt=phrase(
            rng,
            "I want to know where we buy the {product}. {wanted}",
            "About buying more of the {product}: {wanted}",
            "One question on the supply of the {product}. {wanted}",
            product=product["name"],
            wanted=wanted,
        ),
        solution=[look_up_product(product), call("get_product", product_id=product["id"])],
        answer={"text": value} if column == "supplier" else {"number": value},
    )


@template("spent-in-a-year", difficulty="easy", tags=("read", "arithmetic"))
def spent_in_a_year(world: World, rng: random.Random) -> Draft | None:
    """What a customer's orders of 2025 came to, cancelled ones left out."""
    who = pick(rng, customers(world))
    if who is None:
        return None
    found = orders(
        world, f"orders.customer_id = {who['id']} AND placed_on BETWEEN '2025-01-01' AND '2025-12-31'"
    )
    kept = [order for order in found if order["status"] != "cancelled"]
    if not 2 <= len(kept) <= 5:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "What did the orders that {who} placed in 2025 come to altogether? Leave out cancelled ones. Dollars, number "
            "only.",
            "Please add up the totals of all orders of {who} from 2025 that were not cancelled. The sum in dollars, number "
            "only.",
            "How much did {who} order for in 2025, not counting what was cancelled? Sum of the order totals in dollars, "
            "just the number.",
            who=who["called"],
        ),
        solution=[
            look_up(who),
            call("list_orders", customer_id=who["id"], placed_from="2025-01-01", placed_to="2025-12-31"),
        ],
        answer={"number": dollars(sum(order["total"] for order in kept))},
    )


@template("price-tag", difficulty="easy", tags=("write",))
def price_tag(world: World, rng: random.Random) -> Draft | None:
    """A product costs something else."""
    product = pick(rng, products(world, "status = 'active' AND price_cents >= 1500"))
    if product is None:
        return None
    cents = product["price_cents"] // 100 * 100 + rng.choice((-250, -150, 150, 250, 350))
    return Draft(
        prompt=phrase(
            rng,
            "The {product} costs {price} from now on. Please change the price.",
            "Please set the price of the {product} to {price}.",
            "New price for the {product}: {price}. Enter it, please.",
            product=product["name"],
            price=money(cents),
        ),
        solution=[
            look_up_product(product),
            call("set_product_price", product_id=product["id"], new_price=dollars(cents)),
        ],
    )


@template("writes-from", difficulty="easy", tags=("write",))
def writes_from(world: World, rng: random.Random) -> Draft | None:
    """A customer has a new email address."""
    who = pick(rng, customers(world))
    if who is None:
        return None
    email = f"{who['name'].lower().replace(' ', '.').replace(chr(39), '')}@{rng.choice(('inkwell', 'pigeonpost'))}.example"
    return Draft(
        prompt=phrase(
            rng,
            "{who} has a new email address, {email}. Please change it in our records.",
            "Please put {email} down as the email address of {who}.",
            "{who} can be reached at {email} from today. Change the address we have, please.",
            who=who["called"],
            email=email,
        ),
        solution=[look_up(who), call("update_customer", customer_id=who["id"], email=email)],
    )


@template("goods-are-here", difficulty="easy", tags=("write",))
def goods_are_here(world: World, rng: random.Random) -> Draft | None:
    """A purchase order has arrived."""
    purchase = pick(
        rng,
        world.rows("""
            SELECT purchase_orders.*, name FROM purchase_orders JOIN products ON products.id = product_id
            WHERE purchase_orders.status = 'open' ORDER BY purchase_orders.id
        """),
    )
    if purchase is None:
        return None
    arrived = rng.random() < 0.6
    return Draft(
        prompt=phrase(
            rng,
            "The {product} we had ordered {what}.",
            "About the open purchase order for the {product}: the goods {what}.",
            "News from the warehouse on the {product} that is on order: it {what}.",
            product=purchase["name"],
            what="arrived in full this morning; please book the delivery in"
            if arrived
            else "will not be delivered; please cancel the purchase order",
        ),
        solution=[
            call("list_purchase_orders", status="open"),
            call(
                "receive_purchase_order" if arrived else "cancel_purchase_order",
                purchase_order_id=purchase["id"],
            ),
        ],
    )


@template("store-credit", difficulty="easy", tags=("write",))
def store_credit(world: World, rng: random.Random) -> Draft | None:
    """Some goodwill, in so many dollars."""
    who = pick(rng, customers(world))
    amount = rng.choice((4, 7.5, 8, 12, 15, 18.5, 22, 30))
    if who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please give {who} ${amount} of store credit for the trouble with the last parcel.",
            "{who} had to wait on the phone far too long: ${amount} of store credit, please.",
            "Add ${amount} to the store credit of {who}, please.",
            who=who["called"],
            amount=f"{amount:.2f}".removesuffix(".00"),
        ),
        solution=[look_up(who), call("grant_store_credit", customer_id=who["id"], amount=amount)],
    )


# ---------------------------------------------------------------- medium


@template("call-it-off", difficulty="medium", tags=("write",))
def call_it_off(world: World, rng: random.Random) -> Draft | None:
    """One of a customer's orders cancelled, if it is still here."""
    order = pick(rng, orders(world, "status IN ('placed', 'shipped') AND placed_on >= '2026-02-10'"))
    if order is None:
        return None
    who = customer(world, order["customer_id"])
    others = orders(world, f"orders.customer_id = {who['id']} AND status IN ('placed', 'shipped')")
    item = pick(rng, items(world, order))
    taken = [
        one["product_id"] for other in others if other["id"] != order["id"] for one in items(world, other)
    ]
    here = order["status"] == "placed"
    if item is None or item["product_id"] in taken or (here and rng.random() < 0.3):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} does not want the order with the {product} any more. If it has not left the house, cancel it. If it "
            "has, do nothing and tell me the total of that order in dollars, number only.",
            "Please cancel the order of {who} with the {product}, unless it is on its way already; in that case I only need its "
            "total in dollars, as a number.",
            "{who} writes: please cancel my order with the {product}. Do so if we still have it here. Otherwise leave it "
            "and answer with what the order comes to, in dollars, just the number.",
            who=who["called"],
            product=item["name"],
        ),
        solution=[
            look_up(who),
            orders_of(who),
            call("get_order", order_id=order["id"]),
            *([call("cancel_order", order_id=order["id"])] if here else []),
        ],
        answer=None if here else {"number": dollars(order["total"])},
        tags=("write" if here else "read", "condition"),
    )


@template("best-coupon", difficulty="medium", tags=("write", "policy", "condition"))
def best_coupon(world: World, rng: random.Random) -> Draft | None:
    """A coupon for an order, whichever the rules give."""
    order = pick(rng, waiting(world, "coupon_id IS NULL"))
    if order is None:
        return None
    who, item = customer(world, order["customer_id"]), telling_item(world, rng, order)
    fitting = fitting_coupons(world, who, order["subtotal"])
    if item is None or not fitting or (fitting[0]["code"] == "WELCOME10" and rng.random() < 0.7):
        return None
    total = order["subtotal"] - order["subtotal"] * fitting[0]["percent_off"] // 100
    free = order["shipping"] == "standard" and (who["tier"] == "gold" or total >= 7500)
    total += 0 if free else {"standard": 600, "express": 1500}[order["shipping"]]
    return Draft(
        prompt=phrase(
            rng,
            "{who} asks whether there is a coupon for the order with the {product}, which we have not shipped. Use the one "
            "that our rules give, and tell me what the order comes to then. Dollars, number only.",
            "Please apply the coupon that {who} is due by the house rules to the unshipped order with the {product}. What is "
            "the new total in dollars? Only the number.",
            "{who} forgot to use a coupon on the order with the {product}, which is still here. Put the right one on it, as "
            "our rules have it, and answer with the total after that: dollars, just the number.",
            who=who["called"],
            product=item["name"],
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            orders_of(who, "placed"),
            call("list_coupons"),
            call("apply_coupon", order_id=order["id"], code=fitting[0]["code"]),
        ],
        answer={"number": dollars(total)},
        tags=("write", "policy"),
    )


SHIP = (
    "The courier is here. Please send off the order of {who} with the {product}, as our rules on parcels say.",
    "The order of {who} with the {product} is packed. Ship it by the house rules, please.",
    "Please get the order of {who} with the {product} out of the house today, and mind our rules for parcels.",
)


@template("parcel-as-chosen", difficulty="medium", tags=("write", "policy"))
def parcel_as_chosen(world: World, rng: random.Random) -> Draft | None:
    """An order that leaves the house as it is."""
    order = pick(rng, waiting(world))
    if order is None or (order["total"] >= INSURED_CENTS and order["shipping"] != "express"):
        return None
    who, item = customer(world, order["customer_id"]), telling_item(world, rng, order)
    if item is None:
        return None
    return Draft(
        prompt=phrase(rng, *SHIP, who=who["called"], product=item["name"]),
        solution=[
            call("read_policy"),
            look_up(who),
            orders_of(who, "placed"),
            call("get_order", order_id=order["id"]),
            call("ship_order", order_id=order["id"]),
        ],
        about=["ship", order["id"]],
    )


@template("late-order", difficulty="medium", tags=("write", "policy", "condition"))
def late_order(world: World, rng: random.Random) -> Draft | None:
    """Store credit for an order that waits too long, if the rules give it."""
    order = pick(rng, waiting(world, "placed_on < '2026-02-28'"))
    if order is None:
        return None
    who = customer(world, order["customer_id"])
    if len(waiting(world, f"orders.customer_id = {who['id']}")) > 1:
        return None
    late = (today(world) - date.fromisoformat(order["placed_on"])).days > LATE_DAYS
    due = late and who["credit_cents"] < MOST_CREDIT_HELD
    grant = call("grant_store_credit", customer_id=who["id"], amount=LATE_CREDIT[who["tier"]])
    return Draft(
        prompt=phrase(
            rng,
            "{who} complains that the order has still not been shipped. See whether the house rules give store credit for "
            "that. If so, grant it. If not, change nothing and tell me on which day the order was placed, YYYY-MM-DD.",
            "Is {who} due store credit for waiting so long for an order that is still here? Give what our rules say. If it "
            "is nothing, leave all as it is and answer with the day on which the order was placed, as YYYY-MM-DD.",
            "{who} has an unshipped order and is cross. Grant the store credit of our rules for late orders, if there is "
            "any to grant. Otherwise I need only the date of the order, YYYY-MM-DD.",
            who=who["called"],
        ),
        solution=[call("read_policy"), look_up(who), orders_of(who, "placed"), *([grant] if due else [])],
        answer=None if due else {"text": order["placed_on"]},
        tags=("write" if due else "read", "policy", "condition"),
    )


@template("new-count", difficulty="medium", tags=("write", "policy", "condition"))
def new_count(world: World, rng: random.Random) -> Draft | None:
    """A count entered, unless it is too far from the books."""
    product = pick(rng, products(world, "status = 'active' AND on_hand >= 14"))
    if product is None:
        return None
    difference = rng.choice((-13, -12, -11, -10, -9, -4, -2, 3, 7, 10, 11, 12))
    entered = abs(difference) <= MOST_DIFFERENCE
    counted = product["on_hand"] + difference
    return Draft(
        prompt=phrase(
            rng,
            "I counted {counted} of the {product} on the shelf. Enter it if our rules allow that. If they ask for another "
            "count, leave the stock and tell me the reorder level of the product, number only.",
            "The count of the {product} is {counted}. Treat it by the house rules. Should it have to be counted again, "
            "enter nothing and answer with just the product's reorder level.",
            "{counted} pieces of the {product} were counted today. Correct the books, as long as the rules do not want "
            "a second count; if they do, change nothing and give me the reorder level as a number.",
            counted=counted,
            product=product["name"],
        ),
        solution=[
            call("read_policy"),
            look_up_product(product),
            call("count_stock", product_id=product["id"], counted=counted)
            if entered
            else call("get_product", product_id=product["id"]),
        ],
        answer=None if entered else {"number": product["reorder_level"]},
        tags=("write" if entered else "read", "policy", "condition"),
        about=["count", product["id"]],
    )


@template("percent-price", difficulty="medium", tags=("write", "policy"))
def percent_price(world: World, rng: random.Random) -> Draft | None:
    """A price cut or raised by a percentage, rounded as the rules say."""
    product = pick(rng, products(world, "status = 'active' AND price_cents >= 3000"))
    percent, up = rng.choice((5, 8, 12, 15, 18, 22)), rng.random() < 0.4
    if product is None:
        return None
    exact = product["price_cents"] * (100 + (percent if up else -percent)) / 10_000
    if exact == int(exact):
        return None
    price = ceil(exact) if up else int(exact)
    return Draft(
        prompt=phrase(
            rng,
            "Please {change} the price of the {product} by {percent} percent, rounded as our rules say.",
            "The {product}: {change} its price by {percent} percent. The house rules say how to round.",
            "From today we {change} what the {product} costs by {percent} percent. Set the price, rounded by the rules.",
            change="raise" if up else "cut",
            product=product["name"],
            percent=percent,
        ),
        solution=[
            call("read_policy"),
            look_up_product(product),
            call("set_product_price", product_id=product["id"], new_price=price),
        ],
    )


@template("refund-it", difficulty="medium", tags=("write", "policy"))
def refund_it(world: World, rng: random.Random) -> Draft | None:
    """An approved return refunded the way the rules say."""
    returned = pick(rng, returns(world, "returns.status = 'approved'"))
    if returned is None:
        return None
    who = customer(world, returned["customer_id"])
    if len(returns(world, f"returns.status = 'approved' AND orders.customer_id = {who['id']}")) > 1:
        return None
    cents = returned["quantity"] * returned["unit_price_cents"] * (100 - returned["percent_off"]) // 100
    cents = cents * 90 // 100 if returned["reason"] == "changed_mind" else cents
    method = "card" if cents >= LEAST_TO_CARD else "store_credit"
    return Draft(
        prompt=phrase(
            rng,
            "The return of {who} was approved. Please refund it now, in the way that our rules prescribe. How many dollars is "
            "it? Number only.",
            "Please pay {who} back for the approved return; the house rules say how. Answer with the amount in dollars, "
            "number only.",
            "The return of {who} is approved but not refunded. See to it by our rules and tell me the amount: dollars, "
            "just the number.",
            who=who["called"],
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            call("list_returns", customer_id=who["id"], status="approved"),
            call(
                "get_order",
                order_id=world.value(
                    "SELECT order_id FROM order_items WHERE id = ?", returned["order_item_id"]
                ),
            ),
            call("refund_return", return_id=returned["id"], method=method),
        ],
        answer={"number": dollars(cents)},
    )


@template("buy-more", difficulty="medium", tags=("write", "policy", "condition"))
def buy_more(world: World, rng: random.Random) -> Draft | None:
    """A product bought, in the number that the rules say, or on order already."""
    product = pick(rng, products(world, "status = 'active' AND on_hand < reorder_level"))
    if product is None:
        return None
    quantity = max(2 * product["reorder_level"] - product["on_hand"], product["minimum_quantity"])
    buys = product["coming"] is None
    return Draft(
        prompt=phrase(
            rng,
            "We are running out of the {product}. If nothing is on order, buy what our rules say. If something is, tell me "
            "only when it is expected, YYYY-MM-DD.",
            "The {product} is low. Order more of it by the house rules, unless more is coming already; then just answer "
            "with the expected date, YYYY-MM-DD.",
            "Please see to the stock of the {product} as the rules on buying say. Should a purchase order be open, do "
            "nothing and give me the day on which it is expected (YYYY-MM-DD).",
            product=product["name"],
        ),
        solution=[
            call("read_policy"),
            look_up_product(product),
            call("get_product", product_id=product["id"]),
            *([call("place_purchase_order", product_id=product["id"], quantity=quantity)] if buys else []),
        ],
        answer=None if buys else {"text": product["expected_on"]},
        tags=("write" if buys else "read", "policy", "condition"),
    )


@template("other-place", difficulty="medium", tags=("write",))
def other_place(world: World, rng: random.Random) -> Draft | None:
    """An order to another address of the customer's, or by express."""
    order = pick(rng, waiting(world))
    if order is None:
        return None
    who, item = customer(world, order["customer_id"]), telling_item(world, rng, order)
    other = pick(rng, [one for one in addresses(world, who) if one["id"] != order["address_id"]])
    if item is None or other is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} would rather have the order with the {product} at the {label} address. It is still here; please "
            "change that.",
            'Please redirect {who}\'s unshipped order with the {product} to the address that we have under "{label}".',
            "The order of {who} with the {product} has to go to the {label} address instead. Please see to it.",
            who=who["called"],
            product=item["name"],
            label=other["label"],
        ),
        solution=[
            look_up(who),
            call("get_customer", customer_id=who["id"]),
            orders_of(who, "placed"),
            call("change_delivery", order_id=order["id"], address_id=other["id"]),
        ],
    )


@template("holiday-address", difficulty="medium", tags=("write",))
def holiday_address(world: World, rng: random.Random) -> Draft | None:
    """A new address, and an order sent there."""
    order = pick(rng, waiting(world))
    if order is None:
        return None
    who, item = customer(world, order["customer_id"]), telling_item(world, rng, order)
    if item is None:
        return None
    city, letters = rng.choice(list(CITIES.items()))
    street = f"{rng.randint(2, 60)} {rng.choice(STREETS)}"
    postcode = f"{letters}{rng.randint(1, 9)} {rng.randint(1, 9)}QX"
    label = rng.choice(("cottage", "boathouse", "allotment", "office"))
    return Draft(
        prompt=phrase(
            rng,
            '{who} has a new address, to be kept as "{label}": {street}, {city}, postcode {postcode}. Please add it, and '
            "have the unshipped order with the {product} sent there.",
            'Please add this address for {who} under the label "{label}": street {street}, city {city}, postcode '
            "{postcode}. The order with the {product}, which is still here, goes there.",
            "Send the waiting order of {who} with the {product} to {street}, {city}, {postcode}. That is a new address; put "
            'it on record first, labelled "{label}".',
            who=who["called"],
            label=label,
            street=street,
            city=city,
            postcode=postcode,
            product=item["name"],
        ),
        solution=[
            look_up(who),
            orders_of(who, "placed"),
            call(
                "add_address", customer_id=who["id"], label=label, street=street, city=city, postcode=postcode
            ),
            call("change_delivery", order_id=order["id"], address_id=next_id(world, "addresses")),
        ],
    )


@template("more-of-it", difficulty="medium", tags=("write",))
def more_of_it(world: World, rng: random.Random) -> Draft | None:
    """Another number of one thing in an order."""
    order = pick(rng, waiting(world))
    if order is None:
        return None
    who, item = customer(world, order["customer_id"]), telling_item(world, rng, order)
    if item is None or item["status"] != "active" or item["on_hand"] < 6:
        return None
    quantity = rng.choice([one for one in (1, 2, 3, 4, 5) if one != item["quantity"]])
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants {quantity} of the {product} in the unshipped order, not {before}. Please change that.",
            "In the order of {who} with the {product}, which has not gone out, make it {quantity} of them instead of {before}.",
            "Please change the waiting order of {who}: {quantity} of the {product} rather than {before}.",
            who=who["called"],
            quantity=quantity,
            before=item["quantity"],
            product=item["name"],
        ),
        solution=[
            look_up(who),
            orders_of(who, "placed"),
            call("get_order", order_id=order["id"]),
            call("set_item_quantity", order_id=order["id"], product_id=item["product_id"], quantity=quantity),
        ],
    )


# ---------------------------------------------------------------- hard


@template("insured-parcel", difficulty="hard", tags=("write", "policy"))
def insured_parcel(world: World, rng: random.Random) -> Draft | None:
    """An order that may leave the house by express only."""
    order = pick(rng, waiting(world, "shipping = 'standard'"))
    if order is None or order["total"] < INSURED_CENTS:
        return None
    who, item = customer(world, order["customer_id"]), telling_item(world, rng, order)
    if item is None:
        return None
    return Draft(
        prompt=phrase(rng, *SHIP, who=who["called"], product=item["name"]),
        solution=[
            call("read_policy"),
            look_up(who),
            orders_of(who, "placed"),
            call("get_order", order_id=order["id"]),
            call("change_delivery", order_id=order["id"], shipping="express"),
            call("ship_order", order_id=order["id"]),
        ],
        about=["ship", order["id"]],
    )


@template("buy-for-a-supplier", difficulty="hard", tags=("write", "policy"))
def buy_for_a_supplier(world: World, rng: random.Random) -> Draft | None:
    """Everything of one supplier's that runs low, in the numbers of the rules."""
    low = products(world, "status = 'active' AND on_hand < reorder_level AND coming IS NULL")
    one = pick(rng, low)
    if one is None:
        return None
    mine = [product for product in low if product["supplier"] == one["supplier"]]
    low.sort(key=lambda product: product["name"])
    return Draft(
        prompt=phrase(
            rng,
            "Please buy whatever we need from {supplier}: their products that are below the reorder level with nothing on "
            "order, each in the number that our rules say.",
            "{supplier} takes our orders today. Place purchase orders for all their products that the house rules want "
            "bought, in the quantities of the rules.",
            "Go through the low stock, and for the products of {supplier} place the purchase orders that the rules on "
            "buying ask for.",
            supplier=one["supplier"],
        ),
        solution=[
            call("read_policy"),
            call("list_low_stock"),
            call("list_purchase_orders", status="open"),
            *(call("get_product", product_id=product["id"]) for product in low),
            *(
                call(
                    "place_purchase_order",
                    product_id=product["id"],
                    quantity=max(
                        2 * product["reorder_level"] - product["on_hand"], product["minimum_quantity"]
                    ),
                )
                for product in mine
            ),
        ],
    )


@template("sends-it-back", difficulty="hard", tags=("write", "policy", "condition"))
def sends_it_back(world: World, rng: random.Random) -> Draft | None:
    """A return opened, decided by the rules and, if approved, refunded."""
    order = pick(rng, orders(world, "status = 'delivered' AND delivered_on >= '2026-01-31'"))
    if order is None:
        return None
    who = customer(world, order["customer_id"])
    item = pick(
        rng, [one for one in items(world, order) if not returns(world, f"order_item_id = {one['id']}")]
    )
    recent = orders(world, f"orders.customer_id = {who['id']} AND status = 'delivered'")
    if (
        item is None
        or sum(item["product_id"] in {one["product_id"] for one in items(world, other)} for other in recent)
        > 1
    ):
        return None
    reason, why = rng.choice(
        (
            ("changed_mind", "has changed their mind about one {product}"),
            ("changed_mind", "has no use for one {product}"),
            ("damaged", "found one {product} damaged on arrival"),
            ("wrong_item", "was sent one {product} by mistake, instead of what they had wanted,"),
        )
    )
    days = (today(world) - date.fromisoformat(order["delivered_on"])).days
    if days > 30:
        return None
    approved = reason != "changed_mind" or days <= RETURN_DAYS[who["tier"]]
    percent = world.value("SELECT percent_off FROM coupons WHERE id = ?", order["coupon_id"]) or 0
    cents = item["unit_price_cents"] * (100 - percent) // 100
    cents = cents * 90 // 100 if reason == "changed_mind" else cents
    if approved and reason == "changed_mind" and rng.random() < 0.5:
        return None
    key = next_id(world, "returns")
    method = "card" if cents >= LEAST_TO_CARD else "store_credit"
    return Draft(
        prompt=phrase(
            rng,
            "{who} {why} from an order that we have delivered, and asks today to return it. Open the return, decide it by "
            "our rules and, if it is approved, refund it at once as the rules say.",
            "A return: {who} {why} in a delivered order. Please enter it as asked for today, decide on it under the house "
            "rules, and pay it back by the rules should you approve it.",
            "{who} {why} in an order that was delivered, and wants to send it back. Enter the return, approve or reject it "
            "as the house rules say, and refund it (by the rules again) if approved.",
            who=who["called"],
            why=why.format(product=item["name"]),
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            orders_of(who, "delivered"),
            call("get_order", order_id=order["id"]),
            call(
                "open_return", order_id=order["id"], product_id=item["product_id"], quantity=1, reason=reason
            ),
            call("decide_return", return_id=key, decision="approved" if approved else "rejected"),
            *([call("refund_return", return_id=key, method=method)] if approved else []),
        ],
        about=["return", order["id"], item["id"]],
    )


@template("order-with-coupon", difficulty="hard", tags=("write", "policy"))
def order_with_coupon(world: World, rng: random.Random) -> Draft | None:
    """A new order by phone, with the coupon of the rules."""
    who = pick(rng, customers(world))
    goods = products(world, "status = 'active' AND on_hand >= 3")
    if who is None or len(goods) < 2:
        return None
    first, second = rng.sample(goods, 2)
    many, shipping = rng.choice((1, 2, 3)), rng.choice(("standard", "standard", "express"))
    place = rng.choice(addresses(world, who))
    subtotal = many * first["price_cents"] + second["price_cents"]
    fitting = fitting_coupons(world, who, subtotal)
    if not fitting or fitting[0]["code"] == "WELCOME10" and rng.random() < 0.6:
        return None
    lines = [{"product_id": first["id"], "quantity": many}, {"product_id": second["id"], "quantity": 1}]
    net = subtotal - subtotal * fitting[0]["percent_off"] // 100
    free = shipping == "standard" and (who["tier"] == "gold" or net >= 7500)
    total = net + (0 if free else {"standard": 600, "express": 1500}[shipping])
    return Draft(
        prompt=phrase(
            rng,
            "{who} orders by phone: {many} x {first} and 1 x {second}, to the {label} address, {shipping} shipping, "
            "and would like a coupon on it. Place it as one order, with the coupon that our rules give. What does it come "
            "to? Dollars, number only.",
            "Please take an order from {who}: {first} ({many} of them) and {second} (one), {shipping} shipping, to the "
            'address under "{label}". Add the coupon that the house rules provide for. Tell me the total in dollars, '
            "number only.",
            "New order for {who}, {label} address, {shipping}: {many} x {first}, 1 x {second}. They ask for a coupon; which "
            "one follows from the rules. I need the final total in dollars, only the number.",
            who=who["called"],
            many=many,
            first=first["name"],
            second=second["name"],
            label=place["label"],
            shipping=shipping,
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            call("get_customer", customer_id=who["id"]),
            look_up_product(first),
            look_up_product(second),
            call(
                "create_order",
                customer_id=who["id"],
                address_id=place["id"],
                items=lines,
                shipping=shipping,
            ),
            call("list_coupons"),
            call("apply_coupon", order_id=next_id(world, "orders"), code=fitting[0]["code"]),
        ],
        answer={"number": dollars(total)},
    )


@template("into-the-other", difficulty="hard", tags=("write",))
def into_the_other(world: World, rng: random.Random) -> Draft | None:
    """A product taken off one order and put into another."""
    order = pick(rng, [one for one in waiting(world) if one["kinds"] > 1])
    if order is None:
        return None
    who = customer(world, order["customer_id"])
    other = pick(rng, waiting(world, f"orders.customer_id = {who['id']} AND orders.id <> {order['id']}"))
    moved = telling_item(world, rng, order)
    if other is None or moved is None or moved["status"] != "active":
        return None
    mark = telling_item(world, rng, other)
    if mark is None or mark["product_id"] in {item["product_id"] for item in items(world, order)}:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} has two orders here that are not shipped. Take the {moved} off the one that it is in, and put the same "
            "number of it into the other, the one with the {mark}.",
            "Please move the {moved} ({many}) from one waiting order of {who} into the other, which has the {mark}.",
            "{who} wants the {moved} to come with the {mark}: both are in orders that we have not sent. Take it out of its "
            "order and add as many to the order with the {mark}.",
            who=who["called"],
            moved=moved["name"],
            mark=mark["name"],
            many="all of it",
        ),
        solution=[
            look_up(who),
            orders_of(who, "placed"),
            call("get_order", order_id=order["id"]),
            call("get_order", order_id=other["id"]),
            call("set_item_quantity", order_id=order["id"], product_id=moved["product_id"], quantity=0),
            call(
                "set_item_quantity",
                order_id=other["id"],
                product_id=moved["product_id"],
                quantity=moved["quantity"],
            ),
        ],
    )


@template("longest-with-us", difficulty="hard", tags=("read",))
def longest_with_us(world: World, rng: random.Random) -> Draft | None:
    """Of those who bought a product lately, who has been a customer for longest, or has most credit."""
    product = pick(rng, products(world, "status = 'active'"))
    if product is None:
        return None
    since = rng.choice(("2025-06-01", "2025-10-01", "2026-01-01"))
    found = orders(
        world,
        f"placed_on >= '{since}' AND status <> 'cancelled' AND orders.id IN "
        f"(SELECT order_id FROM order_items WHERE product_id = {product['id']})",
    )
    people = [customer(world, key) for key in dict.fromkeys(order["customer_id"] for order in found)]
    if not 4 <= len(people) <= 10 or len(found) > 10 or len({who["name"] for who in people}) < len(people):
        return None
    first = min(people, key=lambda who: who["joined_on"])
    return Draft(
        prompt=phrase(
            rng,
            "Who of the customers that ordered the {product} since {since} has been with us for longest? Cancelled orders do "
            "not count. Full name only.",
            "I look for somebody to review the {product}. Of all who have ordered it since {since} (cancelled orders left "
            "out), who joined us first? Answer with the full name only.",
            "Among the customers with an order of the {product} from {since} on, leaving out cancelled orders, who became "
            "our customer earliest? Just the full name.",
            product=product["name"],
            since=spoken(since),
        ),
        solution=[
            look_up_product(product),
            call("list_orders", product_id=product["id"], placed_from=since, limit=20),
            *(call("get_customer", customer_id=who["id"]) for who in people),
        ],
        answer={"text": first["name"]},
    )
