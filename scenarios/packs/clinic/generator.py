"""The clinic's rows, and templates of what its front desk is asked for.

Reading order: the rows; what templates look up; then the templates, easy, medium, hard.
"""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from cast import CAST
from filler import AHEAD, Filler, later
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]

CONSULTATION, LONG_CONSULTATION = 401, 402
MOST_DEBT_CENTS = 5000
CHILD_YEARS, LONG_YEARS = 16, 75
CODEINE, PARACETAMOL = 810, 811


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """The cast, table by table, each followed by its filler."""
    filler = Filler(rng)
    for table, (columns, cast_rows) in CAST.items():
        for row in cast_rows:
            yield table, dict(zip(columns.split(), row, strict=True))
        for extra in filler.tables.get(table, []):
            yield table, extra


# ---------------------------------------------------------------- what templates look up


def today(world: World) -> date:
    return world.clock.date()


def patients(world: World, where: str = "1") -> list[Row]:
    """Active patients with `called`: the name, and the date of birth as well where two share the name."""
    return world.rows(f"""
        SELECT patients.*, practitioners.name AS doctor, CASE
            WHEN alike > 1 THEN patients.name || ' (born on ' || born_on || ')' ELSE patients.name END AS called,
            (SELECT coalesce(sum(amount_cents), 0) FROM fees JOIN appointments ON appointments.id = appointment_id
                WHERE patient_id = patients.id AND fees.status = 'open') AS owed
        FROM (SELECT *, count(*) OVER (PARTITION BY name) AS alike FROM patients) AS patients
        JOIN practitioners ON practitioners.id = doctor_id
        WHERE patients.status = 'active' AND {where} ORDER BY patients.id
    """)


def patient(world: World, key: int) -> Row | None:
    return next(iter(patients(world, f"patients.id = {key}")), None)


def years(world: World, who: Row) -> int:
    born, now = date.fromisoformat(who["born_on"]), today(world)
    return now.year - born.year - ((now.month, now.day) < (born.month, born.day))


def practitioners(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"SELECT * FROM practitioners WHERE {where} ORDER BY id")


def offers(world: World, practitioner_id: int, service_id: int) -> bool:
    found = "SELECT count(*) FROM offers WHERE practitioner_id = ? AND service_id = ?"
    return bool(world.value(found, practitioner_id, service_id))


def bookings(world: World, where: str = "1") -> list[Row]:
    """Booked appointments, earliest first."""
    return world.rows(f"""
        SELECT appointments.*, services.name AS service, practitioners.name AS practitioner, rooms.name AS room
        FROM appointments JOIN services ON services.id = service_id
        JOIN practitioners ON practitioners.id = practitioner_id JOIN rooms ON rooms.id = room_id
        WHERE appointments.status = 'booked' AND day > '{today(world)}' AND {where}
        ORDER BY day, starts, appointments.id
    """)


def is_told_apart(world: World, booking: Row) -> bool:
    """Whether the patient sees this practitioner only once on that day."""
    that_day = f"patient_id = {booking['patient_id']} AND day = '{booking['day']}'"
    return len(bookings(world, f"{that_day} AND practitioner_id = {booking['practitioner_id']}")) == 1


