"""The fleet's rules, each met at the dispatch desk: what is refused, and what the message says to do."""

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
async def fleet() -> AsyncIterator[Worlds]:
    async with open_worlds(WorldFolder(BUILTIN_PACKS / "fleet").scenario()) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def desk(fleet: Worlds) -> AsyncIterator[Session]:
    """The dispatch desk on a morning of its own."""
    session = await fleet.start("fleet")
    yield session
    await session.close()


async def refused(desk: Session, tool: str, /, **arguments: JSON) -> str:
    kind, message = await fail(desk, tool, **arguments)
    assert kind is FailureKind.TOOL_FAILED
    return message


async def listed(desk: Session, tool: str, /, **filters: JSON) -> list[JSON]:
    return (await ask(desk, tool, **filters))["results"]


async def vehicle(desk: Session, plate: str) -> JSON:
    [found] = await listed(desk, "list_vehicles", plate=plate)
    return found


async def new_trip(desk: Session, **changes: JSON) -> JSON:
    """A trip of Wednesday from Aire Street, with a load for a lorry."""
    plan = {
        "customer": "Pennine Paper",
        "depot_id": 11,
        "destination": "York",
        "distance_km": 90,
        "load_kg": 5000,
        "starts_at": "2026-06-24T08:00",
        "ends_at": "2026-06-24T14:00",
    }
    return await ask(desk, "plan_trip", **{**plan, **changes})


async def staffed_trip(desk: Session) -> JSON:
    """A new trip with the first vehicle and driver that the tools find."""
    trip = {"trip_id": (await new_trip(desk))["trip_id"]}
    [able, *_] = await listed(desk, "find_free_vehicles", **trip)
    await ask(desk, "assign_vehicle", **trip, vehicle_id=able["vehicle_id"])
    [driver, *_] = await listed(desk, "find_free_drivers", **trip)
    return await ask(desk, "assign_driver", **trip, driver_id=driver["driver_id"])


async def trip_of_a_sound_vehicle(desk: Session) -> JSON:
    """A new trip whose vehicle is not expected in the workshop."""
    trip = await staffed_trip(desk)
    for order in await listed(desk, "list_maintenance", vehicle_id=trip["vehicle_id"], status="planned"):
        await ask(desk, "cancel_maintenance", maintenance_id=order["maintenance_id"])
    return trip


async def planned(desk: Session) -> JSON:
    """A trip to come with vehicle and driver."""
    trips = await listed(desk, "list_trips", status="planned", first_day="2026-06-09", limit=50)
    return next(trip for trip in trips if trip["driver_id"])


async def test_trip_is_planned_staffed_and_found_again(desk: Session) -> None:
    trip = await staffed_trip(desk)
    assert (await listed(desk, "list_trips", number=trip["number"])) == [trip]
    free = await listed(desk, "find_free_vehicles", trip_id=(await new_trip(desk))["trip_id"])
    assert trip["vehicle"] not in {one["plate"] for one in free}


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ({"starts_at": "2026-06-07T08:00", "ends_at": "2026-06-07T14:00"}, "must start after"),
        ({"starts_at": "2026-10-01T08:00", "ends_at": "2026-10-01T14:00"}, "within 90 days"),
        ({"ends_at": "2026-06-24T07:00"}, "before it leaves"),
    ],
)
async def test_trip_at_impossible_times_is_refused(desk: Session, times: JSON, reason: str) -> None:
    way = {
        "customer": "Pennine Paper",
        "depot_id": 11,
        "destination": "York",
        "distance_km": 90,
        "load_kg": 90,
    }
    plan = {"starts_at": "2026-06-24T08:00", "ends_at": "2026-06-24T14:00", **way, **times}
    assert reason in await refused(desk, "plan_trip", **plan)


async def test_times_are_taken_as_utc(desk: Session) -> None:
    trip = await new_trip(desk, starts_at="2026-06-24T10:00+02:00")
    assert trip["starts_at"] == "2026-06-24T08:00"


async def test_vehicle_must_stand_there_and_carry_the_load(desk: Session) -> None:
    trip = {"trip_id": (await new_trip(desk))["trip_id"]}
    van, elsewhere = await vehicle(desk, "YK21 OVX"), await vehicle(desk, "KX24 LWP")
    away, gone = await vehicle(desk, "YJ70 KLM"), await vehicle(desk, "YK14 OVX")
    assert "carries 1150 kg" in await refused(desk, "assign_vehicle", **trip, vehicle_id=van["vehicle_id"])
    message = await refused(desk, "assign_vehicle", **trip, vehicle_id=elsewhere["vehicle_id"])
    assert "stands at Sutton Dock" in message
    assert "in workshop" in await refused(desk, "assign_vehicle", **trip, vehicle_id=away["vehicle_id"])
    assert "is retired" in await refused(desk, "assign_vehicle", **trip, vehicle_id=gone["vehicle_id"])


