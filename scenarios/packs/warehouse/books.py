"""What templates look up in the warehouses' books, and the calls that a person looks them up with."""

from datetime import date
from typing import Any

from subworlds.scenarios.generation import World, call

Row = dict[str, Any]


def today(world: World) -> date:
    return world.clock.date()


def stock(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT stock.*, items.name AS item, storage, code, zone, bins.site_id, sites.name AS site,
            capacity - (SELECT sum(quantity) FROM stock AS all_there WHERE all_there.bin_id = bins.id) AS free
        FROM stock JOIN items ON items.id = item_id JOIN bins ON bins.id = bin_id
        JOIN sites ON sites.id = site_id
        WHERE {where} ORDER BY stock.id
    """)


def sound(world: World, item: int, site: int | None = None) -> list[Row]:
    """Stock of an item outside quarantine, the fullest bin first."""
    here = f"AND bins.site_id = {site}" if site else ""
    found = stock(world, f"item_id = {item} AND zone <> 'quarantine' {here}")
    return sorted(found, key=lambda row: (-row["quantity"], row["code"]))


def bins(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT bins.*, sites.name AS site,
            capacity - coalesce((SELECT sum(quantity) FROM stock WHERE bin_id = bins.id), 0) AS free
        FROM bins JOIN sites ON sites.id = site_id WHERE {where} ORDER BY code
    """)


def items(world: World, where: str = "1") -> list[Row]:
    """Items with what is usable, what is on order and whether they are due to be ordered again."""
    found = world.rows(f"""
        SELECT items.*, suppliers.on_hold, suppliers.lead_days, suppliers.name AS supplier,
            coalesce((SELECT sum(quantity) FROM stock JOIN bins ON bins.id = bin_id
                WHERE item_id = items.id AND zone <> 'quarantine'), 0) AS usable,
            coalesce((SELECT sum(quantity - received) FROM order_lines
                JOIN purchase_orders ON purchase_orders.id = purchase_order_id
                WHERE item_id = items.id AND status = 'sent'), 0) AS coming
        FROM items JOIN suppliers ON suppliers.id = supplier_id WHERE {where} ORDER BY items.id
    """)
    for item in found:
        item["total"] = item["usable"] + item["coming"]
        item["due"] = item["total"] <= item["reorder_point"] and not item["discontinued"]
    return found


def orders(world: World, where: str = "1") -> list[Row]:
    """Purchase orders with how late they are, in days, and whether anything was received."""
    return world.rows(f"""
        SELECT purchase_orders.*, suppliers.name AS supplier, lead_days, sites.name AS site,
            julianday(date('now')) - julianday(expected_on) AS late,
            (SELECT sum(received) FROM order_lines WHERE purchase_order_id = purchase_orders.id) AS begun
        FROM purchase_orders JOIN suppliers ON suppliers.id = supplier_id JOIN sites ON sites.id = site_id
        WHERE {where} ORDER BY purchase_orders.id
    """)


def order_lines(world: World, order: Row) -> list[Row]:
    return world.rows(
        """SELECT order_lines.*, items.name AS item, storage, quantity - received AS missing
        FROM order_lines JOIN items ON items.id = item_id
        WHERE purchase_order_id = ? ORDER BY order_lines.id""",
        order["id"],
    )


def customer_orders(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT customer_orders.*, sites.name AS site FROM customer_orders
        JOIN sites ON sites.id = site_id WHERE {where} ORDER BY customer_orders.id
    """)


def pick_lines(world: World, order: Row) -> list[Row]:
    return world.rows(
        """SELECT pick_lines.*, items.name AS item, quantity - picked AS missing
        FROM pick_lines JOIN items ON items.id = item_id
        WHERE customer_order_id = ? ORDER BY pick_lines.id""",
        order["id"],
    )


def transfers(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT transfers.*, items.name AS item, storage, bins.code, sites.name AS to_site,
            (SELECT quantity FROM stock
                WHERE stock.bin_id = from_bin_id AND stock.item_id = transfers.item_id) AS held
        FROM transfers JOIN items ON items.id = transfers.item_id JOIN bins ON bins.id = from_bin_id
        JOIN sites ON sites.id = to_site_id WHERE {where} ORDER BY transfers.id
    """)


