"""The organiser's rows, and templates of what the office is asked for.

Reading order: the rows; what templates look up; then the templates, easy, medium, hard.
"""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from cast import NEWCOMERS, TODAY, TOWNS
from season import GUESTS_OF_A_SPONSOR, LEVELS, SLOTS, Season, later
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]

NOW = date.fromisoformat(TODAY)


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """Two years of events, as they stand this morning."""
    return Season(rng).rows()


# ---------------------------------------------------------------- what templates look up

TICKETS = """
    SELECT tickets.*, types.name AS type, types.price_cents AS list_cents, types.event_id, events.name AS event,
        first_day, last_day, events.status AS event_status, attendees.name, town, kind, organisation, email, orders.status AS paid,
        (SELECT count(*) FROM transfers WHERE ticket_id = tickets.id) AS transferred,
        (SELECT count(*) FROM check_ins WHERE ticket_id = tickets.id) AS used
    FROM tickets JOIN ticket_types AS types ON types.id = ticket_type_id JOIN events ON events.id = types.event_id
    JOIN attendees ON attendees.id = holder_id LEFT JOIN orders ON orders.id = order_id
"""

ENTRIES = """
    SELECT waiting_list.*, types.name AS type, event_id, events.name AS event, attendees.name, town, kind
    FROM waiting_list JOIN ticket_types AS types ON types.id = ticket_type_id JOIN events ON events.id = event_id
    JOIN attendees ON attendees.id = attendee_id
"""


def events(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"SELECT * FROM events WHERE {where} ORDER BY id")


def ahead(world: World) -> list[Row]:
    """On sale and not begun."""
    return events(world, f"status = 'on_sale' AND first_day > '{TODAY}'")


def types(world: World, where: str = "1") -> list[Row]:
    """Ticket types with `left`: what is neither sold nor offered."""
    return world.rows(f"""
        SELECT types.*, events.name AS event, events.status AS event_status, first_day, capacity,
            (SELECT count(*) FROM waiting_list WHERE ticket_type_id = types.id AND status = 'waiting') AS waiting,
            quota - (SELECT count(*) FROM tickets WHERE ticket_type_id = types.id AND status = 'valid')
            - (SELECT count(*) FROM waiting_list WHERE ticket_type_id = types.id AND status = 'offered') AS left
        FROM ticket_types AS types JOIN events ON events.id = event_id WHERE {where} ORDER BY types.id
    """)


def tickets(world: World, where: str) -> list[Row]:
    return world.rows(f"{TICKETS} WHERE {where} ORDER BY tickets.id")


def usable(world: World, where: str = "1") -> list[Row]:
    """Valid and paid for, for an event that has not begun, and not used."""
    live = "tickets.status = 'valid' AND (order_id IS NULL OR orders.status = 'paid')"
    return tickets(world, f"{live} AND used = 0 AND first_day > '{TODAY}' AND {where}")


def entries(world: World, where: str) -> list[Row]:
    return world.rows(f"{ENTRIES} WHERE {where} ORDER BY joined_on, waiting_list.id")


def line(world: World, kind_id: int) -> list[Row]:
    """Those who wait for a type, as the house rules order them: members first, then by day."""
    waiting = entries(world, f"ticket_type_id = {kind_id} AND waiting_list.status = 'waiting'")
    return sorted(waiting, key=lambda one: one["kind"] != "member")


def attendees(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"SELECT * FROM attendees WHERE {where} ORDER BY id")


def has_ticket(world: World, attendee_id: int, event_id: int) -> bool:
    mine = f"holder_id = {attendee_id} AND types.event_id = {event_id} AND tickets.status = 'valid'"
    return bool(tickets(world, mine))


def sessions(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT sessions.*, events.name AS event, events.venue_id, rooms.name AS room, seats,
            (SELECT count(*) FROM session_speakers WHERE session_id = sessions.id) AS voices
        FROM sessions JOIN events ON events.id = event_id JOIN rooms ON rooms.id = room_id
        WHERE {where} ORDER BY day, starts, sessions.id
    """)


def still_ahead(world: World, where: str = "1") -> list[Row]:
    coming = f"sessions.status = 'scheduled' AND events.status = 'on_sale' AND day > '{TODAY}'"
    return sessions(world, f"{coming} AND {where}")


def speakers_of(world: World, session_id: int) -> list[Row]:
    return world.rows(
        "SELECT speakers.* FROM session_speakers JOIN speakers ON speakers.id = speaker_id "
        "WHERE session_id = ? ORDER BY session_speakers.id",
        session_id,
    )


def talks_of(world: World, speaker_id: int, where: str = "1") -> list[Row]:
    mine = f"sessions.id IN (SELECT session_id FROM session_speakers WHERE speaker_id = {speaker_id})"
    return sessions(world, f"sessions.status = 'scheduled' AND {mine} AND {where}")


def free_rooms(world: World, venue_id: int, day: str, starts: str, ends: str, seats: int) -> list[Row]:
    """As find_free_rooms lists them: the smallest first."""
    that_day = sessions(world, f"sessions.status = 'scheduled' AND day = '{day}' AND events.venue_id = {venue_id}")
    taken = {
        one["room_id"] for one in that_day if one["starts"] < later(ends, 15) and starts < later(one["ends"], 15)
    }
    rooms = world.rows(
        "SELECT * FROM rooms WHERE venue_id = ? AND seats >= ? ORDER BY seats, id", venue_id, seats
    )
    return [room for room in rooms if room["id"] not in taken]


def sponsorships(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT sponsorships.*, sponsors.name, events.name AS event, events.status AS event_status, first_day,
            (SELECT count(*) FROM tickets WHERE sponsorship_id = sponsorships.id AND status = 'valid') AS issued
        FROM sponsorships JOIN sponsors ON sponsors.id = sponsor_id JOIN events ON events.id = event_id
        WHERE {where} ORDER BY first_day, sponsorships.id
    """)


def is_shared(world: World, name: str) -> bool:
    return world.value("SELECT count(*) FROM attendees WHERE name = ?", name) > 1


def named(world: World, who: Row) -> str:
    """How a colleague says who is meant."""
    return f"{who['name']} from {who['town']}" if is_shared(world, who["name"]) else who["name"]


def look_up(world: World, who: Row) -> Row:
    query = f"{who['name']} {who['town']}" if is_shared(world, who["name"]) else who["name"]
    return call("search_attendees", query=query)


def show(attendee_id: int) -> Row:
    return call("get_attendee", attendee_id=attendee_id)


def look_up_event(name: str) -> Row:
    return call("search_events", query=name)


def days_to(day: str) -> int:
    return (date.fromisoformat(day) - NOW).days


def refund_percent(ticket: Row) -> int:
    """What the house rules give back."""
    if ticket["event_status"] == "cancelled":
        return 100
    if ticket["type"] == "Early Bird" or ticket["order_id"] is None:
        return 0
    days = days_to(ticket["first_day"])
    return 100 if days >= 30 else 50 if days >= 14 else 0


