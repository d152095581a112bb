"""The warehouses' rows, and templates of what is asked for at the stock desk: easy, medium, hard."""

import random
from collections.abc import Iterator
from typing import Any

from books import (
    bins,
    count_action,
    counts,
    customer_orders,
    find_bin,
    find_customer_order,
    find_item,
    find_order,
    items,
    late_action,
    order_lines,
    orders,
    pick_from,
    pick_lines,
    shelf_for,
    sound,
    stock,
    transfers,
    write_offs,
)
from ledger import Ledger

from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]

ASHBY = 1


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """The books, table by table."""
    for table, table_rows in Ledger(rng).tables.items():
        for row in table_rows:
            yield table, row


# ---------------------------------------------------------------- easy


@template("which-bin", difficulty="easy", tags=("read",))
def which_bin(world: World, rng: random.Random) -> Draft | None:
    """The only sound bin of an item at a site."""
    place = pick(rng, stock(world, "zone <> 'quarantine'"))
    if place is None or len(sound(world, place["item_id"], place["site_id"])) > 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "In which bin at {site} does our {item} lie, quarantine aside? Bin code only.",
            "A picker at {site} can't find the {item}. Give me the code of the bin it is in (not the "
            "quarantine one).",
            "What is the code of the bin at {site} from which {item} can be picked? Just the code.",
            site=place["site"],
            item=place["item"],
        ),
        solution=[find_item(place), call("get_item", item_id=place["item_id"])],
        answer={"text": place["code"]},
    )


@template("in-quarantine", difficulty="easy", tags=("read",))
def in_quarantine(world: World, rng: random.Random) -> Draft | None:
    """How much of an item is set aside at a site."""
    place = pick(rng, stock(world, "zone = 'quarantine'"))
    if place is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How many units of {item} are in quarantine at {site}? Number only.",
            "{site} has set some {item} aside in its quarantine bin. How many units? Just the number.",
            "What quantity of {item} is blocked in {site}'s quarantine bin? Answer with the number.",
            site=place["site"],
            item=place["item"],
        ),
        solution=[find_item(place), call("list_stock", item_id=place["item_id"], zone="quarantine")],
        answer={"number": place["quantity"]},
    )


@template("still-to-come", difficulty="easy", tags=("read", "arithmetic"))
def still_to_come(world: World, rng: random.Random) -> Draft | None:
    """What is missing on a line that was received in part."""
    order = pick(rng, orders(world, "status = 'sent' AND begun > 0"))
    if order is None:
        return None
    line = pick(rng, [one for one in order_lines(world, order) if one["received"] and one["missing"]])
    if line is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Part of {number} has arrived. How many units of {item} are still to come on it? Number only.",
            "How much {item} does {supplier} still owe us on {number}? Just the number of units.",
            "Of the {item} ordered on {number}, how many units have not been received yet? Number only.",
            number=order["number"],
            item=line["item"],
            supplier=order["supplier"],
        ),
        solution=find_order(order),
        answer={"number": line["missing"]},
    )


@template("dearest-write-off", difficulty="easy", tags=("read",))
def dearest_write_off(world: World, rng: random.Random) -> Draft | None:
    """Which write-off that waits at a site is worth most."""
    site = pick(rng, world.rows("SELECT * FROM sites ORDER BY id"))
    if site is None:
        return None
    waiting = write_offs(world, f"status = 'requested' AND bins.site_id = {site['id']}")
    waiting.sort(key=lambda one: -one["value_cents"])
    if len(waiting) < 2 or waiting[0]["value_cents"] == waiting[1]["value_cents"]:
        return None
    wants_item = rng.random() < 0.5
    return Draft(
        prompt=phrase(
            rng,
            "Of the write-offs at {site} that wait for approval, look at the one with the highest value. "
            "{ask}",
            "{site} has write-offs waiting. Take the most expensive of them. {ask}",
            "Find the write-off of the greatest value that nobody has decided yet at {site}. {ask}",
            site=site["name"],
            ask="Which item is it about? Item name only." if wants_item else "What is its number (WO-...)?",
        ),
        solution=[
            call("list_sites"),
            call("list_write_offs", site_id=site["id"], status="requested"),
        ],
        answer={"text": waiting[0]["item" if wants_item else "number"]},
        about=["dearest", site["id"]],
    )


@template("hold-customer-order", difficulty="easy", tags=("write",))
def hold_customer_order(world: World, rng: random.Random) -> Draft | None:
    """An order that must wait, or need wait no longer."""
    order = pick(rng, customer_orders(world, "status IN ('open', 'on_hold')"))
    if order is None:
        return None
    known = {"number": order["number"], "customer": order["customer"]}
    holding = phrase(
        rng,
        "{customer} has not paid. Please put {number} on hold.",
        "Stop picking for {number}, please: {customer} wants to change it, so it goes on hold.",
        "{number} for {customer} must wait. Put it on hold.",
        **known,
    )
    releasing = phrase(
        rng,
        "{customer} has paid at last: {number} can come off hold.",
        "Please release {number} for {customer}, it need not wait any longer.",
        "{number} has been on hold for long enough. Open it again, {customer} has confirmed it.",
        **known,
    )
    is_open = order["status"] == "open"
    return Draft(
        prompt=holding if is_open else releasing,
        solution=[
            call("list_customer_orders", number=order["number"]),
            call("hold_order" if is_open else "release_order", customer_order_id=order["id"]),
        ],
        about=["hold", order["id"]],
    )


