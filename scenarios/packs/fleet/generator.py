"""The fleet's rows, and templates of what is asked for in the dispatch office: easy, medium, hard."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from cast import CUSTOMERS, DESTINATIONS, FAULTS
from desk import (
    MOST_KM_A_WEEK,
    chosen_driver,
    depots,
    drivers,
    find_driver,
    find_trip,
    find_vehicle,
    free_drivers,
    free_vehicles,
    has_open,
    hour,
    in_days,
    incidents,
    orders,
    settled,
    today,
    trips,
    vehicles,
    week_km,
    workshop_day,
)
from garage import Garage

from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """The office's papers, table by table."""
    for table, table_rows in Garage(rng).tables.items():
        for row in table_rows:
            yield table, row


# ---------------------------------------------------------------- easy


@template("licence-until", difficulty="easy", tags=("read",))
def licence_until(world: World, rng: random.Random) -> Draft | None:
    """Until when a driver may drive a category."""
    driver = pick(rng, drivers(world, "drivers.status <> 'left'"))
    if driver is None:
        return None
    licence = pick(rng, world.rows("SELECT * FROM licences WHERE driver_id = ? ORDER BY id", driver["id"]))
    if licence is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Until when is the {category} licence of {driver} valid? YYYY-MM-DD only.",
            "What day does {driver}'s licence for category {category} run out? Answer as YYYY-MM-DD.",
            "Check the papers of {driver}, please: which is the last day of the {category} licence "
            "(YYYY-MM-DD)?",
            category=licence["category"],
            driver=driver["known"],
        ),
        solution=[find_driver(driver), call("get_driver", driver_id=driver["id"])],
        answer={"text": licence["expires_on"]},
        about=["licence", licence["id"]],
    )


@template("who-drives", difficulty="easy", tags=("read",))
def who_drives(world: World, rng: random.Random) -> Draft | None:
    """Which driver takes a customer's load on a day."""
    trip = pick(rng, trips(world, "trips.status = 'planned' AND driver_id IS NOT NULL"))
    if trip is None:
        return None
    day, customer = trip["starts_at"][:10], trip["customer"]
    if len(trips(world, f"customer = '{customer}' AND date(starts_at) = '{day}'")) > 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{customer} would like to know who comes on {day} with their load. Driver's name only.",
            "Who drives the trip for {customer} that starts on {day}? Just the name.",
            "Which driver has the load of {customer} on {day}? Name only, please.",
            customer=customer,
            day=day,
        ),
        solution=[call("list_trips", customer=customer, first_day=day, last_day=day)],
        answer={"text": trip["driver"]},
    )


@template("litres-of-a-vehicle", difficulty="easy", tags=("read", "arithmetic"))
def litres_of_a_vehicle(world: World, rng: random.Random) -> Draft | None:
    """What a vehicle was filled up with in the last weeks."""
    vehicle = pick(rng, vehicles(world, "vehicles.status <> 'retired'"))
    if vehicle is None:
        return None
    first, last = in_days(world, -rng.choice((14, 21))), in_days(world, -1)
    fills = world.rows(
        "SELECT * FROM fuel WHERE vehicle_id = ? AND filled_on BETWEEN ? AND ? ORDER BY id",
        vehicle["id"],
        first,
        last,
    )
    if len(fills) < 2:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How many litres did {plate} take from {first} to {last}, all fill-ups together? Number only.",
            "Add up the fuel of {plate} between {first} and {last}, both days included. Litres, number only.",
            "What did {plate} burn from {first} to {last}, by its fill-ups? Just the litres in all.",
            plate=vehicle["plate"],
            first=first,
            last=last,
        ),
        solution=[
            find_vehicle(vehicle["plate"]),
            call("list_fuel", vehicle_id=vehicle["id"], first_day=first, last_day=last),
        ],
        answer={"number": sum(fill["litres"] for fill in fills)},
    )


@template("dearest-incident", difficulty="easy", tags=("read",))
def dearest_incident(world: World, rng: random.Random) -> Draft | None:
    """The open incident of a depot that costs most."""
    depot = pick(rng, depots(world))
    if depot is None:
        return None
    found = incidents(world, f"incidents.status = 'open' AND drivers.depot_id = {depot['id']}")
    found.sort(key=lambda one: -one["cost_cents"])
    if len(found) < 2 or found[0]["cost_cents"] == found[1]["cost_cents"]:
        return None
    wanted, ask = rng.choice(
        (("number", "Its number (IN-...)?"), ("plate", "Which vehicle? Number plate only."))
    )
    return Draft(
        prompt=phrase(
            rng,
            "Of the open incidents of {depot}'s drivers, take the most expensive one. {ask}",
            "Which open incident costs most among those of the drivers of {depot}? {ask}",
            "Find the dearest incident that is still open for {depot}'s drivers. {ask}",
            depot=depot["name"],
            ask=ask,
        ),
        solution=[call("list_depots"), call("list_incidents", depot_id=depot["id"], status="open")],
        answer={"text": found[0][wanted]},
        about=["dearest", depot["id"]],
    )