def prescriptions(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT prescriptions.*, medicines.name AS medicine, strength, practitioners.name AS doctor
        FROM prescriptions JOIN medicines ON medicines.id = medicine_id
        JOIN practitioners ON practitioners.id = practitioner_id
        WHERE status = 'active' AND {where} ORDER BY prescriptions.id
    """)


def fees(world: World, who: Row) -> list[Row]:
    return world.rows(
        "SELECT fees.*, day FROM fees JOIN appointments ON appointments.id = appointment_id "
        "WHERE patient_id = ? ORDER BY issued_on, fees.id",
        who["id"],
    )


def waits(world: World, where: str = "1") -> list[Row]:
    """Who waits, the longest first."""
    return world.rows(f"""
        SELECT waiting_list.*, patients.name, born_on, services.name AS service
        FROM waiting_list JOIN patients ON patients.id = patient_id JOIN services ON services.id = service_id
        WHERE waiting_list.status = 'waiting' AND {where} ORDER BY added_on, waiting_list.id
    """)


def is_waiting(world: World, who: Row, service_id: int) -> bool:
    return bool(waits(world, f"patient_id = {who['id']} AND service_id = {service_id}"))


def is_free(
    world: World, practitioner_id: int, service: Row, day: str, starts: str, who: Row | None = None
) -> bool:
    """Whether it could be booked then, as the clinic's diary sees it."""
    ends, weekday = later(starts, service["minutes"]), date.fromisoformat(day).weekday()
    away = world.value(
        "SELECT count(*) FROM time_off WHERE practitioner_id = ? AND ? BETWEEN first_day AND last_day",
        practitioner_id,
        day,
    )
    works = world.value(
        "SELECT count(*) FROM shifts WHERE practitioner_id = ? AND weekday = ? AND starts <= ? AND ends >= ?",
        practitioner_id,
        weekday,
        starts,
        ends,
    )
    during = bookings(world, f"day = '{day}' AND starts < '{ends}' AND ends > '{starts}'")
    rooms = world.value("SELECT count(*) FROM rooms WHERE kind = ?", service["room_kind"])
    kind = f"rooms.kind = '{service['room_kind']}'"
    used = bookings(world, f"day = '{day}' AND starts < '{ends}' AND ends > '{starts}' AND {kind}")
    busy = {one["practitioner_id"] for one in during}
    theirs = {one["patient_id"] for one in during}
    free = works and not away and practitioner_id not in busy and len(used) < rooms
    return bool(free and (who is None or who["id"] not in theirs))


def free_times(
    world: World, practitioner_id: int, service: Row, who: Row | None = None
) -> list[tuple[str, str]]:
    """Days and times from 16 to 27 March at which the practitioner could give the service."""
    first, last = AHEAD
    days = [(first + timedelta(days=ahead)).isoformat() for ahead in range((last - first).days + 1)]
    times = [later("08:00", 15 * step) for step in range(0, 40, 3)]
    return [
        (day, starts)
        for day in days
        for starts in times
        if is_free(world, practitioner_id, service, day, starts, who)
    ]


def service_of(world: World, key: int) -> Row:
    [found] = world.rows("SELECT * FROM services WHERE id = ?", key)
    return found


def spoken(day: str) -> str:
    parsed = date.fromisoformat(day)
    return f"{parsed:%A}, {parsed.day} {parsed:%B} {parsed.year}"


def dollars(cents: int) -> int | float:
    return cents // 100 if cents % 100 == 0 else cents / 100


def look_up(who: Row) -> Row:
    return call("search_patients", query=who["name"])


def show(who: Row) -> Row:
    return call("get_patient", patient_id=who["id"])


def colleagues(role: str) -> Row:
    return call("list_practitioners", role=role)


# ---------------------------------------------------------------- easy


@template("when-and-where", difficulty="easy", tags=("read",))
def when_and_where(world: World, rng: random.Random) -> Draft | None:
    """The day, the time or the room of an appointment."""
    booking = pick(rng, bookings(world))
    who = None if booking is None else patient(world, booking["patient_id"])
    if booking is None or who is None:
        return None
    same = bookings(world, f"patient_id = {who['id']} AND service_id = {booking['service_id']}")
    if len(same) > 1:
        return None
    column, wanted = rng.choice(
        (
            ("day", "On which day is it? Date only, YYYY-MM-DD."),
            ("starts", "At what time does it begin? HH:MM, nothing else."),
            ("room", "In which room is it? The room's name only."),
        )
    )
    return Draft(
        prompt=phrase(
            rng,
            "{who} has mislaid the slip with the appointment for: {service}. {wanted}",
            "{who} is booked for: {service}. {wanted}",
            "Please look up when and where we have put this down: {service}, for {who}. {wanted}",
            who=who["called"],
            service=booking["service"],
            wanted=wanted,
        ),
        solution=[look_up(who), show(who)],
        answer={"text": booking[column]},
    )


@template("owes-us", difficulty="easy", tags=("read",))
def owes_us(world: World, rng: random.Random) -> Draft | None:
    """What a patient owes."""
    who = pick(rng, patients(world, "owed > 0"))
    if who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How much does {who} owe us at the moment? Dollars, number only.",
            "{who} asks how much is still to pay. Give me the dollars, only the number.",
            "What do the open fees of {who} come to? Number of dollars, nothing else.",
            who=who["called"],
        ),
        solution=[look_up(who), show(who)],
        answer={"number": dollars(who["owed"])},
    )