@template("stop-transfer", difficulty="easy", tags=("write",))
def stop_transfer(world: World, rng: random.Random) -> Draft | None:
    """A transfer that was asked for is called off."""
    transfer = pick(rng, transfers(world, "status = 'requested'"))
    if transfer is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{site} no longer needs the {item} of {number}. Please cancel that transfer.",
            "Call off {number}, the {item} for {site}, before it leaves.",
            "Please cancel transfer {number}: {site} found its own {item}.",
            number=transfer["number"],
            item=transfer["item"],
            site=transfer["to_site"],
        ),
        solution=[
            call("list_transfers", number=transfer["number"]),
            call("cancel_transfer", transfer_id=transfer["id"]),
        ],
    )


@template("send-transfer", difficulty="easy", tags=("write",))
def send_transfer(world: World, rng: random.Random) -> Draft | None:
    """The lorry leaves with a transfer."""
    ready = transfers(world, "status = 'requested'")
    transfer = pick(rng, [one for one in ready if (one["held"] or 0) >= one["quantity"]])
    if transfer is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "The lorry to {site} is leaving with {number} on board. Please book it out.",
            "{number} with the {item} for {site} is on its way: mark it as dispatched.",
            "Please dispatch transfer {number} ({item}, to {site}).",
            number=transfer["number"],
            item=transfer["item"],
            site=transfer["to_site"],
        ),
        solution=[
            call("list_transfers", number=transfer["number"]),
            call("dispatch_transfer", transfer_id=transfer["id"]),
        ],
    )


@template("reorder-level", difficulty="easy", tags=("write",))
def reorder_level(world: World, rng: random.Random) -> Draft | None:
    """A new reorder point or quantity."""
    item = pick(rng, items(world, "NOT discontinued"))
    if item is None:
        return None
    field = rng.choice(("reorder_point", "reorder_quantity"))
    new = max(20, (item[field] + rng.choice((-40, -20, 30, 50, 80))) // 10 * 10)
    if new == item[field]:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "From now on the {field} of {item} is {new}. Please change it.",
            "Purchasing wants a {field} of {new} for {item}. Set it, please.",
            "Please set the {field} for {item} to {new}; leave the rest of its record alone.",
            field=field.replace("_", " "),
            item=item["name"],
            new=new,
        ),
        solution=[
            call("search_items", query=item["name"]),
            call("change_reorder_levels", item_id=item["id"], **{field: new}),
        ],
        about=["levels", item["id"]],
    )


@template("supplier-hold", difficulty="easy", tags=("write",))
def supplier_hold(world: World, rng: random.Random) -> Draft | None:
    """Accounts stops buying from a supplier, or starts again."""
    supplier = pick(rng, world.rows("SELECT * FROM suppliers ORDER BY id"))
    if supplier is None:
        return None
    asked = (
        phrase(
            rng,
            "Accounts have settled their quarrel with {name}: please lift the hold.",
            "Accounts say that we may order from {name} again. Take them off hold.",
            "Please end the hold on {name}; accounts have asked for it.",
            name=supplier["name"],
        )
        if supplier["on_hold"]
        else phrase(
            rng,
            "Accounts ask us to order nothing more from {name} for now. Please put them on hold.",
            "On behalf of accounts: {name} goes on hold from today.",
            "Accounts dispute a bill of {name}. They want the supplier put on hold, please.",
            name=supplier["name"],
        )
    )
    hold = call("set_supplier_hold", supplier_id=supplier["id"], on_hold=not supplier["on_hold"])
    return Draft(prompt=asked, solution=[call("search_suppliers", query=supplier["name"]), hold])


# ---------------------------------------------------------------- medium


@template("not-picked-yet", difficulty="medium", tags=("read",))
def not_picked_yet(world: World, rng: random.Random) -> Draft | None:
    """What the most urgent open order of a site still needs."""
    site = pick(rng, world.rows("SELECT * FROM sites ORDER BY id"))
    if site is None:
        return None
    waiting = customer_orders(world, f"status = 'open' AND site_id = {site['id']}")
    customer = pick(rng, sorted({one["customer"] for one in waiting}))
    theirs = [one for one in waiting if one["customer"] == customer]
    theirs.sort(key=lambda one: str(one["due_on"]))
    if customer is None or (len(theirs) > 1 and theirs[0]["due_on"] == theirs[1]["due_on"]):
        return None
    missing = [line["item"] for line in pick_lines(world, theirs[0]) if line["missing"]]
    return Draft(
        prompt=phrase(
            rng,
            "Take the open order of {customer} at {site} that is due first. Which items are not fully "
            "picked yet? Names, separated by commas.",
            "{customer} asks about the next open order that {site} is to ship to them. What is still to be "
            "picked for it? Item names, separated by commas.",
            "What does {site} still have to pick for the open order of {customer} with the earliest due "
            "day? List the item names, separated by commas.",
            customer=customer,
            site=site["name"],
        ),
        solution=[
            call("list_sites"),
            call("list_customer_orders", customer=customer, site_id=site["id"], status="open"),
            call("get_customer_order", customer_order_id=theirs[0]["id"]),
        ],
        answer={"list": missing},
    )