def discount(kind: Row, buyer: Row, heads: int) -> int:
    """What the house rules take off an order."""
    if kind["name"] != "Standard":
        return 0
    return 15 if heads >= 5 else 10 if buyer["kind"] == "member" else 0


def spoken(day: str) -> str:
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {parsed:%B}"


def dollars(cents: int) -> int | float:
    return cents // 100 if cents % 100 == 0 else cents / 100


def number(cents: int) -> Row:
    return {"number": dollars(cents)}


# ---------------------------------------------------------------- easy


@template("which-venue", difficulty="easy", tags=("read",))
def which_venue(world: World, rng: random.Random) -> Draft | None:
    """At which venue an event is, and from when."""
    event = pick(rng, events(world, "status <> 'over'"))
    if event is None:
        return None
    venue = world.value("SELECT name FROM venues WHERE id = ?", event["venue_id"])
    wants_day = rng.random() < 0.5
    return Draft(
        prompt=phrase(
            rng,
            "A visitor asks about {event}. {wanted}",
            "{event}: {wanted}",
            "Quick question about {event}. {wanted}",
            event=event["name"],
            wanted="What is its last day? Answer with the date only, YYYY-MM-DD."
            if wants_day
            else "At which venue is it held? Answer with the name of the venue only.",
        ),
        solution=[look_up_event(event["name"])],
        answer={"text": event["last_day"] if wants_day else venue},
    )


@template("tickets-left", difficulty="easy", tags=("read",))
def tickets_left(world: World, rng: random.Random) -> Draft | None:
    """How many tickets of a type are left."""
    kind = pick(rng, types(world, f"events.status = 'on_sale' AND types.name <> 'Complimentary' AND sales_end >= '{TODAY}'"))
    if kind is None or kind["left"] < 3:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How many {kind} tickets can we still sell for {event}? Number only.",
            "{event}: how many {kind} tickets are left? Just the number, please.",
            "Somebody wants to bring a group to {event}. How many {kind} tickets are left at the moment? Number only.",
            kind=kind["name"],
            event=kind["event"],
        ),
        solution=[look_up_event(kind["event"]), call("get_event", event_id=kind["event_id"])],
        answer={"number": kind["left"]},
    )


@template("which-room", difficulty="easy", tags=("read",))
def which_room(world: World, rng: random.Random) -> Draft | None:
    """Where or when a session is."""
    talk = pick(rng, sessions(world, "sessions.status = 'scheduled' AND events.status IN ('on_sale', 'over')"))
    if talk is None:
        return None
    column, wanted = rng.choice(
        (
            ("room", "In which room is it? The name of the room only."),
            ("starts", "At what time does it begin? Answer as HH:MM, nothing else."),
            ("day", "On which day is it? Date only, YYYY-MM-DD."),
        )
    )
    return Draft(
        prompt=phrase(
            rng,
            'The session "{title}" of {event}: {wanted}',
            'I am looking for "{title}" in the programme of {event}. {wanted}',
            'About "{title}" ({event}). {wanted}',
            title=talk["title"],
            event=talk["event"],
            wanted=wanted,
        ),
        solution=[
            look_up_event(talk["event"]),
            call("list_sessions", event_id=talk["event_id"], query=talk["title"]),
        ],
        answer={"text": talk[column]},
    )


@template("who-speaks", difficulty="easy", tags=("read",))
def who_speaks(world: World, rng: random.Random) -> Draft | None:
    """The speakers of a session."""
    talk = pick(rng, sessions(world, "sessions.status = 'scheduled'"))
    if talk is None or talk["voices"] == 0:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'Who speaks in "{title}" at {event}? Answer with the full names, separated by commas.',
            'The printer needs the speakers of "{title}" ({event}). Full names, separated by commas, nothing else.',
            'Please list everybody who is on stage in "{title}" at {event}: full names with commas between them.',
            title=talk["title"],
            event=talk["event"],
        ),
        solution=[
            look_up_event(talk["event"]),
            call("list_sessions", event_id=talk["event_id"], query=talk["title"]),
        ],
        answer={"list": [one["name"] for one in speakers_of(world, talk["id"])]},
    )


@template("how-many-came", difficulty="easy", tags=("read",))
def how_many_came(world: World, rng: random.Random) -> Draft | None:
    """The check-ins of a day."""
    found = world.rows("""
        SELECT events.id, events.name, day, count(*) AS came FROM check_ins JOIN tickets ON tickets.id = ticket_id
        JOIN ticket_types ON ticket_types.id = ticket_type_id JOIN events ON events.id = event_id
        GROUP BY events.id, day ORDER BY events.id, day
    """)
    day = pick(rng, found)
    if day is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "How many people were checked in at {event} on {day}? Number only.",
            "For the report: how many came to {event} on {day}? Just the number of check-ins.",
            "I need the number of check-ins of {event} for {day}, nothing else.",
            event=day["name"],
            day=day["day"],
        ),
        solution=[look_up_event(day["name"]), call("list_check_ins", event_id=day["id"], day=day["day"])],
        answer={"number": day["came"]},
    )


@template("what-they-pledged", difficulty="easy", tags=("read",))
def what_they_pledged(world: World, rng: random.Random) -> Draft | None:
    """The amount of a sponsorship."""
    one = pick(rng, sponsorships(world, "sponsorships.status <> 'withdrawn'"))
    if one is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "What does {sponsor} give for {event}? The amount in dollars, number only.",
            "How many dollars is {sponsor}'s sponsorship of {event}? Number only.",
            "I am writing to {sponsor} about {event}: what is the amount of their sponsorship? Dollars, just the number.",
            sponsor=one["name"],
            event=one["event"],
        ),
        solution=[
            call("search_sponsors", query=one["name"]),
            call("list_sponsorships", sponsor_id=one["sponsor_id"]),
        ],
        answer=number(one["amount_cents"]),
    )


@template("order-paid", difficulty="easy", tags=("write",))
def order_paid(world: World, rng: random.Random) -> Draft | None:
    """An order by its number was paid."""
    order = pick(rng, world.rows("SELECT * FROM orders WHERE status = 'unpaid' ORDER BY id"))
    if order is None:
        return None
    method, how = rng.choice((("transfer", "by bank transfer"), ("card", "by card"), ("cash", "in cash")))
    return Draft(
        prompt=phrase(
            rng,
            "Order OR-{number} has been paid {how}. Please record it.",
            "The money for OR-{number} is here ({how}): mark the order as paid.",
            "Please book the payment of order OR-{number}; it was made {how}.",
            number=order["id"],
            how=how,
        ),
        solution=[
            call("list_orders", number=f"OR-{order['id']}"),
            call("record_payment", order_id=order["id"], method=method),
        ],
        about=["paid", order["id"]],
    )