async def test_busy_vehicle_and_resting_driver_are_refused(desk: Session) -> None:
    first = await staffed_trip(desk)
    second = {"trip_id": (await new_trip(desk))["trip_id"]}
    message = await refused(desk, "assign_vehicle", **second, vehicle_id=first["vehicle_id"])
    assert f"is on {first['number']}" in message
    evening = await new_trip(desk, starts_at="2026-06-24T20:00", ends_at="2026-06-24T23:00")
    later = {"trip_id": evening["trip_id"]}
    await ask(desk, "assign_vehicle", **later, vehicle_id=first["vehicle_id"])
    assert "needs the rest" in await refused(desk, "assign_driver", **later, driver_id=first["driver_id"])
    names = {one["name"] for one in await listed(desk, "find_free_drivers", **later)}
    assert first["driver"] not in names


async def test_driver_is_assigned_only_once_there_is_a_vehicle(desk: Session) -> None:
    trip = {"trip_id": (await new_trip(desk))["trip_id"]}
    assert "assign_vehicle" in await refused(desk, "find_free_drivers", **trip)
    assert "assign_vehicle" in await refused(desk, "assign_driver", **trip, driver_id=201)


async def test_driver_needs_the_licence_and_must_be_on_duty(desk: Session) -> None:
    trip = await staffed_trip(desk)
    key = {"trip_id": trip["trip_id"]}
    able = {one["driver_id"] for one in await listed(desk, "find_free_drivers", **key)}
    for driver in await listed(desk, "list_drivers", depot_id=11, status="active"):
        if driver["driver_id"] not in able:
            message = await refused(desk, "assign_driver", **key, driver_id=driver["driver_id"])
            assert "no licence" in message or "is on" in message
    [sick] = await listed(desk, "list_drivers", depot_id=11, status="off_sick")
    assert "off sick, not active" in await refused(desk, "assign_driver", **key, driver_id=sick["driver_id"])


async def test_renewed_licence_lets_a_driver_drive(desk: Session) -> None:
    trip = await staffed_trip(desk)
    key, until = {"trip_id": trip["trip_id"]}, {"expires_on": "2030-01-01"}
    able = {one["driver_id"] for one in await listed(desk, "find_free_drivers", **key)}
    for driver in await listed(desk, "list_drivers", depot_id=11, status="active"):
        await ask(desk, "record_licence", driver_id=driver["driver_id"], category="CE", **until)
    assert able < {one["driver_id"] for one in await listed(desk, "find_free_drivers", **key)}
    old = {"category": "CE", "expires_on": "2026-01-01"}
    assert "of no use" in await refused(desk, "record_licence", driver_id=trip["driver_id"], **old)


async def test_moved_trip_takes_as_long_as_before_and_finds_its_vehicle_free(desk: Session) -> None:
    trip = await trip_of_a_sound_vehicle(desk)
    moved = await ask(desk, "reschedule_trip", trip_id=trip["trip_id"], starts_at="2026-06-25T09:30")
    assert (moved["starts_at"], moved["ends_at"]) == ("2026-06-25T09:30", "2026-06-25T15:30")
    again = {"vehicle_id": trip["vehicle_id"], "kind": "repair", "fault": "tyres"}
    await ask(desk, "book_maintenance", planned_on="2026-06-26", **again)
    message = await refused(desk, "reschedule_trip", trip_id=trip["trip_id"], starts_at="2026-06-26T09:30")
    assert "due in the workshop" in message


async def test_trip_leaves_on_its_day_and_returns_with_a_sound_odometer(desk: Session) -> None:
    later = await planned(desk)
    assert "not today" in await refused(desk, "start_trip", trip_id=later["trip_id"])
    there = {one["plate"]: one for one in await listed(desk, "list_vehicles", status="available", limit=50)}
    of_today = await listed(desk, "list_trips", status="planned", last_day="2026-06-08")
    trip = next(one for one in of_today if one["driver"] and one["vehicle"] in there)
    key, before = {"trip_id": trip["trip_id"]}, there[trip["vehicle"]]["odometer_km"]
    await ask(desk, "start_trip", **key)
    assert (await vehicle(desk, trip["vehicle"]))["status"] == "on_trip"
    assert "look again" in await refused(desk, "finish_trip", **key, odometer_km=before - 1)
    too_far = before + 2 * trip["distance_km"] + 1
    assert "look again" in await refused(desk, "finish_trip", **key, odometer_km=too_far)
    await ask(desk, "finish_trip", **key, odometer_km=before + trip["distance_km"])
    after = await vehicle(desk, trip["vehicle"])
    assert (after["status"], after["odometer_km"]) == ("available", before + trip["distance_km"])
    assert "is done" in await refused(desk, "cancel_trip", **key)


async def test_driver_is_taken_off_once(desk: Session) -> None:
    trip = await planned(desk)
    left = await ask(desk, "unassign_driver", trip_id=trip["trip_id"])
    assert (left["driver"], left["vehicle"]) == (None, trip["vehicle"])
    assert "has no driver" in await refused(desk, "unassign_driver", trip_id=trip["trip_id"])


