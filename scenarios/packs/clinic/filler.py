"""The rest of the clinic: patients with names that look alike, what they had, and the two weeks from 16 March.

Nothing here touches a patient that tasks written by hand speak of, a day from 27 February to 13 March, or the
waiting lists for physiotherapy sessions and vaccinations. New patients and fees are numbered after the cast's,
so the numbers given here lie below.
"""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from cast import CAST

Row = dict[str, Any]

TODAY = date(2026, 3, 2)
FIRST_PATIENT, FIRST_ALLERGY, FIRST_APPOINTMENT, FIRST_FEE = 51, 621, 101, 861
FIRST_WAIT, FIRST_PRESCRIPTION = 911, 832
HISTORY = (date(2025, 9, 1), date(2026, 2, 26))
AHEAD = (date(2026, 3, 16), date(2026, 3, 27))

PATIENTS = (  # name, born on
    ("Klara Bennet", "1986-05-02"), ("Hasan Omar", "1979-01-15"), ("Owen Pryce", "1948-11-20"),
    ("Quincy Doyle", "1990-07-07"), ("Georgia Tan", "1997-03-30"), ("Ben Whitacre", "2014-09-18"),
    ("Sophie Lund", "1971-12-05"), ("Amir Rahman", "1983-10-26"), ("Helen March", "1944-06-12"),
    ("Rosa Kellner", "2011-08-03"), ("Leon Fisher", "1992-02-22"), ("Ingrid Olson", "1968-04-14"),
    ("Nadja Karim", "2016-05-09"), ("Theresa Lindholm", "1950-09-27"), ("Viktor Amadi", "1977-11-01"),
    ("Yara Hadid", "2000-01-29"), ("Mina Saito", "2013-12-11"), ("Saul Novak", "1965-07-17"),
    ("Dora Quest", "1947-02-08"), ("Elsie Hare", "2012-10-21"), ("Felix Grand", "1988-06-06"),
    ("Greta Summer", "1999-09-15"), ("Iwan Petrow", "1956-03-19"), ("Julia Ferri", "2010-04-25"),
    ("Carl Benz", "1941-12-30"), ("Lily Cheng", "1994-08-10"), ("Marcus Weber", "1981-05-13"),
    ("Noah Levin", "2015-01-04"), ("Otto Braune", "1936-10-09"), ("Anna Schmidt", "1985-02-17"),
    ("Anna Schmidt", "2002-06-23"), ("Anna Schmitt", "1973-11-28"), ("Hugo Stern", "1962-01-06"),
    ("Hugo Sterne", "1996-07-31"),
)  # fmt: skip

OF_DOCTORS, OF_NURSES, OF_PHYSIOTHERAPISTS = (301, 302, 303, 304), (305, 306), (307, 308)