@template("new-email", difficulty="easy", tags=("write",))
def new_email(world: World, rng: random.Random) -> Draft | None:
    """An attendee has a new address."""
    who = pick(rng, attendees(world, "id < 320"))
    if who is None:
        return None
    email = f"{who['name'].lower().replace(' ', '.')}@{rng.choice(('seamail', 'pigeonpost', 'inkwell'))}.example"
    return Draft(
        prompt=phrase(
            rng,
            "{who} has a new email address: {email}. Please change it.",
            "Please put {email} on the record of {who}; the old address is dead.",
            "{who} writes from {email} now. Change the address in our files, please.",
            who=named(world, who),
            email=email,
        ),
        solution=[look_up(world, who), call("change_email", attendee_id=who["id"], email=email)],
    )


@template("close-sales", difficulty="easy", tags=("write",))
def close_sales(world: World, rng: random.Random) -> Draft | None:
    """Sales of an event closed, or begun."""
    event = pick(rng, events(world, "status IN ('on_sale', 'planned')"))
    if event is None:
        return None
    opens = event["status"] == "planned"
    return Draft(
        prompt=phrase(
            rng,
            "Please {wish} the ticket sales of {event}.",
            "{event}: please {wish} the ticket sales now.",
            "The director wants you to {wish} the sales of tickets for {event}. Please do it at once.",
            wish="start" if opens else "close",
            event=event["name"],
        ),
        solution=[look_up_event(event["name"]), call("set_sales", event_id=event["id"], open_sales=opens)],
    )


@template("cancel-session", difficulty="easy", tags=("write",))
def cancel_session(world: World, rng: random.Random) -> Draft | None:
    """A session does not take place."""
    talk = pick(rng, still_ahead(world))
    if talk is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            '"{title}" at {event} is not going to happen. Please cancel the session.',
            'Please cancel the session "{title}" of {event}.',
            'We have to take "{title}" out of the programme of {event}: cancel it, please.',
            title=talk["title"],
            event=talk["event"],
        ),
        solution=[
            call("list_sessions", query=talk["title"]),
            call("cancel_session", session_id=talk["id"]),
        ],
    )


# ---------------------------------------------------------------- medium


@template("at-the-door", difficulty="medium", tags=("write",))
def at_the_door(world: World, rng: random.Random) -> Draft | None:
    """Somebody comes in today."""
    here = f"tickets.status = 'valid' AND first_day <= '{TODAY}' AND last_day >= '{TODAY}'"
    mine = f"tickets.id NOT IN (SELECT ticket_id FROM check_ins WHERE day = '{TODAY}')"
    ticket = pick(rng, tickets(world, f"{here} AND {mine} AND (types.name <> 'Student' OR kind = 'student')"))
    if ticket is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} is at the entrance of {event}. Please check them in.",
            "{who} has just come to {event}: check-in, please.",
            "At {event}, {who} has left the ticket at home but has it in our system. Let them in for today.",
            who=named(world, ticket),
            event=ticket["event"],
        ),
        solution=[look_up(world, ticket), show(ticket["holder_id"]), call("check_in", ticket_id=ticket["id"])],
    )


@template("transfer", difficulty="medium", tags=("write", "policy", "condition"))
def transfer(world: World, rng: random.Random) -> Draft | None:
    """A ticket given to somebody else, if the rules allow it, at the fee that they ask."""
    ticket = pick(rng, [one for one in usable(world, "events.status = 'on_sale'") if not one["transferred"]])
    receiver = pick(rng, attendees(world, "id < 320"))
    if ticket is None or receiver is None or has_ticket(world, receiver["id"], ticket["event_id"]):
        return None
    barred = ticket["type"] == "Complimentary" or (ticket["type"] == "Student" and receiver["kind"] != "student")
    if receiver["id"] == ticket["holder_id"] or (barred and rng.random() < 0.4):
        return None
    fee = 0 if days_to(ticket["first_day"]) >= 7 else 10
    act = call("transfer_ticket", ticket_id=ticket["id"], attendee_id=receiver["id"], fee=fee)
    return Draft(
        prompt=phrase(
            rng,
            "{giver} cannot come to {event} and wants {receiver} to have the ticket. If our rules allow that, do it, "
            "with the fee that they ask. If they do not, change nothing and answer with {giver}'s email address.",
            "Please transfer {giver}'s ticket of {event} to {receiver}, at the fee of the house rules. Should the rules "
            "forbid it, leave it and tell me the email address of {giver}, so that I can explain; only the address.",
            "{receiver} would go to {event} in place of {giver}. See whether the house rules let this ticket be "
            "transferred. Yes: transfer it and charge what is due. No: do nothing and give me just the email address "
            "we have for {giver}.",
            giver=named(world, ticket),
            receiver=named(world, receiver),
            event=ticket["event"],
        ),
        solution=[
            call("read_policy"),
            look_up(world, ticket),
            show(ticket["holder_id"]),
            look_up(world, receiver),
            *([] if barred else [act]),
        ],
        answer={"text": ticket["email"]} if barred else None,
        tags=("read" if barred else "write", "policy", "condition"),
    )


@template("refund", difficulty="medium", tags=("write", "policy", "condition"))
def refund(world: World, rng: random.Random) -> Draft | None:
    """A ticket given back for what the rules give."""
    ticket = pick(rng, [one for one in usable(world) if one["order_id"] is not None])
    if ticket is None:
        return None
    percent = refund_percent(ticket)
    if percent == 0 and rng.random() < 0.6:
        return None
    act = call("refund_ticket", ticket_id=ticket["id"], percent=percent)
    return Draft(
        prompt=phrase(
            rng,
            "{who} cannot come to {event} and asks for the money back. Refund what our rules allow and answer with that "
            "amount. If they allow nothing, leave the ticket and answer with the price paid for it. Dollars, number "
            "only.",
            "Refund request from {who} for {event}. Act by the house rules. How many dollars did you give back? Should "
            "it be none, do nothing and tell me instead what the ticket had cost. Number only.",
            "{who} wants to return the ticket of {event}. Give back what the rules say, no more, and tell me the sum in "
            "dollars. If nothing is due, touch nothing and give me the price that was paid. Just the number.",
            who=named(world, ticket),
            event=ticket["event"],
        ),
        solution=[
            call("read_policy"),
            look_up(world, ticket),
            show(ticket["holder_id"]),
            *([act] if percent else []),
        ],
        answer=number(ticket["price_cents"] * (percent or 100) // 100),
        tags=("write" if percent else "read", "policy", "condition"),
    )


@template("upgrade", difficulty="medium", tags=("write",))
def upgrade(world: World, rng: random.Random) -> Draft | None:
    """A dearer ticket of the same event."""
    mine = "order_id IS NOT NULL AND events.status = 'on_sale'"
    ticket = pick(rng, usable(world, mine))
    if ticket is None:
        return None
    dearer = types(world, f"event_id = {ticket['event_id']} AND types.price_cents > {ticket['list_cents']}")
    kind = pick(rng, [one for one in dearer if one["left"] > 0 and one["waiting"] == 0 and one["name"] != "Early Bird"])
    if kind is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} would like a {kind} ticket of {event} instead of the one they have. Please upgrade it and tell me "
            "what they pay for that now: dollars, number only.",
            "Please turn {who}'s ticket of {event} into a {kind} ticket. How much is to be paid for it? Answer with the "
            "dollars, only the number.",
            "Upgrade for {who} at {event}: {kind}, please. I need the amount they owe for it, in dollars, number only.",
            who=named(world, ticket),
            kind=kind["name"],
            event=ticket["event"],
        ),
        solution=[
            look_up(world, ticket),
            show(ticket["holder_id"]),
            call("get_event", event_id=ticket["event_id"]),
            call("upgrade_ticket", ticket_id=ticket["id"], ticket_type_id=kind["id"]),
        ],
        answer=number(kind["price_cents"] - ticket["price_cents"]),
    )