@template("trip-leaves", difficulty="easy", tags=("write",))
def trip_leaves(world: World, rng: random.Random) -> Draft | None:
    """A trip of today goes through the gate."""
    day = today(world).isoformat()
    ready = trips(
        world,
        f"""trips.status = 'planned' AND date(starts_at) = '{day}' AND driver_id IS NOT NULL
        AND vehicles.status = 'available'""",
    )
    trip = pick(rng, ready)
    if trip is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{plate} is leaving the yard with {number} for {customer}. Please book it out.",
            "{number} to {destination} starts now. Book its departure, please.",
            "The gate reports that {number} ({customer}) is off. Please note that it is under way.",
            **trip,
        ),
        solution=[find_trip(trip), call("start_trip", trip_id=trip["id"])],
    )


@template("drop-trip", difficulty="easy", tags=("write",))
def drop_trip(world: World, rng: random.Random) -> Draft | None:
    """A trip of some days ahead is not needed."""
    trip = pick(rng, trips(world, f"trips.status = 'planned' AND starts_at > '{hour(world, 96)}'"))
    if trip is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{customer} will fetch the load for {destination} themselves. Please cancel {number}.",
            "{number} to {destination} is off, as agreed with {customer}. Cancel it, please.",
            "We do not have to drive {number} for {customer} after all. Please take it out of the plan.",
            **trip,
        ),
        solution=[find_trip(trip), call("cancel_trip", trip_id=trip["id"])],
        about=["cancel", trip["id"]],
    )


@template("trip-returns", difficulty="easy", tags=("write",))
def trip_returns(world: World, rng: random.Random) -> Draft | None:
    """A trip comes back with a reading of the odometer."""
    trip = pick(rng, trips(world, "trips.status = 'under_way'"))
    if trip is None:
        return None
    [vehicle] = vehicles(world, f"vehicles.id = {trip['vehicle_id']}")
    reading = vehicle["odometer_km"] + trip["distance_km"] + rng.randint(0, 40)
    return Draft(
        prompt=phrase(
            rng,
            "{number} is back, and the odometer of {plate} shows {reading}. Please close the trip.",
            "{plate} has returned from {destination} ({number}) with {reading} km on it. Book it in, please.",
            "Please finish {number}: the odometer reads {reading} km.",
            **trip,
            reading=reading,
        ),
        solution=[find_trip(trip), call("finish_trip", trip_id=trip["id"], odometer_km=reading)],
        about=["back", trip["id"]],
    )


@template("workshop-begins", difficulty="easy", tags=("write",))
def workshop_begins(world: World, rng: random.Random) -> Draft | None:
    """A planned order begins."""
    order = pick(rng, orders(world, "maintenance.status = 'planned' AND vehicles.status = 'available'"))
    if order is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "The workshop has a bay free and takes {plate} in for {number} now. Please note it.",
            "{number} on {plate} is being started. Book the vehicle into the workshop.",
            "They have begun with the {kind} of {plate} ({number}). Put that into the system, please.",
            **order,
        ),
        solution=[
            call("list_maintenance", number=order["number"]),
            call("start_maintenance", maintenance_id=order["id"]),
        ],
    )


@template("workshop-is-done", difficulty="easy", tags=("write",))
def workshop_is_done(world: World, rng: random.Random) -> Draft | None:
    """An order in progress is finished, with its bill."""
    order = pick(rng, orders(world, "maintenance.status = 'in_progress'"))
    if order is None:
        return None
    cost = rng.randrange(180, 1900, 5)
    return Draft(
        prompt=phrase(
            rng,
            "{plate} is ready: {number} is finished and cost {cost} euros. Please book that.",
            "The workshop has sent the bill for {number}, {cost} euros, and {plate} can go. Close the order.",
            "Please finish {number} ({kind} of {plate}); it came to {cost} euros.",
            **order,
            cost=cost,
        ),
        solution=[
            call("list_maintenance", number=order["number"]),
            call("finish_maintenance", maintenance_id=order["id"], cost=cost),
        ],
        about=["finish", order["id"]],
    )


@template("call-workshop-off", difficulty="easy", tags=("write",))
def call_workshop_off(world: World, rng: random.Random) -> Draft | None:
    """A planned order is not needed."""
    order = pick(rng, orders(world, "maintenance.status = 'planned'"))
    if order is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "The {kind} of {plate} planned as {number} is not needed after all. Please cancel it.",
            "Call off {number} for {plate}, please: it was booked by mistake.",
            "{number} must go from the workshop's plan; {plate} does not need it. Cancel the order.",
            **order,
        ),
        solution=[
            call("list_maintenance", number=order["number"]),
            call("cancel_maintenance", maintenance_id=order["id"]),
        ],
    )


@template("licence-renewed", difficulty="easy", tags=("write",))
def licence_renewed(world: World, rng: random.Random) -> Draft | None:
    """A driver shows a licence that was renewed."""
    driver = pick(rng, drivers(world, "drivers.status IN ('active', 'off_sick')"))
    if driver is None:
        return None
    licence = pick(
        rng,
        world.rows(
            "SELECT * FROM licences WHERE driver_id = ? AND category <> 'B' AND expires_on < ? ORDER BY id",
            driver["id"],
            in_days(world, 200),
        ),
    )
    if licence is None:
        return None
    until = in_days(world, rng.randint(1500, 1826))
    return Draft(
        prompt=phrase(
            rng,
            "{driver} has shown a renewed {category} licence, valid until {until}. Please enter it.",
            "The {category} licence of {driver} has been renewed until {until}. Put it down.",
            "Please note for {driver}: category {category} is good until {until} now.",
            driver=driver["known"],
            category=licence["category"],
            until=until,
        ),
        solution=[
            find_driver(driver),
            call("record_licence", driver_id=driver["id"], category=licence["category"], expires_on=until),
        ],
        about=["renewed", licence["id"]],
    )