@template("nothing-to-reorder", difficulty="medium", tags=("read", "policy", "condition", "arithmetic"))
def nothing_to_reorder(world: World, rng: random.Random) -> Draft | None:
    """An item that the house rules do not order yet: only the sum is told."""
    item = pick(rng, [one for one in items(world, "NOT on_hold") if not one["due"] and one["coming"]])
    if item is None or item["discontinued"]:
        return None
    return Draft(
        prompt=reorder_request(rng, item),
        solution=[
            call("read_policy"),
            call("search_items", query=item["name"]),
            call("get_item", item_id=item["id"]),
        ],
        answer={"number": item["total"]},
    )


def reorder_request(rng: random.Random, item: Row) -> str:
    return phrase(
        rng,
        "Is {item} due to be ordered again? If our house rules say so, place the order and send it; if "
        "not, order nothing. Either way, tell me how many units usable stock and what was on order before "
        "came to: number only.",
        "Please check {item} against the house rules for reordering, and order and send what they ask for, "
        "if anything. Then answer with the sum of usable stock and of what was already on order: just the "
        "number.",
        "Somebody fears that we are running out of {item}. Reorder it if, and only if, the house rules ask "
        "for it, and send the order off. How many units did we have usable or on order beforehand? Number "
        "only.",
        item=item["name"],
    )


@template("into-a-bin", difficulty="medium", tags=("write",))
def into_a_bin(world: World, rng: random.Random) -> Draft | None:
    """Goods that arrived, for a bin that is named."""
    order = pick(rng, orders(world, "status = 'sent'"))
    if order is None:
        return None
    line = pick(rng, [one for one in order_lines(world, order) if one["missing"] > 4])
    if line is None:
        return None
    quantity = rng.choice((line["missing"], line["missing"] // 2))
    fitting = bins(world, f"site_id = {order['site_id']} AND zone = '{line['storage']}'")
    place = pick(rng, [one for one in fitting if one["free"] >= quantity])
    if place is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{quantity} units of {item} have come in on {number}. They were put into {code}; please book "
            "them in.",
            "Please receive {quantity} {item} on {number} into bin {code}.",
            "{supplier} delivered {quantity} of the {item} on {number}. It all went to bin {code}. Record "
            "the receipt.",
            quantity=quantity,
            item=line["item"],
            number=order["number"],
            code=place["code"],
            supplier=order["supplier"],
        ),
        solution=[
            *find_order(order),
            find_bin(place["code"]),
            call("receive_goods", line_id=line["id"], bin_id=place["id"], quantity=quantity),
        ],
        about=["receive", line["id"]],
    )


@template("arrived-damaged", difficulty="medium", tags=("write", "policy"))
def arrived_damaged(world: World, rng: random.Random) -> Draft | None:
    """Damaged goods, which the house rules send to quarantine."""
    order = pick(rng, orders(world, "status = 'sent'"))
    if order is None:
        return None
    line = pick(rng, [one for one in order_lines(world, order) if one["missing"] > 9])
    [quarantine] = bins(world, f"site_id = {order['site_id']} AND zone = 'quarantine'")
    quantity = rng.randint(2, 9)
    if line is None or quarantine["free"] < quantity:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{quantity} units of {item} on {number} have arrived crushed. Book them in where the house "
            "rules want them; the rest has not come yet.",
            "A first box on {number} is here: {quantity} {item}, all of it damaged. Please receive it by "
            "the house rules.",
            "Please receive {quantity} units of {item} on {number}. They are broken, so mind the house "
            "rules on where they go.",
            quantity=quantity,
            item=line["item"],
            number=order["number"],
        ),
        solution=[
            call("read_policy"),
            *find_order(order),
            call("list_bins", site_id=order["site_id"], zone="quarantine"),
            call("receive_goods", line_id=line["id"], bin_id=quarantine["id"], quantity=quantity),
        ],
        about=["receive", line["id"]],
    )