@template("next-in-line", difficulty="medium", tags=("write", "policy"))
def next_in_line(world: World, rng: random.Random) -> Draft | None:
    """A free ticket offered to whoever's turn it is."""
    kind = pick(rng, [one for one in types(world, "events.status = 'on_sale'") if one["left"] > 0 and one["waiting"] > 1])
    if kind is None:
        return None
    first = line(world, kind["id"])[0]
    return Draft(
        prompt=phrase(
            rng,
            "There is a {kind} ticket of {event} to give away to the waiting list. Offer it to whoever is next by our "
            "rules, one person only, and tell me the full name.",
            "Please offer one free {kind} ticket of {event} to the person on the waiting list whose turn it is according "
            "to the house rules. Who is it? Full name only.",
            "Somebody on the {kind} waiting list of {event} can have a ticket. Make the offer to the right one, as the "
            "house rules have it, and answer with that person's full name.",
            kind=kind["name"],
            event=kind["event"],
        ),
        solution=[
            call("read_policy"),
            look_up_event(kind["event"]),
            call("get_event", event_id=kind["event_id"]),
            call("list_waiting_list", ticket_type_id=kind["id"], status="waiting"),
            call("offer_place", entry_id=first["id"]),
        ],
        answer={"text": first["name"]},
    )


@template("other-room", difficulty="medium", tags=("write", "policy"))
def other_room(world: World, rng: random.Random) -> Draft | None:
    """A session into another room at the same time."""
    talk = pick(rng, still_ahead(world))
    if talk is None:
        return None
    free = free_rooms(world, talk["venue_id"], talk["day"], talk["starts"], talk["ends"], talk["expected"])
    if not free:
        return None
    return Draft(
        prompt=phrase(
            rng,
            '{room} cannot be used for "{title}" at {event}. Give the session another room at the same time, chosen as '
            "our rules say, and answer with the name of the room.",
            'The projector in {room} is broken. Please move "{title}" ({event}) to another room, same time, by the house '
            "rules. Which room is it now? Only the name.",
            '"{title}" at {event} has to leave {room}. Find it another room for the same hours in the way the house '
            "rules prescribe, move it, and tell me the new room's name.",
            room=talk["room"],
            title=talk["title"],
            event=talk["event"],
        ),
        solution=[
            call("read_policy"),
            look_up_event(talk["event"]),
            call("list_sessions", event_id=talk["event_id"], query=talk["title"]),
            call(
                "find_free_rooms",
                venue_id=talk["venue_id"],
                day=talk["day"],
                starts=talk["starts"],
                ends=talk["ends"],
                seats=talk["expected"],
            ),
            call("move_session", session_id=talk["id"], room_id=free[0]["id"]),
        ],
        answer={"text": free[0]["name"]},
    )


@template("somebody-new-waits", difficulty="medium", tags=("write",))
def somebody_new_waits(world: World, rng: random.Random) -> Draft | None:
    """A new attendee on a waiting list."""
    kind = pick(rng, [one for one in types(world, "events.status = 'on_sale'") if one["waiting"] > 0])
    name, town = rng.choice(NEWCOMERS), rng.choice(TOWNS)
    if kind is None:
        return None
    email = f"{name.lower().replace(' ', '.')}@inkwell.example"
    status = "student" if kind["name"] == "Student" else "regular"
    return Draft(
        prompt=phrase(
            rng,
            "{name} ({email}, {town}, {status}) is new to us and wants to be on the waiting list for a {kind} ticket of "
            "{event}. Please register and add them.",
            "Please register a new {status} attendee, {name} from {town}, email {email}, and put them on the {kind} "
            "waiting list of {event}.",
            "New on our books: {name}, {town}, {email}, a {status} attendee. They want to wait for a {kind} ticket of "
            "{event}; add them to that list after registering them.",
            name=name,
            email=email,
            town=town,
            status=status,
            kind=kind["name"],
            event=kind["event"],
        ),
        solution=[
            call("register_attendee", name=name, email=email, town=town, kind=status),
            look_up_event(kind["event"]),
            call("get_event", event_id=kind["event_id"]),
            call(
                "join_waiting_list",
                ticket_type_id=kind["id"],
                attendee_id=world.value("SELECT max(id) + 1 FROM attendees"),
            ),
        ],
    )


@template("speakers-ticket", difficulty="medium", tags=("write", "policy", "condition"))
def speakers_ticket(world: World, rng: random.Random) -> Draft | None:
    """A complimentary ticket for somebody who speaks there, or does not."""
    speaker = pick(rng, world.rows("""
        SELECT speakers.*, attendees.id AS attendee_id FROM speakers
        JOIN attendees ON attendees.email = speakers.email ORDER BY speakers.id
    """))
    event = pick(rng, ahead(world))
    if speaker is None or event is None or has_ticket(world, speaker["attendee_id"], event["id"]):
        return None
    entitled = bool(talks_of(world, speaker["id"], f"event_id = {event['id']}"))
    if not entitled and rng.random() < 0.85:
        return None
    act = call("issue_complimentary", event_id=event["id"], attendee_id=speaker["attendee_id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} is one of our speakers and asks for a complimentary ticket to {event}. Issue it if our rules give them "
            "one. If not, leave it and answer with {who}'s fee for a session: dollars, number only.",
            "Does {who}, whom we know as a speaker, get a free ticket for {event}? If the house rules say so, issue it. "
            "Otherwise do nothing and tell me what {who} charges for a session, in dollars, only the number.",
            "Complimentary ticket to {event} for the speaker {who}: please see whether the rules grant it, and issue it "
            "then. If they do not, I only need {who}'s fee for one session in dollars, as a number.",
            who=speaker["name"],
            event=event["name"],
        ),
        solution=[
            call("read_policy"),
            call("search_speakers", query=speaker["name"]),
            call("list_sessions", speaker_id=speaker["id"], status="scheduled"),
            *([call("search_attendees", query=speaker["name"]), act] if entitled else [look_up_event(event["name"])]),
        ],
        answer=None if entitled else number(speaker["fee_cents"]),
        tags=("write" if entitled else "read", "policy", "condition"),
    )