@template("who-prescribed", difficulty="easy", tags=("read",))
def who_prescribed(world: World, rng: random.Random) -> Draft | None:
    """Facts of a prescription."""
    one = pick(rng, prescriptions(world))
    who = None if one is None else patient(world, one["patient_id"])
    if one is None or who is None:
        return None
    asks_day = rng.random() < 0.5
    return Draft(
        prompt=phrase(
            rng,
            "{who} takes {medicine}. {wanted}",
            "A question about the {medicine} of {who}: {wanted}",
            "The pharmacy asks about the prescription of {who} for {medicine}. {wanted}",
            who=who["called"],
            medicine=f"{one['medicine']} {one['strength']}",
            wanted="When does the prescription expire? Date only, YYYY-MM-DD."
            if asks_day
            else "Who prescribed it? Answer with the name as we have it, nothing else.",
        ),
        solution=[look_up(who), show(who)],
        answer={"text": one["expires_on"] if asks_day else one["doctor"]},
    )


@template("how-full", difficulty="easy", tags=("read",))
def how_full(world: World, rng: random.Random) -> Draft | None:
    """How many appointments somebody has on a day."""
    booking = pick(rng, bookings(world))
    if booking is None:
        return None
    [person] = practitioners(world, f"id = {booking['practitioner_id']}")
    that_day = bookings(world, f"day = '{booking['day']}' AND practitioner_id = {person['id']}")
    if len(that_day) < 2:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How many appointments are booked with {person} on {day}? Number only.",
            "{person} wants to know how many patients are booked for {day}. Just the number.",
            "On {day}, how many bookings does {person} have? Answer with the number.",
            person=person["name"],
            day=spoken(booking["day"]),
        ),
        solution=[
            colleagues(person["role"]),
            call(
                "list_appointments",
                first_day=booking["day"],
                last_day=booking["day"],
                practitioner_id=person["id"],
                status="booked",
            ),
        ],
        answer={"number": len(that_day)},
    )


@template("other-number", difficulty="easy", tags=("write",))
def other_number(world: World, rng: random.Random) -> Draft | None:
    """A patient has a new phone number."""
    who = pick(rng, patients(world, "alike = 1"))
    number = f"555-{rng.randrange(1000, 9999)}"
    if who is None or world.value("SELECT count(*) FROM patients WHERE phone = ?", number):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} can be reached at {number} from now on. Please change the phone number.",
            "New phone number for {who}: {number}. Please enter it.",
            "Please put {number} on the record of {who}; the old number is dead.",
            who=who["called"],
            number=number,
        ),
        solution=[look_up(who), call("update_patient", patient_id=who["id"], phone=number)],
    )


@template("reacts-to", difficulty="easy", tags=("write",))
def reacts_to(world: World, rng: random.Random) -> Draft | None:
    """An allergy to be recorded."""
    who = pick(rng, patients(world))
    substance = rng.choice(("penicillin", "aspirin", "codeine", "sulfonamide", "latex"))
    known = "SELECT count(*) FROM allergies WHERE patient_id = ? AND substance = ?"
    if who is None or world.value(known, who["id"], substance):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "It turns out that {who} is allergic to {substance}. Please record it.",
            "Please note an allergy to {substance} for {who}.",
            "{who} had a rash: {substance}. Put the allergy on the record, please.",
            who=who["called"],
            substance=substance,
        ),
        solution=[look_up(who), call("record_allergy", patient_id=who["id"], substance=substance)],
    )


