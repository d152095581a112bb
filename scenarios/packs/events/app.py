"""An events organiser's office: tickets, waiting lists, sessions with rooms and speakers, sponsors, check-in.

Reading order: what is fixed, the tables, the plumbing, what the tools are given and show, the rules at
work, then the tools themselves, reads before writes. The database counts cents, the tools speak of
dollars. Who may get what, and for how much, stands in the house rules: read_policy.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar

from fastapi import Body, FastAPI, HTTPException, Path, Query
from pydantic import Field
from sqlalchemy import ColumnElement, ForeignKey, Select, and_, create_engine, event, func, or_, select
from sqlalchemy.orm import (
    DeclarativeBase,
    InstrumentedAttribute,
    Mapped,
    Session,
    mapped_column,
    relationship,
    sessionmaker,
)

# ---------------------------------------------------------------- what is fixed

CHANGEOVER = timedelta(minutes=15)
"""Between two sessions in one room."""
DOORS_OPEN, DOORS_CLOSE = "08:00", "22:00"
COMPLIMENTARY = "Complimentary"
HEADS_OF_AN_ORDER = 10
AHEAD = ("planned", "on_sale", "closed")
LIVE_ENTRY = ("waiting", "offered")

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


class Venue(Table):
    __tablename__ = "venues"
    name: Mapped[str]
    street: Mapped[str]
    district: Mapped[str]


class Room(Table):
    __tablename__ = "rooms"
    venue_id: Mapped[int] = mapped_column(ForeignKey("venues.id"))
    name: Mapped[str]
    seats: Mapped[int]
    venue: Mapped[Venue] = relationship(lazy="joined", innerjoin=True)


class Event(Table):
    __tablename__ = "events"
    name: Mapped[str]
    venue_id: Mapped[int] = mapped_column(ForeignKey("venues.id"))
    first_day: Mapped[date]
    last_day: Mapped[date]
    capacity: Mapped[int]
    status: Mapped[str]
    venue: Mapped[Venue] = relationship(lazy="joined", innerjoin=True)


class TicketType(Table):
    __tablename__ = "ticket_types"
    event_id: Mapped[int] = mapped_column(ForeignKey("events.id"))
    name: Mapped[str]
    price_cents: Mapped[int]
    quota: Mapped[int]
    sales_end: Mapped[date]
    event: Mapped[Event] = relationship(lazy="joined", innerjoin=True)


class Attendee(Table):
    __tablename__ = "attendees"
    name: Mapped[str]
    email: Mapped[str]
    town: Mapped[str]
    organisation: Mapped[str | None]
    kind: Mapped[str]


class Speaker(Table):
    __tablename__ = "speakers"
    name: Mapped[str]
    email: Mapped[str]
    subject: Mapped[str]
    fee_cents: Mapped[int]


class Talk(Table):
    """A session of an event."""

    __tablename__ = "sessions"
    event_id: Mapped[int] = mapped_column(ForeignKey("events.id"))
    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"))
    title: Mapped[str]
    day: Mapped[date]
    starts: Mapped[str]
    ends: Mapped[str]
    expected: Mapped[int]
    status: Mapped[str] = mapped_column(default="scheduled")
    event: Mapped[Event] = relationship(lazy="joined", innerjoin=True)
    room: Mapped[Room] = relationship(lazy="joined", innerjoin=True)
    slots: Mapped[list["SpeakerSlot"]] = relationship(lazy="selectin", order_by="SpeakerSlot.id")


class SpeakerSlot(Table):
    __tablename__ = "session_speakers"
    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"))
    speaker_id: Mapped[int] = mapped_column(ForeignKey("speakers.id"))
    speaker: Mapped[Speaker] = relationship(lazy="joined", innerjoin=True)


class Sponsor(Table):
    __tablename__ = "sponsors"
    name: Mapped[str]
    email: Mapped[str]


class Sponsorship(Table):
    __tablename__ = "sponsorships"
    sponsor_id: Mapped[int] = mapped_column(ForeignKey("sponsors.id"))
    event_id: Mapped[int] = mapped_column(ForeignKey("events.id"))
    level: Mapped[str]
    amount_cents: Mapped[int]
    status: Mapped[str] = mapped_column(default="pledged")
    sponsor: Mapped[Sponsor] = relationship(lazy="joined", innerjoin=True)
    event: Mapped[Event] = relationship(lazy="joined", innerjoin=True)
    tickets: Mapped[list["Ticket"]] = relationship(
        lazy="selectin",
        primaryjoin="and_(Ticket.sponsorship_id == Sponsorship.id, Ticket.status == 'valid')",
        viewonly=True,
    )


class Order(Table):
    __tablename__ = "orders"
    buyer_id: Mapped[int] = mapped_column(ForeignKey("attendees.id"))
    event_id: Mapped[int] = mapped_column(ForeignKey("events.id"))
    placed_on: Mapped[date]
    status: Mapped[str] = mapped_column(default="unpaid")
    method: Mapped[str | None]
    buyer: Mapped[Attendee] = relationship(lazy="joined", innerjoin=True)
    event: Mapped[Event] = relationship(lazy="joined", innerjoin=True)
    tickets: Mapped[list["Ticket"]] = relationship(lazy="selectin", order_by="Ticket.id")


class Ticket(Table):
    __tablename__ = "tickets"
    ticket_type_id: Mapped[int] = mapped_column(ForeignKey("ticket_types.id"))
    holder_id: Mapped[int] = mapped_column(ForeignKey("attendees.id"))
    order_id: Mapped[int | None] = mapped_column(ForeignKey("orders.id"))
    sponsorship_id: Mapped[int | None] = mapped_column(ForeignKey("sponsorships.id"))
    price_cents: Mapped[int]
    status: Mapped[str] = mapped_column(default="valid")
    type: Mapped[TicketType] = relationship(lazy="joined", innerjoin=True)
    holder: Mapped[Attendee] = relationship(lazy="joined", innerjoin=True)
    order: Mapped[Order | None] = relationship(back_populates="tickets")


class Transfer(Table):
    __tablename__ = "transfers"
    ticket_id: Mapped[int] = mapped_column(ForeignKey("tickets.id"))
    from_attendee_id: Mapped[int] = mapped_column(ForeignKey("attendees.id"))
    to_attendee_id: Mapped[int] = mapped_column(ForeignKey("attendees.id"))
    fee_cents: Mapped[int]
    transferred_on: Mapped[date]


class Refund(Table):
    __tablename__ = "refunds"
    ticket_id: Mapped[int] = mapped_column(ForeignKey("tickets.id"))
    amount_cents: Mapped[int]
    refunded_on: Mapped[date]


class WaitingEntry(Table):
    __tablename__ = "waiting_list"
    ticket_type_id: Mapped[int] = mapped_column(ForeignKey("ticket_types.id"))
    attendee_id: Mapped[int] = mapped_column(ForeignKey("attendees.id"))
    joined_on: Mapped[date]
    status: Mapped[str] = mapped_column(default="waiting")
    offered_on: Mapped[date | None]
    type: Mapped[TicketType] = relationship(lazy="joined", innerjoin=True)
    attendee: Mapped[Attendee] = relationship(lazy="joined", innerjoin=True)


class CheckIn(Table):
    __tablename__ = "check_ins"
    ticket_id: Mapped[int] = mapped_column(ForeignKey("tickets.id"))
    day: Mapped[date]
    checked_in_at: Mapped[str]
    ticket: Mapped[Ticket] = relationship(lazy="joined", innerjoin=True)


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Copperfield Events")
engine = create_engine("sqlite:///world.db")
transaction = sessionmaker(engine).begin
NAMES = {Talk: "session", TicketType: "ticket type", WaitingEntry: "waiting list entry"}


@event.listens_for(engine, "connect")
def enforce_foreign_keys(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def refuse(reason: str, status: int = 409) -> NoReturn:
    """Answer with an error. The open transaction is rolled back."""
    raise HTTPException(status, reason)


def find(db: Session, table: type[Row], key: int) -> Row:
    name = NAMES.get(table, table.__name__.lower())
    return db.get(table, key) or refuse(f"No {name} with id {key}: look it up first.", 404)


def save(db: Session, row: Row) -> Row:
    """Add a new row and give it its id."""
    db.add(row)
    db.flush()
    return row


def page(db: Session, query: Select[Row], show: Callable[[Row], Record], limit: int) -> Record:
    """Show the first results and say how many there are in all."""
    total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery()))
    return {"total": total, "results": [show(row) for row in db.scalars(query.limit(limit))]}


def narrow(query: Select[Row], *wanted: tuple[InstrumentedAttribute[Any], Any]) -> Select[Row]:
    """Keep the rows whose columns have the wanted values. None means that any value will do."""
    return query.where(*(column == value for column, value in wanted if value is not None))


def mentions(text: str, *columns: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
    """Every word occurs in at least one of the columns."""
    return and_(
        True,
        *(or_(*(column.icontains(word, autoescape=True) for column in columns)) for word in text.split()),
    )


def now() -> datetime:
    return datetime.now(UTC)


def today() -> date:
    return now().date()


def dollars(cents: int) -> float:
    return cents / 100


def price(cents: int) -> str:
    return f"${dollars(cents):.2f}"


def cents_of(amount: float) -> int:
    return round(amount * 100)


def plain(name: str) -> str:
    return name.replace("_", " ")


def number_of(order: Order) -> str:
    """The order number that customers are given."""
    return f"OR-{order.id}"


def minutes(clock: str) -> timedelta:
    moment = time.fromisoformat(clock)
    return timedelta(hours=moment.hour, minutes=moment.minute)


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
Clock: TypeAlias = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
Heads: TypeAlias = Annotated[int, Field(ge=1, le=5000)]
EventId: TypeAlias = Annotated[Id, Path(description="The event's id, from search_events.")]
SessionId: TypeAlias = Annotated[Id, Path(description="The session's id, from list_sessions.")]
SpeakerId: TypeAlias = Annotated[Id, Path(description="The speaker's id, from search_speakers.")]
AttendeeId: TypeAlias = Annotated[Id, Path(description="The attendee's id, from search_attendees.")]
OrderId: TypeAlias = Annotated[Id, Path(description="The order's id, from list_orders.")]
TicketId: TypeAlias = Annotated[
    Id, Path(description="The ticket's id, from get_attendee, get_order or list_tickets.")
]
EntryId: TypeAlias = Annotated[Id, Path(description="The entry's id, from list_waiting_list.")]
TypeId: TypeAlias = Annotated[Id, Path(description="The ticket type's id, from get_event.")]
SponsorshipId: TypeAlias = Annotated[Id, Path(description="The sponsorship's id, from list_sponsorships.")]
EventFilter: TypeAlias = Annotated[Id | None, Query(description="Only of this event, from search_events.")]
TypeFilter: TypeAlias = Annotated[Id | None, Query(description="Only of this ticket type, from get_event.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=50, description="How many results to show at most.")]
Level: TypeAlias = Literal["gold", "silver", "bronze"]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_room(room: Room) -> Record:
    return {"room_id": room.id, "room": room.name, "venue": room.venue.name, "seats": room.seats}


def show_event(event: Event) -> Record:
    return {
        "event_id": event.id,
        "name": event.name,
        "venue_id": event.venue_id,
        "venue": event.venue.name,
        "first_day": event.first_day,
        "last_day": event.last_day,
        "capacity": event.capacity,
        "status": event.status,
    }


def show_attendee(attendee: Attendee) -> Record:
    return {
        "attendee_id": attendee.id,
        "name": attendee.name,
        "email": attendee.email,
        "town": attendee.town,
        "organisation": attendee.organisation,
        "kind": attendee.kind,
    }


def show_speaker(speaker: Speaker) -> Record:
    return {
        "speaker_id": speaker.id,
        "name": speaker.name,
        "email": speaker.email,
        "subject": speaker.subject,
        "fee_per_session": dollars(speaker.fee_cents),
    }


def show_session(talk: Talk) -> Record:
    return {
        "session_id": talk.id,
        "title": talk.title,
        "event_id": talk.event_id,
        "event": talk.event.name,
        "day": talk.day,
        "starts": talk.starts,
        "ends": talk.ends,
        "room_id": talk.room_id,
        "room": talk.room.name,
        "seats": talk.room.seats,
        "expected": talk.expected,
        "status": talk.status,
        "speakers": [{"speaker_id": slot.speaker_id, "name": slot.speaker.name} for slot in talk.slots],
    }


def show_ticket(ticket: Ticket) -> Record:
    return {
        "ticket_id": ticket.id,
        "event_id": ticket.type.event_id,
        "event": ticket.type.event.name,
        "first_day": ticket.type.event.first_day,
        "ticket_type_id": ticket.ticket_type_id,
        "ticket_type": ticket.type.name,
        "holder_id": ticket.holder_id,
        "holder": ticket.holder.name,
        "order": f"OR-{ticket.order_id}" if ticket.order_id else None,
        "price_paid": dollars(ticket.price_cents),
        "status": ticket.status,
    }


def show_order(order: Order) -> Record:
    live = [ticket for ticket in order.tickets if ticket.status == "valid"]
    return {
        "order_id": order.id,
        "number": number_of(order),
        "buyer_id": order.buyer_id,
        "buyer": order.buyer.name,
        "event": order.event.name,
        "placed_on": order.placed_on,
        "status": order.status,
        "payment_method": order.method,
        "valid_tickets": len(live),
        "total": dollars(sum(ticket.price_cents for ticket in order.tickets)),
    }


def show_entry(entry: WaitingEntry) -> Record:
    return {
        "entry_id": entry.id,
        "event": entry.type.event.name,
        "ticket_type_id": entry.ticket_type_id,
        "ticket_type": entry.type.name,
        "attendee_id": entry.attendee_id,
        "attendee": entry.attendee.name,
        "kind": entry.attendee.kind,
        "joined_on": entry.joined_on,
        "status": entry.status,
        "offered_on": entry.offered_on,
    }


def show_sponsorship(sponsorship: Sponsorship) -> Record:
    return {
        "sponsorship_id": sponsorship.id,
        "sponsor_id": sponsorship.sponsor_id,
        "sponsor": sponsorship.sponsor.name,
        "event_id": sponsorship.event_id,
        "event": sponsorship.event.name,
        "first_day": sponsorship.event.first_day,
        "level": sponsorship.level,
        "amount": dollars(sponsorship.amount_cents),
        "status": sponsorship.status,
        "complimentary_tickets": len(sponsorship.tickets),
    }


def show_type(kind: TicketType, sold: int, offered: int, waiting: int) -> Record:
    return {
        "ticket_type_id": kind.id,
        "name": kind.name,
        "price": dollars(kind.price_cents),
        "quota": kind.quota,
        "sold": sold,
        "offered": offered,
        "left": kind.quota - sold - offered,
        "waiting": waiting,
        "sales_end": kind.sales_end,
    }


# ---------------------------------------------------------------- the rules at work


def sold_of(kind: Any) -> Any:
    """How many valid tickets there are of a type: an id, or a column of ids."""
    return (
        select(func.count(Ticket.id))
        .where(Ticket.ticket_type_id == kind, Ticket.status == "valid")
        .scalar_subquery()
    )


def entries_of(kind: Any, status: str) -> Any:
    return (
        select(func.count(WaitingEntry.id))
        .where(WaitingEntry.ticket_type_id == kind, WaitingEntry.status == status)
        .scalar_subquery()
    )


def counts(db: Session, kind: TicketType) -> tuple[int, int, int]:
    """Sold, offered, waiting."""
    found = select(sold_of(kind.id), entries_of(kind.id, "offered"), entries_of(kind.id, "waiting"))
    sold, offered, waiting = db.execute(found).one()
    return sold, offered, waiting


def require_places(db: Session, kind: TicketType, wanted: int) -> None:
    sold, offered, _ = counts(db, kind)
    if (left := kind.quota - sold - offered) < wanted:
        refuse(
            f"{kind.event.name}: {max(left, 0)} {kind.name} tickets are left of {kind.quota} ({offered} are "
            f"offered to the waiting list), {wanted} wanted. See join_waiting_list or change_quota."
        )


def require_on_sale(kind: TicketType) -> None:
    if kind.event.status != "on_sale":
        refuse(f"{kind.event.name} is {plain(kind.event.status)}, not on sale.")
    if kind.sales_end < today():
        refuse(f"{kind.name} tickets of {kind.event.name} were sold until {kind.sales_end}.")


def require_for_sale(kind: TicketType) -> None:
    if kind.name == COMPLIMENTARY:
        refuse("Complimentary tickets are not sold: see issue_complimentary.")


def require_no_ticket(db: Session, event: Event, *attendees: Attendee) -> None:
    held = (
        select(Ticket)
        .join(TicketType, Ticket.ticket_type_id == TicketType.id)
        .where(TicketType.event_id == event.id, Ticket.status == "valid")
        .where(Ticket.holder_id.in_([attendee.id for attendee in attendees]))
    )
    if ticket := db.scalars(held.order_by(Ticket.id)).first():
        refuse(f"{ticket.holder.name} has a valid {ticket.type.name} ticket of {event.name} already.")


def require_usable(db: Session, ticket: Ticket) -> None:
    """Valid, paid and not used yet."""
    if ticket.status != "valid":
        refuse(f"This ticket of {ticket.holder.name}'s is {ticket.status}.")
    if ticket.order is not None and ticket.order.status != "paid":
        refuse(
            f"Order {number_of(ticket.order)} is {ticket.order.status}: see record_payment or cancel_order."
        )
    if used := db.scalars(select(CheckIn).where(CheckIn.ticket_id == ticket.id)).first():
        refuse(f"{ticket.holder.name} was checked in with this ticket on {used.day}.")


def require_not_begun(event: Event) -> None:
    if event.first_day <= today():
        refuse(f"{event.name} began on {event.first_day}; today is {today()}.")


def require_times(event: Event, day: date, starts: str, ends: str) -> None:
    if not event.first_day <= day <= event.last_day:
        refuse(f"{event.name} runs from {event.first_day} to {event.last_day}: {day} is outside.")
    if not DOORS_OPEN <= starts < ends <= DOORS_CLOSE:
        refuse(f"A session ends after it starts, between {DOORS_OPEN} and {DOORS_CLOSE}.", 422)


def sessions_on(day: date) -> Select[Talk]:
    return select(Talk).where(Talk.day == day, Talk.status == "scheduled").order_by(Talk.starts, Talk.id)


def in_the_way(talk: Talk, starts: str, ends: str, gap: timedelta = timedelta(0)) -> bool:
    return minutes(talk.starts) < minutes(ends) + gap and minutes(starts) < minutes(talk.ends) + gap


def require_room(
    db: Session, room: Room, event: Event, day: date, starts: str, ends: str, expected: int, but: int = 0
) -> None:
    """Refuse a room of another venue, one that is too small, and one that another session needs."""
    if room.venue_id != event.venue_id:
        refuse(f"{room.name} is at {room.venue.name}; {event.name} is at {event.venue.name}.")
    if room.seats < expected:
        refuse(f"{room.name} has {room.seats} seats, {expected} people are expected: see find_free_rooms.")
    for other in db.scalars(sessions_on(day).where(Talk.room_id == room.id, Talk.id != but)):
        if in_the_way(other, starts, ends, CHANGEOVER):
            refuse(
                f"{room.name} is taken on {day} from {other.starts} to {other.ends} ({other.title}), and needs "
                "15 minutes between sessions: choose another, see find_free_rooms."
            )


def require_speakers_free(
    db: Session, speakers: list[Speaker], day: date, starts: str, ends: str, but: int = 0
) -> None:
    mine = select(SpeakerSlot.session_id).where(SpeakerSlot.speaker_id.in_([one.id for one in speakers]))
    names = {speaker.id: speaker.name for speaker in speakers}
    for other in db.scalars(sessions_on(day).where(Talk.id.in_(mine), Talk.id != but)):
        if in_the_way(other, starts, ends):
            name = next(names[slot.speaker_id] for slot in other.slots if slot.speaker_id in names)
            refuse(f"{name} speaks in {other.title} on {day} from {other.starts} to {other.ends}.")


def require_entry(entry: WaitingEntry, *allowed: str) -> None:
    if entry.status not in allowed:
        refuse(f"{entry.attendee.name}'s entry is {entry.status}, not {' or '.join(allowed)}.")


def place(db: Session, kind: TicketType, buyer: Attendee, holders: list[Attendee], cents: int) -> Order:
    """A new order, still unpaid, with a ticket at this price for each holder."""
    order = save(db, Order(buyer=buyer, event=kind.event, placed_on=today()))
    order.tickets = [Ticket(type=kind, holder=holder, price_cents=cents) for holder in holders]
    db.flush()
    return order


def show_whole_order(order: Order) -> Record:
    return {**show_order(order), "tickets": [show_ticket(ticket) for ticket in order.tickets]}


# ---------------------------------------------------------------- reads


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """The house rules that staff must follow: refunds, transfers, discounts, waiting lists, complimentary
    tickets, speakers, rooms, sponsors; and what day it is."""
    with transaction() as db:
        sections = db.scalars(select(Policy).order_by(Policy.id))
        rules = [{"section": section.section, "text": section.text} for section in sections]
        return {"today": today(), "sections": rules}


@app.get("/rooms", operation_id="list_rooms")
async def list_rooms(
    venue: Annotated[
        str | None, Query(description="Only rooms of venues with these words in the name.")
    ] = None,
    limit: Limit = 30,
) -> Record:
    """List the venues' rooms with their seats, venue by venue, the smallest room first."""
    with transaction() as db:
        found = select(Room).join(Venue, Room.venue_id == Venue.id).where(mentions(venue or "", Venue.name))
        return page(db, found.order_by(Venue.name, Room.seats, Room.id), show_room, limit)