@template("unpaid-orders", difficulty="medium", tags=("write", "policy"))
def unpaid_orders(world: World, rng: random.Random) -> Draft | None:
    """Stale orders of an event cancelled."""
    event = pick(rng, ahead(world))
    if event is None:
        return None
    unpaid = f"SELECT * FROM orders WHERE event_id = {event['id']} AND status = 'unpaid'"
    old = world.rows(f"{unpaid} AND placed_on < '{NOW - timedelta(days=7)}' ORDER BY placed_on, id")
    if not 1 <= len(old) <= 2:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please clear up the unpaid orders of {event} as our house rules say.",
            "Go through the orders of {event} that nobody has paid, and do with them what the house rules ask.",
            "Unpaid orders for {event}: apply the rule that we have for them, please.",
            event=event["name"],
        ),
        solution=[
            call("read_policy"),
            look_up_event(event["name"]),
            call("list_orders", event_id=event["id"], status="unpaid"),
            *(call("cancel_order", order_id=order["id"]) for order in old),
        ],
    )


@template("replace-speaker", difficulty="medium", tags=("write",))
def replace_speaker(world: World, rng: random.Random) -> Draft | None:
    """One speaker for another."""
    talk = pick(rng, [one for one in still_ahead(world) if one["voices"] > 0])
    other = pick(rng, world.rows("SELECT * FROM speakers ORDER BY id"))
    if talk is None or other is None or talks_of(world, other["id"], f"day = '{talk['day']}'"):
        return None
    gone = rng.choice(speakers_of(world, talk["id"]))
    return Draft(
        prompt=phrase(
            rng,
            '{gone} drops out of "{title}" at {event}, and {other} has agreed to step in. Please change it.',
            'In "{title}" ({event}), {other} speaks instead of {gone}. Put that into the programme, please.',
            'Please replace {gone} by {other} in the session "{title}" of {event}.',
            gone=gone["name"],
            other=other["name"],
            title=talk["title"],
            event=talk["event"],
        ),
        solution=[
            look_up_event(talk["event"]),
            call("list_sessions", event_id=talk["event_id"], query=talk["title"]),
            call("search_speakers", query=other["name"]),
            call("remove_speaker", session_id=talk["id"], speaker_id=gone["id"]),
            call("assign_speaker", session_id=talk["id"], speaker_id=other["id"]),
        ],
    )


@template("one-ticket", difficulty="medium", tags=("write", "policy"))
def one_ticket(world: World, rng: random.Random) -> Draft | None:
    """An order of one ticket, with the discount of the rules."""
    choice = f"events.status = 'on_sale' AND sales_end >= '{TODAY}' AND types.name IN ('Standard', 'VIP')"
    kind = pick(rng, [one for one in types(world, choice) if one["left"] > 0 and one["waiting"] == 0])
    who = pick(rng, attendees(world, "id < 320 AND kind IN ('member', 'regular')"))
    if kind is None or who is None or has_ticket(world, who["id"], kind["event_id"]):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} orders a {kind} ticket of {event} for themselves. Place the order with whatever discount our rules "
            "give, and answer with the total in dollars, number only.",
            "Please order one {kind} ticket to {event} for {who}, in {who}'s own name. Mind the house rules on discounts. "
            "What does it come to? Dollars, number only.",
            "{who} rings up for a {kind} ticket of {event}. Take the order, discount as in the rules, and tell me the "
            "total: just the number of dollars.",
            who=named(world, who),
            kind=kind["name"],
            event=kind["event"],
        ),
        solution=[
            call("read_policy"),
            look_up(world, who),
            look_up_event(kind["event"]),
            call("get_event", event_id=kind["event_id"]),
            call(
                "place_order",
                buyer_id=who["id"],
                ticket_type_id=kind["id"],
                holder_ids=[who["id"]],
                discount_percent=discount(kind, who, 1),
            ),
        ],
        answer=number(kind["price_cents"] * (100 - discount(kind, who, 1)) // 100),
    )


@template("any-room", difficulty="medium", tags=("write", "free-choice"))
def any_room(world: World, rng: random.Random) -> Draft | None:
    """A new session in any room that will do."""
    event = pick(rng, ahead(world))
    if event is None:
        return None
    days = days_to(event["last_day"]) - days_to(event["first_day"])
    day = (date.fromisoformat(event["first_day"]) + timedelta(days=rng.randint(0, days))).isoformat()
    starts, lasts = rng.choice(SLOTS[2:])
    ends, expected = later(starts, lasts), rng.choice((18, 25, 32, 40, 55))
    free = free_rooms(world, event["venue_id"], day, starts, ends, expected)
    title = rng.choice(("Questions and Answers", "Speed Networking", "First-Timers' Hour", "Lightning Talks", "Open Stage"))
    if len(free) < 2:
        return None
    made = (
        "SELECT title, day, starts, ends, expected, status, event_id FROM sessions "
        "WHERE id NOT IN (SELECT id FROM initial.sessions)"
    )
    fits = (
        "SELECT count(*) FROM sessions JOIN rooms ON rooms.id = room_id "
        f"WHERE sessions.id NOT IN (SELECT id FROM initial.sessions) AND room_id IN ({', '.join(str(one['id']) for one in free)})"
    )
    kept = "SELECT count(*) FROM (SELECT * FROM initial.sessions EXCEPT SELECT * FROM sessions)"
    row = [title, day, starts, ends, expected, "scheduled", event["id"]]
    return Draft(
        prompt=phrase(
            rng,
            '{event} gets another session, "{title}", on {day} from {starts} to {ends}, for {expected} people. Any room '
            "that is free and large enough will do.",
            'Please add "{title}" to the programme of {event}: {day}, {starts} to {ends}, {expected} people expected. '
            "Take whichever free room seats them.",
            'A new session for {event}: "{title}", {day}, {starts}-{ends}. We expect {expected} people; the room is up '
            "to you, as long as they fit.",
            event=event["name"],
            title=title,
            day=spoken(day),
            starts=starts,
            ends=ends,
            expected=expected,
        ),
        solution=[
            look_up_event(event["name"]),
            call(
                "find_free_rooms", venue_id=event["venue_id"], day=day, starts=starts, ends=ends, seats=expected
            ),
            call(
                "add_session",
                event_id=event["id"],
                title=title,
                room_id=free[0]["id"],
                day=day,
                starts=starts,
                ends=ends,
                expected=expected,
            ),
        ],
        verify={
            "kind": "sql",
            "may_change": ["sessions"],
            "assert": [
                {"sql": made, "equals": [row]},
                {"sql": fits, "equals": [[1]]},
                {"sql": kept, "equals": [[0]]},
            ],
            "choices": ["add_session.room_id"],
        },
    )