@template("back-at-work", difficulty="easy", tags=("write",))
def back_at_work(world: World, rng: random.Random) -> Draft | None:
    """A driver who was away drives again, or one must not drive."""
    driver = pick(rng, drivers(world, "drivers.status IN ('off_sick', 'suspended')"))
    if driver is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{driver} is back and may drive again from today. Please set that.",
            "Good news: {driver} returns to work this morning. Make them active again, please.",
            "Please note that {driver} is on duty again.",
            driver=driver["known"],
        ),
        solution=[find_driver(driver), call("set_driver_status", driver_id=driver["id"], status="active")],
    )


@template("sell-vehicle", difficulty="easy", tags=("write",))
def sell_vehicle(world: World, rng: random.Random) -> Draft | None:
    """A vehicle without work is taken out of service."""
    idle = [one for one in vehicles(world, "vehicles.status = 'available'") if not one["trips"]]
    vehicle = pick(rng, [one for one in idle if not one["open_kinds"]])
    if vehicle is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{plate} has been sold. Please retire it.",
            "We part with {plate}, the {model} of {depot}: take it out of service for good.",
            "The board has decided that {plate} goes. Retire the vehicle, please.",
            **vehicle,
        ),
        solution=[find_vehicle(vehicle["plate"]), call("retire_vehicle", vehicle_id=vehicle["id"])],
    )


# ---------------------------------------------------------------- medium


@template("book-a-fill-up", difficulty="medium", tags=("write",))
def book_a_fill_up(world: World, rng: random.Random) -> Draft | None:
    """A fill-up of this morning."""
    vehicle = pick(rng, vehicles(world, "vehicles.status = 'available'"))
    if vehicle is None:
        return None
    driver = pick(rng, drivers(world, f"drivers.status = 'active' AND depot_id = {vehicle['depot_id']}"))
    if driver is None:
        return None
    litres = rng.randint(30, 55) if vehicle["category"] == "B" else rng.randint(60, 260)
    reading, cost = (
        vehicle["odometer_km"] + rng.randint(3, 90),
        round(litres * rng.choice((1.62, 1.71, 1.78)), 2),
    )
    return Draft(
        prompt=phrase(
            rng,
            "{driver} has just filled up {plate}: {litres} litres for {cost} euros at {reading} km. Please "
            "book it.",
            "Fuel receipt of this morning: {plate}, {litres} litres, {cost} euros, odometer {reading}, "
            "driver {driver}. Enter it, please.",
            "Please book {litres} litres for {plate}, filled up today by {driver} for {cost} euros; the "
            "odometer stood at {reading}.",
            driver=driver["known"],
            plate=vehicle["plate"],
            litres=litres,
            cost=f"{cost:.2f}",
            reading=reading,
        ),
        solution=[
            find_vehicle(vehicle["plate"]),
            find_driver(driver),
            call(
                "record_fuel",
                vehicle_id=vehicle["id"],
                driver_id=driver["id"],
                litres=litres,
                cost=cost,
                odometer_km=reading,
            ),
        ],
        about=["fill", vehicle["id"]],
    )


@template("note-an-incident", difficulty="medium", tags=("write",))
def note_an_incident(world: World, rng: random.Random) -> Draft | None:
    """Something that happened on the road is put down."""
    vehicle = pick(rng, vehicles(world, "vehicles.status <> 'retired'"))
    if vehicle is None:
        return None
    driver = pick(rng, drivers(world, f"drivers.status <> 'left' AND depot_id = {vehicle['depot_id']}"))
    if driver is None:
        return None
    kind = rng.choice(("scratch", "collision", "breakdown", "fine"))
    cost = rng.randrange(60, 240 if kind == "fine" else 1800, 10)
    day = in_days(world, -rng.randint(0, 4))
    return Draft(
        prompt=phrase(
            rng,
            "Please report a {kind}: {plate}, driven by {driver}, on {day}, {cost} euros. We settle it "
            "later.",
            "{driver} had a {kind} with {plate} on {day}; it comes to {cost} euros. Put the incident down.",
            "Note for {plate}: {kind} on {day}, driver {driver}, cost {cost} euros. Just report it, please.",
            kind=kind,
            plate=vehicle["plate"],
            driver=driver["known"],
            day=day,
            cost=cost,
        ),
        solution=[
            find_vehicle(vehicle["plate"]),
            find_driver(driver),
            call(
                "report_incident",
                vehicle_id=vehicle["id"],
                driver_id=driver["id"],
                kind=kind,
                happened_on=day,
                cost=cost,
            ),
        ],
        about=["report", vehicle["id"], driver["id"]],
    )


