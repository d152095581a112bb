"""The hotel's rows and tasks."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from cast import GUESTS, ISSUES, POLICY, ROOM_TYPES, SEASONS, STAFF, TODAY, TOWNS
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]
Rows = Iterator[tuple[str, dict[str, object]]]

NOW = date.fromisoformat(TODAY)
BREAKFAST = 1400
REGULARS = 20

# ---------------------------------------------------------------- the seed


def rows(rng: random.Random) -> Rows:
    """The house, its guests, three months of bookings with their bills, and the work on the rooms."""
    rooms = [room | {"condition": "clean"} for room in house(rng)]
    bookings = list(timetable(rng, rooms))
    cleanings = list(cleaning_rota(rng, rooms, bookings))
    for number, (section, text) in enumerate(POLICY, 1):
        yield "policy", {"id": number, "section": section, "text": text}
    for number, (name, first, last, percent) in enumerate(SEASONS, 11):
        season = {"name": name, "first_day": first, "last_day": last, "rate_percent": percent}
        yield "seasons", {"id": number, **season}
    for number, (name, sleeps, rate, _) in enumerate(ROOM_TYPES, 1):
        kind = {"name": name, "category": number, "sleeps": sleeps, "rate_cents": rate * 100}
        yield "room_types", {"id": 20 + number, **kind}
    yield from (("rooms", room) for room in rooms)
    yield from (("guests", guest) for guest in people(rng, bookings))
    yield from (("bookings", booking) for booking in bookings)
    yield from bills(rng, bookings)
    for number, (name, role, floor) in enumerate(STAFF, 61):
        yield "staff", {"id": number, "name": name, "role": role, "floor": floor}
    yield from (("cleanings", cleaning) for cleaning in cleanings)
    yield from (("repairs", repair) for repair in repairs(rng, rooms, bookings))


def house(rng: random.Random) -> Iterator[Row]:
    layout = [place for place, (_, _, _, count) in enumerate(ROOM_TYPES, 1) for _ in range(count)]
    number = 81
    for floor in range(1, 5):
        rng.shuffle(layout)
        for door, place in enumerate(layout, 1):
            view = rng.choice(("sea", "garden", "street"))
            room: Row = {
                "id": number,
                "number": f"{floor}{door:02}",
                "floor": floor,
                "room_type_id": 20 + place,
            }
            yield room | {"view": view}
            number += 1


def people(rng: random.Random, bookings: list[Row]) -> Iterator[Row]:
    """Levels follow the stays, except that some were never raised."""
    stays = Counter(booking["guest_id"] for booking in bookings if booking["status"] == "departed")
    seen: Counter[str] = Counter()
    for number, name in enumerate(GUESTS, 101):
        seen[name] += 1
        address = name.lower().replace(" ", ".") + (str(seen[name]) if seen[name] > 1 else "")
        earned = "gold" if stays[number] >= 3 else "silver" if stays[number] >= 2 else "none"
        level = earned if rng.random() < 0.55 else rng.choice(("none", "silver", "gold"))
        if earned != "none" and rng.random() < 0.4:
            level = "silver" if earned == "gold" else "none"
        yield {
            "id": number,
            "name": name,
            "email": f"{address}@letterbox.example",
            "phone": f"+44 20 7946 {rng.randrange(10_000):04}",
            "town": TOWNS[(number * 7 + seen[name]) % len(TOWNS)],
            "level": level,
            "barred": number in (138, 177),
        }


def timetable(rng: random.Random, rooms: list[Row]) -> Iterator[Row]:
    """Room by room, one stay after the other; cancelled bookings and no-shows lie between and over them."""
    busy: dict[int, list[tuple[date, date]]] = {}
    drafts = [draft for room in rooms for draft in stays_of(rng, room, busy)]
    drafts.sort(key=lambda draft: (draft["booked_on"], draft["room_id"], draft["arrival"]))
    for number, draft in enumerate(drafts):
        reference = {"id": 301 + number, "reference": f"BW-{2104 + number}"}
        yield reference | draft


def stays_of(rng: random.Random, room: Row, busy: dict[int, list[tuple[date, date]]]) -> Iterator[Row]:
    day = date(2026, 4, 16) + timedelta(days=rng.randrange(6))
    while day < date(2026, 6, 6):
        departure = day + timedelta(days=rng.choice((1, 2, 2, 3, 3, 4, 5, 6)))
        yield stay(
            rng, room, day, departure, guest_for(rng, busy, day, departure), status_of(rng, day, departure)
        )
        if rng.random() < 0.13:
            other = day + timedelta(days=rng.randrange(3))
            until = other + timedelta(days=rng.randint(1, 4))
            yield stay(rng, room, other, until, guest_for(rng, busy, other, until), "cancelled")
        day = departure + timedelta(days=rng.choice((0, 0, 1, 1, 2, 5)))


def guest_for(rng: random.Random, busy: dict[int, list[tuple[date, date]]], day: date, until: date) -> int:
    """A guest who has nothing else around these days. Regulars come oftener."""
    while True:
        pool = len(GUESTS) if rng.random() < 0.55 else REGULARS
        guest = 101 + rng.randrange(pool)
        margin = timedelta(days=1)
        if all(until + margin < first or last + margin < day for first, last in busy.setdefault(guest, [])):
            busy[guest].append((day, until))
            return guest


def status_of(rng: random.Random, arrival: date, departure: date) -> str:
    if arrival < NOW < departure or (arrival < NOW == departure):
        return "in_house"
    if departure < NOW:
        return "no_show" if rng.random() < 0.06 else "departed"
    return "booked"


def stay(rng: random.Random, room: Row, arrival: date, departure: date, guest: int, status: str) -> Row:
    sleeps = ROOM_TYPES[room["room_type_id"] - 21][1]
    booked_on = min(arrival, NOW) - timedelta(days=rng.randint(3, 60))
    came = status in ("in_house", "departed")
    return {
        "guest_id": guest,
        "room_id": room["id"],
        "arrival": arrival,
        "departure": departure,
        "persons": rng.randint(max(1, sleeps - 1), sleeps),
        "breakfast": rng.random() < 0.5,
        "room_cents": room_cents(room["room_type_id"], arrival, departure),
        "status": status,
        "late_until": None,
        "booked_on": booked_on,
        "checked_in_at": f"{arrival}T15:{rng.randrange(60):02}:00+00:00" if came else None,
        "checked_out_at": f"{departure}T09:{rng.randrange(60):02}:00+00:00" if status == "departed" else None,
    }


def room_cents(room_type: int, arrival: date, departure: date) -> int:
    rate = ROOM_TYPES[room_type - 21][2] * 100
    days = [arrival + timedelta(days=night) for night in range((departure - arrival).days)]
    return sum(rate * percent_on(day) // 100 for day in days)


def percent_on(day: date) -> int:
    return next(percent for _, first, last, percent in SEASONS if first <= day.isoformat() <= last)


EXTRAS = {
    "minibar": ("Minibar", "from the minibar", (6, 9, 14, 18, 27, 38)),
    "restaurant": ("Dinner", "in the restaurant", (32, 46, 58, 74)),
    "laundry": ("Laundry", "for laundry", (12, 16, 22, 34)),
    "parking": ("Parking", "for parking", (10, 20, 30, 40)),
}


def bills(rng: random.Random, bookings: list[Row]) -> Rows:
    """Who is in house has charges; who left has paid; some cancelled bookings are still to be paid."""
    charge = payment = 0
    for booking in bookings:
        lines = list(charges_of(rng, booking))
        for line in lines:
            charge += 1
            yield "charges", {"id": 1500 + charge, "booking_id": booking["id"], **line, "void": False}
        paid = paid_cents(rng, booking, lines)
        if paid > 0:
            payment += 1
            day = booking["departure"] if booking["status"] == "departed" else booking["booked_on"]
            method = rng.choice(("card", "card", "transfer", "cash"))
            settled = {"amount_cents": paid, "method": method, "paid_on": day}
            yield "payments", {"id": 2500 + payment, "booking_id": booking["id"], **settled}


def charges_of(rng: random.Random, booking: Row) -> Iterator[Row]:
    status, arrival = booking["status"], booking["arrival"]
    if status == "no_show" or (status == "cancelled" and rng.random() < 0.4):
        whole = "No-show: full" if status == "no_show" else "Cancellation fee: full"
        day = arrival + timedelta(days=1) if status == "no_show" else min(arrival, NOW) - timedelta(days=1)
        yield line("cancellation", whole, booking["room_cents"], day)
    chance = {"in_house": 0.5, "departed": 0.15}.get(status, 0.0)
    for kind, (text, _, prices) in EXTRAS.items():
        if rng.random() < chance:
            last = min(booking["departure"], NOW) - timedelta(days=1)
            yield line(kind, text, 100 * rng.choice(prices), max(arrival, last))


def line(kind: str, text: str, cents: int, day: date) -> Row:
    return {"kind": kind, "description": text, "amount_cents": cents, "charged_on": day}


def paid_cents(rng: random.Random, booking: Row, lines: list[Row]) -> int:
    owed = sum(line["amount_cents"] for line in lines)
    match booking["status"]:
        case "departed":
            return owed + booking["room_cents"] + breakfast_cents(booking)
        case "in_house":
            return rng.choice((0, 0, booking["room_cents"], booking["room_cents"] // 200 * 100))
        case "booked":
            return 0
        case _:
            return owed if rng.random() < 0.5 else 0


def breakfast_cents(booking: Row) -> int:
    nights = (booking["departure"] - booking["arrival"]).days
    return BREAKFAST * booking["persons"] * nights if booking["breakfast"] else 0


def cleaning_rota(rng: random.Random, rooms: list[Row], bookings: list[Row]) -> Iterator[Row]:
    """What was done in the last days and is to be done today; rooms not yet done are dirty."""
    housekeepers = {floor: 61 + place for place, (_, _, floor) in enumerate(STAFF) if floor is not None}
    number, given = 3000, Counter[int]()
    for days in (2, 1):
        for room in rooms[::2]:
            number += 1
            done = {"day": NOW - timedelta(days=days), "kind": "stayover", "status": "done"}
            yield {"id": number, "room_id": room["id"], "staff_id": housekeepers[room["floor"]], **done}
    for room in rooms:
        kind = cleaning_today(rng, room, bookings)
        if kind is None:
            continue
        number, floor = number + 1, room["floor"]
        room["condition"] = "dirty"
        mine = given[floor] < 6 and (floor == 3 or rng.random() < 0.5)
        given[floor] += mine
        staff = housekeepers[floor] if mine else None
        open_today = {"day": NOW, "kind": kind, "status": "open"}
        yield {"id": number, "room_id": room["id"], "staff_id": staff, **open_today}


def cleaning_today(rng: random.Random, room: Row, bookings: list[Row]) -> str | None:
    """departure: for rooms left today, and some left yesterday; stayover: for those in use."""
    mine = [booking for booking in bookings if booking["room_id"] == room["id"]]
    for booking in mine:
        if booking["status"] == "in_house":
            return "departure" if booking["departure"] == NOW else "stayover"
    left = [booking for booking in mine if booking["status"] == "departed"]
    fresh = any((NOW - booking["departure"]).days == 1 for booking in left)
    return "departure" if fresh and rng.random() < 0.5 else None


def repairs(rng: random.Random, rooms: list[Row], bookings: list[Row]) -> Iterator[Row]:
    number = 5000
    for room in rng.sample(rooms, 10):
        number += 1
        first = NOW - timedelta(days=rng.randint(20, 40))
        span = {"first_day": first, "last_day": first + timedelta(days=rng.randint(0, 2)), "status": "done"}
        yield {"id": number, "room_id": room["id"], "issue": rng.choice(ISSUES), **span}
    for room in rng.sample(rooms, len(rooms)):
        gap = free_days(room, bookings)
        if gap is not None and number < 5018:
            number += 1
            span = {"first_day": gap, "last_day": gap + timedelta(days=1), "status": "open"}
            yield {"id": number, "room_id": room["id"], "issue": rng.choice(ISSUES), **span}


def free_days(room: Row, bookings: list[Row]) -> date | None:
    """The first of two days in a row, from tomorrow on, on which nobody needs the room."""
    live = [
        one for one in bookings if one["room_id"] == room["id"] and one["status"] in ("booked", "in_house")
    ]
    for ahead in range(1, 12):
        first = NOW + timedelta(days=ahead)
        last = first + timedelta(days=1)
        if all(one["departure"] <= first or last < one["arrival"] for one in live):
            return first
    return None


# ---------------------------------------------------------------- what templates look at

BOOKINGS = """
    SELECT bookings.*, guests.name AS guest, town, level, email, barred, rooms.number AS room, floor, condition,
           room_type_id, room_types.name AS type, category, sleeps,
           julianday(departure) - julianday(arrival) AS nights
    FROM bookings JOIN guests ON guests.id = guest_id JOIN rooms ON rooms.id = room_id
    JOIN room_types ON room_types.id = room_type_id