@template("put-away-transfer", difficulty="medium", tags=("write",))
def put_away_transfer(world: World, rng: random.Random) -> Draft | None:
    """What came from another site is put into a bin that is named."""
    transfer = pick(rng, transfers(world, "status = 'in_transit'"))
    if transfer is None:
        return None
    fitting = bins(world, f"site_id = {transfer['to_site_id']} AND zone = '{transfer['storage']}'")
    place = pick(rng, [one for one in fitting if one["free"] >= transfer["quantity"]])
    if place is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{number} has reached {site}. The {item} went into {code}; please complete the transfer.",
            "The {item} of {number} lie in {code} at {site} now. Book the transfer in there.",
            "Please close {number}: {site} has put the {item} that came with it into {code}.",
            number=transfer["number"],
            site=transfer["to_site"],
            item=transfer["item"],
            code=place["code"],
        ),
        solution=[
            call("list_transfers", number=transfer["number"]),
            find_bin(place["code"]),
            call("complete_transfer", transfer_id=transfer["id"], bin_id=place["id"]),
        ],
        about=["arrival", transfer["id"]],
    )


@template("change-draft", difficulty="medium", tags=("write",))
def change_draft(world: World, rng: random.Random) -> Draft | None:
    """A line of an order that was not sent yet is for more or fewer units."""
    order = pick(rng, orders(world, "status = 'draft'"))
    line = pick(rng, order_lines(world, order)) if order else None
    if order is None or line is None:
        return None
    quantity = line["quantity"] + rng.choice((-10, 10, 20, 30, 50))
    if quantity <= 0:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{number} to {supplier} is still a draft. Make it {quantity} units of {item}, please; do not "
            "send it.",
            "We want {quantity} {item} on the draft {number}. Please change that line and leave the rest.",
            "Before {number} goes out to {supplier}: the {item} should be {quantity} units. I will send it "
            "myself.",
            number=order["number"],
            supplier=order["supplier"],
            item=line["item"],
            quantity=quantity,
        ),
        solution=[*find_order(order), call("change_order_line", line_id=line["id"], quantity=quantity)],
        about=["draft", line["id"]],
    )


@template("move-within", difficulty="medium", tags=("write",))
def move_within(world: World, rng: random.Random) -> Draft | None:
    """Some units go from one bin to another."""
    place = pick(rng, stock(world, "zone <> 'quarantine' AND quantity > 8"))
    if place is None:
        return None
    fitting = bins(world, f"site_id = {place['site_id']} AND zone IN ('{place['zone']}', 'quarantine')")
    quantity = rng.randint(3, place["quantity"] - 1)
    roomy = [one for one in fitting if one["free"] >= quantity and one["id"] != place["bin_id"]]
    target = pick(rng, roomy)
    if target is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please move {quantity} units of {item} from {source} to {target}.",
            "{quantity} of the {item} in {source} now lie in {target}. Put that into the books.",
            "{source} is getting crowded: {quantity} {item} of it go to {target}, please.",
            quantity=quantity,
            item=place["item"],
            source=place["code"],
            target=target["code"],
        ),
        solution=[
            find_item(place),
            find_bin(place["code"]),
            find_bin(target["code"]),
            call(
                "move_stock",
                item_id=place["item_id"],
                from_bin_id=place["bin_id"],
                to_bin_id=target["id"],
                quantity=quantity,
            ),
        ],
        about=["move", place["id"]],
    )


@template("out-of-quarantine", difficulty="medium", tags=("write", "free-choice"))
def out_of_quarantine(world: World, rng: random.Random) -> Draft | None:
    """Everything of an item leaves quarantine, for any bin that suits."""
    place = pick(rng, stock(world, "zone = 'quarantine'"))
    if place is None:
        return None
    fitting = bins(world, f"site_id = {place['site_id']} AND zone = '{place['storage']}'")
    target = max((one for one in fitting), key=lambda one: one["free"], default=None)
    if target is None or target["free"] < place["quantity"] or not sum(b["free"] > 30 for b in fitting) > 1:
        return None
    move = {"item_id": place["item_id"], "from_bin_id": place["bin_id"], "to_bin_id": target["id"]}
    return Draft(
        prompt=phrase(
            rng,
            "The {item} in quarantine at {site} has been checked and is sound. Move all of it into one "
            "ordinary bin there; which one does not matter.",
            "Quality control has cleared the {item} in {site}'s quarantine bin. Put the whole lot into any "
            "one bin of the right zone at that site.",
            "Nothing is wrong with the {item} that {site} holds in quarantine. Get all of it out, to any "
            "one bin there that suits it.",
            item=place["item"],
            site=place["site"],
        ),
        solution=[
            find_item(place),
            call("list_stock", item_id=place["item_id"], zone="quarantine"),
            call("list_bins", site_id=place["site_id"], zone=place["storage"]),
            call("move_stock", quantity=place["quantity"], **move),
        ],
        verify={
            "kind": "sql",
            "may_change": ["stock"],
            "assert": released(place),
            "choices": ["move_stock.to_bin_id"],
        },
    )