@template("move-if-there-is-room", difficulty="medium", tags=("policy", "condition"))
def move_if_there_is_room(world: World, rng: random.Random) -> Draft | None:
    """A vehicle goes to another depot, if the yard there may be filled so far."""
    vehicle = pick(rng, [one for one in vehicles(world, "vehicles.status = 'available'") if not one["trips"]])
    depot = pick(rng, depots(world))
    if vehicle is None or depot is None or depot["id"] == vehicle["depot_id"]:
        return None
    may = depot["free"] >= 2
    return Draft(
        prompt=phrase(
            rng,
            "{depot} would like to have {plate}. Move it there if the house rules allow it, else leave it. "
            "Either way tell me how many spaces {depot} has free before any move: number only.",
            "Can {plate} be stationed at {depot}? If our rules permit, do it. Answer with the number of "
            "spaces that were free at {depot} when you looked, number only.",
            "Please move {plate} to {depot}, unless the house rules forbid it. How many free spaces did you "
            "find at {depot} beforehand? Just the number.",
            depot=depot["name"],
            plate=vehicle["plate"],
        ),
        solution=[
            call("read_policy"),
            find_vehicle(vehicle["plate"]),
            call("list_depots"),
            *([call("transfer_vehicle", vehicle_id=vehicle["id"], depot_id=depot["id"])] if may else []),
        ],
        answer={"number": depot["free"]},
        tags=("write" if may else "read", "policy", "condition"),
    )


@template("other-time", difficulty="medium", tags=("write",))
def other_time(world: World, rng: random.Random) -> Draft | None:
    """A trip leaves some hours later or on another day."""
    there = "trips.status = 'planned' AND vehicle_id IS NOT NULL"
    trip = pick(rng, trips(world, f"{there} AND starts_at > '{hour(world, 24)}'"))
    if trip is None:
        return None
    starts = datetime.fromisoformat(trip["starts_at"])
    later = timedelta(hours=rng.choice((-2, -1, 1, 2, 3, 24)))
    lasts = datetime.fromisoformat(trip["ends_at"]) - starts
    moved = {
        **trip,
        "starts_at": (starts + later).isoformat(timespec="minutes"),
        "ends_at": (starts + later + lasts).isoformat(timespec="minutes"),
    }
    if trip["vehicle_id"] not in [one["id"] for one in free_vehicles(world, moved)]:
        return None
    if trip["driver_id"] and trip["driver_id"] not in [
        one["id"] for one in free_drivers(world, moved, trip["category"])
    ]:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{customer} needs {number} to leave at {at} on {day} instead (UTC). Please move it.",
            "Please reschedule {number} for {customer}: departure on {day} at {at} UTC.",
            "The loading time of {number} to {destination} has changed. It leaves on {day} at {at} UTC now.",
            customer=trip["customer"],
            number=trip["number"],
            destination=trip["destination"],
            day=moved["starts_at"][:10],
            at=moved["starts_at"][11:],
        ),
        solution=[
            find_trip(trip),
            call("get_vehicle", vehicle_id=trip["vehicle_id"]),
            call("reschedule_trip", trip_id=trip["id"], starts_at=moved["starts_at"]),
        ],
        about=["times", trip["id"]],
    )


@template("swap-driver", difficulty="medium", tags=("write",))
def swap_driver(world: World, rng: random.Random) -> Draft | None:
    """A trip gets a driver who is named."""
    trip = pick(
        rng,
        trips(world, f"trips.status = 'planned' AND vehicle_id IS NOT NULL AND starts_at > '{hour(world)}'"),
    )
    if trip is None:
        return None
    able = [one for one in free_drivers(world, trip, trip["category"]) if one["id"] != trip["driver_id"]]
    driver = pick(rng, able)
    if driver is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{driver} takes over {number} for {customer}. Please change the plan.",
            "Put {driver} on {number} to {destination}, please.",
            "{customer} asks for {driver} on {number}, and that is fine with everyone. Assign it.",
            driver=driver["known"],
            number=trip["number"],
            customer=trip["customer"],
            destination=trip["destination"],
        ),
        solution=[
            find_trip(trip),
            find_driver(driver),
            call("assign_driver", trip_id=trip["id"], driver_id=driver["id"]),
        ],
        about=["driver", trip["id"]],
    )


@template("any-driver", difficulty="medium", tags=("write", "free-choice"))
def any_driver(world: World, rng: random.Random) -> Draft | None:
    """A trip with a vehicle gets any driver who may drive it."""
    trip = pick(
        rng, trips(world, "trips.status = 'planned' AND vehicle_id IS NOT NULL AND driver_id IS NULL")
    )
    if trip is None:
        return None
    able = sorted(one["id"] for one in free_drivers(world, trip, trip["category"]))
    if len(able) < 2:
        return None
    allowed = ", ".join(map(str, able))
    rest = f"id <> {trip['id']}"
    others = f"""SELECT
        (SELECT count(*) FROM (SELECT * FROM initial.trips WHERE {rest} EXCEPT SELECT * FROM trips)),
        (SELECT count(*) FROM (SELECT * FROM trips WHERE {rest} EXCEPT SELECT * FROM initial.trips))"""
    same = f"""SELECT count(*) FROM trips JOIN initial.trips AS before USING (id, number, customer, depot_id,
        destination, distance_km, load_kg, starts_at, ends_at, vehicle_id, status) WHERE id = {trip["id"]}"""
    chosen = f"SELECT driver_id IN ({allowed}) FROM trips WHERE id = {trip['id']}"
    return Draft(
        prompt=phrase(
            rng,
            "{number} for {customer} has {plate} but nobody to drive it. Give it any driver who is free and "
            "may drive it; planning has waived the rules on choosing, so whom you take is up to you.",
            "Just find somebody for {number} to {destination}. For once the house rules on choosing a "
            "driver do not matter, as long as the tools accept the driver.",
            "Please assign a driver to {number}. Anyone whom the system lets you assign will do; the house "
            "rules on choosing and on kilometres are lifted for it.",
            **trip,
        ),
        solution=[
            find_trip(trip),
            call("find_free_drivers", trip_id=trip["id"]),
            call("assign_driver", trip_id=trip["id"], driver_id=rng.choice(able)),
        ],
        verify={
            "kind": "sql",
            "may_change": ["trips"],
            "assert": [
                {"sql": " ".join(chosen.split()), "equals": [[1]]},
                {"sql": " ".join(same.split()), "equals": [[1]]},
                {"sql": " ".join(others.split()), "equals": [[0, 0]]},
            ],
            "choices": ["assign_driver.driver_id"],
        },
        about=["any", trip["id"]],
    )