"""


def bookings_where(world: World, condition: str, *values: Any) -> list[Row]:
    return world.rows(f"{BOOKINGS} WHERE {condition} ORDER BY bookings.id", *values)


def in_house(world: World, condition: str = "1") -> list[Row]:
    return bookings_where(world, f"status = 'in_house' AND {condition}")


def to_come(world: World, condition: str = "1") -> list[Row]:
    """Bookings to come whose guest has no other live one beginning on the same day."""
    return bookings_where(world, f"status = 'booked' AND NOT barred AND {condition}")


def balance_of(world: World, booking: Row) -> int:
    """As get_booking works it out, in cents."""
    extras = world.value(
        "SELECT COALESCE(SUM(amount_cents), 0) FROM charges WHERE booking_id = ? AND NOT void", booking["id"]
    )
    paid = world.value(
        "SELECT COALESCE(SUM(amount_cents), 0) FROM payments WHERE booking_id = ?", booking["id"]
    )
    if booking["status"] in ("cancelled", "no_show"):
        return extras - paid
    meals = BREAKFAST * booking["persons"] * int(booking["nights"]) if booking["breakfast"] else 0
    return booking["room_cents"] + meals + extras - paid


def free_rooms(world: World, arrival: str, departure: str, room_type: int) -> list[Row]:
    return world.rows(
        """SELECT * FROM rooms WHERE room_type_id = ?3
           AND id NOT IN (SELECT room_id FROM bookings WHERE status IN ('booked', 'in_house')
                          AND arrival < ?2 AND departure > ?1)
           AND id NOT IN (SELECT room_id FROM repairs WHERE status = 'open'
                          AND first_day < ?2 AND last_day >= ?1)
           ORDER BY number""",
        arrival,
        departure,
        room_type,
    )


def is_shared(world: World, name: str) -> bool:
    return world.value("SELECT COUNT(*) FROM guests WHERE name = ?", name) > 1


def named(world: World, guest: Row) -> str:
    """How a colleague says who is meant."""
    name = guest.get("guest", guest.get("name"))
    return f"{name} from {guest['town']}" if is_shared(world, name) else name


def look_up(world: World, guest: Row) -> Row:
    name = guest.get("guest", guest.get("name"))
    return call("search_guests", query=f"{name} {guest['town']}" if is_shared(world, name) else name)


def spoken(day: str) -> str:
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {parsed:%B}"


def later(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def party(persons: int) -> str:
    return ("one person", "two people", "three people", "four people")[persons - 1]


def until_arrival(booking: Row) -> int:
    return (date.fromisoformat(booking["arrival"]) - NOW).days


def dollars(cents: int) -> int | float:
    return cents // 100 if cents % 100 == 0 else cents / 100


def number(cents: int) -> Row:
    return {"number": dollars(cents)}


def in_room(booking: Row) -> Row:
    """The look-up of who is in a room now."""
    return call("list_bookings", room_number=booking["room"], status="in_house")


# ---------------------------------------------------------------- easy


@template("departure-day", difficulty="easy", tags=("read",))
def departure_day(world: World, rng: random.Random) -> Draft | None:
    """When a guest in house leaves."""
    booking = pick(rng, in_house(world))
    if booking is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "When is {guest} leaving us? Just the date, please, as YYYY-MM-DD.",
            "{guest} is staying with us at the moment. On which day do they check out? Answer with the date only "
            "(YYYY-MM-DD).",
            "I need the departure date of {guest}, who is in the house now. Format YYYY-MM-DD, nothing else.",
            guest=named(world, booking),
        ),
        solution=[
            look_up(world, booking),
            call("list_bookings", guest_id=booking["guest_id"], status="in_house"),
        ],
        answer={"text": booking["departure"]},
    )


@template("who-booked", difficulty="easy", tags=("read",))
def who_booked(world: World, rng: random.Random) -> Draft | None:
    """The email address behind a booking reference."""
    booking = pick(rng, bookings_where(world, "status IN ('booked', 'cancelled', 'no_show')"))
    if booking is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Which email address do we have for the guest of booking {reference}? Only the address.",
            "I want to write to whoever made booking {reference}. What is their email address? Answer with that "
            "alone.",
            "Booking {reference}: please give me the guest's email address and nothing else.",
            reference=booking["reference"],
        ),
        solution=[
            call("list_bookings", reference=booking["reference"]),
            call("get_guest", guest_id=booking["guest_id"]),
        ],
        answer={"text": booking["email"]},
    )


@template("balance", difficulty="easy", tags=("read",))
def open_balance(world: World, rng: random.Random) -> Draft | None:
    """What a room still has to pay."""
    booking = pick(rng, in_house(world))
    if booking is None or balance_of(world, booking) <= 0:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How much is still open on the bill of room {room}? Dollars, number only.",
            "The guest in room {room} asks what there is left to pay. Tell me the amount in dollars, as a number.",
            "What is the balance of the people now in {room}? Just the number of dollars.",
            room=booking["room"],
        ),
        solution=[in_room(booking), call("get_booking", booking_id=booking["id"])],
        answer=number(balance_of(world, booking)),
    )


@template("quote", difficulty="easy", tags=("read",))
def quote(world: World, rng: random.Random) -> Draft | None:
    """What a stay would cost, across seasons."""
    kind = rng.choice(world.rows("SELECT * FROM room_types ORDER BY id"))
    arrival = later(TODAY, rng.randint(6, 70))
    departure = later(arrival, rng.randint(2, 7))
    persons, breakfast = rng.randint(1, kind["sleeps"]), rng.random() < 0.5
    nights = (date.fromisoformat(departure) - date.fromisoformat(arrival)).days
    total = room_cents(kind["id"], date.fromisoformat(arrival), date.fromisoformat(departure))
    total += BREAKFAST * persons * nights if breakfast else 0
    return Draft(
        prompt=phrase(
            rng,
            "A caller asks what a {kind} room costs from {arrival} to {departure} for {persons}, {meals} breakfast. "
            "Give me the total in dollars, number only.",
            "Please work out the price of a {kind} room for {persons}, arriving {arrival} and leaving {departure}, "
            "{meals} breakfast. Only the total in dollars.",
            "How many dollars is it all together for {persons} in a {kind} room, {arrival} to {departure}, {meals} "
            "breakfast? Number only.",
            kind=kind["name"],
            arrival=spoken(arrival),
            departure=spoken(departure),
            persons=party(persons),
            meals="with" if breakfast else "without",
        ),
        solution=[
            call("list_room_types"),
            call(
                "quote_stay",
                room_type_id=kind["id"],
                arrival=arrival,
                departure=departure,
                persons=persons,
                breakfast=breakfast,
            ),
        ],
        answer=number(total),
    )


@template("free-rooms", difficulty="easy", tags=("read",))
def which_rooms_are_free(world: World, rng: random.Random) -> Draft | None:
    """The numbers of the free rooms of a type."""
    kind = rng.choice(world.rows("SELECT * FROM room_types ORDER BY id"))
    arrival = later(TODAY, rng.randint(1, 25))
    departure = later(arrival, rng.randint(2, 5))
    free = free_rooms(world, arrival, departure, kind["id"])
    if not 1 <= len(free) <= 4:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Which {kind} rooms are free from {arrival} to {departure}? Room numbers only, separated by commas.",
            "Somebody wants a {kind} room, arriving {arrival} and leaving {departure}. List the numbers of the rooms "
            "we could give them, separated by commas.",
            "Tell me the numbers of all {kind} rooms that nobody needs between {arrival} and {departure} (day of "
            "leaving). Just the numbers with commas.",
            kind=kind["name"],
            arrival=spoken(arrival),
            departure=spoken(departure),
        ),
        solution=[
            call("list_room_types"),
            call("find_free_rooms", arrival=arrival, departure=departure, room_type_id=kind["id"]),
        ],
        answer={"list": [room["number"] for room in free]},
    )


@template("add-charge", difficulty="easy", tags=("write",))
def put_on_the_bill(world: World, rng: random.Random) -> Draft | None:
    """A charge for a room."""
    booking = pick(rng, in_house(world))
    kind, (text, what, _) = rng.choice(list(EXTRAS.items()))
    amount = rng.choice((7.5, 11, 13.2, 19, 24, 28.4, 41))
    if booking is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'Please put ${amount} {what} on the bill of room {room}, described as "{text}".',
            'Room {room} owes us ${amount} {what}. Add it to their bill; the text is "{text}".',
            'Charge room {room} ${amount} {what}, with the description "{text}".',
            amount=f"{amount:.2f}",
            what=what,
            room=booking["room"],
            text=text,
        ),
        solution=[
            in_room(booking),
            call("add_charge", booking_id=booking["id"], kind=kind, amount=amount, description=text),
        ],
    )


@template("breakfast", difficulty="easy", tags=("write",))
def change_breakfast(world: World, rng: random.Random) -> Draft | None:
    """Breakfast on or off."""
    booking = pick(rng, bookings_where(world, "status IN ('booked', 'in_house')"))
    if booking is None:
        return None
    wishes = (
        ("leave breakfast off", "without breakfast after all", "no breakfast")
        if booking["breakfast"]
        else ("add breakfast", "with breakfast after all", "breakfast")
    )
    return Draft(
        prompt=phrase(
            rng,
            "Booking {reference}: they would like us to {verb} for the whole stay. Please change it.",
            "The guest of {reference} has changed their mind and wants to stay {after}. Can you see to it?",
            "Please note on {reference} that the party wants {noun}.",
            reference=booking["reference"],
            verb=wishes[0],
            after=wishes[1],
            noun=wishes[2],
        ),
        solution=[
            call("list_bookings", reference=booking["reference"]),
            call("set_breakfast", booking_id=booking["id"], breakfast=not booking["breakfast"]),
        ],
    )


@template("guest-details", difficulty="easy", tags=("write",))
def new_contact(world: World, rng: random.Random) -> Draft | None:
    """A guest's new phone number or email address."""
    guest = rng.choice(world.rows("SELECT * FROM guests ORDER BY id"))
    if rng.random() < 0.5:
        what, value = "phone", f"+44 117 496 {rng.randrange(10_000):04}"
    else:
        first, last = guest["name"].lower().split(" ", 1)
        what, value = "email", f"{last.replace(' ', '')}.{first}{rng.randrange(10, 99)}@newmail.example"
    return Draft(
        prompt=phrase(
            rng,
            "{guest} has a new {what}: {value}. Please correct our records.",
            "Change the {what} of {guest} to {value}, please.",
            "From today {guest} can be reached at {value} ({what}). Update it, please.",
            guest=named(world, guest),
            what="phone number" if what == "phone" else "email address",
            value=value,
        ),
        solution=[look_up(world, guest), call("update_guest", guest_id=guest["id"], **{what: value})],
    )


