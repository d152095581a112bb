"""Two years of events as they stand on the morning of TODAY: what is sold, who waits, who speaks where."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from cast import (
    ATTENDEES,
    EVENTS,
    ORGANISATIONS,
    POLICY,
    SPEAKERS,
    SPONSORS,
    TITLES,
    TODAY,
    TOWNS,
    VENUES,
)

Row = dict[str, Any]

NOW = date.fromisoformat(TODAY)
SLOTS = (("09:00", 45), ("09:15", 60), ("10:30", 60), ("11:30", 45), ("13:00", 60), ("14:30", 75), ("16:00", 60))
LEVELS = {"gold": 600_000, "silver": 300_000, "bronze": 120_000}
GUESTS_OF_A_SPONSOR = {"gold": 4, "silver": 2, "bronze": 1}
AHEAD = ("planned", "on_sale")


class Season:
    """Draws the rows, table by table, each table from those before it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._next: Counter[str] = Counter()
        self.tables: dict[str, list[Row]] = {
            name: []
            for name in (
                "policy", "venues", "rooms", "events", "attendees", "speakers", "sponsors", "sponsorships",
                "ticket_types", "sessions", "session_speakers", "orders", "tickets", "transfers", "refunds",
                "waiting_list", "check_ins",
            )
        }  # fmt: skip
        self._fixed_facts()
        self._people()
        for event in self.tables["events"]:
            self._programme(event)
            self._sponsors_of(event)
            self._tickets_of(event)
            self._comings_and_goings(event)
        self._waiting_lists()

    def rows(self) -> Iterator[tuple[str, Row]]:
        for table, rows in self.tables.items():
            yield from ((table, row) for row in rows)

    def _add(self, table: str, first: int, row: Row) -> Row:
        self._next[table] += 1
        numbered = {"id": first + self._next[table], **row}
        self.tables[table].append(numbered)
        return numbered

    def _one_in(self, share: float) -> bool:
        return self._rng.random() < share

    # ------------------------------------------------------------ what is given

    def _fixed_facts(self) -> None:
        for section, text in POLICY:
            self._add("policy", 0, {"section": section, "text": text})
        for name, street, district, rooms in VENUES:
            venue = self._add("venues", 10, {"name": name, "street": street, "district": district})
            for room, seats in rooms:
                self._add("rooms", 20, {"venue_id": venue["id"], "name": room, "seats": seats})
        for name, venue, _, first, days, status, *_ in EVENTS:
            first_day = date.fromisoformat(first)
            days_of_it = {"first_day": first_day, "last_day": first_day + timedelta(days=days - 1)}
            row = {"name": name, "venue_id": 11 + venue, **days_of_it, "capacity": 0, "status": status}
            self._add("events", 40, row)
        for name, _ in SPEAKERS:
            fee = 100 * self._rng.choice((0, 150, 200, 250, 300, 350, 400, 450, 500, 600, 750, 900))
            row = {"name": name, "email": address(name, "podium"), "subject": dict(SPEAKERS)[name]}
            self._add("speakers", 100, {**row, "fee_cents": fee})
        for name in SPONSORS:
            email = f"partners@{name.lower().replace(' ', '').replace('&', 'and')}.example"
            self._add("sponsors", 150, {"name": name, "email": email})

    def _people(self) -> None:
        seen: Counter[str] = Counter()
        for number, name in enumerate(ATTENDEES):
            seen[name] += 1
            town = TOWNS[(number * 5 + 3 * seen[name]) % len(TOWNS)]
            kind = self._rng.choice(("regular", "regular", "regular", "member", "member", "student", "press"))
            if kind == "press" and self._one_in(0.5):
                kind = "regular"
            works = kind in ("regular", "member") and number % 2 == 0
            organisation = ORGANISATIONS[number // 2 % len(ORGANISATIONS)] if works else None
            email = address(name, "letterbox", seen[name])
            self._attendee(name, email, town, organisation, kind)
        for name, _ in SPEAKERS[::2]:
            self._attendee(name, address(name, "podium"), self._rng.choice(TOWNS), None, "regular")

    def _attendee(self, name: str, email: str, town: str, organisation: str | None, kind: str) -> None:
        row = {"name": name, "email": email, "town": town, "organisation": organisation, "kind": kind}
        self._add("attendees", 200, row)

    # ------------------------------------------------------------ sessions and sponsors

    def _programme(self, event: Row) -> None:
        """Sessions without collisions of rooms or speakers. A planned event has none yet."""
        _, _, subject, *_ = facts(event)
        if event["status"] == "planned":
            return
        rooms = [room for room in self.tables["rooms"] if room["venue_id"] == event["venue_id"]]
        titles = list(TITLES[subject])
        if event["status"] == "over":
            titles = titles[:4]
        for title in titles:
            self._session(event, title, rooms)

    def _session(self, event: Row, title: str, rooms: list[Row]) -> None:
        length = (event["last_day"] - event["first_day"]).days + 1
        while True:
            opening = title.startswith("Opening")
            day = event["first_day"] + timedelta(days=0 if opening else self._rng.randrange(length))
            starts, lasts = SLOTS[0] if opening else self._rng.choice(SLOTS)
            room = max(rooms, key=lambda one: one["seats"]) if opening else self._rng.choice(rooms)
            when = {"day": day, "starts": starts, "ends": later(starts, lasts)}
            if not any(one["room_id"] == room["id"] and collide(one, when, 15) for one in self.tables["sessions"]):
                break
        expected = max(8, int(room["seats"] * self._rng.choice((0.3, 0.45, 0.6, 0.75, 0.9, 0.97))))
        status = "cancelled" if not opening and self._one_in(0.07) else "scheduled"
        where = {"event_id": event["id"], "room_id": room["id"], "title": title}
        session = self._add("sessions", 500, {**where, **when, "expected": expected, "status": status})
        for speaker in self._speakers_for(event, when, 2 if title.startswith("Panel") or self._one_in(0.2) else 1):
            self._add("session_speakers", 900, {"session_id": session["id"], "speaker_id": speaker})

    def _speakers_for(self, event: Row, when: Row, wanted: int) -> list[int]:
        subject = facts(event)[2]
        able = [one["id"] for one in self.tables["speakers"] if one["subject"] == subject]
        others = [one["id"] for one in self.tables["speakers"] if one["subject"] != subject]
        candidates = [*self._rng.sample(able, len(able)), *self._rng.sample(others, len(others))]
        return [one for one in candidates if self._can_speak(one, when)][:wanted]

    def _can_speak(self, speaker: int, when: Row) -> bool:
        sessions = {one["id"]: one for one in self.tables["sessions"]}
        slots = self.tables["session_speakers"]
        mine = [sessions[slot["session_id"]] for slot in slots if slot["speaker_id"] == speaker]
        same_day = [one for one in mine if one["day"] == when["day"]]
        return len(same_day) < 2 and not any(collide(one, when, 0) for one in same_day)

    def _sponsors_of(self, event: Row) -> None:
        levels = [*(["gold"] if self._one_in(0.6) else []), "silver", "bronze", "bronze"]
        sponsors = self._rng.sample(self.tables["sponsors"], len(levels))
        for sponsor, level in zip(sponsors, levels, strict=True):
            earlier = any(
                one["sponsor_id"] == sponsor["id"] and one["status"] == "paid" and self._is_over(one["event_id"])
                for one in self.tables["sponsorships"]
            )
            over = event["status"] == "over"
            status = self._rng.choice(("paid", "paid", "withdrawn") if over else ("paid", "paid", "pledged"))
            cents = LEVELS[level] * (90 if earlier and not over else 100) // 100
            row = {"sponsor_id": sponsor["id"], "event_id": event["id"], "level": level}
            self._add("sponsorships", 1000, {**row, "amount_cents": cents, "status": status})

    def _is_over(self, event_id: int) -> bool:
        return any(one["id"] == event_id and one["status"] == "over" for one in self.tables["events"])

    # ------------------------------------------------------------ tickets

    def _tickets_of(self, event: Row) -> None:
        _, _, _, _, _, _, people, standard, has_vip = facts(event)
        first, cents = event["first_day"], standard * 100
        prices = {"Early Bird": cents * 3 // 4, "Standard": cents, "Student": cents // 2}
        if has_vip:
            prices["VIP"] = cents * 2 - 1000
        types = {name: self._type(event, name, price) for name, price in prices.items()}
        types["Complimentary"] = self._type(event, "Complimentary", 0)
        comers = self._rng.sample([one for one in self.tables["attendees"] if one["id"] < 320], people)
        while comers:
            party = self._party(comers)
            self._order(event, party, types, first)
        self._complimentary(event, types["Complimentary"])
        for kind in types.values():
            sold = len(self._valid(kind))
            spare = self._rng.choice((5, 10, 15, 20, 30)) if event["status"] in AHEAD else self._rng.randrange(9)
            kind["quota"] = sold + spare
        event["capacity"] = (sum(kind["quota"] for kind in types.values()) // 10 + 2) * 10

    def _type(self, event: Row, name: str, price: int) -> Row:
        ends = event["first_day"] - timedelta(days=45 if name == "Early Bird" else 0)
        ends = event["last_day"] if name != "Early Bird" else ends
        row = {"event_id": event["id"], "name": name, "price_cents": price, "quota": 0, "sales_end": ends}
        return self._add("ticket_types", 1200, row)

    def _party(self, comers: list[Row]) -> list[Row]:
        """One person, or colleagues who come together."""
        first = comers.pop()
        company = [one for one in comers if one["organisation"] == first["organisation"] is not None]
        if len(company) < 1 or self._one_in(0.3):
            return [first]
        for one in company[:4]:
            comers.remove(one)
        return [first, *company[:4]]

    def _order(self, event: Row, party: list[Row], types: dict[str, Row], first: date) -> None:
        latest = min(NOW - timedelta(days=1), first - timedelta(days=2))
        placed = latest - timedelta(days=self._rng.choice((0, 1, 2, 4, 6, 9, 12, 15, 20, 26, 33, 41, 52, 64)))
        kind = types[self._type_for(party, types, placed)]
        cents = kind["price_cents"]
        if kind["name"] == "Standard" and (len(party) >= 5 or party[0]["kind"] == "member"):
            cents = cents * (85 if len(party) >= 5 else 90) // 100
        status = "paid"
        if event["status"] == "on_sale" and first > NOW and (NOW - placed).days < 20:
            status = self._rng.choice(("paid", "paid", "unpaid"))
        status = "cancelled" if self._one_in(0.05) else status
        method = self._rng.choice(("card", "card", "transfer")) if status == "paid" else None
        buyer = {"buyer_id": party[0]["id"], "event_id": event["id"], "placed_on": placed}
        order = self._add("orders", 4100, {**buyer, "status": status, "method": method})
        for holder in party:
            row = {"ticket_type_id": kind["id"], "holder_id": holder["id"], "order_id": order["id"]}
            live = "cancelled" if status == "cancelled" else "valid"
            self._add("tickets", 6000, {**row, "sponsorship_id": None, "price_cents": cents, "status": live})

    def _type_for(self, party: list[Row], types: dict[str, Row], placed: date) -> str:
        if len(party) == 1 and party[0]["kind"] == "student" and self._one_in(0.85):
            return "Student"
        if len(party) == 1 and self._one_in(0.12):
            return "Student"
        if placed <= types["Early Bird"]["sales_end"] and self._one_in(0.5):
            return "Early Bird"
        return "VIP" if "VIP" in types and len(party) == 1 and self._one_in(0.25) else "Standard"

    def _complimentary(self, event: Row, kind: Row) -> None:
        """For some of the speakers, of the press, and of the guests of sponsors who have paid."""
        if event["status"] in ("planned", "cancelled"):
            return
        by_email = {one["email"]: one for one in self.tables["attendees"]}
        sessions = [one["id"] for one in self.tables["sessions"] if one["event_id"] == event["id"]]
        slots = [one for one in self.tables["session_speakers"] if one["session_id"] in sessions]
        speakers = {one["id"]: one["email"] for one in self.tables["speakers"]}
        invited = [by_email.get(speakers[slot["speaker_id"]]) for slot in slots]
        invited += [one for one in self.tables["attendees"] if one["kind"] == "press"]
        for guest in invited:
            if guest is not None and self._one_in(0.3):
                self._gift(event, kind, guest, None)
        for sponsorship in self.tables["sponsorships"]:
            if sponsorship["event_id"] == event["id"] and sponsorship["status"] == "paid":
                most = GUESTS_OF_A_SPONSOR[sponsorship["level"]]
                for guest in self._rng.sample(self.tables["attendees"][:120], self._rng.randint(0, most)):
                    self._gift(event, kind, guest, sponsorship["id"])

    def _gift(self, event: Row, kind: Row, guest: Row, sponsorship: int | None) -> None:
        if guest["id"] in self._holders(event):
            return
        row = {"ticket_type_id": kind["id"], "holder_id": guest["id"], "order_id": None}
        self._add("tickets", 6000, {**row, "sponsorship_id": sponsorship, "price_cents": 0, "status": "valid"})

    def _valid(self, kind: Row) -> list[Row]:
        tickets = self.tables["tickets"]
        return [one for one in tickets if one["ticket_type_id"] == kind["id"] and one["status"] == "valid"]

    def _types_of(self, event: Row) -> dict[int, Row]:
        return {one["id"]: one for one in self.tables["ticket_types"] if one["event_id"] == event["id"]}

    def _live_tickets(self, event: Row) -> list[Row]:
        types = self._types_of(event)
        tickets = self.tables["tickets"]
        return [one for one in tickets if one["ticket_type_id"] in types and one["status"] == "valid"]

    def _holders(self, event: Row) -> set[int]:
        return {one["holder_id"] for one in self._live_tickets(event)}

    # ------------------------------------------------------------ refunds, transfers, check-ins

    def _comings_and_goings(self, event: Row) -> None:
        paid = {one["id"] for one in self.tables["orders"] if one["status"] == "paid"}
        types, first = self._types_of(event), event["first_day"]
        for ticket in self._live_tickets(event):
            if ticket["order_id"] not in paid or types[ticket["ticket_type_id"]]["name"] in ("Early Bird", "Student"):
                continue
            day = min(NOW, first) - timedelta(days=self._rng.randint(3, 25))
            if self._one_in(0.06):
                percent = 100 if (first - day).days >= 30 else 50
                ticket["status"] = "refunded"
                cents = ticket["price_cents"] * percent // 100
                self._add("refunds", 7000, {"ticket_id": ticket["id"], "amount_cents": cents, "refunded_on": day})
            elif self._one_in(0.06):
                self._transfer(event, ticket, day)
        self._check_ins(event)

    def _transfer(self, event: Row, ticket: Row, day: date) -> None:
        holders = self._holders(event)
        free = [one["id"] for one in self.tables["attendees"][:120] if one["id"] not in holders]
        receiver, giver = self._rng.choice(free), ticket["holder_id"]
        ticket["holder_id"] = receiver
        fee = 1000 if (event["first_day"] - day).days < 7 else 0
        row = {"ticket_id": ticket["id"], "from_attendee_id": giver, "to_attendee_id": receiver}
        self._add("transfers", 7200, {**row, "fee_cents": fee, "transferred_on": day})

    def _check_ins(self, event: Row) -> None:
        for ahead in range((event["last_day"] - event["first_day"]).days + 1):
            day = event["first_day"] + timedelta(days=ahead)
            if day > NOW or event["status"] == "cancelled":
                return
            share = 0.3 if day == NOW else 0.85 - 0.15 * ahead
            for ticket in self._live_tickets(event):
                if self._one_in(share):
                    at = f"{day}T{'08' if day == NOW else '09'}:{self._rng.randrange(10, 60)}:00+00:00"
                    row = {"ticket_id": ticket["id"], "day": day, "checked_in_at": at}
                    self._add("check_ins", 7400, row)

    # ------------------------------------------------------------ waiting lists

    def _waiting_lists(self) -> None:
        """Types that are sold out, or nearly so, with those who wait, were offered a ticket, or waited once."""
        for event in self.tables["events"]:
            if event["status"] == "on_sale" and event["first_day"] > NOW:
                for kind in self._types_of(event).values():
                    if kind["name"] not in ("Early Bird", "Complimentary") and self._one_in(0.55):
                        self._waiting_list(event, kind)

    def _waiting_list(self, event: Row, kind: Row) -> None:
        holders = self._holders(event)
        fits = ("student",) if kind["name"] == "Student" else ("regular", "member", "student", "press")
        people = self.tables["attendees"][:120]
        free = [one for one in people if one["kind"] in fits and one["id"] not in holders]
        for ticket in self._valid(kind)[:2]:
            self._was_served(ticket)
        statuses = [*self._rng.choices(("offered", "offered", "lapsed", "left"), k=self._rng.randint(2, 5))]
        statuses += ["waiting"] * self._rng.randint(2, 7)
        crowd = self._rng.sample(free, min(len(free), len(statuses)))
        days = sorted(self._rng.sample(range(8, 40), len(crowd)), reverse=True)
        for person, ago, status in zip(crowd, days, statuses, strict=False):
            joined = NOW - timedelta(days=ago)
            offered = None
            if status == "offered":
                offered = NOW - timedelta(days=self._rng.choice((0, 1, 2, 5, 6, 7)))
            elif status == "lapsed":
                offered = joined + timedelta(days=2)
            row = {"ticket_type_id": kind["id"], "attendee_id": person["id"], "joined_on": joined}
            self._add("waiting_list", 8000, {**row, "status": status, "offered_on": offered})
        offers = statuses[: len(crowd)].count("offered")
        kind["quota"] = len(self._valid(kind)) + offers + self._rng.choice((0, 0, 1, 1, 2))

    def _was_served(self, ticket: Row) -> None:
        joined = NOW - timedelta(days=self._rng.randint(50, 70))
        row = {"ticket_type_id": ticket["ticket_type_id"], "attendee_id": ticket["holder_id"], "joined_on": joined}
        self._add("waiting_list", 8000, {**row, "status": "served", "offered_on": joined + timedelta(days=2)})


def facts(event: Row) -> tuple[Any, ...]:
    """The line of EVENTS that an event was made from."""
    return next(line for line in EVENTS if line[0] == event["name"])


def address(name: str, host: str, which: int = 1) -> str:
    plain = name.lower().replace(" ", ".").replace("'", "")
    return f"{plain}{which if which > 1 else ''}@{host}.example"


def later(clock: str, minutes: int) -> str:
    hours, rest = divmod(int(clock[:2]) * 60 + int(clock[3:]) + minutes, 60)
    return f"{hours:02}:{rest:02}"


def collide(one: Row, other: Row, gap: int) -> bool:
    """Whether two sessions of one room or speaker are too close to each other."""
    if one["day"] != other["day"]:
        return False
    return one["starts"] < later(other["ends"], gap) and other["starts"] < later(one["ends"], gap)