class Filler:
    """Draws the rows, table by table, each table from those before it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._services = {row["id"]: row for row in _cast("services")}
        self.tables: dict[str, list[Row]] = {"patients": list(self._patients())}
        self.tables["allergies"] = list(self._allergies())
        self.tables["appointments"] = []
        self._appointments(HISTORY, 130)
        self._appointments(AHEAD, 46)
        self.tables["fees"] = list(self._fees())
        self.tables["waiting_list"] = list(self._waits())
        self.tables["prescriptions"] = list(self._prescriptions())

    def _patients(self) -> Iterator[Row]:
        for number, (name, born_on) in enumerate(PATIENTS):
            yield {
                "id": FIRST_PATIENT + number,
                "name": name,
                "born_on": born_on,
                "phone": f"555-{(number * 2731 + 1408) % 9000 + 1000}",
                "doctor_id": self._rng.choice(OF_DOCTORS),
                "status": "moved_away" if number in (15, 25) else "active",
            }

    def _allergies(self) -> Iterator[Row]:
        substances = ("penicillin", "latex", "aspirin", "penicillin", "sulfonamide", "latex", "codeine")
        allergic = self._rng.sample(self.tables["patients"], 21)
        for number, patient in enumerate(allergic):
            substance = substances[number % len(substances)]
            yield {"id": FIRST_ALLERGY + number, "patient_id": patient["id"], "substance": substance}

    # ------------------------------------------------------------ appointments

    def _appointments(self, span: tuple[date, date], wanted: int) -> None:
        """Each where its practitioner works, with nobody and no room in two places at once."""
        first, last = span
        made = 0
        while made < wanted:
            day = first + timedelta(days=self._rng.randrange((last - first).days + 1))
            offer = self._rng.choice(_cast("offers"))
            booking = self._booking(day, offer["practitioner_id"], self._services[offer["service_id"]])
            if booking is not None:
                self.tables["appointments"].append(booking)
                made += 1

    def _booking(self, day: date, practitioner: int, service: Row) -> Row | None:
        shifts = [
            row
            for row in _cast("shifts")
            if row["practitioner_id"] == practitioner and row["weekday"] == day.weekday()
        ]
        if not shifts or self._is_away(practitioner, day):
            return None
        shift = self._rng.choice(shifts)
        starts = later(shift["starts"], 15 * self._rng.randrange(12))
        ends = later(starts, service["minutes"])
        taken = [one for one in self._on(day) if one["starts"] < ends and starts < one["ends"]]
        rooms = [row["id"] for row in _cast("rooms") if row["kind"] == service["room_kind"]]
        free = [room for room in rooms if all(one["room_id"] != room for one in taken)]
        patient = self._rng.choice([one for one in self.tables["patients"] if one["status"] == "active"])[
            "id"
        ]
        busy = any(patient == one["patient_id"] or practitioner == one["practitioner_id"] for one in taken)
        if ends > shift["ends"] or busy or not free or self._has_one(patient, service["id"], day):
            return None
        return self._row(day, starts, ends, patient, practitioner, service["id"], free[0])

    def _row(
        self, day: date, starts: str, ends: str, patient: int, practitioner: int, service: int, room: int
    ) -> Row:
        status, by = ("booked", None) if day > TODAY else self._outcome()
        booked = min(day, TODAY) - timedelta(days=self._rng.randint(3, 40))
        time = f"{self._rng.randint(9, 16):02}:{self._rng.randrange(60):02}:00"
        return {
            "id": FIRST_APPOINTMENT + len(self.tables["appointments"]),
            "patient_id": patient,
            "practitioner_id": practitioner,
            "service_id": service,
            "room_id": room,
            "day": day,
            "starts": starts,
            "ends": ends,
            "status": status,
            "cancelled_by": by,
            "booked_at": f"{booked}T{time}+00:00",
        }

    def _outcome(self) -> tuple[str, str | None]:
        draw = self._rng.random()
        if draw < 0.72:
            return "completed", None
        if draw < 0.84:
            return "no_show", None
        return "cancelled", self._rng.choice(("patient", "patient", "clinic"))

    def _is_away(self, practitioner: int, day: date) -> bool:
        return any(
            row["practitioner_id"] == practitioner and row["first_day"] <= day.isoformat() <= row["last_day"]
            for row in _cast("time_off")
        )

    def _on(self, day: date) -> list[Row]:
        """Of all appointments, so that the past has no collisions either."""
        old = [row for row in _cast("appointments") if row["day"] == day.isoformat()]
        return [*old, *(row for row in self.tables["appointments"] if row["day"] == day)]

    def _has_one(self, patient: int, service: int, day: date) -> bool:
        """Whether the patient has the service ahead already, or anything on that day."""
        mine = [row for row in self.tables["appointments"] if row["patient_id"] == patient]
        ahead = any(row["service_id"] == service and row["status"] == "booked" for row in mine)
        return (ahead and day > TODAY) or any(row["day"] == day for row in mine)

    # ------------------------------------------------------------ fees, waits, prescriptions

    def _fees(self) -> Iterator[Row]:
        missed = [row for row in self.tables["appointments"] if row["status"] == "no_show"]
        late = [row for row in self.tables["appointments"] if row["cancelled_by"] == "patient"][::2]
        for number, appointment in enumerate(sorted([*missed, *late], key=lambda row: row["id"])):
            status = self._rng.choice(("open", "open", "paid", "waived"))
            settled = appointment["day"] + timedelta(days=self._rng.randint(3, 30))
            if settled >= TODAY or status == "open":
                status, settled = "open", None
            no_show = appointment["status"] == "no_show"
            yield {
                "id": FIRST_FEE + number,
                "appointment_id": appointment["id"],
                "reason": "no_show" if no_show else "late_cancellation",
                "amount_cents": 4000 if no_show else 2500,
                "status": status,
                "issued_on": appointment["day"],
                "settled_on": settled,
            }

    def _waits(self) -> Iterator[Row]:
        wishes = [
            (401, None),
            (401, 302),
            (402, 301),
            (403, None),
            (404, None),
            (405, None),
            (406, None),
            (408, None),
        ]
        children = [row["id"] for row in self.tables["patients"] if row["born_on"] > "2010-03-02"]
        days = iter(self._rng.sample(range(5, 60), 38))
        gone = {row["id"] for row in self.tables["patients"] if row["status"] == "moved_away"}
        wished: set[tuple[int, int]] = set()
        key = FIRST_WAIT
        for service, practitioner in wishes:
            adults = [row["id"] for row in self.tables["patients"] if row["id"] not in children]
            people = [*self._rng.sample(adults, 3), *self._rng.sample(children, self._rng.choice((0, 1, 1)))]
            for patient in people:
                yield {
                    "id": key,
                    "patient_id": patient,
                    "service_id": service,
                    "practitioner_id": practitioner if practitioner and self._rng.random() < 0.6 else None,
                    "status": "left" if patient in gone or (patient, service) in wished else "waiting",
                    "added_on": TODAY - timedelta(days=next(days)),
                }
                wished.add((patient, service))
                key += 1

    def _prescriptions(self) -> Iterator[Row]:
        allergies = {(row["patient_id"], row["substance"]) for row in self.tables["allergies"]}
        medicines = _cast("medicines")
        key = FIRST_PRESCRIPTION
        for patient in self._rng.sample(self.tables["patients"], 17):
            fit = [one for one in medicines if (patient["id"], one["substance"]) not in allergies]
            fit = [one for one in fit if one["substance"] != "codeine"]
            issued = TODAY - timedelta(days=self._rng.randint(8, 230))
            yield {
                "id": key,
                "patient_id": patient["id"],
                "practitioner_id": self._rng.choice(OF_DOCTORS),
                "medicine_id": self._rng.choice(fit)["id"],
                "repeats_left": self._rng.choice((0, 1, 1, 1, 2, 3)),
                "issued_on": issued,
                "expires_on": issued + timedelta(days=180),
                "status": "active" if self._rng.random() < 0.9 else "stopped",
            }
            key += 1


def later(time: str, minutes: int) -> str:
    hours, rest = divmod(int(time[:2]) * 60 + int(time[3:]) + minutes, 60)
    return f"{hours:02}:{rest:02}"


def _cast(table: str) -> list[Row]:
    columns, rows = CAST[table]
    return [dict(zip(columns.split(), row, strict=True)) for row in rows]