@template("payment", difficulty="easy", tags=("write",))
def take_payment(world: World, rng: random.Random) -> Draft | None:
    """A part payment."""
    booking = pick(rng, in_house(world))
    if booking is None:
        return None
    paid = rng.choice((5000, 8000, 12000, 15000))
    if paid >= balance_of(world, booking):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Room {room} has just paid ${paid} {method}. Please record it.",
            "Please book a payment of ${paid} {method} from the guest in {room}.",
            "I took ${paid} {method} from the people in room {room}: enter it on their bill, please.",
            room=booking["room"],
            paid=paid // 100,
            method="in cash" if (method := rng.choice(("card", "cash"))) == "cash" else "by card",
        ),
        solution=[
            in_room(booking),
            call("record_payment", booking_id=booking["id"], amount=paid // 100, method=method),
        ],
    )


@template("repair-done", difficulty="easy", tags=("write",))
def repair_is_done(world: World, rng: random.Random) -> Draft | None:
    """A repair that is finished early."""
    repair = pick(
        rng,
        world.rows(
            "SELECT repairs.*, rooms.number AS room FROM repairs JOIN rooms ON rooms.id = room_id "
            "WHERE status = 'open' ORDER BY repairs.id"
        ),
    )
    if repair is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Good news, the repair in room {room} is finished already ({issue}). Please let the room be booked again.",
            "The fitter is done with the {issue} in {room}. Close that repair.",
            "Room {room}: {issue} mended ahead of time. Please mark the open repair as done.",
            room=repair["room"],
            issue=repair["issue"].lower(),
        ),
        solution=[
            call("list_repairs", room_number=repair["room"], status="open"),
            call("finish_repair", repair_id=repair["id"]),
        ],
    )