def released(place: Row) -> list[Row]:
    """Assertions that all units of an item went from quarantine to one other bin of the site, and no more."""
    mine = f"item_id = {place['item_id']}"
    gained = f"""SELECT after.quantity - coalesce(before.quantity, 0), bins.zone, bins.site_id
        FROM stock AS after LEFT JOIN initial.stock AS before
            ON before.bin_id = after.bin_id AND before.item_id = after.item_id
        JOIN bins ON bins.id = after.bin_id
        WHERE after.{mine} AND after.quantity <> coalesce(before.quantity, 0)"""
    lost = f"""SELECT bin_id, quantity FROM initial.stock WHERE {mine}
        AND bin_id NOT IN (SELECT bin_id FROM stock WHERE {mine})"""
    others = f"""SELECT
        (SELECT count(*) FROM (SELECT * FROM initial.stock WHERE NOT {mine} EXCEPT SELECT * FROM stock)),
        (SELECT count(*) FROM (SELECT * FROM stock WHERE NOT {mine} EXCEPT SELECT * FROM initial.stock))"""
    return [
        {
            "sql": " ".join(gained.split()),
            "equals": [[place["quantity"], place["storage"], place["site_id"]]],
        },
        {"sql": " ".join(lost.split()), "equals": [[place["bin_id"], place["quantity"]]]},
        {"sql": " ".join(others.split()), "equals": [[0, 0]]},
    ]


@template("note-count", difficulty="medium", tags=("write",))
def note_count(world: World, rng: random.Random) -> Draft | None:
    """What a clerk has counted."""
    place = pick(rng, stock(world, "zone <> 'quarantine'"))
    if place is None or counts(
        world, f"status = 'open' AND bin_id = {place['bin_id']} AND item_id = {place['item_id']}"
    ):
        return None
    clerk = pick(
        rng,
        world.rows("SELECT * FROM staff WHERE role = 'clerk' AND site_id = ? ORDER BY id", place["site_id"]),
    )
    if clerk is None:
        return None
    counted = max(0, place["quantity"] + rng.choice((-9, -4, -2, -1, 1, 3)))
    return Draft(
        prompt=phrase(
            rng,
            "{clerk} has counted {counted} units of {item} in {code}. Please record the count.",
            "Record a count, please: {item} in bin {code}, {counted} units, counted by {clerk}.",
            "{clerk} rang from the aisle. There are {counted} {item} in {code}. Put that down as a count.",
            clerk=clerk["name"],
            counted=counted,
            item=place["item"],
            code=place["code"],
        ),
        solution=[
            find_item(place),
            find_bin(place["code"]),
            call("list_staff", query=clerk["name"]),
            call(
                "record_count",
                item_id=place["item_id"],
                bin_id=place["bin_id"],
                counted=counted,
                staff_id=clerk["id"],
            ),
        ],
    )


@template("judge-count", difficulty="medium", tags=("write", "policy"))
def judge_count(world: World, rng: random.Random) -> Draft | None:
    """One open count, accepted or rejected as the house rules have it."""
    count = pick(rng, counts(world, "counts.status = 'open'"))
    if count is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{clerk} has counted the {item} in {code}. Deal with the open count by the house rules.",
            "There is an open count of {item} in bin {code}. Accept or reject it, whichever our house "
            "rules say.",
            "Please settle the count of {item} in {code} as the house rules have it.",
            clerk=count["clerk"],
            item=count["item"],
            code=count["code"],
        ),
        solution=[
            call("read_policy"),
            call("list_counts", bin_code=count["code"], status="open"),
            count_action(count),
        ],
    )


@template("who-approves", difficulty="medium", tags=("write", "policy"))
def who_approves(world: World, rng: random.Random) -> Draft | None:
    """A write-off is approved in the name of the person whom the house rules name."""
    write_off = pick(rng, payable(world))
    if write_off is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{number} is in order. Approve it in the name of the person who has to, by the house rules.",
            "The {item} of {number} must go off the books. Have it approved by whoever the house rules name.",
            "Please approve write-off {number}; take care that the right person approves it, see the house "
            "rules.",
            number=write_off["number"],
            item=write_off["item"],
        ),
        solution=[
            call("read_policy"),
            call("list_write_offs", number=write_off["number"]),
            call("list_staff", site_id=write_off["site_id"]),
            call("approve_write_off", write_off_id=write_off["id"], staff_id=write_off["may_id"]),
        ],
    )


def payable(world: World, where: str = "1") -> list[Row]:
    """Write-offs that wait, and whose units are where they should be."""
    return write_offs(world, f"status = 'requested' AND {where}")


@template("late-order", difficulty="medium", tags=("write", "policy", "condition"))
def late_order(world: World, rng: random.Random) -> Draft | None:
    """A late purchase order: cancelled or put off."""
    order = pick(rng, orders(world, "status = 'sent' AND late > 0"))
    if order is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{number} from {supplier} is late. Do with it what the house rules say.",
            "{supplier} has let us wait for {number}. Please follow the house rules on late deliveries.",
            "What becomes of {number}, which should have been delivered by {supplier}? Look into the house "
            "rules and do it.",
            number=order["number"],
            supplier=order["supplier"],
        ),
        solution=[
            call("read_policy"),
            *find_order(order),
            call("search_suppliers", query=order["supplier"]),
            late_action(world, order),
        ],
    )


