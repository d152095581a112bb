"""The organiser's rules, each met in the office: what is refused, and what the message says to do."""

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
TODAY = "2026-09-14"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def events() -> AsyncIterator[Worlds]:
    async with open_worlds(WorldFolder(BUILTIN_PACKS / "events").scenario()) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def office(events: Worlds) -> AsyncIterator[Session]:
    """The office on a morning of its own."""
    session = await events.start("events")
    yield session
    await session.close()


async def refused(office: Session, tool: str, /, **arguments: JSON) -> str:
    kind, message = await fail(office, tool, **arguments)
    assert kind is FailureKind.TOOL_FAILED
    return message


async def listed(office: Session, tool: str, /, **filters: JSON) -> list[JSON]:
    return (await ask(office, tool, **filters, limit=50))["results"]


async def event(office: Session, name: str) -> JSON:
    [found] = await listed(office, "search_events", query=name)
    return await ask(office, "get_event", event_id=found["event_id"])


async def ticket_type(office: Session, event_name: str, name: str) -> JSON:
    types = (await event(office, event_name))["ticket_types"]
    return next(one for one in types if one["name"] == name)


async def newcomers(office: Session, number: int) -> list[int]:
    """Ids of people who have no ticket of anything."""
    people = [
        await ask(
            office,
            "register_attendee",
            name=f"Newcomer {which}",
            email=f"newcomer{which}@inkwell.example",
            town="Holm",
        )
        for which in range(number)
    ]
    return [person["attendee_id"] for person in people]


async def order(office: Session, kind: JSON, *holders: int, **terms: JSON) -> JSON:
    return await ask(
        office,
        "place_order",
        buyer_id=holders[0],
        ticket_type_id=kind["ticket_type_id"],
        holder_ids=list(holders),
        **terms,
    )


async def test_order_is_unpaid_until_its_payment_is_recorded(office: Session) -> None:
    standard = await ticket_type(office, "Museum Futures 2026", "Standard")
    placed = await order(office, standard, *await newcomers(office, 2), discount_percent=10)
    assert (placed["status"], placed["total"]) == ("unpaid", 2 * standard["price"] * 0.9)
    paid = await ask(office, "record_payment", order_id=placed["order_id"], method="card")
    assert paid["status"] == "paid"
    assert "is paid, not unpaid" in await refused(
        office, "record_payment", order_id=placed["order_id"], method="card"
    )
    assert "is paid, not unpaid" in await refused(office, "cancel_order", order_id=placed["order_id"])


async def test_one_person_holds_one_valid_ticket_of_an_event(office: Session) -> None:
    [person] = await newcomers(office, 1)
    standard = await ticket_type(office, "Museum Futures 2026", "Standard")
    await order(office, standard, person)
    again = {"buyer_id": person, "ticket_type_id": standard["ticket_type_id"], "holder_ids": [person]}
    assert "has a valid Standard ticket" in await refused(office, "place_order", **again)


async def test_sold_out_type_has_a_waiting_list_and_any_other_has_none(office: Session) -> None:
    standard = await ticket_type(office, "Museum Futures 2026", "Standard")
    first, second = await newcomers(office, 2)
    waits = {"ticket_type_id": standard["ticket_type_id"], "attendee_id": first}
    assert "place_order instead" in await refused(office, "join_waiting_list", **waits)
    sold = standard["sold"] + standard["offered"]
    await ask(office, "change_quota", ticket_type_id=standard["ticket_type_id"], quota=sold)
    buying = {"buyer_id": second, "ticket_type_id": standard["ticket_type_id"], "holder_ids": [second]}
    assert "join_waiting_list" in await refused(office, "place_order", **buying)
    entry = await ask(office, "join_waiting_list", **waits)
    assert "on this waiting list already" in await refused(office, "join_waiting_list", **waits)
    assert "0 Standard tickets are left" in await refused(office, "offer_place", entry_id=entry["entry_id"])