# ---------------------------------------------------------------- medium


@template("book-room", difficulty="medium", tags=("write",))
def book_room(world: World, rng: random.Random) -> Draft | None:
    """A new booking in the lowest-numbered free room of a type."""
    guest = pick(rng, world.rows("SELECT * FROM guests WHERE NOT barred ORDER BY id"))
    kind = rng.choice(world.rows("SELECT * FROM room_types ORDER BY id"))
    arrival = later(TODAY, rng.randint(3, 40))
    departure = later(arrival, rng.randint(1, 5))
    free = free_rooms(world, arrival, departure, kind["id"])
    if guest is None or not free or owes_for_the_past(world, guest["id"]):
        return None
    persons, breakfast = rng.randint(1, kind["sleeps"]), rng.random() < 0.5
    return Draft(
        prompt=phrase(
            rng,
            "{guest} would like a {kind} room from {arrival} to {departure} for {persons}, {meals} breakfast. Take "
            "the free one with the lowest number.",
            "Please book the lowest-numbered free {kind} room for {guest}: arriving {arrival}, leaving {departure}, "
            "{persons}, {meals} breakfast.",
            "I have {guest} on the phone, who wants to come on {arrival} and leave on {departure}, {persons}, {meals} "
            "breakfast, in a {kind} room. Of those that are free, give them the lowest number.",
            guest=named(world, guest),
            kind=kind["name"],
            arrival=spoken(arrival),
            departure=spoken(departure),
            persons=party(persons),
            meals="with" if breakfast else "without",
        ),
        solution=[
            look_up(world, guest),
            call("list_room_types"),
            call("find_free_rooms", arrival=arrival, departure=departure, room_type_id=kind["id"]),
            call(
                "book_stay",
                guest_id=guest["id"],
                room_id=free[0]["id"],
                arrival=arrival,
                departure=departure,
                persons=persons,
                breakfast=breakfast,
            ),
        ],
    )


def owes_for_the_past(world: World, guest: int) -> int:
    """Cents that a guest owes for bookings that are over."""
    over = bookings_where(world, "status IN ('departed', 'cancelled', 'no_show') AND guest_id = ?", guest)
    return sum(balance_of(world, booking) for booking in over)


@template("any-free-room", difficulty="medium", tags=("write", "free-choice"))
def any_free_room(world: World, rng: random.Random) -> Draft | None:
    """A new booking in whichever room of a type is free."""
    guest = pick(rng, world.rows("SELECT * FROM guests WHERE NOT barred ORDER BY id"))
    kind = rng.choice(world.rows("SELECT * FROM room_types WHERE category <= 3 ORDER BY id"))
    arrival = later(TODAY, rng.randint(3, 30))
    departure = later(arrival, rng.randint(1, 4))
    free = free_rooms(world, arrival, departure, kind["id"])
    if guest is None or len(free) < 2 or owes_for_the_past(world, guest["id"]):
        return None
    made = (
        "SELECT guest_id, room_type_id, arrival, departure, persons, breakfast, room_cents, status, late_until, "
        "booked_on, checked_in_at, checked_out_at FROM bookings JOIN rooms ON rooms.id = room_id "
        "WHERE bookings.id NOT IN (SELECT id FROM initial.bookings)"
    )
    price = room_cents(kind["id"], date.fromisoformat(arrival), date.fromisoformat(departure))
    stay_row = [guest["id"], kind["id"], arrival, departure, 1, 0, price, "booked", None, TODAY, None, None]
    kept = "SELECT COUNT(*) FROM (SELECT * FROM initial.bookings EXCEPT SELECT * FROM bookings)"
    return Draft(
        prompt=phrase(
            rng,
            "{guest} needs a {kind} room from {arrival} to {departure}, one person, no breakfast, and does not mind "
            "which. Book any that is free.",
            "Please find some {kind} room for {guest} (alone, no breakfast), {arrival} to {departure}. It does not "
            "matter which one.",
            "Any {kind} room will do for {guest}: coming alone on {arrival}, leaving {departure}, without breakfast. "
            "Book one.",
            guest=named(world, guest),
            kind=kind["name"],
            arrival=spoken(arrival),
            departure=spoken(departure),
        ),
        solution=[
            look_up(world, guest),
            call("list_room_types"),
            call("find_free_rooms", arrival=arrival, departure=departure, room_type_id=kind["id"]),
            call(
                "book_stay",
                guest_id=guest["id"],
                room_id=free[0]["id"],
                arrival=arrival,
                departure=departure,
                persons=1,
            ),
        ],
        verify={
            "kind": "sql",
            "may_change": ["bookings"],
            "assert": [{"sql": made, "equals": [stay_row]}, {"sql": kept, "equals": [[0]]}],
        },
    )