# ---------------------------------------------------------------- hard


@template("reorder-if-due", difficulty="hard", tags=("write", "policy", "condition", "arithmetic"))
def reorder_if_due(world: World, rng: random.Random) -> Draft | None:
    """An item that the house rules order again."""
    item = pick(rng, [one for one in items(world, "NOT on_hold") if one["due"]])
    if item is None:
        return None
    return Draft(
        prompt=reorder_request(rng, item),
        solution=[
            call("read_policy"),
            call("search_items", query=item["name"]),
            call("get_item", item_id=item["id"]),
            call("list_sites"),
            *purchase(world, [item]),
        ],
        answer={"number": item["total"]},
    )


def purchase(world: World, goods: list[Row]) -> list[Row]:
    """An order of goods of one supplier, as the house rules place it."""
    order = int(world.value("SELECT max(id) + 1 FROM purchase_orders"))
    return [
        call("create_purchase_order", supplier_id=goods[0]["supplier_id"], site_id=ASHBY),
        *(
            call(
                "add_order_line",
                purchase_order_id=order,
                item_id=item["id"],
                quantity=item["reorder_quantity"],
            )
            for item in goods
        ),
        call("send_purchase_order", purchase_order_id=order),
    ]


@template("reorder-what-is-due", difficulty="hard", tags=("write", "policy", "condition"))
def reorder_what_is_due(world: World, rng: random.Random) -> Draft | None:
    """Of two or three items of one supplier, those that are due go on one order."""
    sellers = world.rows("SELECT * FROM suppliers WHERE NOT on_hold ORDER BY id")
    supplier = pick(rng, sellers)
    if supplier is None:
        return None
    goods = items(world, f"supplier_id = {supplier['id']} AND NOT discontinued")
    chosen = rng.sample(goods, min(len(goods), 3))
    due = [item for item in chosen if item["due"]]
    if len(chosen) < 3 or not due or len(due) == 3:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Look at three things that we get from {supplier}: {first}, {second} and {third}. Order what "
            "is due by the house rules, on one order, and send it.",
            "{supplier} takes orders this morning. Check {first}, {second} and {third}, and send them one "
            "order for those that the house rules want ordered again.",
            "Which of {first}, {second} and {third} are due to be reordered? Put them on an order to "
            "{supplier} as the house rules have it, and send it off.",
            supplier=supplier["name"],
            first=chosen[0]["name"],
            second=chosen[1]["name"],
            third=chosen[2]["name"],
        ),
        solution=[
            call("read_policy"),
            call("search_items", supplier_id=supplier["id"]),
            *(call("get_item", item_id=item["id"]) for item in chosen),
            call("list_sites"),
            *purchase(world, due),
        ],
        about=["due", supplier["id"], sorted(item["id"] for item in chosen)],
    )


@template("pick-and-ship", difficulty="hard", tags=("write", "policy"))
def pick_and_ship(world: World, rng: random.Random) -> Draft | None:
    """An order of two or three lines is picked by the house rules and shipped."""
    order = pick(rng, customer_orders(world, "status = 'open'"))
    if order is None:
        return None
    missing = [line for line in pick_lines(world, order) if line["missing"]]
    sources = [pick_from(world, line["item_id"], order["site_id"], line["missing"]) for line in missing]
    if len(missing) < 2 or not all(source and source["bin_id"] for source in sources):
        return None
    return Draft(
        prompt=phrase(rng, *PICKING, number=order["number"], customer=order["customer"]),
        solution=[
            call("read_policy"),
            *find_customer_order(order),
            *look_for(order, missing),
            *(
                call("pick_goods", line_id=line["id"], bin_id=source["bin_id"], quantity=line["missing"])
                for line, source in zip(missing, sources, strict=True)
                if source
            ),
            call("ship_order", customer_order_id=order["id"]),
        ],
        about=["ship", order["id"]],
    )


PICKING = (
    "Please get {number} for {customer} out today: pick what is missing as the house rules have it, and "
    "ship it. If they do not let you, do what they say instead.",
    "{customer} is waiting for {number}. Pick the rest of it by the house rules and ship the order, or do "
    "what the rules say where that cannot be done.",
    "{number} ({customer}) is next. Follow the house rules on picking; ship the order if all of it can be "
    "picked.",
)


def look_for(order: Row, lines: list[Row]) -> list[Row]:
    return [call("list_stock", site_id=order["site_id"], item_id=line["item_id"]) for line in lines]


