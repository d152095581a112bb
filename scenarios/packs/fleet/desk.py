"""What templates look up in the office's papers, and what the house rules make of it."""

from datetime import date, datetime, timedelta
from typing import Any

from subworlds.scenarios.generation import World, call

Row = dict[str, Any]

CATEGORIES = ("B", "C1", "C", "CE")
MOST_KM_A_WEEK = 1400


def today(world: World) -> date:
    return world.clock.date()


def in_days(world: World, days: int) -> str:
    return (today(world) + timedelta(days=days)).isoformat()


def hour(world: World, hours: int = 0) -> str:
    """The minute that is so many hours from now, as the database has it."""
    return (world.clock + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M")


# ---------------------------------------------------------------- rows with names


def depots(world: World) -> list[Row]:
    return world.rows("""
        SELECT depots.*, capacity - (SELECT count(*) FROM vehicles
            WHERE depot_id = depots.id AND status <> 'retired') AS free FROM depots ORDER BY depots.id
    """)


def vehicles(world: World, where: str = "1") -> list[Row]:
    """Vehicles with what is due, what is open in the workshop and how many trips they still have."""
    return world.rows(f"""
        SELECT vehicles.*, depots.name AS depot, odometer_km - serviced_at_km AS since_service,
            odometer_km - serviced_at_km >= 27000 AS service_due,
            julianday(inspected_until) - julianday(date('now')) <= 30 AS inspection_due,
            (SELECT group_concat(kind) FROM maintenance WHERE vehicle_id = vehicles.id
                AND maintenance.status IN ('planned', 'in_progress')) AS open_kinds,
            (SELECT count(*) FROM trips WHERE vehicle_id = vehicles.id
                AND trips.status IN ('planned', 'under_way')) AS trips
        FROM vehicles JOIN depots ON depots.id = depot_id WHERE {where} ORDER BY vehicles.id
    """)


def has_open(vehicle: Row, kind: str) -> bool:
    return kind in str(vehicle["open_kinds"] or "").split(",")


def drivers(world: World, where: str = "1") -> list[Row]:
    """Drivers with the kilometres of this week, and `known`: a name that fits nobody else."""
    found = world.rows(f"""
        SELECT drivers.*, depots.name AS depot,
            (SELECT count(*) FROM drivers AS all_drivers WHERE all_drivers.name = drivers.name) AS namesakes
        FROM drivers JOIN depots ON depots.id = depot_id WHERE {where} ORDER BY drivers.id
    """)
    for driver in found:
        shared = driver["namesakes"] > 1
        driver["known"] = f"{driver['name']} (badge {driver['badge']})" if shared else driver["name"]
        driver["query"] = driver["badge"] if shared else driver["name"]
    return found


def trips(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT trips.*, depots.name AS depot, vehicles.plate, vehicles.category, drivers.name AS driver
        FROM trips JOIN depots ON depots.id = trips.depot_id LEFT JOIN vehicles ON vehicles.id = vehicle_id
        LEFT JOIN drivers ON drivers.id = driver_id WHERE {where} ORDER BY starts_at, trips.id
    """)


def orders(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT maintenance.*, plate, vehicles.status AS vehicle_status FROM maintenance
        JOIN vehicles ON vehicles.id = vehicle_id WHERE {where} ORDER BY planned_on, maintenance.id
    """)


def incidents(world: World, where: str = "1") -> list[Row]:
    """Incidents with whether the driver had another bump within the year before."""
    return world.rows(f"""
        SELECT incidents.*, plate, drivers.name AS driver, drivers.depot_id,
            EXISTS (SELECT 1 FROM incidents AS other WHERE other.driver_id = incidents.driver_id
                AND other.id <> incidents.id AND other.kind IN ('scratch', 'collision')
                AND other.happened_on <= incidents.happened_on
                AND julianday(other.happened_on) >= julianday(incidents.happened_on) - 365) AS again
        FROM incidents JOIN vehicles ON vehicles.id = vehicle_id JOIN drivers ON drivers.id = driver_id
        WHERE {where} ORDER BY happened_on, incidents.id
    """)


# ---------------------------------------------------------------- the house rules at work


def free_vehicles(world: World, trip: Row) -> list[Row]:
    """Who could do a trip, the one that the house rules take first."""
    found = vehicles(
        world,
        f"""depot_id = {trip["depot_id"]} AND vehicles.status IN ('available', 'on_trip')
        AND payload_kg >= {trip["load_kg"]} AND inspected_until >= date('{trip["ends_at"]}')
        AND NOT EXISTS (SELECT 1 FROM trips WHERE vehicle_id = vehicles.id AND trips.id <> {trip["id"]}
            AND trips.status IN ('planned', 'under_way')
            AND starts_at < '{trip["ends_at"]}' AND ends_at > '{trip["starts_at"]}')
        AND NOT EXISTS (SELECT 1 FROM maintenance WHERE vehicle_id = vehicles.id
            AND maintenance.status IN ('planned', 'in_progress')
            AND planned_on BETWEEN date('{trip["starts_at"]}') AND date('{trip["ends_at"]}'))""",
    )
    return sorted(found, key=lambda one: (one["payload_kg"], one["odometer_km"]))


def free_drivers(world: World, trip: Row, category: str) -> list[Row]:
    """Who may drive a trip, with `km` of that week, the one that the house rules take first."""
    enough = ", ".join(f"'{one}'" for one in CATEGORIES[CATEGORIES.index(category) :])
    rest = timedelta(hours=9)
    before = (datetime.fromisoformat(trip["starts_at"]) - rest).isoformat(timespec="minutes")
    after = (datetime.fromisoformat(trip["ends_at"]) + rest).isoformat(timespec="minutes")
    found = drivers(
        world,
        f"""depot_id = {trip["depot_id"]} AND drivers.status = 'active'
        AND EXISTS (SELECT 1 FROM licences WHERE driver_id = drivers.id AND category IN ({enough})
            AND expires_on >= date('{trip["ends_at"]}'))
        AND NOT EXISTS (SELECT 1 FROM trips WHERE driver_id = drivers.id AND trips.id <> {trip["id"]}
            AND trips.status IN ('planned', 'under_way')
            AND starts_at < '{after}' AND ends_at > '{before}')""",
    )
    day = date.fromisoformat(trip["starts_at"][:10])
    for driver in found:
        driver["km"] = week_km(world, driver, day, besides=trip["id"])
    return sorted(found, key=lambda one: (one["km"], one["name"]))


def week_km(world: World, driver: Row, day: date, besides: int = 0) -> int:
    monday = day - timedelta(days=day.weekday())
    found = world.value(
        """SELECT coalesce(sum(distance_km), 0) FROM trips WHERE driver_id = ? AND id <> ?
        AND status <> 'cancelled' AND starts_at >= ? AND starts_at < ?""",
        driver["id"],
        besides,
        monday.isoformat(),
        (monday + timedelta(days=7)).isoformat(),
    )
    return int(found)


def chosen_driver(world: World, trip: Row, category: str) -> Row | None:
    """Whom the house rules give a trip to; None where it is a toss-up, or nobody may."""
    found = free_drivers(world, trip, category)
    if not found or (len(found) > 1 and found[0]["km"] == found[1]["km"]):
        return None
    return found[0] if found[0]["km"] + trip["distance_km"] <= MOST_KM_A_WEEK else None


def workshop_day(world: World, vehicle: Row) -> str:
    """The first workday from tomorrow on, on which a vehicle has no trip."""
    busy = world.rows(
        """SELECT date(starts_at) AS first, date(ends_at) AS last FROM trips
        WHERE vehicle_id = ? AND status IN ('planned', 'under_way') ORDER BY starts_at""",
        vehicle["id"],
    )
    days = (today(world) + timedelta(days=ahead) for ahead in range(1, 60))
    return next(
        day.isoformat()
        for day in days
        if day.weekday() < 5 and not any(one["first"] <= day.isoformat() <= one["last"] for one in busy)
    )


def settled(incident: Row) -> Row:
    """What the house rules do with an open incident."""
    bump = incident["kind"] in ("scratch", "collision")
    if bump and incident["cost_cents"] > 100_000:
        return call("claim_insurance", incident_id=incident["id"])
    driver_pays = incident["kind"] == "fine" or (bump and incident["again"])
    outcome = "driver_pays" if driver_pays else "company_pays"
    return call("settle_incident", incident_id=incident["id"], outcome=outcome)


# ---------------------------------------------------------------- how a person looks them up


def find_vehicle(plate: str) -> Row:
    return call("list_vehicles", plate=plate)


def find_driver(driver: Row) -> Row:
    return call("list_drivers", query=driver["query"])


def find_trip(trip: Row) -> Row:
    return call("list_trips", number=trip["number"])