def counts(world: World, where: str = "1") -> list[Row]:
    """Counts with whether the house rules accept them."""
    found = world.rows(f"""
        SELECT counts.*, items.name AS item, code, bins.site_id, sites.name AS site, staff.name AS clerk
        FROM counts JOIN items ON items.id = item_id JOIN bins ON bins.id = bin_id
        JOIN sites ON sites.id = bins.site_id JOIN staff ON staff.id = counted_by_id
        WHERE {where} ORDER BY counted_on, counts.id
    """)
    for count in found:
        count["fine"] = abs(count["counted"] - count["booked"]) * 100 <= 5 * count["booked"]
    return found


def write_offs(world: World, where: str = "1") -> list[Row]:
    """Write-offs with the one person who may approve them."""
    return world.rows(f"""
        SELECT write_offs.*, items.name AS item, code, bins.site_id, sites.name AS site,
            asker.name AS asker, approver.name AS approver, may.id AS may_id, may.name AS may
        FROM write_offs JOIN items ON items.id = item_id JOIN bins ON bins.id = bin_id
        JOIN sites ON sites.id = bins.site_id JOIN staff AS asker ON asker.id = requested_by_id
        LEFT JOIN staff AS approver ON approver.id = approved_by_id
        JOIN staff AS may ON may.site_id = bins.site_id AND may.role = CASE
            WHEN value_cents > 25000 OR asker.role = 'supervisor' THEN 'manager' ELSE 'supervisor' END
        WHERE {where} ORDER BY requested_on, write_offs.id
    """)


def find_item(row: Row) -> Row:
    return call("search_items", query=row["item"])


def find_bin(code: str) -> Row:
    return call("list_bins", code=code)


def find_order(order: Row) -> list[Row]:
    return [
        call("list_purchase_orders", number=order["number"]),
        call("get_purchase_order", purchase_order_id=order["id"]),
    ]


def find_customer_order(order: Row) -> list[Row]:
    return [
        call("list_customer_orders", number=order["number"]),
        call("get_customer_order", customer_order_id=order["id"]),
    ]


def shelf_for(world: World, item: int, storage: str, site: int) -> Row | None:
    """Where the house rules put goods that arrive, with `bin_id` and `free`; None where it is a toss-up."""
    held = sound(world, item, site)
    if held:
        toss_up = len(held) > 1 and held[0]["quantity"] == held[1]["quantity"]
        return None if toss_up else held[0]
    empty = sorted(bins(world, f"zone = '{storage}' AND site_id = {site}"), key=lambda row: -row["free"])
    if not empty or (len(empty) > 1 and empty[0]["free"] == empty[1]["free"]):
        return None
    return {**empty[0], "bin_id": empty[0]["id"]}


def pick_from(world: World, item: int, site: int, quantity: int) -> Row | None:
    """The bin that the house rules pick from; None where no bin holds enough, `bin_id` 0 for a toss-up."""
    enough = [row for row in reversed(sound(world, item, site)) if row["quantity"] >= quantity]
    if len(enough) > 1 and enough[0]["quantity"] == enough[1]["quantity"]:
        return {"bin_id": 0}
    return enough[0] if enough else None


def late_action(world: World, order: Row) -> Row:
    """What the house rules do with a late order."""
    if order["late"] > 14 and not order["begun"]:
        return call("cancel_purchase_order", purchase_order_id=order["id"])
    day = date.fromordinal(today(world).toordinal() + order["lead_days"]).isoformat()
    return call("change_expected_date", purchase_order_id=order["id"], expected_on=day)


def count_action(count: Row) -> Row:
    return call("accept_count" if count["fine"] else "reject_count", count_id=count["id"])