@template("new-sponsor", difficulty="medium", tags=("write", "policy"))
def new_sponsor(world: World, rng: random.Random) -> Draft | None:
    """A pledge, at the price that the rules ask of this sponsor."""
    event = pick(rng, [*ahead(world), *events(world, "status = 'planned'")])
    sponsor = pick(rng, world.rows("SELECT * FROM sponsors ORDER BY id"))
    if event is None or sponsor is None:
        return None
    live = sponsorships(world, f"event_id = {event['id']} AND sponsorships.status <> 'withdrawn'")
    has_gold = any(one["level"] == "gold" for one in live)
    level = rng.choice(("silver", "bronze") if has_gold else ("gold", "gold", "silver", "bronze"))
    if any(one["sponsor_id"] == sponsor["id"] for one in live):
        return None
    known = sponsorships(
        world, f"sponsor_id = {sponsor['id']} AND sponsorships.status = 'paid' AND events.status = 'over'"
    )
    cents = LEVELS[level] * (90 if known else 100) // 100
    return Draft(
        prompt=phrase(
            rng,
            "{sponsor} will be a {level} sponsor of {event}. Record the pledge at the price that our rules ask of them.",
            "Good news: {sponsor} pledges {level} for {event}. Please enter it, with the amount the house rules set for "
            "this sponsor.",
            "Please add {sponsor} to {event} as a {level} sponsor. The amount follows from our rules and from what they "
            "have done for us before.",
            sponsor=sponsor["name"],
            level=level,
            event=event["name"],
        ),
        solution=[
            call("read_policy"),
            call("search_sponsors", query=sponsor["name"]),
            call("list_sponsorships", sponsor_id=sponsor["id"]),
            look_up_event(event["name"]),
            call(
                "add_sponsorship",
                event_id=event["id"],
                sponsor_id=sponsor["id"],
                level=level,
                amount=dollars(cents),
            ),
        ],
    )


@template("offer-accepted", difficulty="medium", tags=("write", "policy"))
def offer_accepted(world: World, rng: random.Random) -> Draft | None:
    """A ticket that was offered is taken and paid."""
    fresh = f"waiting_list.status = 'offered' AND offered_on >= '{NOW - timedelta(days=3)}'"
    entry = pick(rng, entries(world, fresh))
    if entry is None or has_ticket(world, entry["attendee_id"], entry["event_id"]):
        return None
    method, how = rng.choice((("transfer", "by bank transfer"), ("card", "by card"), ("cash", "in cash")))
    percent = discount({"name": entry["type"]}, entry, 1)
    return Draft(
        prompt=phrase(
            rng,
            "{who} accepts the ticket of {event} that we offered, and pays {how} at once. Please make it an order, with "
            "the discount of our rules if there is one, and record the payment.",
            "Good: {who} takes the place at {event} that was offered from the waiting list. Turn it into an order "
            "(discount as in the house rules) and book the payment, made {how}.",
            "{who} says yes to our offer for {event}. Order, discount by the house rules if any is due, paid {how}: "
            "please enter both.",
            who=named(world, entry),
            event=entry["event"],
            how=how,
        ),
        solution=[
            call("read_policy"),
            look_up(world, entry),
            show(entry["attendee_id"]),
            call("accept_offer", entry_id=entry["id"], discount_percent=percent),
            call("record_payment", order_id=world.value("SELECT max(id) + 1 FROM orders"), method=method),
        ],
    )


@template("waits-no-more", difficulty="medium", tags=("write",))
def waits_no_more(world: World, rng: random.Random) -> Draft | None:
    """Somebody leaves a waiting list."""
    entry = pick(rng, entries(world, "waiting_list.status = 'waiting'"))
    if entry is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} has found something else to do and no longer waits for a {kind} ticket of {event}. Please take them "
            "off that list.",
            "Please remove {who} from the {kind} waiting list of {event}.",
            "{who} does not want to wait for {event} ({kind}) any longer: off the list, please.",
            who=named(world, entry),
            kind=entry["type"],
            event=entry["event"],
        ),
        solution=[
            look_up(world, entry),
            show(entry["attendee_id"]),
            call("leave_waiting_list", entry_id=entry["id"]),
        ],
    )


@template("fee-of-a-speaker", difficulty="medium", tags=("read", "arithmetic"))
def fee_of_a_speaker(world: World, rng: random.Random) -> Draft | None:
    """What a speaker costs at one event."""
    event = pick(rng, events(world, "status IN ('on_sale', 'over')"))
    speaker = pick(rng, world.rows("SELECT * FROM speakers WHERE fee_cents > 0 ORDER BY id"))
    if event is None or speaker is None:
        return None
    talks = talks_of(world, speaker["id"], f"event_id = {event['id']}")
    if not talks:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "What do we owe {who} in fees for {event}, counting every session that is still on? Dollars, number only.",
            "Please work out {who}'s fees for {event}: all sessions that are not cancelled. The sum in dollars, number "
            "only.",
            "{who} sends the bill for {event}. What should it come to, cancelled sessions left out? Just the number of "
            "dollars.",
            who=speaker["name"],
            event=event["name"],
        ),
        solution=[
            call("search_speakers", query=speaker["name"]),
            look_up_event(event["name"]),
            call("list_sessions", event_id=event["id"], speaker_id=speaker["id"], status="scheduled"),
        ],
        answer=number(len(talks) * speaker["fee_cents"]),
    )


@template("more-tickets", difficulty="medium", tags=("write", "arithmetic"))
def more_tickets(world: World, rng: random.Random) -> Draft | None:
    """A quota raised within the capacity."""
    kind = pick(rng, [one for one in types(world, "events.status = 'on_sale'") if one["price_cents"]])
    if kind is None:
        return None
    given = world.value("SELECT sum(quota) FROM ticket_types WHERE event_id = ?", kind["event_id"])
    more = rng.randint(2, 15)
    if given + more > kind["capacity"]:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please let there be {more} more {kind} tickets of {event} than now.",
            "{event}: raise the number of {kind} tickets by {more}.",
            "We can take a few more people at {event}. Put {more} on top of the {kind} quota, please.",
            more=more,
            kind=kind["name"],
            event=kind["event"],
        ),
        solution=[
            look_up_event(kind["event"]),
            call("get_event", event_id=kind["event_id"]),
            call("change_quota", ticket_type_id=kind["id"], quota=kind["quota"] + more),
        ],
    )


@template("pledge-paid", difficulty="medium", tags=("write",))
def pledge_paid(world: World, rng: random.Random) -> Draft | None:
    """A sponsor has paid."""
    one = pick(rng, sponsorships(world, "sponsorships.status = 'pledged'"))
    if one is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{sponsor} has paid what it pledged for {event}. Please record it.",
            "The money of {sponsor} for {event} has arrived: mark the sponsorship as paid.",
            "Please book the payment of {sponsor}'s sponsorship of {event}.",
            sponsor=one["name"],
            event=one["event"],
        ),
        solution=[
            call("search_sponsors", query=one["name"]),
            call("list_sponsorships", sponsor_id=one["sponsor_id"]),
            call("record_sponsorship_payment", sponsorship_id=one["id"]),
        ],
    )


# ---------------------------------------------------------------- hard


