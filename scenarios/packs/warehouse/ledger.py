"""The books of the warehouses on the morning of 13 April 2026: live papers among stale ones."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

from cast import CUSTOMERS, ITEMS, POLICY, SITES, STAFF, SUPPLIERS

Row = dict[str, Any]

TODAY = date(2026, 4, 13)
ZONES = {"ambient": ("A", 6), "cold": ("C", 3), "hazardous": ("H", 2), "quarantine": ("Q", 1)}


class Ledger:
    """Tables by name, filled in the order in which they refer to each other."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.tables: dict[str, list[Row]] = {}
        self.fill("policy", 1, ({"section": section, "text": text} for section, text in POLICY))
        self.fill("sites", 1, ({"name": name, "town": town} for name, town in SITES))
        self.fill("staff", 11, self.staff())
        self.fill("bins", 101, self.bins())
        self.fill("suppliers", 201, self.suppliers())
        self.fill("items", 301, self.items())
        self.fill("stock", 501, self.stock())
        self.size_bins()
        self.fill("purchase_orders", 2001, self.purchase_orders())
        self.fill("order_lines", 3001, self.order_lines())
        self.fill("receipts", 4001, self.receipts())
        self.fill("transfers", 510, self.transfers())
        self.fill("customer_orders", 7001, self.customer_orders())
        self.fill("pick_lines", 8001, self.pick_lines())
        self.fill("counts", 901, self.counts())
        self.fill("write_offs", 1401, self.write_offs())
        self.set_reorder_points()

    def fill(self, table: str, first: int, rows: Iterator[Row]) -> None:
        self.tables[table] = [{"id": number, **row} for number, row in enumerate(rows, first)]

    def day(self, earliest: int, latest: int) -> date:
        """A day so many days from today, at random."""
        return TODAY + timedelta(days=self.rng.randint(earliest, latest))

    def one(self, table: str, **wanted: Any) -> Row:
        return next(row for row in self.tables[table] if wanted.items() <= row.items())

    # ------------------------------------------------ what there is

    def staff(self) -> Iterator[Row]:
        for name, role, site in STAFF:
            yield {"name": name, "role": role, "site_id": self.one("sites", name=site)["id"]}

    def bins(self) -> Iterator[Row]:
        for site in self.tables["sites"]:
            for zone, (letter, count) in ZONES.items():
                for number in range(1, count + 1):
                    code = f"{site['name'][:3].upper()}-{letter}{number:02}"
                    yield {"site_id": site["id"], "code": code, "zone": zone, "capacity": 0}

    def suppliers(self) -> Iterator[Row]:
        for name, lead_days, on_hold in SUPPLIERS:
            address = "orders@" + "".join(filter(str.isalpha, name.lower())) + ".example"
            yield {"name": name, "email": address, "lead_days": lead_days, "on_hold": on_hold}

    def items(self) -> Iterator[Row]:
        for number, (name, storage, cost, supplier) in enumerate(ITEMS):
            letters = "".join(word[0] for word in name.split()[:2]).upper()
            yield {
                "sku": f"{letters}-{1040 + 37 * number}",
                "name": name,
                "storage": storage,
                "unit_cost_cents": cost,
                "reorder_point": 0,
                "reorder_quantity": self.rng.randrange(60, 400, 20),
                "supplier_id": self.one("suppliers", name=supplier)["id"],
                "discontinued": name in ("Napkins Red 500", "Pear Juice 1 l", "Fabric Softener 5 l"),
            }

    def stock(self) -> Iterator[Row]:
        """Each item at one to three sites, there in one to three bins; a little of some in quarantine."""
        for item in self.tables["items"]:
            for site in self.rng.sample(self.tables["sites"], self.rng.choice((1, 2, 2, 3))):
                there = [row for row in self.tables["bins"] if row["site_id"] == site["id"]]
                fitting = [row for row in there if row["zone"] == item["storage"]]
                for place in self.rng.sample(fitting, min(len(fitting), self.rng.choice((1, 2, 2, 3)))):
                    quantity = self.rng.randint(6, 180)
                    yield {"bin_id": place["id"], "item_id": item["id"], "quantity": quantity}
                if self.rng.random() < 0.2:
                    quantity = self.rng.randint(2, 24)
                    yield {"bin_id": there[-1]["id"], "item_id": item["id"], "quantity": quantity}

    def size_bins(self) -> None:
        held: Counter[int] = Counter()
        for stock in self.tables["stock"]:
            held[stock["bin_id"]] += stock["quantity"]
        for place in self.tables["bins"]:
            place["capacity"] = (held[place["id"]] + self.rng.randint(60, 700)) // 50 * 50 + 50

    # ------------------------------------------------ what comes in

    def purchase_orders(self) -> Iterator[Row]:
        """Received and cancelled ones, drafts, and those that were sent: late, very late and in time."""
        kinds = ["received"] * 14 + ["cancelled"] * 6 + ["draft"] * 5 + ["in time"] * 12 + ["late"] * 14
        self.rng.shuffle(kinds)
        sellers = [row for row in self.tables["suppliers"] if not row["on_hold"]]
        for number, kind in enumerate(kinds, 2001):
            supplier = self.rng.choice(sellers)
            if kind in ("in time", "late"):
                expected = self.day(-30, -2) if kind == "late" else self.day(1, 20)
            else:
                expected = self.day(-80, -31)
            created = expected - timedelta(days=supplier["lead_days"] + self.rng.randint(0, 3))
            if kind in ("draft", "in time"):
                created = min(created, self.day(-6, -1))
            yield {
                "number": f"PO-{number}",
                "supplier_id": supplier["id"],
                "site_id": self.rng.choice(self.tables["sites"])["id"],
                "status": {"late": "sent", "in time": "sent"}.get(kind, kind),
                "created_on": created,
                "expected_on": None if kind == "draft" else expected,
            }

    def order_lines(self) -> Iterator[Row]:
        for order in self.tables["purchase_orders"]:
            goods = [
                item
                for item in self.tables["items"]
                if item["supplier_id"] == order["supplier_id"] and not item["discontinued"]
            ]
            begun = self.rng.random() < 0.4
            for item in self.rng.sample(goods, min(len(goods), self.rng.choice((1, 2, 2, 3)))):
                quantity = self.rng.randrange(20, 140, 10)
                received = quantity if order["status"] == "received" else 0
                if order["status"] == "sent" and begun:
                    begun, received = False, quantity // 2
                line = {"purchase_order_id": order["id"], "item_id": item["id"]}
                yield {**line, "quantity": quantity, "received": received}

    def receipts(self) -> Iterator[Row]:
        for line in self.tables["order_lines"]:
            if line["received"]:
                order = self.one("purchase_orders", id=line["purchase_order_id"])
                storage = self.one("items", id=line["item_id"])["storage"]
                bins = [row for row in self.tables["bins"] if row["site_id"] == order["site_id"]]
                place = self.rng.choice([row for row in bins if row["zone"] == storage])
                arrived = min(order["expected_on"], TODAY - timedelta(days=1))
                at = datetime(arrived.year, arrived.month, arrived.day, self.rng.randint(7, 16), 30)
                goods = {"order_line_id": line["id"], "bin_id": place["id"], "quantity": line["received"]}
                yield {**goods, "received_at": f"{at.isoformat()}+00:00"}

    # ------------------------------------------------ what moves and goes out

    def transfers(self) -> Iterator[Row]:
        sound = [row for row in self.tables["stock"] if self.bin_of(row)["zone"] != "quarantine"]
        statuses = ["requested"] * 7 + ["in_transit"] * 6 + ["completed"] * 8 + ["cancelled"] * 4
        self.rng.shuffle(statuses)
        for number, (status, stock) in enumerate(zip(statuses, self.rng.sample(sound, 25), strict=True), 510):
            here = self.bin_of(stock)["site_id"]
            there = self.rng.choice([row["id"] for row in self.tables["sites"] if row["id"] != here])
            live = status in ("requested", "in_transit")
            yield {
                "number": f"TR-{number}",
                "item_id": stock["item_id"],
                "quantity": max(1, stock["quantity"] // self.rng.choice((2, 3, 4))),
                "from_bin_id": stock["bin_id"],
                "to_site_id": there,
                "status": status,
                "requested_on": self.day(-6, -1) if live else self.day(-70, -8),
            }

    def bin_of(self, row: Row) -> Row:
        return self.one("bins", id=row["bin_id"])

    def customer_orders(self) -> Iterator[Row]:
        statuses = ["open"] * 32 + ["on_hold"] * 5 + ["shipped"] * 14 + ["cancelled"] * 5
        self.rng.shuffle(statuses)
        for number, status in enumerate(statuses, 7001):
            yield {
                "number": f"SO-{number}",
                "customer": self.rng.choice(CUSTOMERS),
                "site_id": self.rng.choice(self.tables["sites"])["id"],
                "due_on": self.day(-1, 12) if status in ("open", "on_hold") else self.day(-60, -3),
                "status": status,
            }

    def pick_lines(self) -> Iterator[Row]:
        """Two lines in three can be picked from some bin at the site; some were picked in part."""
        for order in self.tables["customer_orders"]:
            held = [
                row
                for row in self.tables["stock"]
                if self.bin_of(row)["site_id"] == order["site_id"]
                and self.bin_of(row)["zone"] != "quarantine"
            ]
            items = sorted({row["item_id"] for row in held})
            short = self.rng.random() < 0.3
            for item in self.rng.sample(items, self.rng.choice((2, 2, 3, 3))):
                most = max(row["quantity"] for row in held if row["item_id"] == item)
                quantity = most + self.rng.randint(5, 30) if short else self.rng.randint(1, max(1, most // 2))
                short = False
                picked = quantity if order["status"] == "shipped" else 0
                if order["status"] == "open" and self.rng.random() < 0.15:
                    picked = quantity // 2
                line = {"customer_order_id": order["id"], "item_id": item}
                yield {**line, "quantity": quantity, "picked": picked}

    # ------------------------------------------------ what is counted and written off

    def counts(self) -> Iterator[Row]:
        """Open counts agree with the books as they are; the others are history."""
        statuses = ["open"] * 20 + ["accepted"] * 12 + ["rejected"] * 8
        self.rng.shuffle(statuses)
        sound = [row for row in self.tables["stock"] if self.bin_of(row)["zone"] != "quarantine"]
        for status, stock in zip(statuses, self.rng.sample(sound, len(statuses)), strict=True):
            site = self.bin_of(stock)["site_id"]
            clerks = [
                row for row in self.tables["staff"] if row["site_id"] == site and row["role"] == "clerk"
            ]
            booked = stock["quantity"]
            percent = self.rng.choice((1, 2, 3, 4, 5, 7, 9, 15, 30))
            off = max(1, booked * percent // 100)
            yield {
                "bin_id": stock["bin_id"],
                "item_id": stock["item_id"],
                "booked": booked,
                "counted": booked - off if self.rng.random() < 0.8 else booked + off,
                "counted_by_id": self.rng.choice(clerks)["id"],
                "counted_on": self.day(-5, -1) if status == "open" else self.day(-90, -6),
                "status": status,
            }

    def write_offs(self) -> Iterator[Row]:
        statuses = ["requested"] * 16 + ["approved"] * 10 + ["rejected"] * 5
        self.rng.shuffle(statuses)
        for number, (status, stock) in enumerate(
            zip(statuses, self.rng.sample(self.tables["stock"], len(statuses)), strict=True), 1401
        ):
            item = self.one("items", id=stock["item_id"])
            there = [row for row in self.tables["staff"] if row["site_id"] == self.bin_of(stock)["site_id"]]
            quantity = self.rng.randint(1, stock["quantity"])
            value = quantity * item["unit_cost_cents"]
            supervisor = next(row for row in there if row["role"] == "supervisor")
            manager = next(row for row in there if row["role"] == "manager")
            clerks = [row for row in there if row["role"] == "clerk"]
            asked = supervisor if self.rng.random() < 0.25 else self.rng.choice(clerks)
            approver = manager if value > 25000 or asked is supervisor else supervisor
            yield {
                "number": f"WO-{number}",
                "bin_id": stock["bin_id"],
                "item_id": stock["item_id"],
                "quantity": quantity,
                "reason": self.rng.choice(("damaged", "damaged", "expired", "lost")),
                "value_cents": value,
                "requested_by_id": asked["id"],
                "approved_by_id": approver["id"] if status == "approved" else None,
                "status": status,
                "requested_on": self.day(-7, -1) if status == "requested" else self.day(-90, -8),
            }

    def set_reorder_points(self) -> None:
        """Some items are due, some would be if nothing were on order, some are far from it."""
        coming: Counter[int] = Counter()
        for line in self.tables["order_lines"]:
            if self.one("purchase_orders", id=line["purchase_order_id"])["status"] == "sent":
                coming[line["item_id"]] += line["quantity"] - line["received"]
        usable: Counter[int] = Counter()
        for stock in self.tables["stock"]:
            if self.bin_of(stock)["zone"] != "quarantine":
                usable[stock["item_id"]] += stock["quantity"]
        for item in self.tables["items"]:
            there, on_way = usable[item["id"]], coming[item["id"]]
            point = self.rng.choice(
                (there // 3, there + on_way // 2, there + on_way + self.rng.randint(0, 40))
            )
            item["reorder_point"] = point