@template("move-booking", difficulty="medium", tags=("write",))
def move_booking(world: World, rng: random.Random) -> Draft | None:
    """Other days for a booking, in the same room."""
    booking = pick(rng, to_come(world))
    if booking is None:
        return None
    shift = rng.choice((-2, -1, 1, 2, 3))
    arrival, departure = later(booking["arrival"], shift), later(booking["departure"], shift)
    if arrival < TODAY or not is_free_but_for(world, booking, arrival, departure):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{guest}, who was to come on {old}, would rather stay from {arrival} to {departure}. Same room, please.",
            "Please move {guest}'s booking of {old} to new dates: arriving {arrival}, leaving {departure}.",
            "{guest} rang: the trip that was to begin on {old} is now {arrival} until {departure}. Change the booking "
            "and keep the room.",
            guest=named(world, booking),
            old=spoken(booking["arrival"]),
            arrival=spoken(arrival),
            departure=spoken(departure),
        ),
        solution=[
            look_up(world, booking),
            call("list_bookings", guest_id=booking["guest_id"], status="booked"),
            call("move_booking", booking_id=booking["id"], arrival=arrival, departure=departure),
        ],
    )


def is_free_but_for(world: World, booking: Row, arrival: str, departure: str) -> bool:
    others = bookings_where(
        world,
        "room_id = ? AND bookings.id <> ? AND status IN ('booked', 'in_house') AND arrival < ? AND departure > ?",
        booking["room_id"],
        booking["id"],
        departure,
        arrival,
    )
    broken = world.value(
        "SELECT COUNT(*) FROM repairs WHERE room_id = ? AND status = 'open' AND first_day < ? AND last_day >= ?",
        booking["room_id"],
        departure,
        arrival,
    )
    return not others and not broken


@template("cancel-by-the-rules", difficulty="medium", tags=("write", "policy"))
def cancel_by_the_rules(world: World, rng: random.Random) -> Draft | None:
    """A cancellation with the fee that the house rules ask for."""
    soon = later(TODAY, 2 if rng.random() < 0.75 else 6)
    booking = pick(rng, to_come(world, f"arrival <= '{soon}'"))
    if booking is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{guest} cannot come on {arrival} and cancels. Please do it as our house rules say, fee included.",
            "Cancel the booking of {guest} for {arrival}, charging whatever our rules ask for in this case.",
            "We have a cancellation: {guest}, arrival {arrival}. Look up what fee our rules want, if any, and cancel.",
            guest=named(world, booking),
            arrival=spoken(booking["arrival"]),
        ),
        solution=[
            call("read_policy"),
            look_up(world, booking),
            call("list_bookings", guest_id=booking["guest_id"], status="booked"),
            call("cancel_booking", booking_id=booking["id"], fee=cancellation_fee(booking)),
        ],
    )


def cancellation_fee(booking: Row) -> str:
    days = until_arrival(booking)
    if booking["level"] == "gold":
        return "none" if days >= 1 else "first_night"
    return "none" if days >= 3 else "first_night" if days >= 1 else "full"


@template("late-check-out", difficulty="medium", tags=("write", "policy"))
def late_check_out(world: World, rng: random.Random) -> Draft | None:
    """A late check-out at this guest's fee."""
    booking = pick(rng, in_house(world, "level <> 'none'" if rng.random() < 0.7 else "1"))
    until = rng.choice(("13:00", "16:00"))
    if booking is None or (until == "16:00" and somebody_arrives(world, booking)):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "The guest in room {room} wants to keep it until {until} on the day of departure. Allow it and charge what "
            "our rules say for somebody of their level.",
            "Room {room} asks for a late check-out until {until}. Please grant it at the fee that our house rules set "
            "for this guest.",
            "Late check-out until {until} for {room}, please. Mind that the fee depends on the membership.",
            room=booking["room"],
            until=until,
        ),
        solution=[
            call("read_policy"),
            in_room(booking),
            call("get_guest", guest_id=booking["guest_id"]),
            call(
                "grant_late_checkout",
                booking_id=booking["id"],
                until=until,
                fee=late_fee(booking["level"], until),
            ),
        ],
    )


def somebody_arrives(world: World, booking: Row) -> bool:
    """Whether the room is booked from the day on which the guest leaves."""
    return bool(
        bookings_where(
            world,
            "status = 'booked' AND room_id = ? AND arrival = ?",
            booking["room_id"],
            booking["departure"],
        )
    )


def late_fee(level: str, until: str) -> float:
    fees = {
        "none": {"13:00": 20, "16:00": 45},
        "silver": {"13:00": 10, "16:00": 22.5},
        "gold": {"13:00": 0, "16:00": 20},
    }
    return fees[level][until]


@template("late-check-out-price", difficulty="medium", tags=("read", "policy", "arithmetic"))
def late_check_out_price(world: World, rng: random.Random) -> Draft | None:
    """What a late check-out would cost a guest."""
    booking = pick(rng, in_house(world, "level <> 'none'" if rng.random() < 0.7 else "1"))
    until = rng.choice(("13:00", "16:00"))
    if booking is None:
        return None
    fee = late_fee(booking["level"], until)
    if fee == 0:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Room {room} asks what a late check-out until {until} would cost them. Only tell me the dollars, do not "
            "book it yet.",
            "What would we charge the guest in {room} for staying until {until} on the last day? Number of dollars "
            "only; they have not decided.",
            "Before I promise anything: what is the fee for {room} to leave at {until}? Just the number, in dollars, "
            "and change nothing.",
            room=booking["room"],
            until=until,
        ),
        solution=[
            call("read_policy"),
            in_room(booking),
            call("get_guest", guest_id=booking["guest_id"]),
        ],
        answer={"number": fee},
        about=[booking["id"], until],
    )


