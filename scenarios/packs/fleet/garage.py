"""The fleet on the morning of 8 June 2026: two weeks behind it, two weeks planned, and papers of a year."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from cast import (
    CUSTOMERS,
    DEPOTS,
    DESTINATIONS,
    DRIVERS,
    FAULTS,
    LONG_HAULS,
    POLICY,
    RETIRED,
    SPARE,
    VEHICLES,
)

Row = dict[str, Any]
Span = tuple[datetime, datetime]

NOW = datetime(2026, 6, 8, 7, 0)
TODAY = NOW.date()
CATEGORIES = ("B", "C1", "C", "CE")
REST = timedelta(hours=9)
MOST_KM_A_WEEK = 1400


class Garage:
    """Tables by name, filled in the order in which they refer to each other."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.busy: dict[tuple[str, int], list[Span]] = {}
        self.km: Counter[tuple[int, int]] = Counter()
        self.tables: dict[str, list[Row]] = {}
        self.fill("policy", 1, ({"section": section, "text": text} for section, text in POLICY))
        depots = ({"name": name, "town": town, "capacity": room} for name, town, room in DEPOTS)
        self.fill("depots", 11, depots)
        self.fill("vehicles", 101, self.vehicles())
        self.fill("drivers", 201, self.drivers())
        self.fill("licences", 301, self.licences())
        self.fill("trips", 4001, self.trips())
        self.fill("maintenance", 2201, self.maintenance())
        self.fill("fuel", 6001, self.fuel())
        self.fill("incidents", 801, self.incidents())

    def fill(self, table: str, first: int, rows: Iterator[Row]) -> None:
        self.tables[table] = [{"id": number, **row} for number, row in enumerate(rows, first)]

    def day(self, earliest: int, latest: int) -> date:
        """A day so many days from today, at random."""
        return TODAY + timedelta(days=self.rng.randint(earliest, latest))

    def depot(self, name: str) -> int:
        return next(row["id"] for row in self.tables["depots"] if row["name"] == name)

    # ------------------------------------------------ what there is

    def vehicles(self) -> Iterator[Row]:
        """Some are due for service or inspection; one a depot stands in the workshop."""
        in_workshop = {2, 14, 21, 31}
        for number, (depot, plate, model, category, payload) in enumerate((*VEHICLES, *RETIRED)):
            retired = number >= len(VEHICLES)
            odometer = self.rng.randint(310_000, 480_000) if retired else self.rng.randint(42_000, 290_000)
            due = self.rng.random() < 0.35
            soon = self.rng.random() < 0.3
            yield {
                "plate": plate,
                "model": model,
                "category": category,
                "payload_kg": payload,
                "depot_id": self.depot(depot),
                "status": "retired" if retired else "in_workshop" if number in in_workshop else "available",
                "odometer_km": odometer,
                "serviced_at_km": odometer - self.rng.randint(*((27_000, 31_000) if due else (900, 26_500))),
                "inspected_until": self.day(-400, -90)
                if retired
                else self.day(*((9, 29) if soon else (36, 350))),
            }

    def drivers(self) -> Iterator[Row]:
        number = 101
        for depot, names in DRIVERS.items():
            for place, name in enumerate(names):
                status = {6: "off_sick", 7: "left" if depot == "Sutton Dock" else "suspended"}.get(
                    place, "active"
                )
                yield {
                    "name": name,
                    "badge": f"D-{number}",
                    "phone": f"+44 7700 9{self.rng.randrange(10_000):04}{place}"[:16],
                    "depot_id": self.depot(depot),
                    "status": status,
                }
                number += 1

    def licences(self) -> Iterator[Row]:
        for place, driver in enumerate(self.tables["drivers"]):
            highest = self.rng.choice((2, 3, 3, 3)) if place % 8 < 5 else self.rng.choice((0, 1, 2))
            for category in CATEGORIES[: highest + 1]:
                expires = self.day(60, 1500)
                if category != "B" and self.rng.random() < 0.15:
                    expires = self.day(-60, 12)
                yield {"driver_id": driver["id"], "category": category, "expires_on": expires}

    # ------------------------------------------------ what is driven

    def trips(self) -> Iterator[Row]:
        """From two weeks ago to two weeks from now; some have no vehicle or no driver yet."""
        number = 4001
        for offset in range(-14, 14):
            day = TODAY + timedelta(days=offset)
            if day.weekday() == 6:
                continue
            for depot in self.tables["depots"]:
                for _ in range(self.rng.choice((2, 2, 2, 3)) if offset else 3):
                    if trip := self.trip(day, depot["id"]):
                        yield {"number": f"GH-{number}", **trip}
                        number += 1
        for depot in self.tables["depots"]:
            for offset in (2, 4, 10, 11):
                if trip := self.long_haul(TODAY + timedelta(days=offset), depot["id"]):
                    yield {"number": f"GH-{number}", **trip}
                    number += 1

    def trip(self, day: date, depot: int) -> Row | None:
        town, km = self.rng.choice(DESTINATIONS)
        km += self.rng.randrange(0, 50, 10)
        limit = self.rng.choice((1150, 1300, 3400, 3600, 9200, 9800, 24500, 25200))
        load = self.rng.randint(limit // 3, limit) // 10 * 10
        span = self.span(day, km)
        draft = {
            "customer": self.rng.choice(CUSTOMERS),
            "depot_id": depot,
            "destination": town,
            "distance_km": km,
            "load_kg": load,
        }
        return self.staffed(draft, span)

    def long_haul(self, day: date, depot: int) -> Row | None:
        """A trip with a vehicle and nobody to drive it, too far for most."""
        town, km = self.rng.choice(LONG_HAULS)
        load = self.rng.randint(400, 1100) // 10 * 10
        way = {"depot_id": depot, "destination": town, "distance_km": km, "load_kg": load}
        starts, ends = span = self.span(day, km)
        able = [row for row in self.tables["vehicles"] if self.carries(row, way, span, "planned")]
        if not able:
            return None
        vehicle = self.rng.choice(able)["id"]
        self.busy.setdefault(("vehicle", vehicle), []).append(span)
        times = {"starts_at": minute(starts), "ends_at": minute(ends)}
        plan = {"vehicle_id": vehicle, "driver_id": None, "status": "planned"}
        return {"customer": self.rng.choice(CUSTOMERS), **way, **times, **plan}

    def span(self, day: date, km: int) -> Span:
        """When a trip of so many kilometres leaves, and when it is back after loading, driving and nights."""
        starts = datetime.combine(day, time(self.rng.choice((5, 6, 6, 7, 8, 9)), 30))
        hours = km / 60 + 2
        minutes = round(hours * 2) * 30
        return starts, starts + timedelta(minutes=minutes, hours=11 * int(hours // 10))

    def staffed(self, draft: Row, span: Span) -> Row | None:
        """A trip with a vehicle and a driver who can do it, or, some days ahead, without."""
        starts, ends = span
        status = "planned" if starts > NOW else "under_way" if ends > NOW else "done"
        vehicles = [row for row in self.tables["vehicles"] if self.carries(row, draft, span, status)]
        drivers = [row for row in self.tables["drivers"] if self.drives(row, vehicles, draft, span)]
        if not vehicles or not drivers:
            return None
        driver = self.rng.choice(drivers)
        vehicle = self.rng.choice([row for row in vehicles if self.licensed(driver, row, ends)])
        row = {**draft, "starts_at": minute(starts), "ends_at": minute(ends), "vehicle_id": vehicle["id"]}
        chance = self.rng.random()
        if status != "under_way" and chance < 0.08:
            return {**row, "driver_id": driver["id"], "status": "cancelled"}
        if status == "planned" and starts.date() > TODAY and chance < 0.38:
            if chance < 0.24:
                return {**row, "vehicle_id": None, "driver_id": None, "status": "planned"}
            self.busy.setdefault(("vehicle", vehicle["id"]), []).append(span)
            return {**row, "driver_id": None, "status": "planned"}
        self.busy.setdefault(("vehicle", vehicle["id"]), []).append(span)
        self.busy.setdefault(("driver", driver["id"]), []).append((starts - REST, ends + REST))
        self.km[driver["id"], week(starts)] += draft["distance_km"]
        if status == "under_way":
            vehicle["status"] = "on_trip"
        return {**row, "driver_id": driver["id"], "status": status}

    def carries(self, vehicle: Row, draft: Row, span: Span, status: str) -> bool:
        there = ("available", "on_trip") if status != "done" else ("available", "on_trip", "in_workshop")
        return (
            vehicle["depot_id"] == draft["depot_id"]
            and vehicle["status"] in there
            and (status == "done" or vehicle["plate"] not in SPARE)
            and draft["load_kg"] <= vehicle["payload_kg"] < 6 * draft["load_kg"] + 1000
            and vehicle["inspected_until"] >= span[1].date()
            and self.free("vehicle", vehicle, span)
        )

    def drives(self, driver: Row, vehicles: list[Row], draft: Row, span: Span) -> bool:
        km = self.km[driver["id"], week(span[0])] + draft["distance_km"]
        return (
            driver["depot_id"] == draft["depot_id"]
            and driver["status"] == "active"
            and km <= MOST_KM_A_WEEK
            and self.free("driver", driver, span)
            and any(self.licensed(driver, vehicle, span[1]) for vehicle in vehicles)
        )

    def free(self, what: str, row: Row, span: Span) -> bool:
        taken = self.busy.get((what, row["id"]), [])
        return all(span[1] <= first or last <= span[0] for first, last in taken)

    def licensed(self, driver: Row, vehicle: Row, ends: datetime) -> bool:
        enough = CATEGORIES[CATEGORIES.index(vehicle["category"]) :]
        return any(
            row["driver_id"] == driver["id"]
            and row["category"] in enough
            and row["expires_on"] >= ends.date()
            for row in self.tables["licences"]
        )

    # ------------------------------------------------ workshop, pumps and bumps

    def maintenance(self) -> Iterator[Row]:
        """A year of finished orders, some cancelled, those in progress, and some that are planned."""
        seen: Counter[int] = Counter()
        for draft in (*self.past_orders(), *self.open_orders()):
            seen[draft["vehicle_id"]] += 1
            yield {"number": f"WS-{draft['vehicle_id']}-{seen[draft['vehicle_id']]}", **draft}

    def past_orders(self) -> Iterator[Row]:
        for _ in range(46):
            vehicle, kind = self.rng.choice(self.tables["vehicles"]), self.kind()
            day = self.workday(-360, -5)
            done = self.rng.random() < 0.85
            yield {
                **self.order(vehicle, kind, day, "finished" if done else "cancelled"),
                "finished_on": day if done else None,
                "cost_cents": self.rng.randrange(12_000, 190_000, 500) if done else None,
            }

    def open_orders(self) -> Iterator[Row]:
        in_use = [row for row in self.tables["vehicles"] if row["status"] == "available"]
        for vehicle in self.tables["vehicles"]:
            if vehicle["status"] == "in_workshop":
                yield self.order(vehicle, self.kind(), self.workday(-4, -1), "in_progress")
        for place, vehicle in enumerate(self.rng.sample(in_use, 18)):
            day = TODAY if place < 5 else self.workday(1, 20)
            whole_day = datetime.combine(day, time()), datetime.combine(day, time(23, 59))
            if self.free("vehicle", vehicle, whole_day):
                due = vehicle["odometer_km"] - vehicle["serviced_at_km"] >= 27_000
                kind = "service" if due and self.rng.random() < 0.6 else self.kind()
                yield self.order(vehicle, kind, day, "planned")

    def kind(self) -> str:
        return self.rng.choice(("service", "inspection", "repair", "repair"))

    def workday(self, earliest: int, latest: int) -> date:
        day = self.day(earliest, latest)
        return day - timedelta(days=max(0, day.weekday() - 4))

    def order(self, vehicle: Row, kind: str, day: date, status: str) -> Row:
        fault = self.rng.choice(FAULTS) if kind == "repair" else None
        plan = {"kind": kind, "fault": fault, "planned_on": day, "finished_on": None, "cost_cents": None}
        return {"vehicle_id": vehicle["id"], **plan, "status": status}

    def fuel(self) -> Iterator[Row]:
        """Four weeks of fill-ups, each vehicle's odometer climbing to where it stands."""
        fills: list[Row] = []
        for vehicle in self.tables["vehicles"]:
            if vehicle["status"] == "retired":
                continue
            crew = [row["id"] for row in self.tables["drivers"] if row["depot_id"] == vehicle["depot_id"]]
            days = sorted(self.rng.sample(range(1, 29), self.rng.randint(3, 6)), reverse=True)
            tank = {"B": 60, "C1": 90, "C": 220, "CE": 480}[vehicle["category"]]
            for place, ago in enumerate(days):
                litres = self.rng.randint(tank // 2, tank)
                cents = self.rng.choice((158, 162, 167, 171, 176, 183, 189, 190, 192, 198))
                fills.append(
                    {
                        "vehicle_id": vehicle["id"],
                        "driver_id": self.rng.choice(crew),
                        "filled_on": TODAY - timedelta(days=ago),
                        "litres": litres,
                        "cost_cents": litres * cents,
                        "odometer_km": vehicle["odometer_km"]
                        - (len(days) - place) * 310
                        - self.rng.randint(0, 99),
                    }
                )
        yield from sorted(fills, key=lambda fill: (fill["filled_on"], fill["vehicle_id"]))

    def incidents(self) -> Iterator[Row]:
        """History of two years with those that are open or with the insurer."""
        statuses = ["closed"] * 30 + ["open"] * 22 + ["insurer"] * 7
        dated = [
            (self.day(-30, -1) if status != "closed" else self.day(-700, -31), status) for status in statuses
        ]
        for number, (day, status) in enumerate(sorted(dated), 801):
            driver = self.rng.choice(self.tables["drivers"])
            there = [row for row in self.tables["vehicles"] if row["depot_id"] == driver["depot_id"]]
            vehicle = self.rng.choice([row for row in there if row["status"] != "retired"])
            kind = self.rng.choice(("scratch", "scratch", "collision", "breakdown", "fine"))
            kind = "collision" if status == "insurer" else kind
            cost = self.rng.randint(4, 30) * 10 if kind == "fine" else self.rng.randint(12, 190) * 10
            cost = cost * 3 + 1000 if status == "insurer" else cost
            paid = {"fine": "driver_pays", "breakdown": "company_pays"}.get(
                kind, "insurer_pays" if cost > 1000 else self.rng.choice(("company_pays", "driver_pays"))
            )
            yield {
                "number": f"IN-{number}",
                "vehicle_id": vehicle["id"],
                "driver_id": driver["id"],
                "happened_on": day,
                "kind": kind,
                "cost_cents": cost * 100,
                "status": status,
                "outcome": paid if status == "closed" else None,
            }


def minute(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")


def week(moment: datetime) -> int:
    return moment.date().isocalendar().week