@template("no-longer-waits", difficulty="easy", tags=("write",))
def no_longer_waits(world: World, rng: random.Random) -> Draft | None:
    """Somebody is taken off a waiting list."""
    wait = pick(rng, waits(world))
    who = None if wait is None else patient(world, wait["patient_id"])
    if wait is None or who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} does not wait any more for: {service}. Please take them off the list.",
            "Please remove {who} from the waiting list ({service}); it has been done elsewhere.",
            "{who} has rung: the place on the waiting list ({service}) is not needed. Take it away, please.",
            who=who["called"],
            service=wait["service"],
        ),
        solution=[call("list_waiting_list", limit=50), call("leave_waiting_list", wait_id=wait["id"])],
    )


@template("some-days-off", difficulty="easy", tags=("write",))
def some_days_off(world: World, rng: random.Random) -> Draft | None:
    """Time off in the spring."""
    person = pick(rng, practitioners(world))
    if person is None:
        return None
    first = date(2026, 4, 6) + timedelta(days=7 * rng.randrange(7))
    last = first + timedelta(days=rng.choice((0, 1, 2, 4)))
    reason = rng.choice(("holiday", "training"))
    return Draft(
        prompt=phrase(
            rng,
            "{person} is away from {first} to {last} ({reason}). Please put that into the calendar.",
            "Please record time off for {person}: {first} until {last}, {reason}.",
            "Enter {reason} for {person} in the calendar, first day {first}, last day {last}.",
            person=person["name"],
            first=spoken(first.isoformat()),
            last=spoken(last.isoformat()),
            reason=reason,
        ),
        solution=[
            colleagues(person["role"]),
            call(
                "add_time_off",
                practitioner_id=person["id"],
                first_day=first.isoformat(),
                last_day=last.isoformat(),
                reason=reason,
            ),
        ],
    )


# ---------------------------------------------------------------- medium


@template("hand-out", difficulty="medium", tags=("write", "condition"))
def hand_out(world: World, rng: random.Random) -> Draft | None:
    """A repeat handed out, if it can be."""
    one = pick(rng, prescriptions(world))
    who = None if one is None else patient(world, one["patient_id"])
    if one is None or who is None or one["repeats_left"] == 1:
        return None
    can = one["repeats_left"] > 1 and one["expires_on"] >= today(world).isoformat()
    return Draft(
        prompt=phrase(
            rng,
            "{who} is at the desk for {medicine}. Record a repeat if one can be handed out. If not, do nothing and tell me "
            "who prescribed it, the name only.",
            "Please hand {who} a repeat of {medicine}. Should the prescription not allow it, change nothing and answer with "
            "just the name of the doctor who issued it.",
            "{who} wants another repeat of {medicine}. Enter it where that is possible; otherwise I need the name of the "
            "prescribing doctor, nothing else.",
            who=who["called"],
            medicine=f"{one['medicine']} {one['strength']}",
        ),
        solution=[look_up(who), show(who), call("dispense_repeat", prescription_id=one["id"])]
        if can
        else [call("read_policy"), look_up(who), show(who)],
        answer=None if can else {"text": one["doctor"]},
        tags=("write" if can else "read", "condition"),
    )


@template("cannot-come", difficulty="medium", tags=("write",))
def cannot_come(world: World, rng: random.Random) -> Draft | None:
    """A patient cancels one appointment."""
    booking = pick(rng, bookings(world))
    who = None if booking is None else patient(world, booking["patient_id"])
    if booking is None or who is None or not is_told_apart(world, booking):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} cannot come on {day} to see {person} and cancels. Please enter that; nothing else of theirs changes.",
            "Please cancel the appointment of {who} with {person} on {day}; they called it off themselves.",
            "{who} has rung to cancel the appointment with {person} on {day}. Please do so in their name.",
            who=who["called"],
            day=spoken(booking["day"]),
            person=booking["practitioner"],
        ),
        solution=[
            look_up(who),
            show(who),
            call("cancel_appointment", appointment_id=booking["id"], cancelled_by="patient"),
        ],
    )