@template("cannot-be-picked", difficulty="hard", tags=("write", "policy", "condition"))
def cannot_be_picked(world: World, rng: random.Random) -> Draft | None:
    """An order of which a line cannot be picked: on hold, with nothing picked."""
    order = pick(rng, customer_orders(world, "status = 'open'"))
    if order is None:
        return None
    missing = [line for line in pick_lines(world, order) if line["missing"]]
    sources = [pick_from(world, line["item_id"], order["site_id"], line["missing"]) for line in missing]
    if len(missing) < 2 or all(sources):
        return None
    return Draft(
        prompt=phrase(rng, *PICKING, number=order["number"], customer=order["customer"]),
        solution=[
            call("read_policy"),
            *find_customer_order(order),
            *look_for(order, missing),
            call("hold_order", customer_order_id=order["id"]),
        ],
        about=["ship", order["id"]],
    )


@template("whole-delivery", difficulty="hard", tags=("write", "policy"))
def whole_delivery(world: World, rng: random.Random) -> Draft | None:
    """All that was missing arrives, a few units of it damaged."""
    order = pick(rng, orders(world, "status = 'sent'"))
    if order is None:
        return None
    site = order["site_id"]
    lines = [line for line in order_lines(world, order) if line["missing"] > 9]
    shelves = [shelf_for(world, line["item_id"], line["storage"], site) for line in lines]
    [quarantine] = bins(world, f"site_id = {site} AND zone = 'quarantine'")
    empty = [line for line in lines if not sound(world, line["item_id"], site)]
    if empty and len({line["storage"] for line in lines}) < len(lines):
        return None  # the room that one line leaves would decide about the other
    bad, broken = pick(rng, lines), rng.randint(2, 8)
    if len(lines) != 2 or bad is None or not all(roomy(shelves, lines)) or quarantine["free"] < broken:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "All that was still to come on {number} has arrived, but {broken} units of the {item} are "
            "damaged. Book everything in by the house rules.",
            "{supplier} has delivered the whole rest of {number}. {broken} {item} among it are broken, the "
            "others are fine. Receive it all and put it where the house rules want it.",
            "Please receive what is missing on {number}: it is all here, {broken} of the {item} damaged. "
            "The house rules say which bins.",
            number=order["number"],
            supplier=order["supplier"],
            broken=broken,
            item=bad["item"],
        ),
        solution=[
            call("read_policy"),
            *find_order(order),
            *(looks_for_shelf(world, site, line) for line in lines),
            call("list_bins", site_id=site, zone="quarantine"),
            *(
                call(
                    "receive_goods",
                    line_id=line["id"],
                    bin_id=shelf["bin_id"],
                    quantity=line["missing"] - (broken if line is bad else 0),
                )
                for line, shelf in zip(lines, shelves, strict=True)
                if shelf
            ),
            call("receive_goods", line_id=bad["id"], bin_id=quarantine["id"], quantity=broken),
        ],
        about=["delivery", order["id"]],
    )


def roomy(shelves: list[Row | None], lines: list[Row]) -> Iterator[bool]:
    """Whether each shelf takes its line, also where both go to one."""
    for shelf in shelves:
        if shelf is None:
            yield False
        else:
            same = [
                line["missing"]
                for line, other in zip(lines, shelves, strict=True)
                if other and other["bin_id"] == shelf["bin_id"]
            ]
            yield shelf["free"] >= sum(same)


def looks_for_shelf(world: World, site: int, line: Row) -> Row:
    """Where the item lies at the site, or, where it does not, which bins there are."""
    if sound(world, line["item_id"], site):
        return call("list_stock", site_id=site, item_id=line["item_id"])
    return call("list_bins", site_id=site, zone=line["storage"])


@template("fill-a-site", difficulty="hard", tags=("write", "policy"))
def fill_a_site(world: World, rng: random.Random) -> Draft | None:
    """Goods for a site that runs short, from the bin that the house rules name."""
    item = pick(rng, items(world))
    site = pick(rng, world.rows("SELECT * FROM sites ORDER BY id"))
    if item is None or site is None:
        return None
    elsewhere = [row for row in sound(world, item["id"]) if row["site_id"] != site["id"]]
    if len(elsewhere) < 2 or elsewhere[0]["quantity"] == elsewhere[1]["quantity"]:
        return None
    source = elsewhere[0]
    quantity = rng.randint(2, max(2, source["quantity"] // 2))
    transfer = int(world.value("SELECT max(id) + 1 FROM transfers"))
    return Draft(
        prompt=phrase(
            rng,
            "{site} needs {quantity} units of {item}. Request a transfer from where the house rules say, "
            "and dispatch it at once.",
            "Please send {site} {quantity} {item} today, taken from the bin that the house rules name.",
            "{quantity} {item} must go to {site} on this morning's lorry. The house rules say from which "
            "bin; request the transfer and book it out.",
            site=site["name"],
            quantity=quantity,
            item=item["name"],
        ),
        solution=[
            call("read_policy"),
            call("search_items", query=item["name"]),
            call("list_stock", item_id=item["id"]),
            call("list_sites"),
            call(
                "request_transfer",
                item_id=item["id"],
                from_bin_id=source["bin_id"],
                to_site_id=site["id"],
                quantity=quantity,
            ),
            call("dispatch_transfer", transfer_id=transfer),
        ],
        about=["fill", item["id"], site["id"]],
    )


@template("all-counts", difficulty="hard", tags=("write", "policy"))
def all_counts(world: World, rng: random.Random) -> Draft | None:
    """Every open count of a site, by the house rules."""
    site = pick(rng, world.rows("SELECT * FROM sites ORDER BY id"))
    if site is None:
        return None
    waiting = counts(world, f"counts.status = 'open' AND bins.site_id = {site['id']}")
    if not 3 <= len(waiting) <= 8 or len({count["fine"] for count in waiting}) < 2:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please clear the open counts of {site}, each by the house rules.",
            "{site} has several stock counts open. Go through them all and accept or reject each as the "
            "house rules have it.",
            "Settle every open count at {site}. The house rules say which are accepted.",
            site=site["name"],
        ),
        solution=[
            call("read_policy"),
            call("list_sites"),
            call("list_counts", site_id=site["id"], status="open"),
            *(count_action(count) for count in waiting),
        ],
    )