@app.get("/free-rooms", operation_id="find_free_rooms")
async def find_free_rooms(
    venue_id: Annotated[Id, Query(description="The venue, from search_events.")],
    day: Annotated[date, Query(description="The day, YYYY-MM-DD.")],
    starts: Annotated[Clock, Query(description="From when, HH:MM.")],
    ends: Annotated[Clock, Query(description="Until when, HH:MM.")],
    seats: Annotated[int, Query(ge=1, description="How many seats it needs at least.")] = 1,
) -> Record:
    """List a venue's rooms that are free at that time, 15 minutes before and after it included, the smallest
    first."""
    with transaction() as db:
        venue = find(db, Venue, venue_id)
        rooms = select(Room).where(Room.venue_id == venue.id, Room.seats >= seats)
        talks = list(db.scalars(sessions_on(day).join(Room).where(Room.venue_id == venue.id)))
        taken = {talk.room_id for talk in talks if in_the_way(talk, starts, ends, CHANGEOVER)}
        free = [room for room in db.scalars(rooms.order_by(Room.seats, Room.id)) if room.id not in taken]
        return {"total": len(free), "results": [show_room(room) for room in free]}


@app.get("/events", operation_id="search_events")
async def search_events(
    query: Annotated[str, Query(description="Words from the event's or the venue's name.")] = "",
    status: Annotated[
        Literal["planned", "on_sale", "closed", "cancelled", "over"] | None,
        Query(description="Only events in this status."),
    ] = None,
    on_day: Annotated[date | None, Query(description="Only events that run on this day.")] = None,
    limit: Limit = 20,
) -> Record:
    """Find events by name, venue, status or day: where and when they are, earliest first. get_event shows
    the tickets."""
    with transaction() as db:
        found = narrow(select(Event).join(Venue, Event.venue_id == Venue.id), (Event.status, status))
        found = found.where(mentions(query, Event.name, Venue.name))
        if on_day is not None:
            found = found.where(Event.first_day <= on_day, Event.last_day >= on_day)
        return page(db, found.order_by(Event.first_day, Event.id), show_event, limit)


