"""The rest of the shop: customers with names that look alike, their orders and returns, old purchase orders.

Nothing here touches a customer, an order or a return that tasks written by hand speak of, and no product that
is added here runs low. New addresses are numbered after the cast's, so the numbers given here lie below.
"""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import count, cycle
from typing import Any

from cast import CAST

Row = dict[str, Any]

TODAY = date(2026, 3, 2)
CITIES = {"Portmouth": "PM", "Ashford": "AF", "Kelvale": "KV", "Dunmere": "DM"}
STREETS = (
    "Rose Lane", "Chandler Street", "Pier Road", "Linden Avenue", "Cooper's Yard", "Signal Hill", "Wharf Street",
    "Birch Close", "Old Post Road", "Saddler Street", "Meadow Walk", "Tower Lane", "Quarry Road", "Ferry Steps",
)  # fmt: skip

FIRST_CUSTOMER, FIRST_ADDRESS, FIRST_PRODUCT, FIRST_COUPON = 51, 131, 441, 511
FIRST_ORDER, FIRST_ITEM, FIRST_RETURN, FIRST_REFUND, FIRST_PURCHASE = 871, 1601, 2951, 3451, 3951

CUSTOMERS = (  # name, tier, store credit in cents
    ("Mia Lindqvist", "regular", 0), ("Teo Brandt", "gold", 300), ("Jonah Weber", "regular", 2500),
    ("Alicia Moreau", "regular", 0), ("Omar Nassar", "gold", 0), ("Samira Khalid", "regular", 4000),
    ("Pauline Erikson", "regular", 0), ("Carl Dominguez", "gold", 2000), ("Henrik Dale", "regular", 0),
    ("Priscila Boateng", "regular", 700), ("Goran Petrov", "gold", 0), ("Leona Hartman", "regular", 0),
    ("Tarek Aziz", "regular", 1500), ("Nora Halvorson", "regular", 0), ("Inez Carvalho", "gold", 3500),
    ("Elin Berg", "regular", 0), ("Elin Berg", "gold", 900), ("Elin Bergman", "regular", 0),
    ("Lars Holm", "regular", 2200), ("Lara Holm", "gold", 0), ("Lars Holmgren", "regular", 0),
    ("Dmitri Volkov", "regular", 0), ("Dmitry Volkov", "gold", 1100), ("Kofi Mensah", "regular", 0),
    ("Kofi Mensa", "regular", 2600), ("Rachel Stone", "gold", 0), ("Rachel Stein", "regular", 0),
    ("Rachel Stine", "regular", 800),
)  # fmt: skip

PRODUCTS = (  # name, SKU, category, supplier, price in cents, on hand, reorder level
    ("Tarn Duo Tent", "TDT-2054", "tents", 302, 28900, 8, 3),
    ("Drift Quilt", "DQ-2061", "sleeping", 303, 11900, 14, 6),
    ("Drift Quilt Long", "DQL-2068", "sleeping", 303, 12900, 9, 6),
    ("Merino Gloves", "MG-2075", "clothing", 303, 2600, 38, 12),
    ("Merino Beanie", "MB-2082", "clothing", 303, 2300, 41, 12),
    ("Fjell Vest Large", "FVL-2089", "clothing", 302, 8900, 7, 4),
    ("Ridge Backpack 30", "RB3-2096", "packs", 301, 11500, 12, 4),
    ("Dry Bag 5L", "DB5-2103", "packs", 305, 1200, 52, 12),
    ("Glow Clip Light", "GCL-2110", "lights", 305, 1700, 23, 8),
    ("Tarn Groundsheet", "TG-2117", "tents", 302, 3300, 16, 6),
)

COUPONS = (  # code, percent off, least subtotal in cents, for gold customers only, first and last day
    ("THANKS5", 5, 2000, False, date(2026, 1, 1), date(2026, 12, 31)),
    ("TRAIL18", 18, 20000, False, date(2026, 2, 15), date(2026, 3, 15)),
    ("GOLD12", 12, 4000, True, date(2026, 1, 1), date(2026, 6, 30)),
    ("SUMMER30", 30, 5000, False, date(2025, 6, 1), date(2025, 8, 31)),
)

LONG_WAITING = (18, 19, 19, 20, 21, 22)
"""Days of February on which orders were placed that are still here. Gold customers have none of them."""