@template("all-write-offs", difficulty="hard", tags=("write", "policy"))
def all_write_offs(world: World, rng: random.Random) -> Draft | None:
    """Every write-off that waits at a site, each approved by the right person."""
    site = pick(rng, world.rows("SELECT * FROM sites ORDER BY id"))
    if site is None:
        return None
    waiting = payable(world, f"bins.site_id = {site['id']}")
    if not 2 <= len(waiting) <= 7:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "All write-offs that wait at {site} are justified. Approve each in the name of the person who "
            "has to, by the house rules.",
            "Please clear the write-offs of {site} that nobody has decided yet: approve all of them, each "
            "by whom the house rules name.",
            "Auditors come to {site} tomorrow. Get every waiting write-off there approved, and by the "
            "right people: see the house rules.",
            site=site["name"],
        ),
        solution=[
            call("read_policy"),
            call("list_sites"),
            call("list_write_offs", site_id=site["id"], status="requested"),
            call("list_staff", site_id=site["id"]),
            *(call("approve_write_off", write_off_id=one["id"], staff_id=one["may_id"]) for one in waiting),
        ],
    )


@template("all-late-orders", difficulty="hard", tags=("write", "policy", "condition"))
def all_late_orders(world: World, rng: random.Random) -> Draft | None:
    """Every late order of a supplier."""
    supplier = pick(rng, world.rows("SELECT * FROM suppliers ORDER BY id"))
    if supplier is None:
        return None
    late = orders(world, f"status = 'sent' AND late > 0 AND supplier_id = {supplier['id']}")
    if not 2 <= len(late) <= 4:
        return None
    late.sort(key=lambda order: (order["expected_on"], order["id"]))
    return Draft(
        prompt=phrase(
            rng,
            "{supplier} is behind with more than one order. Deal with each late one by the house rules.",
            "Go through the late orders to {supplier}, please, and do with each what the house rules say.",
            "What {supplier} should have delivered by now: handle every late order as the house rules have "
            "it.",
            supplier=supplier["name"],
        ),
        solution=[
            call("read_policy"),
            call("search_suppliers", query=supplier["name"]),
            call("list_purchase_orders", supplier_id=supplier["id"], status="late"),
            *(call("get_purchase_order", purchase_order_id=order["id"]) for order in late),
            *(late_action(world, order) for order in late),
        ],
    )


@template("which-are-due", difficulty="hard", tags=("read", "policy"))
def which_are_due(world: World, rng: random.Random) -> Draft | None:
    """Which of a supplier's items are due by the house rules."""
    supplier = pick(rng, world.rows("SELECT * FROM suppliers ORDER BY id"))
    if supplier is None:
        return None
    goods = items(world, f"supplier_id = {supplier['id']} AND NOT discontinued")
    due = [item["name"] for item in goods if item["due"]]
    if not 4 <= len(goods) <= 10 or not 1 <= len(due) < len(goods):
        return None
    everything = sorted(items(world, f"supplier_id = {supplier['id']}"), key=lambda item: str(item["name"]))
    return Draft(
        prompt=phrase(
            rng,
            "Which items from {supplier} are due to be ordered again by the house rules? Order nothing "
            "yet; answer with their names, separated by commas.",
            "I am about to ring {supplier}. Tell me what the house rules want reordered from them: item "
            "names, separated by commas. Do not place the order.",
            "Go through what {supplier} delivers and list the items that have come down to their reorder "
            "point as the house rules reckon it. Names only, separated by commas.",
            supplier=supplier["name"],
        ),
        solution=[
            call("read_policy"),
            call("search_suppliers", query=supplier["name"]),
            call("search_items", supplier_id=supplier["id"]),
            *(call("get_item", item_id=item["id"]) for item in everything if not item["discontinued"]),
        ],
        answer={"list": due},
        about=["due", supplier["id"]],
    )
