"""The hotel's rules, each met at the desk: what is refused, and what the message says to do."""

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
TODAY = "2026-05-11"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hotel() -> AsyncIterator[Worlds]:
    async with open_worlds(WorldFolder(BUILTIN_PACKS / "hotel").scenario()) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def desk(hotel: Worlds) -> AsyncIterator[Session]:
    """The front desk on a morning of its own."""
    session = await hotel.start("hotel")
    yield session
    await session.close()


async def refused(desk: Session, tool: str, /, **arguments: JSON) -> str:
    kind, message = await fail(desk, tool, **arguments)
    assert kind is FailureKind.TOOL_FAILED
    return message


async def bookings(desk: Session, **filters: JSON) -> list[JSON]:
    return (await ask(desk, "list_bookings", **filters, limit=50))["results"]


async def rooms(desk: Session, tool: str = "list_rooms", **filters: JSON) -> list[JSON]:
    return (await ask(desk, tool, **filters))["results"]


async def a_guest(desk: Session, name: str = "Astrid Solberg") -> int:
    return (await ask(desk, "search_guests", query=name))["results"][0]["guest_id"]


async def in_house(desk: Session, **filters: JSON) -> JSON:
    return (await bookings(desk, status="in_house", **filters))[0]


async def arriving(desk: Session, condition: str) -> JSON:
    """A booking of today whose room is in this condition."""
    in_this_condition = {room["room_id"] for room in await rooms(desk, condition=condition)}
    booked = await bookings(desk, status="booked", arriving_on=TODAY)
    return next(booking for booking in booked if booking["room_id"] in in_this_condition)


async def test_taken_room_is_refused_with_the_booking_that_has_it(desk: Session) -> None:
    stay = await in_house(desk, departing_on="2026-05-13")
    plan = {"arrival": TODAY, "departure": "2026-05-13", "persons": 1}
    message = await refused(desk, "book_stay", guest_id=await a_guest(desk), room_id=stay["room_id"], **plan)
    assert stay["reference"] in message
    assert "find_free_rooms" in message


async def test_free_room_is_booked_at_the_rates_of_its_season(desk: Session) -> None:
    days = {"arrival": "2026-05-22", "departure": "2026-05-24"}
    double = (await rooms(desk, "find_free_rooms", **days, room_type_id=22))[0]
    booked = await ask(
        desk, "book_stay", guest_id=await a_guest(desk), room_id=double["room_id"], persons=2, **days
    )
    assert booked["room_price"] == 120 + 144
    assert booked["room_id"] not in {room["room_id"] for room in await rooms(desk, "find_free_rooms", **days)}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"persons": 3}, "sleeps 2, not 3"),
        ({"arrival": "2026-05-01", "departure": "2026-05-03"}, "is past"),
        ({"departure": "2026-09-01"}, "at most 28 nights"),
        ({"arrival": "2027-05-01", "departure": "2027-05-03"}, "no rates"),
        ({"arrival": "2026-07-03", "departure": "2026-07-03"}, "must come after"),
    ],
)
async def test_unsound_booking_is_refused(desk: Session, change: JSON, reason: str) -> None:
    days = {"arrival": "2026-07-01", "departure": "2026-07-03"}
    double = (await rooms(desk, "find_free_rooms", **days, room_type_id=22))[0]
    plan = {"guest_id": await a_guest(desk), "room_id": double["room_id"], "persons": 2, **days, **change}
    assert reason in await refused(desk, "book_stay", **plan)


async def test_barred_guest_gets_no_booking(desk: Session) -> None:
    guest = await a_guest(desk, "Noor Haddadi")
    plan = {"arrival": "2026-07-01", "departure": "2026-07-02", "persons": 1}
    assert "is barred" in await refused(desk, "book_stay", guest_id=guest, room_id=85, **plan)


async def test_nobody_is_checked_in_to_a_dirty_room_or_before_their_day(desk: Session) -> None:
    dirty = await arriving(desk, "dirty")
    message = await refused(desk, "check_in", booking_id=dirty["booking_id"])
    assert "dirty" in message or "still occupied" in message
    tomorrow = (await bookings(desk, status="booked", arriving_on="2026-05-12"))[0]
    assert "begins on 2026-05-12" in await refused(desk, "check_in", booking_id=tomorrow["booking_id"])
    clean = await arriving(desk, "clean")
    assert (await ask(desk, "check_in", booking_id=clean["booking_id"]))["status"] == "in_house"