@template("settle-one", difficulty="medium", tags=("write", "policy"))
def settle_one(world: World, rng: random.Random) -> Draft | None:
    """One open incident is dealt with as the house rules have it."""
    incident = pick(rng, incidents(world, "incidents.status = 'open'"))
    if incident is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "What becomes of {number}, the {kind} with {plate}? Do with it what the house rules say.",
            "Please deal with incident {number} by the house rules.",
            "{driver} is waiting to hear about {number}. Settle it, or hand it on, as our rules have it.",
            **incident,
        ),
        solution=[
            call("read_policy"),
            call("list_incidents", number=incident["number"]),
            call("list_incidents", driver_id=incident["driver_id"]),
            settled(incident),
        ],
    )


@template("insurer-has-paid", difficulty="medium", tags=("write",))
def insurer_has_paid(world: World, rng: random.Random) -> Draft | None:
    """The insurer has decided on what a driver did."""
    incident = pick(rng, incidents(world, "incidents.status = 'insurer'"))
    if incident is None:
        return None
    theirs = incidents(world, f"incidents.status = 'insurer' AND driver_id = {incident['driver_id']}")
    [driver] = drivers(world, f"drivers.id = {incident['driver_id']}")
    if len(theirs) > 1:
        return None
    pays = rng.random() < 0.6
    return Draft(
        prompt=phrase(
            rng,
            "The insurer has written about {driver}'s incident that they were deciding on: {verdict}. Close "
            "it.",
            "News on the claim for what {driver} did: {verdict}. Please close the incident accordingly.",
            "One incident of {driver} was with the insurer. We know now: {verdict}. Settle it so, please.",
            driver=driver["known"],
            verdict="the insurer pays" if pays else "the insurer refuses, so the company pays",
        ),
        solution=[
            find_driver(driver),
            call("list_incidents", driver_id=driver["id"], status="insurer"),
            call(
                "settle_incident",
                incident_id=incident["id"],
                outcome="insurer_pays" if pays else "company_pays",
            ),
        ],
        about=["insurer", incident["id"]],
    )


@template("customer-cancels", difficulty="medium", tags=("policy", "condition"))
def customer_cancels(world: World, rng: random.Random) -> Draft | None:
    """A customer wants a trip cancelled; it may be too late for that."""
    trip = pick(rng, trips(world, f"trips.status = 'planned' AND starts_at > '{hour(world, 2)}'"))
    if trip is None:
        return None
    day = trip["starts_at"][:10]
    may = trip["starts_at"] > hour(world, 48)
    same_day = f"customer = '{trip['customer']}' AND date(starts_at) = '{day}' AND trips.status = 'planned'"
    if len(trips(world, same_day)) > 1 or (may and rng.random() < 0.4):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{customer} wants to cancel the trip that is planned for {day}. Cancel it if our rules still "
            "allow that. In any case tell me its number (GH-...).",
            "{customer} asks us not to come on {day}. See whether the house rules let them cancel, and act "
            "accordingly. Which trip is it? Number only (GH-...).",
            "Please handle a cancellation by {customer}: their planned trip of {day}. Mind the house rules "
            "on that. Answer with the trip's number (GH-...), whatever comes of it.",
            customer=trip["customer"],
            day=day,
        ),
        solution=[
            call("read_policy"),
            call("list_trips", customer=trip["customer"], status="planned"),
            call("list_trips", customer=trip["customer"], first_day=day, last_day=day),
            *([call("cancel_trip", trip_id=trip["id"])] if may else []),
        ],
        answer={"text": trip["number"]},
        tags=("write" if may else "read", "policy", "condition"),
        about=["cancel", trip["id"]],
    )


@template("due-for-service", difficulty="medium", tags=("read", "policy"))
def due_for_service(world: World, rng: random.Random) -> Draft | None:
    """Which vehicles of a depot must be booked by the house rules."""
    depot, kind = pick(rng, depots(world)), rng.choice(("service", "inspection"))
    if depot is None:
        return None
    here = vehicles(world, f"depot_id = {depot['id']} AND vehicles.status IN ('available', 'on_trip')")
    due = [one["plate"] for one in here if one[f"{kind}_due"] and not has_open(one, kind)]
    if not due:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Which vehicles of {depot} that are available or on a trip must be booked for {a_kind} by our "
            "house rules? Number plates, separated by commas. Book nothing yet.",
            "For which vehicles at {depot}, those in the workshop and the retired ones aside, do the house "
            "rules ask us to book {a_kind}? Only list their plates, separated by commas.",
            "The workshop asks how many bookings to expect from {depot}. Which of its available or "
            "travelling vehicles are to be booked for {a_kind} by the rules? Plates, separated by commas, "
            "no bookings.",
            depot=depot["name"],
            a_kind="a service" if kind == "service" else "an inspection",
        ),
        solution=[
            call("read_policy"),
            call("list_depots"),
            call("list_vehicles", depot_id=depot["id"]),
            call("list_maintenance", kind=kind, status="planned"),
        ],
        answer={"list": due},
        about=["due", depot["id"], kind],
    )