@template("other-day", difficulty="medium", tags=("write",))
def other_day(world: World, rng: random.Random) -> Draft | None:
    """An appointment moved to a time that is free, or to a second choice."""
    booking = pick(rng, bookings(world, "day >= '2026-03-16'"))
    who = None if booking is None else patient(world, booking["patient_id"])
    if booking is None or who is None:
        return None
    service = service_of(world, booking["service_id"])
    same = bookings(world, f"patient_id = {who['id']} AND practitioner_id = {booking['practitioner_id']}")
    choices = [
        one for one in free_times(world, booking["practitioner_id"], service, who) if one[0] != booking["day"]
    ]
    target = pick(rng, choices)
    if target is None or len(same) > 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} would rather see {person} on {day} at {starts} than at the time we have down. Please move the "
            "appointment.",
            "Please move the appointment that {who} has with {person} to {day}, {starts}.",
            "{who} asks for another time with {person}: {day} at {starts} instead of what is booked. Please change it.",
            who=who["called"],
            person=booking["practitioner"],
            day=spoken(target[0]),
            starts=target[1],
        ),
        solution=[
            look_up(who),
            show(who),
            call("reschedule_appointment", appointment_id=booking["id"], day=target[0], starts=target[1]),
        ],
    )


@template("to-the-doctor", difficulty="medium", tags=("write", "policy"))
def to_the_doctor(world: World, rng: random.Random) -> Draft | None:
    """A consultation, with whom and how long the rules say."""
    old = rng.random() < 0.5
    ages = f"born_on {'<=' if old else '>'} '1951-03-02'"
    who = pick(rng, patients(world, ages))
    if who is None:
        return None
    longer = old and offers(world, who["doctor_id"], LONG_CONSULTATION)
    service = service_of(world, LONG_CONSULTATION if longer else CONSULTATION)
    slot = pick(rng, free_times(world, who["doctor_id"], service, who))
    if slot is None or is_waiting(world, who, CONSULTATION) or is_waiting(world, who, LONG_CONSULTATION):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} needs a consultation on {day} at {starts}. Please book it as our rules say.",
            "Please make an appointment for {who} to talk to a doctor on {day}, {starts}; with whom, and how long, follows "
            "from the house rules.",
            "{who} would like to see a doctor on {day} at {starts}. Book the consultation by the house rules.",
            who=who["called"],
            day=spoken(slot[0]),
            starts=slot[1],
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            call("list_services"),
            colleagues("doctor"),
            call(
                "book_appointment",
                patient_id=who["id"],
                service_id=service["id"],
                practitioner_id=who["doctor_id"],
                day=slot[0],
                starts=slot[1],
            ),
        ],
    )


@template("let-off", difficulty="medium", tags=("write", "policy", "condition"))
def let_off(world: World, rng: random.Random) -> Draft | None:
    """A fee waived or paid, as the rules have it."""
    who = pick(rng, patients(world, "owed > 0"))
    if who is None:
        return None
    all_of_them = fees(world, who)
    still_open = [fee for fee in all_of_them if fee["status"] == "open"]
    if len(still_open) != 1:
        return None
    waived = len(all_of_them) == 1
    return Draft(
        prompt=phrase(
            rng,
            "{who} asks to be let off the open fee. Decide it by our rules; if it has to be paid, they pay now. Enter what "
            "applies.",
            "Please settle the open fee of {who}, who hopes to be let off. If the house rules do not let them off, record "
            "that they pay it.",
            "{who} stands here with a fee that is still open and would like it waived. See what the house rules say, and "
            "record the waiver or else the payment.",
            who=who["called"],
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            call("list_fees", patient_id=who["id"]),
            call("waive_fee" if waived else "pay_fee", fee_id=still_open[0]["id"]),
        ],
    )