@template("colleagues", difficulty="hard", tags=("write", "policy"))
def colleagues(world: World, rng: random.Random) -> Draft | None:
    """One order for everybody of an organisation who has no ticket yet."""
    event = pick(rng, [*ahead(world), *ahead(world)])
    buyer = pick(rng, attendees(world, "organisation IS NOT NULL"))
    if event is None or buyer is None:
        return None
    [kind] = types(world, f"event_id = {event['id']} AND types.name = 'Standard'")
    people = world.rows("SELECT * FROM attendees WHERE organisation = ? ORDER BY name, id", buyer["organisation"])
    without = [one for one in people if not has_ticket(world, one["id"], event["id"])]
    if kind["left"] < len(without) or kind["waiting"] or buyer not in without or not 2 <= len(without) <= 8:
        return None
    method, how = rng.choice((("transfer", "by bank transfer"), ("card", "by card")))
    return Draft(
        prompt=phrase(
            rng,
            "{buyer} wants to bring all of {organisation} to {event}. Order, in {buyer}'s name, one Standard ticket for "
            "everybody of {organisation} on our books who has no valid ticket yet, with the discount that our rules "
            "give, and record the payment {how}. What did it cost? Dollars, number only.",
            "Please order Standard tickets of {event} for all attendees from {organisation} who do not have a valid one "
            "already: a single order, placed and paid ({how}) by {buyer}. See the house rules for the discount. Answer "
            "with the total in dollars, number only.",
            "{organisation} comes to {event}. Whoever of them has no valid ticket gets a Standard one, all in one order "
            "by {buyer}, {buyer} included; discount by the house rules; paid {how}. Enter both and tell me the total, "
            "only the number of dollars.",
            buyer=named(world, buyer),
            organisation=buyer["organisation"],
            event=event["name"],
            how=how,
        ),
        solution=[
            call("read_policy"),
            call("search_attendees", query=buyer["organisation"]),
            look_up_event(event["name"]),
            call("get_event", event_id=event["id"]),
            call("list_tickets", event_id=event["id"], organisation=buyer["organisation"], status="valid"),
            call(
                "place_order",
                buyer_id=buyer["id"],
                ticket_type_id=kind["id"],
                holder_ids=[one["id"] for one in without],
                discount_percent=discount(kind, buyer, len(without)),
            ),
            call("record_payment", order_id=world.value("SELECT max(id) + 1 FROM orders"), method=method),
        ],
        answer=number(len(without) * (kind["price_cents"] * (100 - discount(kind, buyer, len(without))) // 100)),
        about=["colleagues", event["id"], buyer["organisation"]],
    )


@template("lapsed-offers", difficulty="hard", tags=("write", "policy"))
def lapsed_offers(world: World, rng: random.Random) -> Draft | None:
    """Old offers taken back, and what is free then offered to the next in line."""
    kind = pick(rng, [one for one in types(world, "events.status = 'on_sale'") if one["waiting"]])
    if kind is None:
        return None
    old = f"waiting_list.status = 'offered' AND offered_on < '{NOW - timedelta(days=3)}'"
    lapsed = entries(world, f"ticket_type_id = {kind['id']} AND {old}")
    offered = line(world, kind["id"])[: kind["left"] + len(lapsed)]
    if not lapsed or not 6 <= 5 + len(lapsed) + len(offered) <= 12:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please put the {kind} waiting list of {event} in order by our rules: take back what has lapsed, then offer "
            "every ticket that is free to those whose turn it is.",
            "The waiting list for {kind} tickets of {event} needs attention. Withdraw the offers that have lapsed under "
            "the house rules, and make new offers, in the order of the rules, for as many tickets as are free.",
            "{event}, {kind} waiting list: let lapse what is too old by the house rules, and give all the tickets that "
            "are then free to the next in line, in the right order.",
            kind=kind["name"],
            event=kind["event"],
        ),
        solution=[
            call("read_policy"),
            look_up_event(kind["event"]),
            call("get_event", event_id=kind["event_id"]),
            call("list_waiting_list", ticket_type_id=kind["id"], status="offered"),
            call("list_waiting_list", ticket_type_id=kind["id"], status="waiting"),
            *(call("let_offer_lapse", entry_id=one["id"]) for one in lapsed),
            *(call("offer_place", entry_id=one["id"]) for one in offered),
        ],
    )


@template("guests-of-a-sponsor", difficulty="hard", tags=("write", "policy", "condition"))
def guests_of_a_sponsor(world: World, rng: random.Random) -> Draft | None:
    """Complimentary tickets, as many as the sponsor has left."""
    live = "sponsorships.status <> 'withdrawn' AND events.status = 'on_sale'"
    one = pick(rng, sponsorships(world, f"{live} AND first_day > '{TODAY}'"))
    if one is None:
        return None
    free = [who for who in attendees(world, "id < 320") if not has_ticket(world, who["id"], one["event_id"])]
    guests = rng.sample(free, 3)
    room = GUESTS_OF_A_SPONSOR[one["level"]] - one["issued"] if one["status"] == "paid" else 0
    chosen = guests[: max(room, 0)]
    if (not chosen and rng.random() < 0.75) or any(who["kind"] == "press" for who in guests):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{sponsor} asks for complimentary tickets to {event} for {first}, {second} and {third}, in this order of "
            "importance. Issue as many as our rules give this sponsor. If that is none, answer with the amount of the "
            "sponsorship in dollars, number only.",
            "Guests of {sponsor} for {event}: {first}, then {second}, then {third}. Give them complimentary tickets on "
            "the sponsorship, in this order, until what the house rules allow is used up. If they allow none at all, "
            "only tell me how many dollars the sponsorship is, as a number.",
            "{sponsor} names three guests for {event}: first {first}, second {second}, third {third}. As far as the "
            "house rules go, issue complimentary tickets on their sponsorship in that order. If there is none for "
            "anybody, I need just the amount of the sponsorship in dollars.",
            sponsor=one["name"],
            event=one["event"],
            **{place: named(world, who) for place, who in zip(("first", "second", "third"), guests, strict=True)},
        ),
        solution=[
            call("read_policy"),
            call("search_sponsors", query=one["name"]),
            call("list_sponsorships", sponsor_id=one["sponsor_id"]),
            *(look_up(world, who) for who in guests),
            *(
                call(
                    "issue_complimentary",
                    event_id=one["event_id"],
                    attendee_id=who["id"],
                    sponsorship_id=one["id"],
                )
                for who in chosen
            ),
        ],
        answer=None if chosen else number(one["amount_cents"]),
        tags=("write" if chosen else "read", "policy", "condition"),
    )