async def test_offer_keeps_a_ticket_until_it_lapses_or_is_accepted(office: Session) -> None:
    standard = await ticket_type(office, "Museum Futures 2026", "Standard")
    key, sold = {"ticket_type_id": standard["ticket_type_id"]}, standard["sold"] + standard["offered"]
    first, second = await newcomers(office, 2)
    await ask(office, "change_quota", **key, quota=sold)
    entries = [await ask(office, "join_waiting_list", **key, attendee_id=one) for one in (first, second)]
    await ask(office, "change_quota", **key, quota=sold + 1)
    await ask(office, "offer_place", entry_id=entries[0]["entry_id"])
    buying = {**key, "buyer_id": second, "holder_ids": [second]}
    assert "0 Standard tickets are left" in await refused(office, "place_order", **buying)
    await ask(office, "let_offer_lapse", entry_id=entries[0]["entry_id"])
    await ask(office, "offer_place", entry_id=entries[1]["entry_id"])
    served = await ask(office, "accept_offer", entry_id=entries[1]["entry_id"])
    assert [ticket["holder_id"] for ticket in served["tickets"]] == [second]
    assert "lapsed, not offered" in await refused(office, "accept_offer", entry_id=entries[0]["entry_id"])


async def test_quotas_stay_within_the_capacity(office: Session) -> None:
    museum = await event(office, "Museum Futures 2026")
    standard = next(one for one in museum["ticket_types"] if one["name"] == "Standard")
    key = {"ticket_type_id": standard["ticket_type_id"]}
    message = await refused(office, "change_quota", **key, quota=museum["capacity"] + 1)
    assert f"a capacity of {museum['capacity']}" in message
    assert "is too few" in await refused(office, "change_quota", **key, quota=1)


async def test_ticket_is_refunded_once_and_only_when_paid(office: Session) -> None:
    standard = await ticket_type(office, "Museum Futures 2026", "Standard")
    placed = await order(office, standard, *await newcomers(office, 1))
    [ticket] = placed["tickets"]
    back = {"ticket_id": ticket["ticket_id"], "percent": 50}
    assert "record_payment or cancel_order" in await refused(office, "refund_ticket", **back)
    await ask(office, "record_payment", order_id=placed["order_id"], method="cash")
    assert (await ask(office, "refund_ticket", **back))["refunded"] == standard["price"] / 2
    assert "is refunded" in await refused(office, "refund_ticket", **back)


async def test_ticket_changes_hands_once(office: Session) -> None:
    standard = await ticket_type(office, "Museum Futures 2026", "Standard")
    giver, receiver, third = await newcomers(office, 3)
    placed = await order(office, standard, giver)
    await ask(office, "record_payment", order_id=placed["order_id"], method="card")
    ticket = {"ticket_id": placed["tickets"][0]["ticket_id"], "fee": 0}
    assert (await ask(office, "transfer_ticket", **ticket, attendee_id=receiver))["holder_id"] == receiver
    assert "once is all" in await refused(office, "transfer_ticket", **ticket, attendee_id=third)


async def test_upgrade_costs_the_difference_and_never_goes_down(office: Session) -> None:
    student = await ticket_type(office, "Museum Futures 2026", "Student")
    standard = await ticket_type(office, "Museum Futures 2026", "Standard")
    roomy = {"ticket_type_id": student["ticket_type_id"], "quota": student["quota"] + 5}
    await ask(office, "change_quota", **roomy)
    placed = await order(office, student, *await newcomers(office, 1))
    await ask(office, "record_payment", order_id=placed["order_id"], method="card")
    ticket = {"ticket_id": placed["tickets"][0]["ticket_id"]}
    upgraded = await ask(office, "upgrade_ticket", **ticket, ticket_type_id=standard["ticket_type_id"])
    assert upgraded["paid_for_the_upgrade"] == standard["price"] - student["price"]
    assert "no upgrade" in await refused(
        office, "upgrade_ticket", **ticket, ticket_type_id=student["ticket_type_id"]
    )