class Filler:
    """Draws the rows, table by table, each table from those before it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.tables: dict[str, list[Row]] = {"customers": list(self._customers())}
        self.tables["addresses"] = list(self._addresses())
        self.tables["products"] = list(self._products())
        self.tables["coupons"] = list(self._coupons())
        self._goods = [*_cast("products"), *self.tables["products"]]
        self._item_numbers = count(FIRST_ITEM)
        self.tables["orders"], self.tables["order_items"] = [], []
        self._past_orders()
        self._orders_of_these_days()
        self.tables["returns"], self.tables["refunds"] = [], []
        self._returns()
        self.tables["purchase_orders"] = list(self._purchases())

    def _customers(self) -> Iterator[Row]:
        for number, (name, tier, credit) in enumerate(CUSTOMERS):
            again = any(other == name for other, *_ in CUSTOMERS[:number])
            address = name.lower().replace(" ", ".") + ("2" if again else "")
            yield {
                "id": FIRST_CUSTOMER + number,
                "name": name,
                "email": f"{address}@letterbox.example",
                "tier": tier,
                "credit_cents": credit,
                "joined_on": date(2018, 3, 1) + timedelta(days=83 * number + self._rng.randrange(80)),
            }

    def _addresses(self) -> Iterator[Row]:
        labels = [(row["id"], "home") for row in self.tables["customers"]]
        labels += [(row["id"], "work") for row in self.tables["customers"][::3]]
        labels += [(row["id"], "parents") for row in self.tables["customers"][1::7]]
        for number, (customer, label) in enumerate(labels):
            city, letters = self._rng.choice(list(CITIES.items()))
            yield {
                "id": FIRST_ADDRESS + number,
                "customer_id": customer,
                "label": label,
                "street": f"{self._rng.randint(1, 90)} {self._rng.choice(STREETS)}",
                "city": city,
                "postcode": f"{letters}{self._rng.randint(1, 9)} {self._rng.randint(1, 9)}{self._rng.choice('ABDGHKTW')}R",
            }

    def _products(self) -> Iterator[Row]:
        for number, (name, sku, category, supplier, cents, on_hand, level) in enumerate(PRODUCTS):
            yield {
                "id": FIRST_PRODUCT + number,
                "sku": sku,
                "name": name,
                "category": category,
                "supplier_id": supplier,
                "price_cents": cents,
                "on_hand": on_hand,
                "reorder_level": level,
                "status": "active",
            }

    def _coupons(self) -> Iterator[Row]:
        for number, (code, percent, least, gold_only, starts, ends) in enumerate(COUPONS):
            terms = {"percent_off": percent, "min_subtotal_cents": least, "gold_only": gold_only}
            yield {"id": FIRST_COUPON + number, "code": code, **terms, "starts_on": starts, "ends_on": ends}

    # ------------------------------------------------------------ orders

    def _past_orders(self) -> None:
        """Delivered or cancelled long ago, and delivered in the last weeks."""
        for number in range(56):
            placed = date(2025, 3, 4) + timedelta(days=5 * number + self._rng.randrange(5))
            self._order(self._anybody(), placed, "cancelled" if number % 11 == 7 else "delivered")
        for number in range(26):
            self._order(self._anybody(), date(2026, 1, 24) + timedelta(days=number), "delivered")

    def _orders_of_these_days(self) -> None:
        for number in range(6):
            self._order(self._anybody(), date(2026, 2, 22) + timedelta(days=number), "shipped")
        regular = [row for row in self.tables["customers"] if row["tier"] == "regular"]
        for day, customer in zip(LONG_WAITING, self._rng.sample(regular, len(LONG_WAITING)), strict=True):
            self._order(customer, date(2026, 2, day), "placed")
        for customer in [*self._rng.sample(self.tables["customers"], 16), *self._rng.sample(regular, 6)]:
            self._order(customer, date(2026, 3, self._rng.randint(1, 2)), "placed")

    def _anybody(self) -> Row:
        return self._rng.choice(self.tables["customers"])

    def _order(self, customer: Row, placed: date, status: str) -> None:
        key = FIRST_ORDER + len(self.tables["orders"])
        homes = [row["id"] for row in self.tables["addresses"] if row["customer_id"] == customer["id"]]
        shipped = placed + timedelta(days=1) if status in ("shipped", "delivered") else None
        delivered = placed + timedelta(days=self._rng.randint(3, 5)) if status == "delivered" else None
        items = list(self._items(key, customer, status))
        subtotal = sum(row["quantity"] * row["unit_price_cents"] for row in items)
        touched = delivered or shipped or placed
        self.tables["orders"].append(
            {
                "id": key,
                "customer_id": customer["id"],
                "address_id": self._rng.choice(homes),
                "coupon_id": None if status == "placed" else self._coupon_for(placed, subtotal),
                "shipping": self._rng.choice(("standard", "standard", "standard", "express")),
                "status": status,
                "placed_on": placed,
                "shipped_on": shipped,
                "delivered_on": delivered,
                "updated_at": f"{touched}T{self._rng.randint(8, 17):02}:{self._rng.randrange(60):02}:00+00:00"
                if touched < TODAY
                else f"{touched}T08:{self._rng.randrange(60):02}:00+00:00",
            }
        )
        self.tables["order_items"] += items

    def _items(self, order: int, customer: Row, status: str) -> Iterator[Row]:
        """One to three products; a customer's orders that are still here have none in common."""
        waiting = {row["id"] for row in self.tables["orders"] if row["status"] == "placed" == status}
        mine = {row["id"] for row in self.tables["orders"] if row["customer_id"] == customer["id"]} & waiting
        taken = {row["product_id"] for row in self.tables["order_items"] if row["order_id"] in mine}
        wanted = [row for row in self._goods if row["status"] == "active" and row["id"] not in taken]
        for product in self._rng.sample(wanted, self._rng.choice((1, 1, 2, 2, 3))):
            yield {
                "id": next(self._item_numbers),
                "order_id": order,
                "product_id": product["id"],
                "quantity": self._rng.choice((1, 1, 1, 2, 2, 3)),
                "unit_price_cents": product["price_cents"],
            }

    def _coupon_for(self, placed: date, subtotal: int) -> int | None:
        if placed >= date(2025, 12, 1) and subtotal >= 5000 and self._rng.random() < 0.2:
            return 503
        return 501 if self._rng.random() < 0.1 else None

    # ------------------------------------------------------------ returns and purchases

    def _returns(self) -> None:
        """Some were refunded or rejected; some are approved and not yet refunded. None waits for a decision."""
        late = [
            row
            for row in self.tables["orders"]
            if row["status"] == "delivered" and row["placed_on"].year == 2026
        ]
        fates = cycle(("approved", "refunded", "approved", "rejected", "refunded"))
        for order, status in zip([one for place, one in enumerate(late) if place % 4], fates, strict=False):
            item = next(row for row in self.tables["order_items"] if row["order_id"] == order["id"])
            reason = self._rng.choice(("damaged", "wrong_item", "changed_mind"))
            if status == "rejected":
                reason = "changed_mind"
            soonest = order["delivered_on"] + timedelta(days=1)
            longest = min(19, (TODAY - soonest).days - 1)
            asked = soonest + timedelta(days=self._rng.randint(0, max(0, longest)))
            self._return(item, order, reason, status, asked)

    def _return(self, item: Row, order: Row, reason: str, status: str, asked: date) -> None:
        key = FIRST_RETURN + len(self.tables["returns"])
        row = {"order_item_id": item["id"], "quantity": 1, "reason": reason, "status": status}
        self.tables["returns"].append({"id": key, **row, "requested_on": asked})
        if status == "refunded":
            percent = {None: 0, 501: 10, 503: 20}[order["coupon_id"]]
            cents = item["unit_price_cents"] * (100 - percent) // 100
            cents = cents * 90 // 100 if reason == "changed_mind" else cents
            issued = min(asked + timedelta(days=4), TODAY - timedelta(days=1))
            refund = {
                "id": FIRST_REFUND + len(self.tables["refunds"]),
                "return_id": key,
                "amount_cents": cents,
            }
            method = "store_credit" if cents < 2000 else "card"
            self.tables["refunds"].append({**refund, "method": method, "issued_on": max(issued, asked)})

    def _purchases(self) -> Iterator[Row]:
        lead = {row["id"]: row["lead_days"] for row in _cast("suppliers")}
        old = self._rng.sample([row for row in self._goods if row["status"] == "active"], 20)
        coming = [row for row in self._goods if row["id"] in (407, 424, 433, 441, 444, 447)]
        for number, product in enumerate([*old, *coming]):
            is_open = number >= len(old)
            ago = self._rng.randint(1, 4) if is_open else self._rng.randint(40, 300)
            ordered = TODAY - timedelta(days=ago)
            yield {
                "id": FIRST_PURCHASE + number,
                "product_id": product["id"],
                "quantity": self._rng.choice((20, 24, 30, 36, 40)),
                "status": "open" if is_open else self._rng.choice(("received", "received", "cancelled")),
                "ordered_on": ordered,
                "expected_on": ordered + timedelta(days=lead[product["supplier_id"]]),
            }


def _cast(table: str) -> list[Row]:
    columns, rows = CAST[table]
    return [dict(zip(columns.split(), row, strict=True)) for row in rows]