@template("complaint", difficulty="medium", tags=("write", "policy"))
def complaint(world: World, rng: random.Random) -> Draft | None:
    """A credit by the rules."""
    booking = pick(rng, in_house(world))
    if booking is None:
        return None
    reason, percent, what = rng.choice(
        (
            ("noise", 10, "could not sleep for the noise"),
            ("heating", 20, "had no heating last night"),
            ("shower", 20, "has had a cold shower twice"),
            ("lift", 20, "had to walk because the lift stood still"),
        )
    )
    amount = min(60, booking["room_cents"] * percent // 10_000)
    return Draft(
        prompt=phrase(
            rng,
            "The guest in room {room} {what}. Please give them the credit that our rules provide for ({reason}).",
            "Room {room} complains: the guest {what}. Credit their bill according to the house rules, reason {reason}.",
            "Somebody in {room} {what} and is cross. See what our rules allow when it is the {reason}, and take it off "
            "the bill.",
            room=booking["room"],
            what=what,
            reason=reason,
        ),
        solution=[
            call("read_policy"),
            in_room(booking),
            call("give_credit", booking_id=booking["id"], amount=amount, reason=reason),
        ],
    )


@template("give-cleaning", difficulty="medium", tags=("write", "policy"))
def give_cleaning(world: World, rng: random.Random) -> Draft | None:
    """An unassigned cleaning for whom the rules name."""
    cleaning = pick(
        rng,
        world.rows(
            "SELECT cleanings.*, number AS room, floor FROM cleanings JOIN rooms ON rooms.id = room_id "
            "WHERE status = 'open' AND staff_id IS NULL ORDER BY cleanings.id"
        ),
    )
    if cleaning is None:
        return None
    floor_staff = world.value("SELECT id FROM staff WHERE floor = ?", cleaning["floor"])
    full = world.value(
        "SELECT COUNT(*) FROM cleanings WHERE staff_id = ? AND status = 'open' AND day = ?",
        floor_staff,
        TODAY,
    )
    staff = floor_staff if full < 6 else world.value("SELECT id FROM staff WHERE name = 'Ivana Kos'")
    return Draft(
        prompt=phrase(
            rng,
            "Nobody has been given today's cleaning of room {room}. Give it to whoever should do it by our house "
            "rules.",
            "Who cleans {room} today? It is still unassigned: please settle it according to the rules.",
            "Today's cleaning of room {room} has no housekeeper yet. Assign the right one; the house rules say who.",
            room=cleaning["room"],
        ),
        solution=[
            call("read_policy"),
            call("list_cleanings", room_number=cleaning["room"], status="open"),
            call("list_staff", role="housekeeper"),
            call("assign_cleaning", cleaning_id=cleaning["id"], staff_id=staff),
        ],
    )


@template("check-in", difficulty="medium", tags=("write",))
def check_in(world: World, rng: random.Random) -> Draft | None:
    """Guests at the desk whose room is ready."""
    ready = "arrival = ? AND condition = 'clean' AND NOT barred AND status = 'booked'"
    booking = pick(rng, bookings_where(world, ready, TODAY))
    if booking is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{guest} is at the desk. Please check them in.",
            "{guest} has arrived early. The room is ready: check the booking in, please.",
            "Check-in for {guest}, please. They arrive today.",
            guest=named(world, booking),
        ),
        solution=[
            look_up(world, booking),
            call("list_bookings", guest_id=booking["guest_id"], status="booked"),
            call("check_in", booking_id=booking["id"]),
        ],
    )


@template("disputed-charge", difficulty="medium", tags=("write", "policy", "condition"))
def disputed_charge(world: World, rng: random.Random) -> Draft | None:
    """A charge that is voided, or stays when it is too large."""
    charge = pick(
        rng,
        world.rows(
            "SELECT charges.*, number AS room FROM charges JOIN bookings ON bookings.id = booking_id "
            "JOIN rooms ON rooms.id = room_id WHERE bookings.status = 'in_house' "
            "AND kind IN ('minibar', 'restaurant', 'laundry') ORDER BY charges.id"
        ),
    )
    if charge is None:
        return None
    voided = charge["amount_cents"] <= 3000
    if not voided and rng.random() < 0.6:
        return None
    look = [
        call("read_policy"),
        call("list_bookings", room_number=charge["room"], status="in_house"),
        call("get_booking", booking_id=charge["booking_id"]),
    ]
    booking = bookings_where(world, "bookings.id = ?", charge["booking_id"])[0]
    return Draft(
        prompt=phrase(
            rng,
            "The guest in room {room} swears the {kind} charge is not theirs. Take it off if our rules on disputed "
            "charges let you; if not, leave it and tell me the amount in dollars, number only.",
            "Room {room} disputes the {kind} on the bill. If the house rules say that it can go, void it. If they do "
            "not, change nothing and answer with the dollars it is about, as a number.",
            "There is a dispute over the {kind} charge of {room}. Handle it by the house rules. Should it have to stay, "
            "I need the amount for the manager: just the dollars.",
            room=charge["room"],
            kind=charge["kind"],
        ),
        solution=[*look, *([call("void_charge", charge_id=charge["id"])] if voided else [])],
        answer=None if voided else number(charge["amount_cents"]),
        tags=("write" if voided else "read", "policy", "condition"),
        about=booking["id"],
    )


@template("extend-stay", difficulty="medium", tags=("write", "condition"))
def extend_stay(world: World, rng: random.Random) -> Draft | None:
    """More nights in the same room if it is free; else say who comes."""
    booking = pick(rng, in_house(world))
    if booking is None:
        return None
    departure = later(booking["departure"], rng.choice((1, 2, 3)))
    others = bookings_where(
        world,
        "room_id = ? AND status = 'booked' AND arrival < ? AND departure > ?",
        booking["room_id"],
        departure,
        booking["arrival"],
    )
    free = is_free_but_for(world, booking, booking["arrival"], departure)
    if not free and len(others) != 1:
        return None
    extend = call("move_booking", booking_id=booking["id"], arrival=booking["arrival"], departure=departure)
    look = call("list_bookings", room_number=booking["room"], status="booked")
    return Draft(
        prompt=phrase(
            rng,
            "{guest}, who is staying with us, would like to stay on until {departure}. If their room is free for it, "
            "extend the stay. If not, change nothing and answer with the reference of the booking in the way, nothing "
            "else.",
            "{guest} is in the house and asks to leave only on {departure}. Extend it if nobody else has the room; if "
            "somebody has, leave all as it is and give me only the reference of that booking.",
            "Can {guest} keep the room until {departure}? If so, do it. If not, just tell me the reference of the "
            "booking that prevents it.",
            guest=named(world, booking),
            departure=spoken(departure),
        ),
        solution=[
            look_up(world, booking),
            call("list_bookings", guest_id=booking["guest_id"], status="in_house"),
            look,
            *([extend] if free else []),
        ],
        answer=None if free else {"text": others[0]["reference"]},
        tags=("write" if free else "read", "condition"),
    )


# ---------------------------------------------------------------- hard