@template("back-and-on", difficulty="hard", tags=("write", "policy"))
def back_and_on(world: World, rng: random.Random) -> Draft | None:
    """A ticket refunded by the rules and offered to the next in line."""
    waited = "EXISTS (SELECT 1 FROM waiting_list WHERE waiting_list.ticket_type_id = tickets.ticket_type_id AND status = 'waiting')"
    ticket = pick(rng, [one for one in usable(world, waited) if refund_percent(one)])
    if ticket is None:
        return None
    first = line(world, ticket["ticket_type_id"])[0]
    return Draft(
        prompt=phrase(
            rng,
            "{who} cannot come to {event}. Take the ticket back for what our rules allow and offer it to whoever is next "
            "on the waiting list for that type. Answer with the full name of the one who gets the offer.",
            "{who} returns the ticket of {event}. Refund what the house rules give, then offer one ticket of that type "
            "to the person whose turn it is under the rules, and tell me that person's full name, nothing else.",
            "Please refund {who}'s ticket of {event} as far as the rules go, and pass the place on: one offer to the "
            "right person on the waiting list of the same type. Who is it? Full name only.",
            who=named(world, ticket),
            event=ticket["event"],
        ),
        solution=[
            call("read_policy"),
            look_up(world, ticket),
            show(ticket["holder_id"]),
            call("refund_ticket", ticket_id=ticket["id"], percent=refund_percent(ticket)),
            call("list_waiting_list", ticket_type_id=ticket["ticket_type_id"], status="waiting"),
            call("offer_place", entry_id=first["id"]),
        ],
        answer={"text": first["name"]},
    )


@template("speaker-falls-ill", difficulty="hard", tags=("write", "policy", "condition"))
def speaker_falls_ill(world: World, rng: random.Random) -> Draft | None:
    """Everything that a speaker has ahead, session by session as the rules say."""
    speaker = pick(rng, world.rows("SELECT * FROM speakers ORDER BY id"))
    if speaker is None:
        return None
    mine = talks_of(world, speaker["id"], f"day > '{TODAY}' AND events.status = 'on_sale'")
    if not 3 <= len(mine) <= 8:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} is ill and drops out of every session from tomorrow on. Nobody steps in. Please deal with each of "
            "them as our house rules say.",
            "We have lost {who} for the rest of the year: all sessions still to come. There are no replacements. Do what "
            "the house rules ask, session by session.",
            "{who} has withdrawn from all sessions that lie ahead, without a replacement. Please bring the programme "
            "into line with the house rules.",
            who=speaker["name"],
        ),
        solution=[
            call("read_policy"),
            call("search_speakers", query=speaker["name"]),
            call("list_sessions", speaker_id=speaker["id"], status="scheduled"),
            *(
                call("remove_speaker", session_id=talk["id"], speaker_id=speaker["id"])
                if talk["voices"] > 1
                else call("cancel_session", session_id=talk["id"])
                for talk in mine
            ),
        ],
    )


@template("no-student", difficulty="hard", tags=("write", "policy", "condition"))
def no_student(world: World, rng: random.Random) -> Draft | None:
    """A student ticket at the door, in the hands of a student or of somebody else."""
    here = f"tickets.status = 'valid' AND first_day <= '{TODAY}' AND last_day >= '{TODAY}' AND types.name = 'Student'"
    mine = f"used = 0 AND tickets.id NOT IN (SELECT ticket_id FROM check_ins WHERE day = '{TODAY}')"
    ticket = pick(rng, tickets(world, f"{here} AND {mine} AND kind <> 'student'"))
    if ticket is None:
        return None
    [kind] = types(world, f"event_id = {ticket['event_id']} AND types.name = 'Standard'")
    return Draft(
        prompt=phrase(
            rng,
            "{who} stands at the entrance of {event} with a ticket. Let them in as our rules on admission say. If they "
            "have to pay something for it, they do so now: how many dollars? Number only.",
            "At the door of {event}: {who}. Please admit them, but keep to the house rules for the kind of ticket they "
            "have; anything that is due is paid on the spot. What was due, in dollars? Number only.",
            "{who} has come to {event}. Check the ticket against the house rules, do whatever they ask for, then check "
            "them in. Tell me what had to be paid: only the number of dollars.",
            who=named(world, ticket),
            event=ticket["event"],
        ),
        solution=[
            call("read_policy"),
            look_up(world, ticket),
            show(ticket["holder_id"]),
            call("get_event", event_id=ticket["event_id"]),
            call("upgrade_ticket", ticket_id=ticket["id"], ticket_type_id=kind["id"]),
            call("check_in", ticket_id=ticket["id"]),
        ],
        answer=number(kind["price_cents"] - ticket["price_cents"]),
    )


@template("dearest-speaker", difficulty="hard", tags=("read",))
def dearest_speaker(world: World, rng: random.Random) -> Draft | None:
    """Of the speakers of an event, who asks for most."""
    event = pick(rng, events(world, "status IN ('on_sale', 'over')"))
    if event is None:
        return None
    talks = sessions(world, f"event_id = {event['id']} AND sessions.status = 'scheduled'")
    cast = {one["id"]: one for talk in talks for one in speakers_of(world, talk["id"])}
    fees = sorted((one["fee_cents"] for one in cast.values()), reverse=True)
    if not 4 <= len(cast) <= 10 or fees[0] == fees[1]:
        return None
    dearest = max(cast.values(), key=lambda one: one["fee_cents"])
    return Draft(
        prompt=phrase(
            rng,
            "Which speaker in the programme of {event} asks for the highest fee for a session? Cancelled sessions do not "
            "count. Full name only.",
            "Look at everybody who speaks at {event} (sessions that are still on). Who has the highest fee per session? "
            "Answer with the full name only.",
            "Of all the speakers of {event}, leaving cancelled sessions aside, whose fee for one session is the highest? "
            "Just the full name.",
            event=event["name"],
        ),
        solution=[
            look_up_event(event["name"]),
            call("list_sessions", event_id=event["id"], status="scheduled"),
            *(call("search_speakers", query=one["name"]) for one in cast.values()),
        ],
        answer={"text": dearest["name"]},
    )


@template("called-off", difficulty="hard", tags=("write", "policy"))
def called_off(world: World, rng: random.Random) -> Draft | None:
    """Everybody with one type of ticket of a cancelled event gets the money back."""
    event = pick(rng, events(world, "status = 'cancelled'"))
    if event is None:
        return None
    kind = pick(rng, types(world, f"event_id = {event['id']} AND types.price_cents > 0"))
    if kind is None:
        return None
    paid = f"ticket_type_id = {kind['id']} AND tickets.status = 'valid' AND orders.status = 'paid'"
    back = sorted(tickets(world, paid), key=lambda one: (one["name"], one["id"]))
    if not 2 <= len(back) <= 8:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{event} is cancelled, as you know. Please refund all {kind} tickets that are still valid, as our rules say.",
            "Nobody has dealt with the {kind} tickets of {event}, which is off. Give the holders of valid ones back what "
            "the house rules promise.",
            "Refunds for {event}, which does not take place: do all valid {kind} tickets today, by the house rules. The "
            "other types come later.",
            event=event["name"],
            kind=kind["name"],
        ),
        solution=[
            call("read_policy"),
            look_up_event(event["name"]),
            call("get_event", event_id=event["id"]),
            call("list_tickets", ticket_type_id=kind["id"], status="valid"),
            *(call("refund_ticket", ticket_id=one["id"], percent=100) for one in back),
        ],
    )
