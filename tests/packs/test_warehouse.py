"""The warehouses' rules, each met at the stock desk: what is refused, and what the message says to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import pytest
import pytest_asyncio

from subworlds.scenarios.generation.world_folder import WorldFolder
from subworlds.scenarios.pack import BUILTIN_PACKS
from subworlds.scenarios.session import Session
from subworlds.scenarios.tool import FailureKind

from ..scenarios.toys import Worlds, ask, fail, open_worlds

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON: TypeAlias = Any


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def warehouse() -> AsyncIterator[Worlds]:
    async with open_worlds(WorldFolder(BUILTIN_PACKS / "warehouse").scenario()) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def desk(warehouse: Worlds) -> AsyncIterator[Session]:
    """The stock desk on a morning of its own."""
    session = await warehouse.start("warehouse")
    yield session
    await session.close()


async def refused(desk: Session, tool: str, /, **arguments: JSON) -> str:
    kind, message = await fail(desk, tool, **arguments)
    assert kind is FailureKind.TOOL_FAILED
    return message


async def listed(desk: Session, tool: str, /, **filters: JSON) -> list[JSON]:
    return (await ask(desk, tool, **filters))["results"]


async def item(desk: Session, name: str) -> JSON:
    [found] = [one for one in await listed(desk, "search_items", query=name) if one["name"] == name]
    return found


async def supplier(desk: Session, name: str) -> int:
    return (await listed(desk, "search_suppliers", query=name))[0]["supplier_id"]


async def draft(desk: Session, name: str) -> int:
    order = await ask(desk, "create_purchase_order", supplier_id=await supplier(desk, name), site_id=1)
    return order["purchase_order_id"]


async def a_sent_line(desk: Session, storage: str) -> tuple[JSON, JSON]:
    """An order that is on its way, and a line of it that is stored like this and has not come in full."""
    fitting = {one["item_id"] for one in await listed(desk, "search_items", storage=storage, limit=50)}
    for found in await listed(desk, "list_purchase_orders", status="sent", limit=50):
        order = await ask(desk, "get_purchase_order", purchase_order_id=found["purchase_order_id"])
        for line in order["lines"]:
            if line["item_id"] in fitting and line["received"] < line["quantity"]:
                return order, line
    raise LookupError(storage)


async def a_write_off(desk: Session, role: str) -> tuple[JSON, JSON]:
    """A write-off that waits, and somebody of its site in this role who did not ask for it."""
    for write_off in await listed(desk, "list_write_offs", status="requested", limit=50):
        staff = await listed(desk, "list_staff", site_id=write_off["site_id"], role=role)
        if others := [one for one in staff if one["name"] != write_off["requested_by"]]:
            return write_off, others[0]
    raise LookupError(role)


async def test_nothing_is_ordered_from_a_supplier_on_hold(desk: Session) -> None:
    seller = await supplier(desk, "Bright & Sons")
    message = await refused(desk, "create_purchase_order", supplier_id=seller, site_id=1)
    assert "is on hold" in message


async def test_order_is_filled_with_what_its_supplier_delivers_and_sent(desk: Session) -> None:
    order = await draft(desk, "Castle Mill")
    assert "add some" in await refused(desk, "send_purchase_order", purchase_order_id=order)
    milk, oats = await item(desk, "Whole Milk 2 l"), await item(desk, "Rolled Oats 1 kg")
    line = {"purchase_order_id": order, "quantity": 40}
    assert "from Northern Dairies" in await refused(desk, "add_order_line", item_id=milk["item_id"], **line)
    await ask(desk, "add_order_line", item_id=oats["item_id"], **line)
    assert "change_order_line" in await refused(desk, "add_order_line", item_id=oats["item_id"], **line)
    sent = await ask(desk, "send_purchase_order", purchase_order_id=order)
    assert (sent["status"], sent["expected_on"]) == ("sent", "2026-04-22")


async def test_discontinued_item_cannot_be_ordered(desk: Session) -> None:
    order, napkins = await draft(desk, "Peak Paper"), await item(desk, "Napkins Red 500")
    line = {"purchase_order_id": order, "item_id": napkins["item_id"], "quantity": 10}
    assert "is discontinued" in await refused(desk, "add_order_line", **line)


async def test_line_of_a_draft_can_be_changed_and_taken_out(desk: Session) -> None:
    order, oats = await draft(desk, "Castle Mill"), await item(desk, "Rolled Oats 1 kg")
    line = {"purchase_order_id": order, "item_id": oats["item_id"], "quantity": 10}
    [added] = (await ask(desk, "add_order_line", **line))["lines"]
    [changed] = (await ask(desk, "change_order_line", line_id=added["line_id"], quantity=15))["lines"]
    assert changed["quantity"] == 15
    assert (await ask(desk, "change_order_line", line_id=added["line_id"], quantity=0))["lines"] == []


async def test_goods_go_to_a_bin_of_their_site_and_zone_and_never_too_many(desk: Session) -> None:
    order, line = await a_sent_line(desk, "cold")
    cold = await listed(desk, "list_bins", zone="cold")
    here = next(one for one in cold if one["site"] == order["site"])
    elsewhere = next(one for one in cold if one["site"] != order["site"])
    [warm, *_] = await listed(desk, "list_bins", zone="ambient", site_id=order["site_id"])
    part = {"line_id": line["line_id"], "quantity": 1}
    assert "is at" in await refused(desk, "receive_goods", bin_id=elsewhere["bin_id"], **part)
    assert "needs cold storage" in await refused(desk, "receive_goods", bin_id=warm["bin_id"], **part)
    many = {"line_id": line["line_id"], "quantity": line["quantity"] + 1}
    assert "still to come" in await refused(desk, "receive_goods", bin_id=here["bin_id"], **many)


async def test_order_of_which_something_came_cannot_be_cancelled(desk: Session) -> None:
    order, line = await a_sent_line(desk, "ambient")
    [place] = await listed(desk, "list_bins", zone="quarantine", site_id=order["site_id"])
    await ask(desk, "receive_goods", line_id=line["line_id"], bin_id=place["bin_id"], quantity=1)
    message = await refused(desk, "cancel_purchase_order", purchase_order_id=order["purchase_order_id"])
    assert "has been received" in message


async def test_expected_day_is_not_moved_into_the_past(desk: Session) -> None:
    order, _ = await a_sent_line(desk, "ambient")
    change = {"purchase_order_id": order["purchase_order_id"], "expected_on": "2026-04-12"}
    assert "must lie between" in await refused(desk, "change_expected_date", **change)


async def test_full_bin_takes_nothing_more(desk: Session) -> None:
    stock = (await listed(desk, "list_stock", site_id=1, zone="ambient", limit=50))[0]
    source = {"item_id": stock["item_id"], "from_bin_id": stock["bin_id"], "quantity": stock["quantity"]}
    bins = await listed(desk, "list_bins", site_id=1, zone="ambient")
    fullest = min((one for one in bins if one["bin_id"] != stock["bin_id"]), key=lambda one: one["free"])
    line = {"to_bin_id": fullest["bin_id"], **source}
    if stock["quantity"] > fullest["free"]:
        assert "has room for" in await refused(desk, "move_stock", **line)
    too_many = {**line, "quantity": stock["quantity"] + 1}
    assert f"holds {stock['quantity']}" in await refused(desk, "move_stock", **too_many)
    assert "another bin" in await refused(desk, "move_stock", **{**line, "to_bin_id": stock["bin_id"]})


async def test_nothing_leaves_the_site_or_is_picked_from_quarantine(desk: Session) -> None:
    stock = (await listed(desk, "list_stock", site_id=1, zone="quarantine"))[0]
    goods = {"item_id": stock["item_id"], "quantity": 1, "to_site_id": 2}
    message = await refused(desk, "request_transfer", from_bin_id=stock["bin_id"], **goods)
    assert "quarantine" in message
    order = (await listed(desk, "list_customer_orders", site_id=1, status="open"))[0]
    shown = await ask(desk, "get_customer_order", customer_order_id=order["customer_order_id"])
    pick = {"line_id": shown["lines"][0]["line_id"], "bin_id": stock["bin_id"], "quantity": 1}
    assert "nothing is picked from there" in await refused(desk, "pick_goods", **pick)


async def test_order_ships_only_when_all_is_picked_and_not_on_hold(desk: Session) -> None:
    order = (await listed(desk, "list_customer_orders", status="open"))[0]
    key = {"customer_order_id": order["customer_order_id"]}
    assert "pick_goods" in await refused(desk, "ship_order", **key)
    await ask(desk, "hold_order", **key)
    assert "is on hold, not open" in await refused(desk, "ship_order", **key)
    assert (await ask(desk, "release_order", **key))["status"] == "open"


async def test_dispatched_transfer_leaves_its_bin_and_arrives_at_its_site(desk: Session) -> None:
    oats = await item(desk, "Rolled Oats 1 kg")
    stock = next(one for one in await listed(desk, "list_stock", item_id=oats["item_id"]))
    site = 1 if stock["site_id"] != 1 else 2
    goods = {"item_id": oats["item_id"], "from_bin_id": stock["bin_id"], "quantity": 2}
    transfer = await ask(desk, "request_transfer", to_site_id=site, **goods)
    key = {"transfer_id": transfer["transfer_id"]}
    assert "not in transit" in await refused(desk, "complete_transfer", bin_id=stock["bin_id"], **key)
    await ask(desk, "dispatch_transfer", **key)
    assert "not requested" in await refused(desk, "cancel_transfer", **key)
    assert "is at" in await refused(desk, "complete_transfer", bin_id=stock["bin_id"], **key)
    [quarantine] = await listed(desk, "list_bins", site_id=site, zone="quarantine")
    arrived = await ask(desk, "complete_transfer", bin_id=quarantine["bin_id"], **key)
    assert arrived["status"] == "completed"


async def test_count_is_accepted_only_while_the_books_stand_still(desk: Session) -> None:
    count = (await listed(desk, "list_counts", status="open"))[0]
    [place] = await listed(desk, "list_bins", code=count["bin"])
    goods = await item(desk, count["item"])
    again = {"item_id": goods["item_id"], "bin_id": place["bin_id"], "counted": 5, "staff_id": 13}
    assert "accept or reject it first" in await refused(desk, "record_count", **again)
    sets_aside = await listed(desk, "list_bins", zone="quarantine")
    quarantine = next(one for one in sets_aside if one["site"] == place["site"])
    move = {"item_id": goods["item_id"], "from_bin_id": place["bin_id"], "quantity": 1}
    await ask(desk, "move_stock", to_bin_id=quarantine["bin_id"], **move)
    assert "reject this count" in await refused(desk, "accept_count", count_id=count["count_id"])
    assert (await ask(desk, "reject_count", count_id=count["count_id"]))["status"] == "rejected"


async def test_write_off_is_approved_neither_by_clerks_nor_by_who_asked(desk: Session) -> None:
    write_off, clerk = await a_write_off(desk, "clerk")
    key = {"write_off_id": write_off["write_off_id"]}
    assert "is a clerk" in await refused(desk, "approve_write_off", staff_id=clerk["staff_id"], **key)
    [boss] = await listed(desk, "list_staff", site_id=1, role="manager")
    stock = (await listed(desk, "list_stock", site_id=1))[0]
    loss = {"item_id": stock["item_id"], "bin_id": stock["bin_id"], "quantity": 1, "reason": "lost"}
    asked = await ask(desk, "request_write_off", staff_id=boss["staff_id"], **loss)
    own = {"write_off_id": asked["write_off_id"], "staff_id": boss["staff_id"]}
    assert "somebody else must approve" in await refused(desk, "approve_write_off", **own)


async def test_approved_write_off_leaves_the_books(desk: Session) -> None:
    write_off, manager = await a_write_off(desk, "manager")
    goods = await item(desk, write_off["item"])
    before = await listed(desk, "list_stock", item_id=goods["item_id"], bin_code=write_off["bin"])
    await ask(desk, "approve_write_off", write_off_id=write_off["write_off_id"], staff_id=manager["staff_id"])
    after = await listed(desk, "list_stock", item_id=goods["item_id"], bin_code=write_off["bin"])
    left = before[0]["quantity"] - write_off["quantity"]
    assert [one["quantity"] for one in after] == ([left] if left else [])


async def test_tools_that_change_say_when_nothing_would_change(desk: Session) -> None:
    oats, seller = await item(desk, "Rolled Oats 1 kg"), await supplier(desk, "Castle Mill")
    assert "reorder_point" in await refused(desk, "change_reorder_levels", item_id=oats["item_id"])
    assert "already" in await refused(desk, "set_supplier_hold", supplier_id=seller, on_hold=False)