@template("settle-and-leave", difficulty="hard", tags=("write",))
def settle_and_leave(world: World, rng: random.Random) -> Draft | None:
    """The last charge, the whole bill, and the key back."""
    booking = pick(rng, in_house(world, f"departure = '{TODAY}'"))
    if booking is None:
        return None
    amount = rng.choice((400, 650, 900, 1200))
    owed = balance_of(world, booking) + amount
    if owed <= amount:
        return None
    method = rng.choice(("card", "cash"))
    return Draft(
        prompt=phrase(
            rng,
            'Room {room} is leaving. They had something from the minibar for ${amount}: put it on the bill as "Minibar", '
            "take the whole balance {method}, check them out, and tell me how many dollars they paid just now. Number "
            "only.",
            'Please check out room {room}: add ${amount} for the minibar ("Minibar"), record the payment of everything '
            "that is then open ({method}) and close the stay. Answer with the amount paid today, a number of dollars.",
            'The guest in {room} is at the desk with the suitcase. Minibar first (${amount}, text "Minibar"), then the '
            "whole rest is paid {method}, then check-out. What did they pay now, in dollars? Just the number.",
            room=booking["room"],
            amount=f"{amount / 100:.2f}",
            method="by card" if method == "card" else "in cash",
        ),
        solution=[
            in_room(booking),
            call("get_booking", booking_id=booking["id"]),
            call(
                "add_charge",
                booking_id=booking["id"],
                kind="minibar",
                amount=amount / 100,
                description="Minibar",
            ),
            call("get_booking", booking_id=booking["id"]),
            call("record_payment", booking_id=booking["id"], amount=dollars(owed), method=method),
            call("check_out", booking_id=booking["id"]),
        ],
        answer=number(owed),
    )


@template("room-not-ready", difficulty="hard", tags=("write",))
def room_not_ready(world: World, rng: random.Random) -> Draft | None:
    """A guest at the desk, a dirty room, and another one of the same type that is clean and free."""
    booking = pick(
        rng,
        bookings_where(
            world, "arrival = ? AND condition = 'dirty' AND NOT barred AND status = 'booked'", TODAY
        ),
    )
    if booking is None:
        return None
    free = free_rooms(world, booking["arrival"], booking["departure"], booking["room_type_id"])
    clean = [
        room
        for room in free
        if room["condition"] == "clean"
        and not world.value(
            "SELECT COUNT(*) FROM bookings WHERE room_id = ? AND status = 'in_house'", room["id"]
        )
    ]
    if not clean:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{guest} is here, but their room is not ready. Give them the lowest-numbered room of the same type that is "
            "free for the whole stay and clean, at the price they booked, and check them in. Answer with the room "
            "number only.",
            "{guest} has arrived and the room is still dirty. Please put them into a clean, free room of the same type "
            "(the lowest number), keep the price, check them in, and tell me just the number of the new room.",
            "We cannot let {guest} wait until the room is cleaned. Swap it for the lowest-numbered clean one of its "
            "type that is free until they leave, price unchanged, then check them in. Which room is it? Number only.",
            guest=named(world, booking),
        ),
        solution=[
            look_up(world, booking),
            call("list_bookings", guest_id=booking["guest_id"], status="booked"),
            call("list_rooms", number=booking["room"]),
            call("list_room_types"),
            call(
                "find_free_rooms",
                arrival=booking["arrival"],
                departure=booking["departure"],
                room_type_id=booking["room_type_id"],
            ),
            call("change_room", booking_id=booking["id"], room_id=clean[0]["id"], keep_price=True),
            call("check_in", booking_id=booking["id"]),
        ],
        answer={"text": clean[0]["number"]},
    )


@template("largest-balance", difficulty="hard", tags=("read",))
def largest_balance(world: World, rng: random.Random) -> Draft | None:
    """Of those who leave on a day, who owes most."""
    day = later(TODAY, rng.randrange(6))
    leaving = in_house(world, f"departure = '{day}'")
    if not 5 <= len(leaving) <= 11:
        return None
    leaving.sort(key=lambda one: (one["arrival"], one["id"]))
    owed = sorted(((balance_of(world, one), one["guest"]) for one in leaving), reverse=True)
    best, name = owed[0]
    if best == owed[1][0] or best <= 0:
        return None
    by_amount = rng.random() < 0.5
    return Draft(
        prompt=phrase(
            rng,
            "Of all guests in house who leave on {day}, who owes us the most? {wanted}",
            "Go through the bills of the guests now here who depart on {day} and find the largest balance. {wanted}",
            "I am preparing the departures of {day}: which of the guests in the house has the highest open bill? "
            "{wanted}",
            day=spoken(day),
            wanted="Answer with the open amount in dollars, number only."
            if by_amount
            else "Answer with the full name only.",
        ),
        solution=[
            call("list_bookings", status="in_house", departing_on=day),
            *(call("get_booking", booking_id=one["id"]) for one in leaving),
        ],
        answer=number(best) if by_amount else {"text": name},
    )


@template("levels-earned", difficulty="hard", tags=("write", "policy", "condition"))
def levels_earned(world: World, rng: random.Random) -> Draft | None:
    """Two guests who ask about their membership."""
    guests = rng.sample(world.rows("SELECT * FROM guests ORDER BY id"), 2)
    raised = [(guest, earned) for guest in guests if (earned := level_to_raise(world, guest)) is not None]
    if not raised:
        return None
    looks = [
        step
        for guest in guests
        for step in (
            look_up(world, guest),
            call("list_bookings", guest_id=guest["id"], status="departed"),
        )
    ]
    return Draft(
        prompt=phrase(
            rng,
            "{one} and {other} both ask whether they have earned a higher membership level. Check it against our rules "
            "and raise the level of whoever has.",
            "Please see whether {one} or {other} is due a better membership by our house rules, and put it right where "
            "they are.",
            "Two letters about membership today: {one} and {other}. Count their stays as the rules say and raise those "
            "who deserve it, to the level that they deserve.",
            one=named(world, guests[0]),
            other=named(world, guests[1]),
        ),
        solution=[
            call("read_policy"),
            *looks,
            *(call("set_member_level", guest_id=guest["id"], level=level) for guest, level in raised),
        ],
    )


def level_to_raise(world: World, guest: Row) -> str | None:
    stays = world.value(
        "SELECT COUNT(*) FROM bookings WHERE guest_id = ? AND status = 'departed'", guest["id"]
    )
    earned = 2 if stays >= 3 else 1 if stays >= 2 else 0
    levels = ("none", "silver", "gold")
    return levels[earned] if earned > levels.index(guest["level"]) else None


@template("cancel-and-rebook", difficulty="hard", tags=("write", "policy"))
def cancel_and_rebook(world: World, rng: random.Random) -> Draft | None:
    """One booking cancelled by the rules, another one made."""
    booking = pick(rng, to_come(world, f"arrival <= '{later(TODAY, 12)}'"))
    if booking is None or owes_for_the_past(world, booking["guest_id"]):
        return None
    arrival = later(booking["arrival"], rng.randint(14, 40))
    departure = later(arrival, int(booking["nights"]))
    free = free_rooms(world, arrival, departure, booking["room_type_id"])
    if not free or cancellation_fee(booking) != "none":
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{guest} cannot come on {old}. Cancel that by our rules, then book the lowest-numbered free room of the "
            "same type from {arrival} to {departure}, for as many people and with breakfast as before.",
            "{guest} wants to put off the stay of {old} and cancels it (fee as in the rules). Instead they come from "
            "{arrival} to {departure}: same type of room, the free one with the lowest number, party and breakfast "
            "as they were.",
            "Please cancel what {guest} has booked for {old}, charging what the rules ask, and make a new booking for "
            "{arrival} to {departure} with the same number of people, the same breakfast choice and room type. Lowest "
            "free room number.",
            guest=named(world, booking),
            old=spoken(booking["arrival"]),
            arrival=spoken(arrival),
            departure=spoken(departure),
        ),
        solution=[
            call("read_policy"),
            look_up(world, booking),
            call("list_bookings", guest_id=booking["guest_id"], status="booked"),
            call("cancel_booking", booking_id=booking["id"], fee="none"),
            call("list_room_types"),
            call(
                "find_free_rooms", arrival=arrival, departure=departure, room_type_id=booking["room_type_id"]
            ),
            call(
                "book_stay",
                guest_id=booking["guest_id"],
                room_id=free[0]["id"],
                arrival=arrival,
                departure=departure,
                persons=booking["persons"],
                breakfast=bool(booking["breakfast"]),
            ),
        ],
    )