@template("book-if-due", difficulty="medium", tags=("policy", "condition"))
def book_if_due(world: World, rng: random.Random) -> Draft | None:
    """A vehicle is booked for a service, if the rules ask for one."""
    vehicle = pick(rng, vehicles(world, "vehicles.status IN ('available', 'on_trip')"))
    if vehicle is None:
        return None
    due = bool(vehicle["service_due"]) and not has_open(vehicle, "service")
    if not due and vehicle["since_service"] < 15000:
        return None
    day = workshop_day(world, vehicle)
    return Draft(
        prompt=phrase(
            rng,
            "Does {plate} need a service? Book it if the house rules ask for it, and tell me how many "
            "kilometres it has done since the last one: number only.",
            "Please check {plate}: if the house rules want a service booked, book it. Answer with the "
            "kilometres since the last service, number only.",
            "The driver of {plate} thinks that it is time for a service. Act by the house rules. How many "
            "kilometres is the last one ago? Just the number.",
            plate=vehicle["plate"],
        ),
        solution=[
            call("read_policy"),
            find_vehicle(vehicle["plate"]),
            call("get_vehicle", vehicle_id=vehicle["id"]),
            *(
                [call("book_maintenance", vehicle_id=vehicle["id"], kind="service", planned_on=day)]
                if due
                else []
            ),
        ],
        answer={"number": vehicle["since_service"]},
        tags=("write" if due else "read", "policy", "condition"),
    )


@template("dear-fuel", difficulty="medium", tags=("read", "policy", "arithmetic"))
def dear_fuel(world: World, rng: random.Random) -> Draft | None:
    """How many fill-ups of a driver were dear."""
    driver = pick(rng, drivers(world))
    if driver is None:
        return None
    fills = world.rows("SELECT * FROM fuel WHERE driver_id = ? ORDER BY id", driver["id"])
    dear = [fill for fill in fills if fill["cost_cents"] > 190 * fill["litres"]]
    if len(fills) < 4 or not dear:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How many fill-ups of {driver} were dear, as the house rules have it? Number only.",
            "Count the dear fill-ups of {driver} by our house rules, all that are on the books. Just the "
            "number.",
            "{driver} is said to fill up where it is dear. How many of their fill-ups count as dear by the "
            "rules? Number only.",
            driver=driver["known"],
        ),
        solution=[
            call("read_policy"),
            find_driver(driver),
            call("list_fuel", driver_id=driver["id"]),
        ],
        answer={"number": len(dear)},
    )


# ---------------------------------------------------------------- hard


@template("staff-a-trip", difficulty="hard", tags=("write", "policy"))
def staff_a_trip(world: World, rng: random.Random) -> Draft | None:
    """A planned trip gets vehicle and driver by the house rules."""
    trip = pick(rng, trips(world, "trips.status = 'planned' AND vehicle_id IS NULL"))
    if trip is None:
        return None
    staff = chosen_pair(world, trip)
    if staff is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{number} for {customer} has neither vehicle nor driver. Give it both, as the house rules "
            "choose them.",
            "Please staff {number} to {destination}: vehicle first, then driver, both by the house rules.",
            "{customer} is counting on {number}. Find the vehicle and the driver that our rules want for "
            "it, and assign them.",
            **trip,
        ),
        solution=[call("read_policy"), find_trip(trip), *assign_both(trip["id"], staff)],
        about=["staff", trip["id"]],
    )


def chosen_pair(world: World, trip: Row) -> tuple[Row, Row] | None:
    """Vehicle and driver of a trip by the house rules, where they are clear."""
    able = free_vehicles(world, trip)
    driver = chosen_driver(world, trip, able[0]["category"]) if able else None
    return (able[0], driver) if driver else None


def assign_both(trip: int, staff: tuple[Row, Row]) -> list[Row]:
    return [
        call("find_free_vehicles", trip_id=trip),
        call("assign_vehicle", trip_id=trip, vehicle_id=staff[0]["id"]),
        call("find_free_drivers", trip_id=trip),
        call("assign_driver", trip_id=trip, driver_id=staff[1]["id"]),
    ]