@template("other-doctor", difficulty="medium", tags=("write",))
def other_doctor(world: World, rng: random.Random) -> Draft | None:
    """Another usual doctor."""
    who, doctor = pick(rng, patients(world)), pick(rng, practitioners(world, "role = 'doctor'"))
    if who is None or doctor is None or who["doctor_id"] == doctor["id"]:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants {doctor} as the usual doctor. Please change that.",
            "From now on {doctor} is the usual doctor of {who}. Please enter it.",
            "Please make {doctor} the usual doctor of {who}, who asked for the change.",
            who=who["called"],
            doctor=doctor["name"],
        ),
        solution=[
            look_up(who),
            colleagues("doctor"),
            call("update_patient", patient_id=who["id"], doctor_id=doctor["id"]),
        ],
    )


@template("pain-relief", difficulty="medium", tags=("write", "policy", "condition"))
def pain_relief(world: World, rng: random.Random) -> Draft | None:
    """Codeine, or what children get instead."""
    young = rng.random() < 0.5
    who = pick(rng, patients(world, f"born_on {'>' if young else '<='} '2010-03-02'"))
    doctor = pick(rng, practitioners(world, "role = 'doctor'"))
    repeats = rng.choice((0, 1, 2, 3))
    if who is None or doctor is None:
        return None
    allergic = "SELECT count(*) FROM allergies WHERE patient_id = ? AND substance = 'codeine'"
    taken = prescriptions(world, f"patient_id = {who['id']} AND medicine_id IN ({CODEINE}, {PARACETAMOL})")
    if world.value(allergic, who["id"]) or taken:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{doctor} wants {who} to have Codeine 30 mg, number of repeats: {repeats}. Please issue it in the doctor's name, or what our "
            "rules put in its place.",
            "Please issue Codeine 30 mg for {who}, prescribed by {doctor}, repeats: {repeats}. Mind the house rules: if they "
            "want something else, issue that.",
            "A prescription by {doctor} for {who}: Codeine 30 mg with {repeats} repeats, as far as the house rules go; "
            "otherwise what they say.",
            who=who["called"],
            doctor=doctor["name"],
            repeats=repeats,
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            call("search_medicines", query="Paracetamol" if young else "Codeine"),
            colleagues("doctor"),
            call(
                "issue_prescription",
                patient_id=who["id"],
                practitioner_id=doctor["id"],
                medicine_id=PARACETAMOL if young else CODEINE,
                repeats=repeats,
            ),
        ],
    )


@template("onto-the-list", difficulty="medium", tags=("write", "policy", "condition"))
def onto_the_list(world: World, rng: random.Random) -> Draft | None:
    """Somebody wants to wait, and may owe too much."""
    owing = rng.random() < 0.5
    who = pick(rng, patients(world, f"owed {'>=' if owing else '<'} {MOST_DEBT_CENTS}"))
    service = pick(rng, world.rows("SELECT * FROM services WHERE id NOT IN (407, 410) ORDER BY id"))
    if who is None or service is None or is_waiting(world, who, service["id"]):
        return None
    if years(world, who) >= LONG_YEARS and service["id"] == CONSULTATION:
        return None
    join = call("join_waiting_list", patient_id=who["id"], service_id=service["id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants to go on the waiting list ({service}, anybody will do). If our rules allow it, put them on. If not, "
            "do nothing and tell me how much they owe, in dollars, number only.",
            "Please see whether the house rules let {who} wait for: {service}. If yes, enter it, with no particular "
            "practitioner. If no, just answer with the dollars that they owe.",
            "{who} asks for a place on the waiting list, for: {service}, whoever gives it. Enter it unless the rules say no; in that case "
            "I only need the sum they owe in dollars, as a number.",
            who=who["called"],
            service=service["name"],
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            show(who),
            call("list_services"),
            *([] if owing else [join]),
        ],
        answer={"number": dollars(who["owed"])} if owing else None,
        tags=("read" if owing else "write", "policy", "condition"),
    )


# ---------------------------------------------------------------- hard