async def test_vehicle_with_trips_is_neither_moved_nor_retired(desk: Session) -> None:
    trip = await staffed_trip(desk)
    key = {"vehicle_id": trip["vehicle_id"]}
    assert "to do" in await refused(desk, "transfer_vehicle", **key, depot_id=12)
    assert "to do" in await refused(desk, "retire_vehicle", **key)


async def test_full_depot_takes_no_vehicle(desk: Session) -> None:
    idle = await listed(desk, "list_vehicles", status="available", limit=50)
    moved = 0
    for one in idle:
        shown = await ask(desk, "get_vehicle", vehicle_id=one["vehicle_id"])
        if one["depot_id"] != 13 and not shown["trips"]:
            move = {"vehicle_id": one["vehicle_id"], "depot_id": 13}
            if moved:
                assert "Trafford Gate is full" in await refused(desk, "transfer_vehicle", **move)
                return
            await ask(desk, "transfer_vehicle", **move)
            moved += 1
    raise LookupError("two vehicles without trips")


async def test_workshop_takes_each_job_once_on_workdays_without_trips(desk: Session) -> None:
    trip = await trip_of_a_sound_vehicle(desk)
    job = {"vehicle_id": trip["vehicle_id"], "kind": "repair"}
    assert "Name the fault" in await refused(desk, "book_maintenance", planned_on="2026-06-25", **job)
    job["fault"] = "brakes"
    assert "is a Saturday" in await refused(desk, "book_maintenance", planned_on="2026-06-27", **job)
    assert trip["number"] in await refused(desk, "book_maintenance", planned_on="2026-06-24", **job)
    assert "must lie between" in await refused(desk, "book_maintenance", planned_on="2026-06-05", **job)
    order = await ask(desk, "book_maintenance", planned_on="2026-06-25", **job)
    assert order["number"] in await refused(desk, "book_maintenance", planned_on="2026-06-26", **job)


async def test_finished_service_starts_the_count_anew(desk: Session) -> None:
    truck = (await listed(desk, "list_vehicles", status="available", depot_id=12))[0]
    key = {"vehicle_id": truck["vehicle_id"]}
    for order in (await ask(desk, "get_vehicle", **key))["maintenance"]:
        await ask(desk, "cancel_maintenance", maintenance_id=order["maintenance_id"])
    for kind in ("service", "inspection"):
        order = await ask(desk, "book_maintenance", **key, kind=kind, planned_on="2026-07-01")
        job = {"maintenance_id": order["maintenance_id"]}
        assert "not in progress" in await refused(desk, "finish_maintenance", **job, cost=10)
        await ask(desk, "start_maintenance", **job)
        assert "is in workshop" in await refused(desk, "retire_vehicle", **key)
        await ask(desk, "finish_maintenance", **job, cost=410.5)
    after = await vehicle(desk, truck["plate"])
    assert (after["km_since_service"], after["inspected_until"]) == (0, "2027-06-08")


async def test_odometer_never_goes_back_at_the_pump(desk: Session) -> None:
    truck = await vehicle(desk, "KX24 LWP")
    fill = {"vehicle_id": truck["vehicle_id"], "driver_id": 210, "litres": 300, "cost": 512.3}
    message = await refused(desk, "record_fuel", **fill, odometer_km=truck["odometer_km"])
    assert "stood at" in message
    await ask(desk, "record_fuel", **fill, odometer_km=truck["odometer_km"] + 40)
    [noted] = await listed(desk, "list_fuel", vehicle_id=truck["vehicle_id"], first_day="2026-06-08")
    assert (noted["litres"], noted["cost"]) == (300, 512.3)


async def test_insurer_pays_only_what_it_was_asked_for(desk: Session) -> None:
    what = {"vehicle_id": 101, "driver_id": 201, "happened_on": "2026-06-07", "cost": 1800}
    bump = await ask(desk, "report_incident", kind="collision", **what)
    key = {"incident_id": bump["incident_id"]}
    assert "claim_insurance" in await refused(desk, "settle_incident", **key, outcome="insurer_pays")
    assert (await ask(desk, "claim_insurance", **key))["status"] == "insurer"
    assert (await ask(desk, "settle_incident", **key, outcome="insurer_pays"))["status"] == "closed"
    fine = await ask(desk, "report_incident", kind="fine", **what)
    assert "is a fine" in await refused(desk, "claim_insurance", incident_id=fine["incident_id"])
    late = {**what, "happened_on": "2026-06-09"}
    assert "still to come" in await refused(desk, "report_incident", kind="scratch", **late)


async def test_tools_that_change_say_when_nothing_would_change(desk: Session) -> None:
    [driver, *_] = await listed(desk, "list_drivers", status="active")
    key = {"driver_id": driver["driver_id"], "status": "active"}
    assert "is active already" in await refused(desk, "set_driver_status", **key)
    [idle, *_] = await listed(desk, "list_vehicles", status="available", depot_id=14)
    trips = (await ask(desk, "get_vehicle", vehicle_id=idle["vehicle_id"]))["trips"]
    message = await refused(desk, "transfer_vehicle", vehicle_id=idle["vehicle_id"], depot_id=14)
    assert "stands at Castle Lane already" in message, trips