@template("new-trip", difficulty="hard", tags=("write", "policy"))
def new_trip(world: World, rng: random.Random) -> Draft | None:
    """A customer's order becomes a trip with vehicle and driver."""
    depot, customer = pick(rng, depots(world)), rng.choice(CUSTOMERS)
    town, km = rng.choice(DESTINATIONS[:9])
    if depot is None:
        return None
    day, hours = in_days(world, rng.choice((1, 2, 3, 4, 7, 8, 9))), km // 60 + 3
    starts = datetime.fromisoformat(f"{day}T{rng.choice((6, 7, 8)):02}:00")
    trip = {
        "id": 0,
        "customer": customer,
        "depot_id": depot["id"],
        "destination": town,
        "distance_km": km,
        "load_kg": rng.choice((700, 950, 1200, 2400, 3300, 6500, 8800, 14000)),
        "starts_at": starts.isoformat(timespec="minutes"),
        "ends_at": (starts + timedelta(hours=hours)).isoformat(timespec="minutes"),
    }
    staff = chosen_pair(world, trip)
    if staff is None:
        return None
    number = int(world.value("SELECT max(id) + 1 FROM trips"))
    return Draft(
        prompt=phrase(
            rng,
            "{customer} has {load} kg for {town}, from {depot}: {km} km there and back, leaving {starts} "
            "and back {ends} (UTC). Plan the trip and give it vehicle and driver by the house rules.",
            "New order from {customer}: {load} kg from {depot} to {town}, {km} km in all, departure "
            "{starts}, return {ends}, both UTC. Please plan it and staff it as our rules have it.",
            "Please enter a trip from {depot} to {town} for {customer}, {load} kg, {km} km there and back, "
            "{starts} to {ends} UTC, and assign the vehicle and the driver that the house rules choose.",
            customer=customer,
            load=trip["load_kg"],
            town=town,
            depot=depot["name"],
            km=km,
            starts=trip["starts_at"],
            ends=trip["ends_at"],
        ),
        solution=[
            call("read_policy"),
            call("list_depots"),
            call("plan_trip", **{name: value for name, value in trip.items() if name != "id"}),
            *assign_both(number, staff),
        ],
        about=["new", depot["id"], day, customer],
    )


@template("driver-for-a-trip", difficulty="medium", tags=("write", "policy", "condition"))
def driver_for_a_trip(world: World, rng: random.Random) -> Draft | None:
    """A trip with a vehicle gets the driver of the house rules."""
    return lacking_driver(world, rng, may=True)


@template("nobody-may-drive", difficulty="medium", tags=("read", "policy", "condition"))
def nobody_may_drive(world: World, rng: random.Random) -> Draft | None:
    """A trip with a vehicle that would be too much for every driver this week."""
    return lacking_driver(world, rng, may=False)


def lacking_driver(world: World, rng: random.Random, may: bool) -> Draft | None:
    """A trip without a driver that the fewest kilometres allow, or do not."""
    trip = pick(
        rng, trips(world, "trips.status = 'planned' AND vehicle_id IS NOT NULL AND driver_id IS NULL")
    )
    if trip is None:
        return None
    able = free_drivers(world, trip, trip["category"])
    if not able or able[0]["km"] == 0:
        return None
    if (able[0]["km"] + trip["distance_km"] <= MOST_KM_A_WEEK) != may:
        return None
    if may and chosen_driver(world, trip, trip["category"]) is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{number} to {destination} still lacks a driver. Assign one if the house rules allow it. How "
            "many kilometres does the one with the fewest have that week, without this trip? Number only.",
            "Find a driver for {number} ({customer}) by the house rules; if nobody may, leave it. Tell me "
            "how many kilometres that week the least burdened of those who are free has, this trip not "
            "counted: number only.",
            "Who should drive {number}? Follow the house rules, also where they say nobody. Answer with the "
            "kilometres of that week, besides this trip, of the free driver who has the fewest. Just the "
            "number.",
            **trip,
        ),
        solution=[
            call("read_policy"),
            find_trip(trip),
            call("find_free_drivers", trip_id=trip["id"]),
            *([call("assign_driver", trip_id=trip["id"], driver_id=able[0]["id"])] if may else []),
        ],
        answer={"number": able[0]["km"]},
        about=["lacks", trip["id"]],
    )


@template("off-sick", difficulty="hard", tags=("write", "policy"))
def off_sick(world: World, rng: random.Random) -> Draft | None:
    """A driver reports sick and is taken off the trips of the next days."""
    driver = pick(rng, drivers(world, "drivers.status = 'active'"))
    if driver is None:
        return None
    theirs = trips(world, f"trips.status = 'planned' AND driver_id = {driver['id']}")
    soon = [trip for trip in theirs if trip["starts_at"][:10] <= in_days(world, 3)]
    if len(soon) == len(theirs) or not soon:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{driver} has rung in sick. Do what the house rules ask for.",
            "{driver} is ill and will not come in. Please handle it by the house rules.",
            "We have a sick note from {driver}. Put it through as our rules have it, trips included.",
            driver=driver["known"],
        ),
        solution=[
            call("read_policy"),
            find_driver(driver),
            call("get_driver", driver_id=driver["id"]),
            call("list_trips", driver_id=driver["id"], status="planned"),
            call("set_driver_status", driver_id=driver["id"], status="off_sick"),
            *(call("unassign_driver", trip_id=trip["id"]) for trip in soon),
        ],
    )


@template("all-incidents", difficulty="hard", tags=("write", "policy"))
def all_incidents(world: World, rng: random.Random) -> Draft | None:
    """Every open incident of a depot's drivers."""
    depot = pick(rng, depots(world))
    if depot is None:
        return None
    found = incidents(world, f"incidents.status = 'open' AND drivers.depot_id = {depot['id']}")
    if not 2 <= len(found) <= 8:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please clear all open incidents of {depot}'s drivers, each by the house rules.",
            "The drivers of {depot} have incidents that nobody has dealt with. Go through every open one "
            "and do what the house rules say.",
            "Month's end: deal with each incident that is open for a driver of {depot}, as our rules have "
            "it.",
            depot=depot["name"],
        ),
        solution=[
            call("read_policy"),
            call("list_depots"),
            call("list_incidents", depot_id=depot["id"], status="open"),
            call("list_incidents", depot_id=depot["id"], limit=50),
            *(settled(incident) for incident in found),
        ],
    )