@template("we-cancel", difficulty="hard", tags=("write", "policy"))
def we_cancel(world: World, rng: random.Random) -> Draft | None:
    """The clinic cancels, and the patient waits for another time."""
    booking = pick(rng, bookings(world, "day >= '2026-03-05'"))
    who = None if booking is None else patient(world, booking["patient_id"])
    if booking is None or who is None or is_waiting(world, who, booking["service_id"]):
        return None
    if not is_told_apart(world, booking):
        return None
    [person] = practitioners(world, f"id = {booking['practitioner_id']}")
    return Draft(
        prompt=phrase(
            rng,
            "We cannot keep the appointment of {who} with {person} on {day}. Please cancel it for the clinic and do what our "
            "rules ask for in that case.",
            "The clinic has to call off the appointment of {who} with {person} on {day}. Cancel it on our side, and see to the rest as the "
            "house rules say.",
            "Please cancel the appointment of {who} on {day} with {person}; it is we who cancel. The house rules say what else is due.",
            who=who["called"],
            person=person["name"],
            day=spoken(booking["day"]),
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            show(who),
            call("cancel_appointment", appointment_id=booking["id"], cancelled_by="clinic"),
            call("list_services"),
            colleagues(person["role"]),
            call(
                "join_waiting_list",
                patient_id=who["id"],
                service_id=booking["service_id"],
                practitioner_id=person["id"],
            ),
        ],
    )


@template("last-repeat", difficulty="hard", tags=("write", "policy"))
def last_repeat(world: World, rng: random.Random) -> Draft | None:
    """The last repeat is handed out."""
    one = pick(rng, prescriptions(world, f"repeats_left = 1 AND expires_on >= '{today(world)}'"))
    who = None if one is None else patient(world, one["patient_id"])
    if one is None or who is None or is_waiting(world, who, CONSULTATION) or who["owed"] >= MOST_DEBT_CENTS:
        return None
    if years(world, who) >= LONG_YEARS:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} collects a repeat of {medicine}. Please record it, and whatever our rules want done with it.",
            "Please hand out a repeat of {medicine} to {who}, and mind the house rules on repeats.",
            "A repeat of {medicine} for {who}, please. Check what the house rules ask for besides, and do that as well.",
            who=who["called"],
            medicine=f"{one['medicine']} {one['strength']}",
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            show(who),
            call("dispense_repeat", prescription_id=one["id"]),
            call("list_services"),
            colleagues("doctor"),
            call(
                "join_waiting_list",
                patient_id=who["id"],
                service_id=CONSULTATION,
                practitioner_id=one["practitioner_id"],
            ),
        ],
    )


@template("ill-that-day", difficulty="hard", tags=("write", "policy"))
def ill_that_day(world: World, rng: random.Random) -> Draft | None:
    """Everything of one day cancelled, the patients put on the list, the illness recorded."""
    booking = pick(rng, bookings(world, "day >= '2026-03-16'"))
    if booking is None:
        return None
    [person] = practitioners(world, f"id = {booking['practitioner_id']}")
    that_day = bookings(world, f"day = '{booking['day']}' AND practitioner_id = {person['id']}")
    if len(that_day) > 3 or any(
        is_waiting(world, {"id": one["patient_id"]}, one["service_id"]) for one in that_day
    ):
        return None
    cancels = [
        call("cancel_appointment", appointment_id=one["id"], cancelled_by="clinic") for one in that_day
    ]
    joins = [
        call(
            "join_waiting_list",
            patient_id=one["patient_id"],
            service_id=one["service_id"],
            practitioner_id=person["id"],
        )
        for one in that_day
    ]
    return Draft(
        prompt=phrase(
            rng,
            "{person} will be ill on {day}. Cancel what is booked then on our side, treat the patients as our rules say, and "
            "record the illness for that day.",
            "No {person} on {day}: an operation, so it counts as illness. Please cancel the appointments for the clinic, do what "
            "the house rules ask for, and enter the day off.",
            "Please clear {day} for {person}, who is ill: the clinic cancels every booking, the patients are looked after "
            "as in the house rules, and the illness goes into the calendar.",
            person=person["name"],
            day=spoken(booking["day"]),
        ),
        solution=[
            call("read_policy"),
            colleagues(person["role"]),
            call(
                "list_appointments",
                first_day=booking["day"],
                last_day=booking["day"],
                practitioner_id=person["id"],
                status="booked",
            ),
            call("list_services"),
            *cancels,
            *joins,
            call(
                "add_time_off",
                practitioner_id=person["id"],
                first_day=booking["day"],
                last_day=booking["day"],
                reason="illness",
            ),
        ],
    )