@template("upgrade", difficulty="hard", tags=("write", "policy", "condition"))
def upgrade(world: World, rng: random.Random) -> Draft | None:
    """A free upgrade where the rules allow one; else what the better room costs."""
    booking = pick(rng, to_come(world, "category < 5"))
    if booking is None:
        return None
    level, nights = booking["level"], int(booking["nights"])
    allowed = level == "gold" or (level == "silver" and nights <= 2)
    above = free_rooms(world, booking["arrival"], booking["departure"], booking["room_type_id"] + 1)
    given = bool(allowed and above)
    if not given and rng.random() < 0.85:
        return None
    asked = {"arrival": booking["arrival"], "departure": booking["departure"]}
    better = booking["room_type_id"] + 1
    days = [date.fromisoformat(day) for day in asked.values()]
    if given:
        end = call("change_room", booking_id=booking["id"], room_id=above[0]["id"], keep_price=True)
    else:
        end = call("quote_stay", room_type_id=better, **asked)
    return Draft(
        prompt=phrase(
            rng,
            "{guest}, arriving {arrival}, asks for a free upgrade. Give it if our house rules allow it. If they do not, "
            "leave the booking alone and tell me what a room of the next category would cost for those nights, without "
            "breakfast: dollars, number only.",
            "Can {guest} have a better room at no extra cost for the stay beginning {arrival}? If the rules let us, "
            "change it. Otherwise work out the room price one category up for the same nights (no breakfast) and answer "
            "with that number of dollars.",
            "A free upgrade is wanted for {guest} ({arrival}). If, and only if, the rules let us, move the booking. If "
            "not, I need just the price in dollars of one category higher for the same days, room only.",
            guest=named(world, booking),
            arrival=spoken(booking["arrival"]),
        ),
        solution=[
            call("read_policy"),
            look_up(world, booking),
            call("list_bookings", guest_id=booking["guest_id"], status="booked"),
            call("list_room_types"),
            call("find_free_rooms", room_type_id=better, **asked),
            end,
        ],
        answer=None if given else number(room_cents(better, *days)),
        tags=("write" if given else "read", "policy", "condition"),
    )


@template("broken-room", difficulty="hard", tags=("write", "policy"))
def broken_room(world: World, rng: random.Random) -> Draft | None:
    """A repair in a room that is booked: its guest is moved by the rules first."""
    booking = pick(rng, to_come(world, f"arrival > '{TODAY}'"))
    if booking is None:
        return None
    first = later(booking["arrival"], rng.choice((-1, 0, 1)) if booking["nights"] > 1 else 0)
    last = later(first, rng.randint(0, 1))
    free = free_rooms(world, booking["arrival"], booking["departure"], booking["room_type_id"])
    if first <= TODAY or not free or not is_free_but_for(world, booking, first, later(last, 1)):
        return None
    issue = rng.choice(ISSUES)
    return Draft(
        prompt=phrase(
            rng,
            'Room {room} needs a repair {span}, issue "{issue}". Move whoever is booked there then, as '
            "our rules say, and take the room out of use. Which room do those guests get? Number only.",
            'The fitters want room {room} {span} ("{issue}"). Follow the house rules for broken '
            "rooms with the booking that is in the way, report the repair, and tell me just the number of the room "
            "that the guests now have.",
            '"{issue}" in {room}: the room is out of use {span}. Please deal with the '
            "booking there according to the rules, then block the room. I need the guests' new room number, nothing "
            "else.",
            room=booking["room"],
            span=f"on {spoken(first)}" if first == last else f"on {spoken(first)} and {spoken(last)}",
            issue=issue,
        ),
        solution=[
            call("read_policy"),
            call("list_rooms", number=booking["room"]),
            call("list_bookings", room_number=booking["room"], status="booked"),
            call("list_room_types"),
            call(
                "find_free_rooms",
                arrival=booking["arrival"],
                departure=booking["departure"],
                room_type_id=booking["room_type_id"],
            ),
            call("change_room", booking_id=booking["id"], room_id=free[0]["id"], keep_price=True),
            call("report_repair", room_id=booking["room_id"], issue=issue, first_day=first, last_day=last),
        ],
        answer={"text": free[0]["number"]},
    )


@template("owes-or-book", difficulty="hard", tags=("write", "policy", "condition"))
def book_unless_they_owe(world: World, rng: random.Random) -> Draft | None:
    """A new booking for somebody with cancelled bookings, unless one of these is unpaid."""
    over = bookings_where(world, "status IN ('cancelled', 'no_show') AND NOT barred")
    chosen = pick(rng, over)
    if chosen is None:
        return None
    guest = chosen["guest_id"]
    mine = sorted(
        (one for one in over if one["guest_id"] == guest),
        key=lambda one: (one["status"], one["arrival"], one["id"]),
    )
    owed = owes_for_the_past(world, guest)
    arrival = later(TODAY, rng.randint(5, 30))
    departure = later(arrival, rng.randint(1, 3))
    free = free_rooms(world, arrival, departure, 22)
    if not free or (owed and rng.random() < 0.4):
        return None
    act = [
        call("list_room_types"),
        call("find_free_rooms", arrival=arrival, departure=departure, room_type_id=22),
        call(
            "book_stay",
            guest_id=guest,
            room_id=free[0]["id"],
            arrival=arrival,
            departure=departure,
            persons=2,
            breakfast=True,
        ),
    ]
    solution = [
        call("read_policy"),
        look_up(world, chosen),
        *(call("list_bookings", guest_id=guest, status=status) for status in ("cancelled", "no_show")),
        *(call("get_booking", booking_id=one["id"]) for one in mine),
        *(act if not owed else [call("list_bookings", guest_id=guest, status="departed")]),
    ]
    if not 6 <= len(solution) <= 12:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{guest} wants a Double room for two with breakfast from {arrival} to {departure}. If our rules allow the "
            "booking, take the lowest-numbered free room; if the guest owes us for something earlier, book nothing and "
            "answer with what they owe in all. Dollars, number only.",
            "New booking for {guest}: two people, Double, breakfast, {arrival} to {departure}, lowest free room "
            "number. Check first that nothing from earlier bookings is unpaid, as the rules want. If something is, do "
            "not book, and answer with the sum of dollars that is owed.",
            "{guest} asks for {arrival} to {departure}, a Double for two, with breakfast. See about old debts (the rules "
            "say why). No debts: book the free room with the lowest number. Debts: leave it and give me what is owed, "
            "only the dollars.",
            guest=named(world, chosen),
            arrival=spoken(arrival),
            departure=spoken(departure),
        ),
        solution=solution,
        answer=number(owed) if owed else None,
        tags=("read", "policy", "condition", "arithmetic") if owed else ("write", "policy", "condition"),
    )