@template("book-all-due", difficulty="hard", tags=("write", "policy"))
def book_all_due(world: World, rng: random.Random) -> Draft | None:
    """All that is due at a depot is booked, each vehicle on its day."""
    depot, kind = pick(rng, depots(world)), rng.choice(("service", "inspection"))
    if depot is None:
        return None
    here = vehicles(world, f"depot_id = {depot['id']} AND vehicles.status IN ('available', 'on_trip')")
    due = [one for one in here if one[f"{kind}_due"] and not has_open(one, kind)]
    if not 2 <= len(due) <= 4:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Book every {kind} that the house rules want booked for the vehicles of {depot} that are "
            "available or on a trip.",
            "Please go through the vehicles of {depot}, leaving out what is in the workshop or retired, and "
            "book the {kind} of each for which the house rules ask for it, on the day they name.",
            "Which of {depot}'s available or travelling vehicles are to have their {kind} booked by our "
            "rules? Book them all, each for the right day.",
            depot=depot["name"],
            kind=kind,
        ),
        solution=[
            call("read_policy"),
            call("list_depots"),
            call("list_vehicles", depot_id=depot["id"]),
            *(call("get_vehicle", vehicle_id=one["id"]) for one in due),
            *(
                call("book_maintenance", vehicle_id=one["id"], kind=kind, planned_on=workshop_day(world, one))
                for one in due
            ),
        ],
    )


@template("repair-and-replace", difficulty="hard", tags=("write", "policy"))
def repair_and_replace(world: World, rng: random.Random) -> Draft | None:
    """A vehicle must go to the workshop on a day on which it has a trip."""
    trip = pick(
        rng,
        trips(
            world, f"trips.status = 'planned' AND vehicle_id IS NOT NULL AND starts_at > '{hour(world, 20)}'"
        ),
    )
    if trip is None:
        return None
    [vehicle] = vehicles(world, f"vehicles.id = {trip['vehicle_id']}")
    day, fault = trip["starts_at"][:10], rng.choice(FAULTS)
    that_day = f"vehicle_id = {vehicle['id']} AND date(starts_at) <= '{day}' AND date(ends_at) >= '{day}'"
    if has_open(vehicle, "repair") or vehicle["status"] != "available" or weekend(day):
        return None
    if len(trips(world, f"trips.status IN ('planned', 'under_way') AND {that_day}")) > 1:
        return None
    able = [one for one in free_vehicles(world, trip) if one["id"] != vehicle["id"]]
    if not able:
        return None
    if trip["driver_id"] and trip["driver_id"] not in [
        one["id"] for one in free_drivers(world, trip, able[0]["category"])
    ]:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{plate} must be repaired on {day} ({fault}). Give the trip that it has that day another "
            "vehicle by the house rules, then book the repair.",
            "The {fault} of {plate} cannot wait: book a repair for {day}. It has a trip on that day, which "
            "needs another vehicle first, chosen by the house rules.",
            "Please get {plate} into the workshop on {day} for its {fault}. Find the vehicle that our rules "
            "choose for its trip of that day, put it on the trip, and book the repair.",
            plate=vehicle["plate"],
            day=day,
            fault=fault.replace("_", " "),
        ),
        solution=[
            call("read_policy"),
            find_vehicle(vehicle["plate"]),
            call("get_vehicle", vehicle_id=vehicle["id"]),
            call("find_free_vehicles", trip_id=trip["id"]),
            call("assign_vehicle", trip_id=trip["id"], vehicle_id=able[0]["id"]),
            call("book_maintenance", vehicle_id=vehicle["id"], kind="repair", planned_on=day, fault=fault),
        ],
        about=["repair", trip["id"]],
    )


def weekend(day: str) -> bool:
    return datetime.fromisoformat(day).weekday() > 4


@template("most-kilometres", difficulty="hard", tags=("read",))
def most_kilometres(world: World, rng: random.Random) -> Draft | None:
    """Who of a depot has most, or least, to drive this week."""
    depot = pick(rng, depots(world))
    if depot is None:
        return None
    crew = drivers(world, f"drivers.status = 'active' AND depot_id = {depot['id']}")
    most = rng.random() < 0.5
    crew.sort(key=lambda one: week_km(world, one, today(world)) * (-1 if most else 1))
    if week_km(world, crew[0], today(world)) == week_km(world, crew[1], today(world)):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Which active driver of {depot} has the {end} kilometres this week, all trips that were not "
            "cancelled together? Name only.",
            "Look at this week, Monday to Sunday: who of {depot}'s active drivers has the {end} kilometres? "
            "Just the name.",
            "Name the active driver at {depot} with the {end} kilometres in this week's plan.",
            depot=depot["name"],
            end="most" if most else "fewest",
        ),
        solution=[
            call("list_depots"),
            call("list_drivers", depot_id=depot["id"], status="active"),
            *(call("get_driver", driver_id=one["id"]) for one in sorted(crew, key=lambda one: one["name"])),
        ],
        answer={"text": crew[0]["name"]},
    )