@template("an-opening", difficulty="hard", tags=("write", "policy"))
def an_opening(world: World, rng: random.Random) -> Draft | None:
    """A free time given to whoever's turn it is."""
    wait = pick(rng, waits(world))
    if wait is None:
        return None
    service = service_of(world, wait["service_id"])
    able = practitioners(
        world, f"id IN (SELECT practitioner_id FROM offers WHERE service_id = {service['id']})"
    )
    person = pick(rng, able)
    if person is None:
        return None
    queue = waits(world, f"service_id = {service['id']}")
    mine = [one for one in queue if one["practitioner_id"] in (None, person["id"])]
    mine.sort(key=lambda one: years(world, one) >= CHILD_YEARS)
    slot = pick(rng, free_times(world, person["id"], service))
    if slot is None or not 2 <= len(queue) <= 6 or not mine:
        return None
    first = patient(world, mine[0]["patient_id"])
    if (
        first is None
        or (mine[0] is queue[0] and rng.random() < 0.6)
        or not is_free(world, person["id"], service, *slot, who=first)
    ):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{person} has an opening on {day} at {starts} for: {service}. Give it to the patient whose turn on the waiting list it is by "
            "our rules, and tell me the full name.",
            "Please book {day}, {starts}, with {person} ({service}) for the one on the waiting list who is next by the house "
            "rules. Who is it? Full name only.",
            "There is a free time with {person}, {day} at {starts}, for: {service}. Fill it from the waiting list as the house "
            "rules say. Answer with the patient's full name.",
            person=person["name"],
            day=spoken(slot[0]),
            starts=slot[1],
            service=service["name"],
        ),
        solution=[
            call("read_policy"),
            call("list_services"),
            colleagues(person["role"]),
            call("list_waiting_list", service_id=service["id"]),
            *(show({"id": one["patient_id"]}) for one in queue),
            call(
                "book_appointment",
                patient_id=first["id"],
                service_id=service["id"],
                practitioner_id=person["id"],
                day=slot[0],
                starts=slot[1],
            ),
        ],
        answer={"text": first["name"]},
    )


@template("oldest-that-day", difficulty="hard", tags=("read",))
def oldest_that_day(world: World, rng: random.Random) -> Draft | None:
    """Of the patients of one day, who is oldest, or who is allergic to something."""
    booking = pick(rng, bookings(world))
    if booking is None:
        return None
    [person] = practitioners(world, f"id = {booking['practitioner_id']}")
    that_day = bookings(world, f"day = '{booking['day']}' AND practitioner_id = {person['id']}")
    keys = list(dict.fromkeys(one["patient_id"] for one in that_day))
    people = [who for who in (patient(world, key) for key in keys) if who is not None]
    if not 4 <= len(people) <= 9 or len(people) < len(keys):
        return None
    oldest = min(people, key=lambda who: who["born_on"])
    return Draft(
        prompt=phrase(
            rng,
            "Who is the oldest of the patients that {person} sees on {day}? Full name only.",
            "{person} wants the ground floor room for the oldest patient of {day}. Who is that, of those booked? Just the "
            "full name.",
            "Look at everybody who is booked with {person} on {day}. Which of them was born first? Answer with the full "
            "name.",
            person=person["name"],
            day=spoken(booking["day"]),
        ),
        solution=[
            colleagues(person["role"]),
            call(
                "list_appointments",
                first_day=booking["day"],
                last_day=booking["day"],
                practitioner_id=person["id"],
                status="booked",
            ),
            *(show(who) for who in people),
        ],
        answer={"text": oldest["name"]},
    )