async def test_nobody_is_checked_in_on_another_day_or_twice_on_one(office: Session) -> None:
    later = await event(office, "Museum Futures 2026")
    valid = await listed(office, "list_tickets", event_id=later["event_id"], status="valid")
    paid = {
        one["number"]
        for one in await listed(office, "list_orders", event_id=later["event_id"], status="paid")
    }
    ticket = next(one for one in valid if one["order"] in paid)
    assert f"today is {TODAY}" in await refused(office, "check_in", ticket_id=ticket["ticket_id"])
    now = await event(office, "Northern Data Summit 2026")
    inside = await listed(office, "list_check_ins", event_id=now["event_id"], day=TODAY)
    assert "checked in today already" in await refused(office, "check_in", ticket_id=inside[0]["ticket_id"])


async def test_room_in_use_is_refused_with_the_session_that_is_in_it(office: Session) -> None:
    museum = await event(office, "Museum Futures 2026")
    talk = (await listed(office, "list_sessions", event_id=museum["event_id"], status="scheduled"))[0]
    when = {"day": talk["day"], "starts": talk["starts"], "ends": talk["ends"]}
    new = {"event_id": museum["event_id"], "title": "Open Stage", "room_id": talk["room_id"], "expected": 5}
    message = await refused(office, "add_session", **new, **when)
    assert talk["title"] in message
    assert "find_free_rooms" in message
    free = await ask(office, "find_free_rooms", venue_id=museum["venue_id"], seats=5, **when)
    added = await ask(office, "add_session", **{**new, "room_id": free["results"][0]["room_id"]}, **when)
    assert added["speakers"] == []


async def test_speaker_cannot_be_in_two_sessions_at_once(office: Session) -> None:
    museum = await event(office, "Museum Futures 2026")
    talks = await listed(office, "list_sessions", event_id=museum["event_id"], status="scheduled")
    talk = next(one for one in talks if one["speakers"])
    when = {"day": talk["day"], "starts": talk["starts"], "ends": talk["ends"]}
    free = await ask(office, "find_free_rooms", venue_id=museum["venue_id"], seats=5, **when)
    new = {"event_id": museum["event_id"], "title": "Open Stage", "expected": 5, **when}
    added = await ask(office, "add_session", **new, room_id=free["results"][0]["room_id"])
    speaker = talk["speakers"][0]
    stands_in = {"session_id": added["session_id"], "speaker_id": speaker["speaker_id"]}
    assert f"speaks in {talk['title']}" in await refused(office, "assign_speaker", **stands_in)
    await ask(office, "cancel_session", session_id=talk["session_id"])
    assert (await ask(office, "assign_speaker", **stands_in))["speakers"] == [speaker]


async def test_event_has_one_gold_sponsor(office: Session) -> None:
    coming = await event(office, "Northern Data Summit 2027")
    pledged = await listed(office, "list_sponsorships", event_id=coming["event_id"])
    [first] = [one["sponsor"] for one in pledged if one["level"] == "gold"]
    taken = {one["sponsor_id"] for one in pledged}
    free = next(one for one in await listed(office, "search_sponsors") if one["sponsor_id"] not in taken)
    pledge = {"event_id": coming["event_id"], "sponsor_id": free["sponsor_id"], "amount": 3000}
    message = await refused(office, "add_sponsorship", **pledge, level="gold")
    assert f"its one gold sponsor: {first}" in message
    await ask(office, "add_sponsorship", **pledge, level="silver")
    assert "is a silver sponsor" in await refused(office, "add_sponsorship", **pledge, level="bronze")


async def test_sponsors_guest_needs_a_sponsorship_of_that_event(office: Session) -> None:
    museum = await event(office, "Museum Futures 2026")
    elsewhere = next(
        one
        for one in await listed(office, "list_sponsorships", status="paid")
        if one["event_id"] != museum["event_id"]
    )
    [guest] = await newcomers(office, 1)
    free = {"event_id": museum["event_id"], "attendee_id": guest}
    message = await refused(office, "issue_complimentary", **free, sponsorship_id=elsewhere["sponsorship_id"])
    assert elsewhere["event"] in message