@app.get("/events/{event_id}", operation_id="get_event")
async def get_event(event_id: EventId) -> Record:
    """Show one event with its ticket types: price, quota, sold, offered to the waiting list, left, waiting."""
    with transaction() as db:
        event = find(db, Event, event_id)
        key = TicketType.id
        counted = (sold_of(key), entries_of(key, "offered"), entries_of(key, "waiting"))
        types = select(TicketType, *counted).where(TicketType.event_id == event.id)
        found = db.execute(types.order_by(TicketType.price_cents.desc(), TicketType.id))
        return {**show_event(event), "ticket_types": [show_type(*row) for row in found]}


@app.get("/sessions", operation_id="list_sessions")
async def list_sessions(
    query: Annotated[str, Query(description="Words from the session's title.")] = "",
    event_id: EventFilter = None,
    speaker_id: Annotated[Id | None, Query(description="Only this speaker's, from search_speakers.")] = None,
    day: Annotated[date | None, Query(description="Only sessions of this day.")] = None,
    room_id: Annotated[Id | None, Query(description="Only sessions in this room, from list_rooms.")] = None,
    status: Annotated[
        Literal["scheduled", "cancelled"] | None, Query(description="Only sessions in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List sessions with rooms, times, expected numbers and speakers, earliest first."""
    with transaction() as db:
        wanted = ((Talk.event_id, event_id), (Talk.day, day), (Talk.room_id, room_id), (Talk.status, status))
        found = narrow(select(Talk), *wanted).where(mentions(query, Talk.title))
        if speaker_id is not None:
            mine = select(SpeakerSlot.session_id).where(SpeakerSlot.speaker_id == speaker_id)
            found = found.where(Talk.id.in_(mine))
        return page(db, found.order_by(Talk.day, Talk.starts, Talk.id), show_session, limit)


@app.get("/speakers", operation_id="search_speakers")
async def search_speakers(
    query: Annotated[str, Query(description="Words from the name, the email address or the subject.")] = "",
    limit: Limit = 20,
) -> Record:
    """Find speakers by name, email or subject, with their fees for one session in dollars."""
    with transaction() as db:
        wanted = mentions(query, Speaker.name, Speaker.email, Speaker.subject)
        return page(db, select(Speaker).where(wanted).order_by(Speaker.name), show_speaker, limit)


@app.get("/attendees", operation_id="search_attendees")
async def search_attendees(
    query: Annotated[
        str,
        Query(
            min_length=2, description="Words from the name, the email address, the town or the organisation."
        ),
    ],
    limit: Limit = 20,
) -> Record:
    """Find attendees by name, email, town or organisation. Returns ids and whether they are members,
    students or of the press."""
    with transaction() as db:
        wanted = mentions(query, Attendee.name, Attendee.email, Attendee.town, Attendee.organisation)
        found = select(Attendee).where(wanted).order_by(Attendee.name, Attendee.id)
        return page(db, found, show_attendee, limit)


@app.get("/attendees/{attendee_id}", operation_id="get_attendee")
async def get_attendee(attendee_id: AttendeeId) -> Record:
    """Show one attendee with all their tickets and their live places on waiting lists."""
    with transaction() as db:
        attendee = find(db, Attendee, attendee_id)
        tickets = db.scalars(select(Ticket).where(Ticket.holder_id == attendee.id).order_by(Ticket.id))
        mine = (WaitingEntry.attendee_id == attendee.id, WaitingEntry.status.in_(LIVE_ENTRY))
        entries = db.scalars(select(WaitingEntry).where(*mine).order_by(WaitingEntry.id))
        return {
            **show_attendee(attendee),
            "tickets": [show_ticket(ticket) for ticket in tickets],
            "waiting_for": [show_entry(entry) for entry in entries],
        }


@app.get("/orders", operation_id="list_orders")
async def list_orders(
    number: Annotated[
        str | None,
        Query(pattern=r"^[Oo][Rr]-\d{1,9}$", description="Only the order with this number, like OR-4107."),
    ] = None,
    buyer_id: Annotated[Id | None, Query(description="Only this buyer's, from search_attendees.")] = None,
    event_id: EventFilter = None,
    status: Annotated[
        Literal["unpaid", "paid", "cancelled"] | None, Query(description="Only orders in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List orders with their totals in dollars, the oldest first. get_order shows the tickets."""
    with transaction() as db:
        wanted = ((Order.buyer_id, buyer_id), (Order.event_id, event_id), (Order.status, status))
        found = narrow(select(Order), (Order.id, int(number[3:]) if number else None), *wanted)
        return page(db, found.order_by(Order.placed_on, Order.id), show_order, limit)


@app.get("/orders/{order_id}", operation_id="get_order")
async def get_order(order_id: OrderId) -> Record:
    """Show one order with its tickets and their holders."""
    with transaction() as db:
        return show_whole_order(find(db, Order, order_id))


@app.get("/tickets", operation_id="list_tickets")
async def list_tickets(
    event_id: EventFilter = None,
    ticket_type_id: TypeFilter = None,
    holder: Annotated[str, Query(description="Only tickets of holders with these words in the name.")] = "",
    organisation: Annotated[
        str, Query(description="Only of holders whose organisation has these words.")
    ] = "",
    status: Annotated[
        Literal["valid", "refunded", "cancelled"] | None, Query(description="Only tickets in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List tickets by event, type, holder, organisation or status, holders in alphabetical order."""
    with transaction() as db:
        joined = (
            select(Ticket)
            .join(TicketType, Ticket.ticket_type_id == TicketType.id)
            .join(Attendee, Ticket.holder_id == Attendee.id)
        )
        wanted = ((TicketType.event_id, event_id), (TicketType.id, ticket_type_id), (Ticket.status, status))
        found = narrow(joined, *wanted).where(mentions(holder, Attendee.name))
        found = found.where(mentions(organisation, Attendee.organisation))
        return page(db, found.order_by(Attendee.name, Ticket.id), show_ticket, limit)


@app.get("/waiting-list", operation_id="list_waiting_list")
async def list_waiting_list(
    event_id: EventFilter = None,
    ticket_type_id: TypeFilter = None,
    status: Annotated[
        Literal["waiting", "offered", "served", "lapsed", "left"] | None,
        Query(description="Only entries in this status."),
    ] = None,
    limit: Limit = 30,
) -> Record:
    """List entries of the waiting lists, those who joined first first. Offered entries hold a place."""
    with transaction() as db:
        joined = select(WaitingEntry).join(TicketType, WaitingEntry.ticket_type_id == TicketType.id)
        wanted = ((TicketType.event_id, event_id), (TicketType.id, ticket_type_id))
        found = narrow(joined, *wanted, (WaitingEntry.status, status))
        return page(db, found.order_by(WaitingEntry.joined_on, WaitingEntry.id), show_entry, limit)


@app.get("/sponsors", operation_id="search_sponsors")
async def search_sponsors(
    query: Annotated[str, Query(description="Words from the sponsor's name.")] = "", limit: Limit = 20
) -> Record:
    """Find sponsors by name: their ids and email addresses."""
    with transaction() as db:
        found = select(Sponsor).where(mentions(query, Sponsor.name)).order_by(Sponsor.name)
        return page(
            db, found, lambda one: {"sponsor_id": one.id, "name": one.name, "email": one.email}, limit
        )


@app.get("/sponsorships", operation_id="list_sponsorships")
async def list_sponsorships(
    sponsor_id: Annotated[Id | None, Query(description="Only this sponsor's, from search_sponsors.")] = None,
    event_id: EventFilter = None,
    status: Annotated[
        Literal["pledged", "paid", "withdrawn"] | None, Query(description="Only those in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List sponsorships: level, amount, whether it is paid, and how many complimentary tickets were issued
    on it. Earliest event first."""
    with transaction() as db:
        joined = select(Sponsorship).join(Event, Sponsorship.event_id == Event.id)
        wanted = ((Sponsorship.sponsor_id, sponsor_id), (Sponsorship.event_id, event_id))
        found = narrow(joined, *wanted, (Sponsorship.status, status))
        return page(db, found.order_by(Event.first_day, Sponsorship.id), show_sponsorship, limit)


@app.get("/check-ins", operation_id="list_check_ins")
async def list_check_ins(
    event_id: Annotated[Id, Query(description="The event, from search_events.")],
    day: Annotated[date | None, Query(description="Only check-ins of this day.")] = None,
    ticket_type_id: TypeFilter = None,
    limit: Limit = 20,
) -> Record:
    """List who was checked in at an event, holders in alphabetical order, and how many in all."""
    with transaction() as db:
        joined = (
            select(CheckIn)
            .join(Ticket, CheckIn.ticket_id == Ticket.id)
            .join(TicketType, Ticket.ticket_type_id == TicketType.id)
            .join(Attendee, Ticket.holder_id == Attendee.id)
        )
        wanted = ((TicketType.event_id, event_id), (CheckIn.day, day), (TicketType.id, ticket_type_id))
        found = narrow(joined, *wanted).order_by(CheckIn.day, Attendee.name, CheckIn.id)
        return page(db, found, show_check_in, limit)


def show_check_in(check_in: CheckIn) -> Record:
    return {
        "ticket_id": check_in.ticket_id,
        "holder": check_in.ticket.holder.name,
        "ticket_type": check_in.ticket.type.name,
        "day": check_in.day,
        "checked_in_at": check_in.checked_in_at,
    }


# ---------------------------------------------------------------- writes: attendees and orders


@app.post("/attendees", operation_id="register_attendee")
async def register_attendee(
    name: Annotated[str, given("Full name.", min_length=2)],
    email: Annotated[str, given("Email address, not yet used by another attendee.", pattern=r"^\S+@\S+$")],
    town: Annotated[str, given("Home town.", min_length=2)],
    kind: Annotated[
        Literal["regular", "member", "student", "press"], given("What they are to us.")
    ] = "regular",
    organisation: Annotated[str | None, given("Whom they work for, if they come for it.")] = None,
) -> Record:
    """Register a new attendee. Refuses an email address that is already in use."""
    with transaction() as db:
        require_new_email(db, email)
        attendee = Attendee(name=name, email=email, town=town, kind=kind, organisation=organisation)
        return show_attendee(save(db, attendee))


def require_new_email(db: Session, email: str) -> None:
    if holder := db.scalars(select(Attendee).where(func.lower(Attendee.email) == email.lower())).first():
        refuse(f"{email} already belongs to {holder.name} (attendee {holder.id}).")


@app.post("/attendees/{attendee_id}/email", operation_id="change_email")
async def change_email(
    attendee_id: AttendeeId,
    email: Annotated[str, given("The new email address.", pattern=r"^\S+@\S+$")],
) -> Record:
    """Change an attendee's email address. Refuses one that is already in use."""
    with transaction() as db:
        attendee = find(db, Attendee, attendee_id)
        require_new_email(db, email)
        attendee.email = email
        return show_attendee(attendee)


@app.post("/orders", operation_id="place_order")
async def place_order(
    buyer_id: Annotated[Id, given("Who orders and pays, from search_attendees.")],
    ticket_type_id: Annotated[Id, given("The ticket type, from get_event.")],
    holder_ids: Annotated[
        list[Id], given("Who gets the tickets, one each.", min_length=1, max_length=HEADS_OF_AN_ORDER)
    ],
    discount_percent: Annotated[
        Literal[0, 10, 15], given("The discount that the house rules give for this order.")
    ] = 0,
) -> Record:
    """Order tickets of one type, one for each holder. The order is unpaid at first: record_payment. Refuses
    events that are not on sale, types that are sold out or no longer sold, and holders who have a ticket."""
    with transaction() as db:
        buyer, kind = find(db, Attendee, buyer_id), find(db, TicketType, ticket_type_id)
        holders = [find(db, Attendee, key) for key in holder_ids]
        if len(set(holder_ids)) < len(holder_ids):
            refuse("A holder is named twice: one ticket each.", 422)
        require_for_sale(kind)
        require_on_sale(kind)
        require_places(db, kind, len(holders))
        require_no_ticket(db, kind.event, *holders)
        cents = kind.price_cents * (100 - discount_percent) // 100
        return show_whole_order(place(db, kind, buyer, holders, cents))


@app.post("/orders/{order_id}/payment", operation_id="record_payment")
async def record_payment(
    order_id: OrderId, method: Annotated[Literal["card", "transfer", "cash"], given("How it was paid.")]
) -> Record:
    """Record that an unpaid order was paid in full. Refuses orders that are paid or cancelled."""
    with transaction() as db:
        order = find(db, Order, order_id)
        require_unpaid(order)
        order.status, order.method = "paid", method
        return show_order(order)


@app.post("/orders/{order_id}/cancellation", operation_id="cancel_order")
async def cancel_order(order_id: OrderId) -> Record:
    """Cancel an unpaid order with its tickets: their places are free again. Refuses orders that are paid
    (see refund_ticket) or cancelled."""
    with transaction() as db:
        order = find(db, Order, order_id)
        require_unpaid(order)
        order.status = "cancelled"
        for ticket in order.tickets:
            ticket.status = "cancelled"
        return show_whole_order(order)


def require_unpaid(order: Order) -> None:
    if order.status != "unpaid":
        refuse(f"Order {number_of(order)} is {order.status}, not unpaid.")


# ---------------------------------------------------------------- writes: tickets


@app.post("/tickets/{ticket_id}/refund", operation_id="refund_ticket")
async def refund_ticket(
    ticket_id: TicketId,
    percent: Annotated[Literal[50, 100], given("The part of the price that the house rules give back.")],
) -> Record:
    """Take a paid ticket back for all or half of its price: its place is free again. Refuses complimentary
    tickets, those that were used, and events that have begun."""
    with transaction() as db:
        ticket = find(db, Ticket, ticket_id)
        require_usable(db, ticket)
        if ticket.order is None:
            refuse("A complimentary ticket has no price to give back.")
        if ticket.type.event.status != "cancelled":
            require_not_begun(ticket.type.event)
        ticket.status = "refunded"
        cents = ticket.price_cents * percent // 100
        save(db, Refund(ticket_id=ticket.id, amount_cents=cents, refunded_on=today()))
        return {**show_ticket(ticket), "refunded": dollars(cents)}


@app.post("/tickets/{ticket_id}/transfer", operation_id="transfer_ticket")
async def transfer_ticket(
    ticket_id: TicketId,
    attendee_id: Annotated[Id, given("The new holder, from search_attendees.")],
    fee: Annotated[float, given("The fee in dollars that the house rules ask for.", ge=0, le=50)],
) -> Record:
    """Give a ticket to another holder. Refuses a second transfer, tickets that were used or are unpaid,
    events that have begun, and new holders who have a ticket of the event."""
    with transaction() as db:
        ticket, receiver = find(db, Ticket, ticket_id), find(db, Attendee, attendee_id)
        require_usable(db, ticket)
        require_not_begun(ticket.type.event)
        if earlier := db.scalars(select(Transfer).where(Transfer.ticket_id == ticket.id)).first():
            refuse(f"This ticket was transferred on {earlier.transferred_on}: once is all.")
        require_no_ticket(db, ticket.type.event, receiver)
        transfer = Transfer(
            ticket_id=ticket.id,
            from_attendee_id=ticket.holder_id,
            to_attendee_id=receiver.id,
            fee_cents=cents_of(fee),
            transferred_on=today(),
        )
        save(db, transfer)
        ticket.holder = receiver
        db.flush()
        return {**show_ticket(ticket), "fee": dollars(transfer.fee_cents)}


@app.post("/tickets/{ticket_id}/upgrade", operation_id="upgrade_ticket")
async def upgrade_ticket(
    ticket_id: TicketId,
    ticket_type_id: Annotated[Id, given("The dearer type of the same event, from get_event.")],
) -> Record:
    """Change a paid ticket into a dearer one of the same event, and say what the holder pays for it now: the
    new price less what was paid. Refuses types that are sold out or not dearer, and tickets that were used."""
    with transaction() as db:
        ticket, kind = find(db, Ticket, ticket_id), find(db, TicketType, ticket_type_id)
        require_usable(db, ticket)
        require_on_sale(kind)
        if kind.event_id != ticket.type.event_id:
            refuse(f"This ticket is for {ticket.type.event.name}, not {kind.event.name}.")
        if ticket.order is None or kind.price_cents <= ticket.type.price_cents:
            refuse(f"{kind.name} is no upgrade of {ticket.type.name}.")
        require_places(db, kind, 1)
        due = kind.price_cents - ticket.price_cents
        ticket.type, ticket.price_cents = kind, kind.price_cents
        db.flush()
        return {**show_ticket(ticket), "paid_for_the_upgrade": dollars(due)}


@app.post("/events/{event_id}/complimentary-tickets", operation_id="issue_complimentary")
async def issue_complimentary(
    event_id: EventId,
    attendee_id: Annotated[Id, given("Who gets it, from search_attendees.")],
    sponsorship_id: Annotated[
        Id | None,
        given("The sponsorship on which it is issued, from list_sponsorships, if it is a sponsor's."),
    ] = None,
) -> Record:
    """Issue a complimentary ticket to somebody to whom the house rules give one. Refuses attendees with a
    ticket, used-up quotas, events that are over, and sponsorships of other events."""
    with transaction() as db:
        event, attendee = find(db, Event, event_id), find(db, Attendee, attendee_id)
        if event.status not in AHEAD:
            refuse(f"{event.name} is {event.status}.")
        free = select(TicketType).where(TicketType.event_id == event.id, TicketType.name == COMPLIMENTARY)
        kind = db.scalars(free).one_or_none() or refuse(f"{event.name} has no complimentary tickets.")
        if sponsorship_id is not None:
            require_live_sponsorship(find(db, Sponsorship, sponsorship_id), event)
        require_no_ticket(db, event, attendee)
        require_places(db, kind, 1)
        return show_ticket(
            save(db, Ticket(type=kind, holder=attendee, sponsorship_id=sponsorship_id, price_cents=0))
        )


def require_live_sponsorship(sponsorship: Sponsorship, event: Event) -> None:
    if sponsorship.event_id != event.id:
        refuse(f"{sponsorship.sponsor.name} gave this sponsorship to {sponsorship.event.name}.")
    if sponsorship.status == "withdrawn":
        refuse(f"{sponsorship.sponsor.name} has withdrawn this sponsorship.")


@app.post("/tickets/{ticket_id}/check-in", operation_id="check_in")
async def check_in(ticket_id: TicketId) -> Record:
    """Let a ticket's holder in today. Refuses tickets that are not valid, unpaid, for other days, or checked
    in today already."""
    with transaction() as db:
        ticket = find(db, Ticket, ticket_id)
        event = ticket.type.event
        if ticket.status != "valid":
            refuse(f"This ticket of {ticket.holder.name}'s is {ticket.status}.")
        if ticket.order is not None and ticket.order.status != "paid":
            refuse(f"Order {number_of(ticket.order)} is {ticket.order.status}: record_payment first.")
        if not event.first_day <= today() <= event.last_day or event.status == "cancelled":
            refuse(f"{event.name} is from {event.first_day} to {event.last_day}; today is {today()}.")
        same = (CheckIn.ticket_id == ticket.id, CheckIn.day == today())
        if db.scalars(select(CheckIn).where(*same)).first():
            refuse(f"{ticket.holder.name} was checked in today already.")
        stamp = now().isoformat(timespec="seconds")
        return show_check_in(save(db, CheckIn(ticket=ticket, day=today(), checked_in_at=stamp)))


# ---------------------------------------------------------------- writes: waiting lists and sales


@app.post("/ticket-types/{ticket_type_id}/waiting-list", operation_id="join_waiting_list")
async def join_waiting_list(
    ticket_type_id: TypeId, attendee_id: Annotated[Id, given("Who waits, from search_attendees.")]
) -> Record:
    """Put somebody on the waiting list of a ticket type. Refuses while tickets are left that nobody waits
    for, and people who have a ticket or wait already."""
    with transaction() as db:
        kind, attendee = find(db, TicketType, ticket_type_id), find(db, Attendee, attendee_id)
        require_for_sale(kind)
        require_on_sale(kind)
        sold, offered, waiting = counts(db, kind)
        if waiting == 0 and sold + offered < kind.quota:
            refuse(f"{kind.quota - sold - offered} {kind.name} tickets are left: place_order instead.")
        require_no_ticket(db, kind.event, attendee)
        mine = (WaitingEntry.ticket_type_id == kind.id, WaitingEntry.attendee_id == attendee.id)
        if db.scalars(select(WaitingEntry).where(*mine, WaitingEntry.status.in_(LIVE_ENTRY))).first():
            refuse(f"{attendee.name} is on this waiting list already.")
        return show_entry(save(db, WaitingEntry(type=kind, attendee=attendee, joined_on=today())))


@app.post("/waiting-list/{entry_id}/departure", operation_id="leave_waiting_list")
async def leave_waiting_list(entry_id: EntryId) -> Record:
    """Take somebody off a waiting list at their wish. Refuses entries that are no longer live."""
    with transaction() as db:
        entry = find(db, WaitingEntry, entry_id)
        require_entry(entry, *LIVE_ENTRY)
        entry.status = "left"
        return show_entry(entry)


@app.post("/waiting-list/{entry_id}/offer", operation_id="offer_place")
async def offer_place(entry_id: EntryId) -> Record:
    """Offer a free ticket to somebody who waits: it is kept for them. Refuses while none is left. Whose turn
    it is stands in the house rules."""
    with transaction() as db:
        entry = find(db, WaitingEntry, entry_id)
        require_entry(entry, "waiting")
        require_on_sale(entry.type)
        require_places(db, entry.type, 1)
        entry.status, entry.offered_on = "offered", today()
        return show_entry(entry)


@app.post("/waiting-list/{entry_id}/lapse", operation_id="let_offer_lapse")
async def let_offer_lapse(entry_id: EntryId) -> Record:
    """Take an offer back that was not accepted in time: its ticket is free again."""
    with transaction() as db:
        entry = find(db, WaitingEntry, entry_id)
        require_entry(entry, "offered")
        entry.status = "lapsed"
        return show_entry(entry)


@app.post("/waiting-list/{entry_id}/acceptance", operation_id="accept_offer")
async def accept_offer(
    entry_id: EntryId,
    discount_percent: Annotated[
        Literal[0, 10], given("The discount that the house rules give for this order.")
    ] = 0,
) -> Record:
    """Turn an offer that was accepted into an order of one ticket, unpaid at first: record_payment."""
    with transaction() as db:
        entry = find(db, WaitingEntry, entry_id)
        require_entry(entry, "offered")
        require_no_ticket(db, entry.type.event, entry.attendee)
        entry.status = "served"
        cents = entry.type.price_cents * (100 - discount_percent) // 100
        return show_whole_order(place(db, entry.type, entry.attendee, [entry.attendee], cents))


@app.post("/events/{event_id}/sales", operation_id="set_sales")
async def set_sales(
    event_id: EventId, open_sales: Annotated[bool, given("True to put it on sale, false to close the sales.")]
) -> Record:
    """Put an event that is planned or closed on sale, or close its sales. Refuses events that are cancelled
    or over, and what is so already."""
    with transaction() as db:
        event, wanted = find(db, Event, event_id), "on_sale" if open_sales else "closed"
        if event.status not in AHEAD or event.status == wanted:
            refuse(f"{event.name} is {plain(event.status)}.")
        event.status = wanted
        return show_event(event)


@app.post("/ticket-types/{ticket_type_id}/quota", operation_id="change_quota")
async def change_quota(
    ticket_type_id: TypeId, quota: Annotated[int, given("How many there may be in all.", ge=0, le=5000)]
) -> Record:
    """Change how many tickets of a type there may be. Refuses fewer than are sold and offered, and more than
    the event's capacity over all its types: lower another quota first."""
    with transaction() as db:
        kind = find(db, TicketType, ticket_type_id)
        if quota == kind.quota:
            refuse(f"The quota is {quota} already.")
        others = (TicketType.event_id == kind.event_id, TicketType.id != kind.id)
        rest = db.scalar(select(func.coalesce(func.sum(TicketType.quota), 0)).where(*others)) or 0
        if rest + quota > kind.event.capacity:
            refuse(
                f"{kind.event.name} has a capacity of {kind.event.capacity}, and {rest} of it are other types': "
                f"at most {kind.event.capacity - rest} here."
            )
        sold, offered, waiting = counts(db, kind)
        if quota < sold + offered:
            refuse(f"{sold} are sold and {offered} offered: {quota} is too few.")
        kind.quota = quota
        return {"event": kind.event.name, **show_type(kind, sold, offered, waiting)}


# ---------------------------------------------------------------- writes: sessions and speakers


@app.post("/events/{event_id}/sessions", operation_id="add_session")
async def add_session(
    event_id: EventId,
    title: Annotated[str, given("The title, new to this event.", min_length=3, max_length=80)],
    room_id: Annotated[Id, given("The room, from find_free_rooms.")],
    day: Annotated[date, given("The day, YYYY-MM-DD.")],
    starts: Annotated[Clock, given("From when, HH:MM.")],
    ends: Annotated[Clock, given("Until when, HH:MM.")],
    expected: Annotated[Heads, given("How many people are expected.")],
) -> Record:
    """Add a session to an event. Refuses rooms of other venues, too small ones and those in use within 15
    minutes, days outside of the event, and a title that it has already."""
    with transaction() as db:
        event, room = find(db, Event, event_id), find(db, Room, room_id)
        require_ahead(event)
        require_times(event, day, starts, ends)
        require_room(db, room, event, day, starts, ends, expected)
        same = (Talk.event_id == event.id, func.lower(Talk.title) == title.lower())
        if db.scalars(select(Talk).where(*same)).first():
            refuse(f"{event.name} has a session called {title} already.")
        when = {"day": day, "starts": starts, "ends": ends}
        return show_session(save(db, Talk(event=event, room=room, title=title, expected=expected, **when)))


def require_ahead(event: Event) -> None:
    if event.status not in AHEAD:
        refuse(f"{event.name} is {event.status}: its programme stays as it is.")


@app.post("/sessions/{session_id}/place", operation_id="move_session")
async def move_session(
    session_id: SessionId,
    room_id: Annotated[Id | None, given("The new room, from find_free_rooms; left out: the same.")] = None,
    day: Annotated[date | None, given("The new day; left out: the same.")] = None,
    starts: Annotated[Clock | None, given("The new start, HH:MM; left out: the same.")] = None,
    ends: Annotated[Clock | None, given("The new end, HH:MM; left out: the same.")] = None,
) -> Record:
    """Give a session another room, day or time. Refuses rooms that are too small or in use within 15 minutes
    (see find_free_rooms), and times at which one of its speakers speaks elsewhere."""
    with transaction() as db:
        talk = find(db, Talk, session_id)
        require_scheduled(talk)
        room = talk.room if room_id is None else find(db, Room, room_id)
        plan = (day or talk.day, starts or talk.starts, ends or talk.ends)
        if (room.id, *plan) == (talk.room_id, talk.day, talk.starts, talk.ends):
            refuse(f"{talk.title} is there and then already.")
        require_times(talk.event, *plan)
        require_room(db, room, talk.event, *plan, talk.expected, but=talk.id)
        require_speakers_free(db, [slot.speaker for slot in talk.slots], *plan, but=talk.id)
        talk.room, (talk.day, talk.starts, talk.ends) = room, plan
        return show_session(talk)


def require_scheduled(talk: Talk) -> None:
    require_ahead(talk.event)
    if talk.status != "scheduled":
        refuse(f"{talk.title} is {talk.status}.")


@app.post("/sessions/{session_id}/cancellation", operation_id="cancel_session")
async def cancel_session(session_id: SessionId) -> Record:
    """Cancel a session: its room and its speakers are free then. Refuses one that is cancelled already."""
    with transaction() as db:
        talk = find(db, Talk, session_id)
        require_scheduled(talk)
        talk.status = "cancelled"
        return show_session(talk)


@app.post("/sessions/{session_id}/speakers", operation_id="assign_speaker")
async def assign_speaker(
    session_id: SessionId, speaker_id: Annotated[Id, given("The speaker, from search_speakers.")]
) -> Record:
    """Add a speaker to a session. Refuses speakers who speak elsewhere at that time, or in it already."""
    with transaction() as db:
        talk, speaker = find(db, Talk, session_id), find(db, Speaker, speaker_id)
        require_scheduled(talk)
        if any(slot.speaker_id == speaker.id for slot in talk.slots):
            refuse(f"{speaker.name} speaks in {talk.title} already.")
        require_speakers_free(db, [speaker], talk.day, talk.starts, talk.ends)
        talk.slots.append(SpeakerSlot(speaker=speaker))
        db.flush()
        return show_session(talk)


@app.post("/sessions/{session_id}/speakers/{speaker_id}/withdrawal", operation_id="remove_speaker")
async def remove_speaker(session_id: SessionId, speaker_id: SpeakerId) -> Record:
    """Take a speaker off a session. Refuses speakers who are not in it."""
    with transaction() as db:
        talk, speaker = find(db, Talk, session_id), find(db, Speaker, speaker_id)
        require_scheduled(talk)
        slot = next((slot for slot in talk.slots if slot.speaker_id == speaker.id), None)
        if slot is None:
            refuse(f"{speaker.name} does not speak in {talk.title}.")
        talk.slots.remove(slot)
        db.delete(slot)
        return show_session(talk)


# ---------------------------------------------------------------- writes: sponsors


@app.post("/events/{event_id}/sponsorships", operation_id="add_sponsorship")
async def add_sponsorship(
    event_id: EventId,
    sponsor_id: Annotated[Id, given("The sponsor, from search_sponsors.")],
    level: Annotated[Level, given("The level.")],
    amount: Annotated[
        float, given("In dollars: what the house rules ask of this sponsor.", ge=100, le=50_000)
    ],
) -> Record:
    """Record what a sponsor pledges to an event. Refuses a second gold sponsor, sponsors who are in already,
    and events that have begun."""
    with transaction() as db:
        event, sponsor = find(db, Event, event_id), find(db, Sponsor, sponsor_id)
        require_ahead(event)
        require_not_begun(event)
        live = (Sponsorship.event_id == event.id, Sponsorship.status != "withdrawn")
        for other in db.scalars(select(Sponsorship).where(*live)):
            if other.sponsor_id == sponsor.id:
                refuse(f"{sponsor.name} is a {other.level} sponsor of {event.name} already.")
            if other.level == level == "gold":
                refuse(f"{event.name} has its one gold sponsor: {other.sponsor.name}.")
        new = Sponsorship(sponsor=sponsor, event=event, level=level, amount_cents=cents_of(amount))
        return show_sponsorship(save(db, new))


@app.post("/sponsorships/{sponsorship_id}/payment", operation_id="record_sponsorship_payment")
async def record_sponsorship_payment(sponsorship_id: SponsorshipId) -> Record:
    """Record that a pledged sponsorship was paid in full. Refuses those that are paid or withdrawn."""
    with transaction() as db:
        sponsorship = find(db, Sponsorship, sponsorship_id)
        if sponsorship.status != "pledged":
            refuse(f"This sponsorship of {sponsorship.sponsor.name}'s is {sponsorship.status}.")
        sponsorship.status = "paid"
        return show_sponsorship(sponsorship)