async def test_bill_is_paid_to_the_cent_before_the_key_is_given_back(desk: Session) -> None:
    stay = {"booking_id": (await in_house(desk, departing_on=TODAY))["booking_id"]}
    await ask(desk, "add_charge", **stay, kind="laundry", amount=12.5, description="Shirts")
    balance = (await ask(desk, "get_booking", **stay))["balance"]
    assert f"{balance:.2f}" in await refused(desk, "check_out", **stay)
    assert "too much" in await refused(desk, "record_payment", **stay, amount=balance + 1, method="cash")
    assert (await ask(desk, "record_payment", **stay, amount=balance, method="cash"))["balance"] == 0
    left = await ask(desk, "check_out", **stay)
    assert left["status"] == "departed"
    [room] = await rooms(desk, number=left["room"])
    assert room["condition"] == "dirty"


async def test_cancellation_charges_the_chosen_fee_once(desk: Session) -> None:
    booking = (await bookings(desk, status="booked", arriving_on="2026-05-13"))[0]
    cancelled = await ask(desk, "cancel_booking", booking_id=booking["booking_id"], fee="full")
    assert (cancelled["status"], cancelled["balance"]) == ("cancelled", booking["room_price"])
    assert "is cancelled" in await refused(
        desk, "cancel_booking", booking_id=booking["booking_id"], fee="none"
    )


async def followed(desk: Session) -> tuple[JSON, JSON]:
    """A stay, and the booking whose guests arrive in its room on the day it ends."""
    pairs = [
        (stay, other)
        for stay in await bookings(desk, status="in_house")
        for other in await bookings(desk, room_number=stay["room"], arriving_on=stay["departure"])
        if other["status"] == "booked"
    ]
    return pairs[0]


async def test_room_is_not_kept_until_four_when_somebody_arrives(desk: Session) -> None:
    stay, following = await followed(desk)
    late = {"booking_id": stay["booking_id"], "fee": 20}
    assert following["reference"] in await refused(desk, "grant_late_checkout", **late, until="16:00")
    await ask(desk, "grant_late_checkout", **late, until="13:00")
    assert "13:00 already" in await refused(desk, "grant_late_checkout", **late, until="13:00")


async def test_credit_is_given_once_and_within_limits(desk: Session) -> None:
    stay = {"booking_id": (await in_house(desk))["booking_id"], "reason": "noise"}
    assert "at most" in await refused(desk, "give_credit", **stay, amount=101)
    assert (await ask(desk, "give_credit", **stay, amount=10))["amount"] == -10
    assert "one credit" in await refused(desk, "give_credit", **stay, amount=5)


async def test_only_small_extras_can_be_voided(desk: Session) -> None:
    stay = {"booking_id": (await in_house(desk))["booking_id"]}
    damage = await ask(desk, "add_charge", **stay, kind="damage", amount=80, description="Lamp")
    assert "damage charge cannot" in await refused(desk, "void_charge", charge_id=damage["charge_id"])
    minibar = await ask(desk, "add_charge", **stay, kind="minibar", amount=8, description="Crisps")
    assert (await ask(desk, "void_charge", charge_id=minibar["charge_id"]))["void"] is True
    assert "void already" in await refused(desk, "void_charge", charge_id=minibar["charge_id"])


async def test_seventh_open_cleaning_is_too_much_for_one_person(desk: Session) -> None:
    staff = (await ask(desk, "list_staff", role="housekeeper"))["results"]
    busy = next(person for person in staff if person["open_cleanings_today"] == 6)
    waiting = (await ask(desk, "list_cleanings", unassigned=True, status="open"))["results"][0]
    given = {"cleaning_id": waiting["cleaning_id"]}
    assert "the most one may" in await refused(desk, "assign_cleaning", **given, staff_id=busy["staff_id"])
    assert "assign_cleaning first" in await refused(desk, "finish_cleaning", **given)
    porter = (await ask(desk, "list_staff", role="porter"))["results"][0]
    assert "not a housekeeper" in await refused(desk, "assign_cleaning", **given, staff_id=porter["staff_id"])


async def test_booked_room_is_not_taken_out_of_use(desk: Session) -> None:
    booking = (await bookings(desk, status="booked", arriving_on="2026-05-20"))[0]
    plan = {"issue": "Shower", "first_day": "2026-05-20", "last_day": "2026-05-20"}
    message = await refused(desk, "report_repair", room_id=booking["room_id"], **plan)
    assert booking["reference"] in message


async def test_room_under_repair_is_not_booked_until_it_is_mended(desk: Session) -> None:
    repair = (await ask(desk, "list_repairs", status="open"))["results"][0]
    plan = {"guest_id": await a_guest(desk), "room_id": repair["room_id"], "persons": 1}
    days = {"arrival": repair["first_day"], "departure": repair["last_day"]}
    assert "under repair" in await refused(desk, "book_stay", **plan, **days)
    await ask(desk, "finish_repair", repair_id=repair["repair_id"])
    await ask(desk, "book_stay", **plan, **days)
