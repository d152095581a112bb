"""The hotel: guests book rooms, come, run up charges, pay and leave; rooms are cleaned and mended.

Reading order: what is fixed, the tables, the plumbing, what the tools are given and show, the rules at
work, then the tools themselves, reads before writes. The database counts cents, the tools speak of
dollars. What staff may grant, and for how much, stands in the house rules: read_policy.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
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

BREAKFAST_CENTS = 1400
"""A person and night."""
LONGEST_STAY = timedelta(days=28)
FURTHEST_AHEAD = timedelta(days=365)
MOST_OPEN_CLEANINGS = 6
MOST_CREDIT_CENTS = 10_000
LIVE = ("booked", "in_house")

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


class Season(Table):
    __tablename__ = "seasons"
    name: Mapped[str]
    first_day: Mapped[date]
    last_day: Mapped[date]
    rate_percent: Mapped[int]


class RoomType(Table):
    __tablename__ = "room_types"
    name: Mapped[str]
    category: Mapped[int]
    sleeps: Mapped[int]
    rate_cents: Mapped[int]


class Room(Table):
    __tablename__ = "rooms"
    number: Mapped[str]
    floor: Mapped[int]
    room_type_id: Mapped[int] = mapped_column(ForeignKey("room_types.id"))
    view: Mapped[str]
    condition: Mapped[str]
    type: Mapped[RoomType] = relationship(lazy="joined", innerjoin=True)


class Guest(Table):
    __tablename__ = "guests"
    name: Mapped[str]
    email: Mapped[str]
    phone: Mapped[str]
    town: Mapped[str]
    level: Mapped[str] = mapped_column(default="none")
    barred: Mapped[bool] = mapped_column(default=False)


class Booking(Table):
    __tablename__ = "bookings"
    reference: Mapped[str]
    guest_id: Mapped[int] = mapped_column(ForeignKey("guests.id"))
    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"))
    arrival: Mapped[date]
    departure: Mapped[date]
    persons: Mapped[int]
    breakfast: Mapped[bool]
    room_cents: Mapped[int]
    status: Mapped[str] = mapped_column(default="booked")
    late_until: Mapped[str | None]
    booked_on: Mapped[date]
    checked_in_at: Mapped[str | None]
    checked_out_at: Mapped[str | None]
    guest: Mapped[Guest] = relationship(lazy="joined", innerjoin=True)
    room: Mapped[Room] = relationship(lazy="joined", innerjoin=True)


class Charge(Table):
    __tablename__ = "charges"
    booking_id: Mapped[int] = mapped_column(ForeignKey("bookings.id"))
    kind: Mapped[str]
    description: Mapped[str]
    amount_cents: Mapped[int]
    charged_on: Mapped[date]
    void: Mapped[bool] = mapped_column(default=False)
    booking: Mapped[Booking] = relationship()


class Payment(Table):
    __tablename__ = "payments"
    booking_id: Mapped[int] = mapped_column(ForeignKey("bookings.id"))
    amount_cents: Mapped[int]
    method: Mapped[str]
    paid_on: Mapped[date]


class Staff(Table):
    __tablename__ = "staff"
    name: Mapped[str]
    role: Mapped[str]
    floor: Mapped[int | None]


class Cleaning(Table):
    __tablename__ = "cleanings"
    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"))
    staff_id: Mapped[int | None] = mapped_column(ForeignKey("staff.id"))
    day: Mapped[date]
    kind: Mapped[str]
    status: Mapped[str] = mapped_column(default="open")
    room: Mapped[Room] = relationship(lazy="joined", innerjoin=True)
    staff: Mapped[Staff | None] = relationship(lazy="joined")


class Repair(Table):
    __tablename__ = "repairs"
    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"))
    issue: Mapped[str]
    first_day: Mapped[date]
    last_day: Mapped[date]
    status: Mapped[str] = mapped_column(default="open")
    room: Mapped[Room] = relationship(lazy="joined", innerjoin=True)


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Hotel Bellwether")
engine = create_engine("sqlite:///world.db")
transaction = sessionmaker(engine).begin


@event.listens_for(engine, "connect")
def enforce_foreign_keys(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def refuse(reason: str, status: int = 409) -> NoReturn:
    """Answer with an error. The open transaction is rolled back."""
    raise HTTPException(status, reason)


def find(db: Session, table: type[Row], key: int) -> Row:
    name = table.__name__.replace("RoomType", "room type").lower()
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


def mentions(text: str, *columns: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Every word occurs in at least one of the columns."""
    return and_(
        True,
        *(or_(*(column.icontains(word, autoescape=True) for column in columns)) for word in text.split()),
    )


def now() -> datetime:
    return datetime.now(UTC)


def today() -> date:
    return now().date()


def stamp() -> str:
    return now().isoformat(timespec="seconds")


def dollars(cents: int) -> float:
    return cents / 100


def price(cents: int) -> str:
    return f"${dollars(cents):.2f}"


def cents_of(amount: float) -> int:
    return round(amount * 100)


def plain(name: str) -> str:
    return name.replace("_", " ")


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
Amount: TypeAlias = Annotated[float, Field(gt=0, le=10_000)]
BookingId: TypeAlias = Annotated[Id, Path(description="The booking's id, from list_bookings.")]
GuestId: TypeAlias = Annotated[Id, Path(description="The guest's id, from search_guests.")]
RoomId: TypeAlias = Annotated[Id, Path(description="The room's id, from list_rooms or find_free_rooms.")]
CleaningId: TypeAlias = Annotated[Id, Path(description="The cleaning's id, from list_cleanings.")]
ChargeId: TypeAlias = Annotated[Id, Path(description="The charge's id, from get_booking.")]
RepairId: TypeAlias = Annotated[Id, Path(description="The repair's id, from list_repairs.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=50, description="How many results to show at most.")]
TypeFilter: TypeAlias = Annotated[
    Id | None, Query(description="Only rooms of this type, from list_room_types.")
]
RoomNumber: TypeAlias = Annotated[
    str | None, Query(description="Only the room with this number, as on its door.")
]
Level: TypeAlias = Literal["none", "silver", "gold"]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_guest(guest: Guest) -> Record:
    return {
        "guest_id": guest.id,
        "name": guest.name,
        "email": guest.email,
        "phone": guest.phone,
        "town": guest.town,
        "level": guest.level,
        "barred": guest.barred,
    }


def show_room(room: Room) -> Record:
    return {
        "room_id": room.id,
        "number": room.number,
        "floor": room.floor,
        "room_type": room.type.name,
        "category": room.type.category,
        "sleeps": room.type.sleeps,
        "view": room.view,
        "condition": room.condition,
    }


def show_booking(booking: Booking) -> Record:
    return {
        "booking_id": booking.id,
        "reference": booking.reference,
        "guest_id": booking.guest_id,
        "guest": booking.guest.name,
        "room_id": booking.room_id,
        "room": booking.room.number,
        "room_type": booking.room.type.name,
        "arrival": booking.arrival,
        "departure": booking.departure,
        "persons": booking.persons,
        "breakfast": booking.breakfast,
        "room_price": dollars(booking.room_cents),
        "status": booking.status,
        "late_checkout_until": booking.late_until,
    }


def show_charge(charge: Charge) -> Record:
    return {
        "charge_id": charge.id,
        "kind": charge.kind,
        "description": charge.description,
        "amount": dollars(charge.amount_cents),
        "charged_on": charge.charged_on,
        "void": charge.void,
    }


def show_payment(payment: Payment) -> Record:
    return {"amount": dollars(payment.amount_cents), "method": payment.method, "paid_on": payment.paid_on}


def show_bill(db: Session, booking: Booking) -> Record:
    charges = list(db.scalars(select(Charge).where(Charge.booking_id == booking.id).order_by(Charge.id)))
    payments = list(db.scalars(select(Payment).where(Payment.booking_id == booking.id).order_by(Payment.id)))
    return {
        **show_booking(booking),
        "breakfast_price": dollars(breakfast_cents(booking)),
        "charges": [show_charge(charge) for charge in charges],
        "payments": [show_payment(payment) for payment in payments],
        "balance": dollars(balance_of(booking, charges, payments)),
    }


def show_cleaning(cleaning: Cleaning) -> Record:
    return {
        "cleaning_id": cleaning.id,
        "room_id": cleaning.room_id,
        "room": cleaning.room.number,
        "floor": cleaning.room.floor,
        "day": cleaning.day,
        "kind": cleaning.kind,
        "status": cleaning.status,
        "housekeeper": cleaning.staff.name if cleaning.staff else None,
    }


def show_repair(repair: Repair) -> Record:
    return {
        "repair_id": repair.id,
        "room_id": repair.room_id,
        "room": repair.room.number,
        "issue": repair.issue,
        "first_day": repair.first_day,
        "last_day": repair.last_day,
        "status": repair.status,
    }


# ---------------------------------------------------------------- the rules at work


def nights(arrival: date, departure: date) -> int:
    return (departure - arrival).days


def breakfast_cents(booking: Booking) -> int:
    """Breakfast for the whole stay; nothing for stays that do not take place."""
    if not booking.breakfast or booking.status in ("cancelled", "no_show"):
        return 0
    return BREAKFAST_CENTS * booking.persons * nights(booking.arrival, booking.departure)


def balance_of(booking: Booking, charges: list[Charge], payments: list[Payment]) -> int:
    """What is still to be paid, in cents. The room itself costs nothing where the stay does not take place."""
    room = 0 if booking.status in ("cancelled", "no_show") else booking.room_cents
    extras = sum(charge.amount_cents for charge in charges if not charge.void)
    return room + breakfast_cents(booking) + extras - sum(payment.amount_cents for payment in payments)


def balance(db: Session, booking: Booking) -> int:
    charges = list(db.scalars(select(Charge).where(Charge.booking_id == booking.id)))
    return balance_of(
        booking, charges, list(db.scalars(select(Payment).where(Payment.booking_id == booking.id)))
    )


def night_rates(db: Session, room_type: RoomType, arrival: date, departure: date) -> list[tuple[str, int]]:
    """Season and price in cents of each night."""
    seasons = list(db.scalars(select(Season)))
    days = [arrival + timedelta(days=night) for night in range(nights(arrival, departure))]
    return [rate_on(seasons, room_type, day) for day in days]


def rate_on(seasons: list[Season], room_type: RoomType, day: date) -> tuple[str, int]:
    for season in seasons:
        if season.first_day <= day <= season.last_day:
            return season.name, room_type.rate_cents * season.rate_percent // 100
    refuse(f"There are no rates for {day} yet.")


def room_price(db: Session, room_type: RoomType, arrival: date, departure: date) -> int:
    return sum(cents for _, cents in night_rates(db, room_type, arrival, departure))


def require_sound_dates(arrival: date, departure: date) -> None:
    if departure <= arrival:
        refuse(f"Departure ({departure}) must come after arrival ({arrival}).", 422)
    if departure - arrival > LONGEST_STAY:
        refuse(f"A stay is at most {LONGEST_STAY.days} nights; this is {nights(arrival, departure)}.")
    if arrival < today():
        refuse(f"{arrival} is past: today is {today()}.")
    if arrival > today() + FURTHEST_AHEAD:
        refuse("Rooms are booked at most a year ahead.")


def taken(arrival: date, departure: date) -> ColumnElement[bool]:
    """Of a live booking that needs its room in one of these nights."""
    return and_(Booking.status.in_(LIVE), Booking.arrival < departure, Booking.departure > arrival)


def under_repair(arrival: date, departure: date) -> ColumnElement[bool]:
    return and_(Repair.status == "open", Repair.first_day < departure, Repair.last_day >= arrival)


def require_free(db: Session, room: Room, arrival: date, departure: date, but: Booking | None = None) -> None:
    """Refuse a room that another booking or a repair needs in one of the nights."""
    others = select(Booking).where(Booking.room_id == room.id, taken(arrival, departure))
    if but is not None:
        others = others.where(Booking.id != but.id)
    if other := db.scalars(others.order_by(Booking.arrival)).first():
        refuse(
            f"Room {room.number} is booked from {other.arrival} to {other.departure} ({other.reference}): "
            "choose another, see find_free_rooms."
        )
    blocked = select(Repair).where(Repair.room_id == room.id, under_repair(arrival, departure))
    if repair := db.scalars(blocked).first():
        refuse(
            f"Room {room.number} is under repair from {repair.first_day} to {repair.last_day} "
            f"({repair.issue}): choose another, see find_free_rooms."
        )


def require_room_for(room: Room, persons: int) -> None:
    if persons > room.type.sleeps:
        refuse(f"Room {room.number} ({room.type.name}) sleeps {room.type.sleeps}, not {persons}.")


def require_status(booking: Booking, *allowed: str) -> None:
    if booking.status not in allowed:
        wanted = " or ".join(map(plain, allowed))
        refuse(f"Booking {booking.reference} is {plain(booking.status)}, not {wanted}.")


def require_new_email(db: Session, email: str) -> None:
    if holder := db.scalars(select(Guest).where(func.lower(Guest.email) == email.lower())).first():
        refuse(f"{email} already belongs to {holder.name} (guest {holder.id}).")


def next_reference(db: Session) -> str:
    last = db.scalar(select(func.max(Booking.reference))) or "BW-1000"
    return f"BW-{int(last.removeprefix('BW-')) + 1}"


def add_to_bill(db: Session, booking: Booking, kind: str, description: str, cents: int) -> Charge:
    charge = Charge(
        booking_id=booking.id, kind=kind, description=description, amount_cents=cents, charged_on=today()
    )
    return save(db, charge)


# ---------------------------------------------------------------- reads


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """The house rules that staff must follow: fees, upgrades, credits, membership; and what day it is."""
    with transaction() as db:
        sections = db.scalars(select(Policy).order_by(Policy.id))
        rules = [{"section": section.section, "text": section.text} for section in sections]
        return {"today": today(), "sections": rules}


@app.get("/guests", operation_id="search_guests")
async def search_guests(
    query: Annotated[
        str, Query(min_length=2, description="Words from the guest's name, email address, phone or town.")
    ],
    limit: Limit = 10,
) -> Record:
    """Find guests by name, email, phone or town. Returns ids, membership levels and whether they are barred."""
    with transaction() as db:
        wanted = mentions(query, Guest.name, Guest.email, Guest.phone, Guest.town)
        return page(db, select(Guest).where(wanted).order_by(Guest.name, Guest.id), show_guest, limit)


@app.get("/guests/{guest_id}", operation_id="get_guest")
async def get_guest(guest_id: GuestId) -> Record:
    """Show one guest with what is booked and in house, soonest arrival first."""
    with transaction() as db:
        guest = find(db, Guest, guest_id)
        live = select(Booking).where(Booking.guest_id == guest.id, Booking.status.in_(LIVE))
        bookings = db.scalars(live.order_by(Booking.arrival, Booking.id))
        return {**show_guest(guest), "bookings": [show_booking(booking) for booking in bookings]}


@app.get("/room-types", operation_id="list_room_types")
async def list_room_types() -> Record:
    """List the room types from the lowest to the highest category, with base rates, and the seasons."""
    with transaction() as db:
        types = db.scalars(select(RoomType).order_by(RoomType.category))
        seasons = db.scalars(select(Season).order_by(Season.first_day))
        return {
            "room_types": [
                {
                    "room_type_id": room_type.id,
                    "name": room_type.name,
                    "category": room_type.category,
                    "sleeps": room_type.sleeps,
                    "base_rate": dollars(room_type.rate_cents),
                }
                for room_type in types
            ],
            "seasons": [
                {
                    "name": season.name,
                    "first_day": season.first_day,
                    "last_day": season.last_day,
                    "rate_percent": season.rate_percent,
                }
                for season in seasons
            ],
        }


@app.get("/rooms", operation_id="list_rooms")
async def list_rooms(
    number: RoomNumber = None,
    floor: Annotated[int | None, Query(ge=1, le=4, description="Only rooms on this floor.")] = None,
    room_type_id: TypeFilter = None,
    condition: Annotated[
        Literal["clean", "dirty"] | None, Query(description="Only rooms in this condition.")
    ] = None,
    limit: Limit = 40,
) -> Record:
    """List rooms by number, floor, type or condition, lowest number first."""
    with transaction() as db:
        wanted = ((Room.number, number), (Room.floor, floor), (Room.room_type_id, room_type_id))
        found = narrow(select(Room), *wanted, (Room.condition, condition)).order_by(Room.number)
        return page(db, found, show_room, limit)


@app.get("/free-rooms", operation_id="find_free_rooms")
async def find_free_rooms(
    arrival: Annotated[date, Query(description="First night, YYYY-MM-DD.")],
    departure: Annotated[date, Query(description="Day of leaving, YYYY-MM-DD.")],
    room_type_id: TypeFilter = None,
    limit: Limit = 40,
) -> Record:
    """List rooms that are neither booked nor under repair in any of the nights, lowest number first."""
    if departure <= arrival:
        refuse(f"Departure ({departure}) must come after arrival ({arrival}).", 422)
    with transaction() as db:
        booked = select(Booking.room_id).where(taken(arrival, departure))
        broken = select(Repair.room_id).where(under_repair(arrival, departure))
        free = select(Room).where(Room.id.not_in(booked), Room.id.not_in(broken))
        found = narrow(free, (Room.room_type_id, room_type_id)).order_by(Room.number)
        return page(db, found, show_room, limit)


@app.get("/quote", operation_id="quote_stay")
async def quote_stay(
    room_type_id: Annotated[Id, Query(description="The room type, from list_room_types.")],
    arrival: Annotated[date, Query(description="First night, YYYY-MM-DD.")],
    departure: Annotated[date, Query(description="Day of leaving, YYYY-MM-DD.")],
    persons: Annotated[int, Query(ge=1, le=6, description="How many people stay.")] = 1,
    breakfast: Annotated[bool, Query(description="Whether they take breakfast.")] = False,
) -> Record:
    """Work out what a stay costs, night by night, with or without breakfast ($14 a person and night)."""
    with transaction() as db:
        room_type = find(db, RoomType, room_type_id)
        require_sound_dates(arrival, departure)
        rates = night_rates(db, room_type, arrival, departure)
        room = sum(cents for _, cents in rates)
        meals = BREAKFAST_CENTS * persons * len(rates) if breakfast else 0
        return {
            "room_type": room_type.name,
            "nights": [{"season": season, "rate": dollars(cents)} for season, cents in rates],
            "room_price": dollars(room),
            "breakfast_price": dollars(meals),
            "total": dollars(room + meals),
        }


@app.get("/bookings", operation_id="list_bookings")
async def list_bookings(
    reference: Annotated[
        str | None, Query(description="Only the booking with this reference, like BW-2104.")
    ] = None,
    guest_id: Annotated[
        Id | None, Query(description="Only this guest's bookings, from search_guests.")
    ] = None,
    room_number: RoomNumber = None,
    status: Annotated[
        Literal["booked", "in_house", "departed", "cancelled", "no_show"] | None,
        Query(description="Only bookings in this status."),
    ] = None,
    arriving_on: Annotated[date | None, Query(description="Only arrivals of this day.")] = None,
    departing_on: Annotated[date | None, Query(description="Only departures of this day.")] = None,
    staying_on: Annotated[date | None, Query(description="Only stays that include this night.")] = None,
    limit: Limit = 20,
) -> Record:
    """List bookings, earliest arrival first, and how many there are in all. get_booking shows the bill."""
    with transaction() as db:
        wanted = ((Booking.guest_id, guest_id), (Booking.status, status), (Room.number, room_number))
        days = ((Booking.arrival, arriving_on), (Booking.departure, departing_on))
        found = narrow(select(Booking).join(Room, Booking.room_id == Room.id), *wanted, *days)
        if reference is not None:
            found = found.where(Booking.reference == reference.strip().upper())
        if staying_on is not None:
            found = found.where(Booking.arrival <= staying_on, Booking.departure > staying_on)
        return page(db, found.order_by(Booking.arrival, Booking.id), show_booking, limit)


@app.get("/bookings/{booking_id}", operation_id="get_booking")
async def get_booking(booking_id: BookingId) -> Record:
    """Show one booking with its bill: room, breakfast, charges, payments and the balance still to pay."""
    with transaction() as db:
        return show_bill(db, find(db, Booking, booking_id))


@app.get("/staff", operation_id="list_staff")
async def list_staff(
    role: Annotated[
        Literal["housekeeper", "porter", "clerk"] | None, Query(description="Only staff in this role.")
    ] = None,
) -> Record:
    """List the staff by name, with roles and, for housekeepers, their floor and open cleanings of today."""
    with transaction() as db:
        mine = (Cleaning.staff_id == Staff.id, Cleaning.status == "open", Cleaning.day == today())
        counted = select(func.count(Cleaning.id)).where(*mine).scalar_subquery()
        found = narrow(select(Staff), (Staff.role, role)).order_by(Staff.name)
        return {
            "results": [
                {
                    "staff_id": staff.id,
                    "name": staff.name,
                    "role": staff.role,
                    "floor": staff.floor,
                    "open_cleanings_today": count,
                }
                for staff, count in db.execute(found.add_columns(counted))
            ]
        }


@app.get("/cleanings", operation_id="list_cleanings")
async def list_cleanings(
    day: Annotated[date | None, Query(description="Only this day's, YYYY-MM-DD.")] = None,
    room_number: RoomNumber = None,
    floor: Annotated[int | None, Query(ge=1, le=4, description="Only rooms on this floor.")] = None,
    staff_id: Annotated[Id | None, Query(description="Only this housekeeper's, from list_staff.")] = None,
    unassigned: Annotated[bool, Query(description="Only those that nobody has been given yet.")] = False,
    status: Annotated[
        Literal["open", "done"] | None, Query(description="Only cleanings in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List cleanings by day, room, floor, housekeeper or status: earliest day first, then by room number."""
    with transaction() as db:
        wanted = ((Cleaning.day, day), (Room.number, room_number), (Room.floor, floor))
        also = ((Cleaning.staff_id, staff_id), (Cleaning.status, status))
        found = narrow(select(Cleaning).join(Room, Cleaning.room_id == Room.id), *wanted, *also)
        if unassigned:
            found = found.where(Cleaning.staff_id.is_(None))
        return page(db, found.order_by(Cleaning.day, Room.number, Cleaning.id), show_cleaning, limit)


@app.get("/repairs", operation_id="list_repairs")
async def list_repairs(
    room_number: RoomNumber = None,
    status: Annotated[
        Literal["open", "done"] | None, Query(description="Only repairs in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List repairs, earliest first. An open repair keeps its room from being booked from first to last day."""
    with transaction() as db:
        wanted = ((Room.number, room_number), (Repair.status, status))
        found = narrow(select(Repair).join(Room, Repair.room_id == Room.id), *wanted)
        return page(db, found.order_by(Repair.first_day, Repair.id), show_repair, limit)


# ---------------------------------------------------------------- writes: guests


@app.post("/guests", operation_id="register_guest")
async def register_guest(
    name: Annotated[str, given("Full name.", min_length=2)],
    email: Annotated[str, given("Email address, not yet used by another guest.", pattern=r"^\S+@\S+$")],
    phone: Annotated[str, given("Phone number.", min_length=5)],
    town: Annotated[str, given("Home town.", min_length=2)],
) -> Record:
    """Register a new guest, without a membership level. Refuses an email address that is already in use."""
    with transaction() as db:
        require_new_email(db, email)
        return show_guest(save(db, Guest(name=name, email=email, phone=phone, town=town)))


@app.patch("/guests/{guest_id}", operation_id="update_guest")
async def update_guest(
    guest_id: GuestId,
    email: Annotated[str | None, given("The new email address.", pattern=r"^\S+@\S+$")] = None,
    phone: Annotated[str | None, given("The new phone number.", min_length=5)] = None,
) -> Record:
    """Change a guest's email address, phone number or both. Refuses an email address already in use."""
    if email is None and phone is None:
        refuse("Say what to change: email, phone or both.", 422)
    with transaction() as db:
        guest = find(db, Guest, guest_id)
        if email is not None:
            require_new_email(db, email)
            guest.email = email
        if phone is not None:
            guest.phone = phone
        return show_guest(guest)


@app.post("/guests/{guest_id}/level", operation_id="set_member_level")
async def set_member_level(
    guest_id: GuestId, level: Annotated[Level, given("The new level; the house rules say who has earned it.")]
) -> Record:
    """Give a guest another membership level. Refuses the level that the guest has already."""
    with transaction() as db:
        guest = find(db, Guest, guest_id)
        if guest.level == level:
            refuse(f"{guest.name}'s level is {level} already.")
        guest.level = level
        return show_guest(guest)


# ---------------------------------------------------------------- writes: bookings


@app.post("/bookings", operation_id="book_stay")
async def book_stay(
    guest_id: Annotated[Id, given("The guest, from search_guests.")],
    room_id: Annotated[Id, given("The room, from find_free_rooms.")],
    arrival: Annotated[date, given("First night, YYYY-MM-DD.")],
    departure: Annotated[date, given("Day of leaving, YYYY-MM-DD.")],
    persons: Annotated[int, given("How many people stay.", ge=1, le=6)],
    breakfast: Annotated[bool, given("Whether they take breakfast ($14 a person and night).")] = False,
) -> Record:
    """Book a room at the rates of the season. Refuses barred guests, rooms that are taken, under repair or
    too small, days in the past and stays of more than 28 nights."""
    with transaction() as db:
        guest, room = find(db, Guest, guest_id), find(db, Room, room_id)
        if guest.barred:
            refuse(f"{guest.name} is barred from the hotel: no new bookings.")
        require_sound_dates(arrival, departure)
        require_room_for(room, persons)
        require_free(db, room, arrival, departure)
        booking = Booking(
            reference=next_reference(db),
            guest=guest,
            room=room,
            arrival=arrival,
            departure=departure,
            persons=persons,
            breakfast=breakfast,
            room_cents=room_price(db, room.type, arrival, departure),
            booked_on=today(),
        )
        return show_booking(save(db, booking))


@app.post("/bookings/{booking_id}/dates", operation_id="move_booking")
async def move_booking(
    booking_id: BookingId,
    arrival: Annotated[date, given("The new first night; for guests in house, the one they came on.")],
    departure: Annotated[date, given("The new day of leaving, YYYY-MM-DD.")],
) -> Record:
    """Change the days of a booking in the same room, at the rates of the season. Guests in house keep their
    arrival and can only change the departure. Refuses where the room is not free."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, *LIVE)
        if booking.status == "in_house":
            require_later_departure(booking, arrival, departure)
        else:
            require_sound_dates(arrival, departure)
        if (arrival, departure) == (booking.arrival, booking.departure):
            refuse(f"Booking {booking.reference} has these days already.")
        require_free(db, booking.room, arrival, departure, but=booking)
        booking.arrival, booking.departure = arrival, departure
        booking.room_cents = room_price(db, booking.room.type, arrival, departure)
        return show_booking(booking)


def require_later_departure(booking: Booking, arrival: date, departure: date) -> None:
    if arrival != booking.arrival:
        refuse(f"{booking.guest.name} came on {booking.arrival}: only the departure can change.")
    if departure < today():
        refuse(f"{departure} is past: today is {today()}.")
    if departure - arrival > LONGEST_STAY:
        refuse(f"A stay is at most {LONGEST_STAY.days} nights; this is {nights(arrival, departure)}.")


@app.post("/bookings/{booking_id}/room", operation_id="change_room")
async def change_room(
    booking_id: BookingId,
    room_id: Annotated[Id, given("The new room, from find_free_rooms.")],
    keep_price: Annotated[
        bool, given("True: a free upgrade or a move for our own reasons. False: priced anew.")
    ] = False,
) -> Record:
    """Give a booking another room, at the new room's rates or at the old price. The room that a guest leaves
    is dirty. Refuses rooms that are taken, under repair or too small, and dirty ones for guests in house."""
    with transaction() as db:
        booking, room = find(db, Booking, booking_id), find(db, Room, room_id)
        require_status(booking, *LIVE)
        if booking.room_id == room.id:
            refuse(f"Booking {booking.reference} has room {room.number} already.")
        require_room_for(room, booking.persons)
        require_free(db, room, booking.arrival, booking.departure, but=booking)
        if booking.status == "in_house":
            require_clean(room)
            booking.room.condition = "dirty"
        if not keep_price:
            booking.room_cents = room_price(db, room.type, booking.arrival, booking.departure)
        booking.room = room
        return show_booking(booking)


def require_clean(room: Room) -> None:
    if room.condition != "clean":
        refuse(f"Room {room.number} is dirty: have it cleaned first, or choose a clean one (list_rooms).")


@app.post("/bookings/{booking_id}/breakfast", operation_id="set_breakfast")
async def set_breakfast(
    booking_id: BookingId, breakfast: Annotated[bool, given("Whether they take breakfast from now on.")]
) -> Record:
    """Add breakfast to a booking, or take it off, for the whole stay ($14 a person and night)."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, *LIVE)
        if booking.breakfast == breakfast:
            refuse(f"Booking {booking.reference} is {'with' if breakfast else 'without'} breakfast already.")
        booking.breakfast = breakfast
        return show_booking(booking)


@app.post("/bookings/{booking_id}/cancellation", operation_id="cancel_booking")
async def cancel_booking(
    booking_id: BookingId,
    fee: Annotated[
        Literal["none", "first_night", "full"],
        given("What the house rules ask for: nothing, the price of the first night, or of the whole stay."),
    ],
) -> Record:
    """Cancel a booking before the guests come, and charge the fee. Refuses what is not booked (any more)."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, "booked")
        booking.status = "cancelled"
        if fee != "none":
            cents = booking.room_cents
            if fee == "first_night":
                cents //= nights(booking.arrival, booking.departure)
            add_to_bill(db, booking, "cancellation", f"Cancellation fee: {plain(fee)}", cents)
        return show_bill(db, booking)


@app.post("/bookings/{booking_id}/no-show", operation_id="record_no_show")
async def record_no_show(booking_id: BookingId) -> Record:
    """Record that booked guests did not come, and charge the whole room price. Refuses before the day after
    their arrival."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, "booked")
        if booking.arrival >= today():
            refuse(f"{booking.guest.name} may still come: arrival is {booking.arrival}.")
        booking.status = "no_show"
        add_to_bill(db, booking, "cancellation", "No-show: full", booking.room_cents)
        return show_bill(db, booking)


@app.post("/bookings/{booking_id}/check-in", operation_id="check_in")
async def check_in(booking_id: BookingId) -> Record:
    """Check guests in on or after their day of arrival. Refuses barred guests and rooms that are dirty or
    still occupied."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, "booked")
        if booking.guest.barred:
            refuse(f"{booking.guest.name} is barred from the hotel: call the manager.")
        if booking.arrival > today():
            refuse(f"Booking {booking.reference} begins on {booking.arrival}; today is {today()}.")
        occupied = select(Booking).where(Booking.room_id == booking.room_id, Booking.status == "in_house")
        if other := db.scalars(occupied).first():
            refuse(f"Room {booking.room.number} is still occupied by {other.guest.name} ({other.reference}).")
        require_clean(booking.room)
        booking.status, booking.checked_in_at = "in_house", stamp()
        return show_booking(booking)


@app.post("/bookings/{booking_id}/check-out", operation_id="check_out")
async def check_out(booking_id: BookingId) -> Record:
    """Check guests out whose bill is paid to the cent. The room is then dirty and its departure cleaning is
    opened for today. Refuses while the balance is not zero, and departures that are still to come."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, "in_house")
        if booking.departure > today():
            refuse(f"Booking {booking.reference} runs until {booking.departure}: move_booking first.")
        if (rest := balance(db, booking)) != 0:
            refuse(f"The balance of {booking.reference} is {price(rest)}: it must be zero, see get_booking.")
        booking.status, booking.checked_out_at = "departed", stamp()
        booking.room.condition = "dirty"
        open_cleaning(db, booking.room, "departure", today())
        return show_booking(booking)


def open_cleaning(db: Session, room: Room, kind: str, day: date) -> Cleaning:
    """The room's open cleaning of the day, made into this kind, or a new one."""
    same = (Cleaning.room_id == room.id, Cleaning.day == day, Cleaning.status == "open")
    cleaning = db.scalars(select(Cleaning).where(*same)).first()
    if cleaning is None:
        return save(db, Cleaning(room=room, day=day, kind=kind))
    cleaning.kind = kind
    return cleaning


@app.post("/bookings/{booking_id}/late-check-out", operation_id="grant_late_checkout")
async def grant_late_checkout(
    booking_id: BookingId,
    until: Annotated[Literal["13:00", "16:00"], given("How long they may stay on the day of departure.")],
    fee: Annotated[float, given("The fee in dollars that the house rules ask of this guest.", ge=0, le=100)],
) -> Record:
    """Let guests in house keep their room after 11:00 on the day of departure, and charge the fee. Refuses
    16:00 where the room is booked for the same day, and bookings with a late check-out already."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, "in_house")
        if booking.late_until:
            refuse(f"Booking {booking.reference} has a late check-out until {booking.late_until} already.")
        if until == "16:00":
            require_nobody_arrives(db, booking)
        booking.late_until = until
        if fee > 0:
            add_to_bill(db, booking, "late_checkout", f"Late check-out until {until}", cents_of(fee))
        return show_bill(db, booking)


def require_nobody_arrives(db: Session, booking: Booking) -> None:
    same_day = (Booking.room_id == booking.room_id, Booking.arrival == booking.departure)
    if other := db.scalars(select(Booking).where(*same_day, Booking.status == "booked")).first():
        refuse(
            f"Room {booking.room.number} is booked from {other.arrival} ({other.reference}): "
            "13:00 is the latest."
        )


# ---------------------------------------------------------------- writes: the bill


@app.post("/bookings/{booking_id}/charges", operation_id="add_charge")
async def add_charge(
    booking_id: BookingId,
    kind: Annotated[
        Literal["minibar", "restaurant", "laundry", "parking", "damage"], given("What it is for.")
    ],
    amount: Annotated[Amount, given("In dollars.")],
    description: Annotated[str, given("What stands on the bill.", min_length=1, max_length=80)],
) -> Record:
    """Put a charge on the bill of guests in house. Refuses bookings that are not in house."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, "in_house")
        return show_charge(add_to_bill(db, booking, kind, description, cents_of(amount)))


@app.post("/charges/{charge_id}/void", operation_id="void_charge")
async def void_charge(charge_id: ChargeId) -> Record:
    """Take a disputed minibar, restaurant, laundry or parking charge off the bill of guests in house.

    Refuses other kinds of charges, and charges that are void already."""
    with transaction() as db:
        charge = find(db, Charge, charge_id)
        if charge.kind not in ("minibar", "restaurant", "laundry", "parking"):
            refuse(f"A {plain(charge.kind)} charge cannot be voided.")
        require_status(charge.booking, "in_house")
        if charge.void:
            refuse("This charge is void already.")
        charge.void = True
        return {"reference": charge.booking.reference, **show_charge(charge)}


@app.post("/bookings/{booking_id}/credit", operation_id="give_credit")
async def give_credit(
    booking_id: BookingId,
    amount: Annotated[Amount, given("In dollars: what the house rules allow for this complaint.")],
    reason: Annotated[
        Literal["noise", "heating", "shower", "lift", "other"], given("What the guest complains of.")
    ],
) -> Record:
    """Take an amount off the bill of guests in house for what went wrong. Refuses more than $100, more than
    the room price, and a second credit on one booking."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        require_status(booking, "in_house")
        cents = cents_of(amount)
        if cents > min(MOST_CREDIT_CENTS, booking.room_cents):
            refuse(f"A credit is at most {price(min(MOST_CREDIT_CENTS, booking.room_cents))} here.")
        if db.scalars(select(Charge).where(Charge.booking_id == booking.id, Charge.kind == "credit")).first():
            refuse(f"Booking {booking.reference} has had its one credit.")
        return show_charge(add_to_bill(db, booking, "credit", f"Credit: {reason}", -cents))


@app.post("/bookings/{booking_id}/payments", operation_id="record_payment")
async def record_payment(
    booking_id: BookingId,
    amount: Annotated[Amount, given("In dollars.")],
    method: Annotated[Literal["card", "cash", "transfer"], given("How it was paid.")],
) -> Record:
    """Record a payment on a booking and show what is left. Refuses more than the balance."""
    with transaction() as db:
        booking = find(db, Booking, booking_id)
        rest = balance(db, booking)
        if cents_of(amount) > rest:
            refuse(
                f"The balance of {booking.reference} is {price(rest)}: {price(cents_of(amount))} is too much."
            )
        payment = Payment(
            booking_id=booking.id, amount_cents=cents_of(amount), method=method, paid_on=today()
        )
        save(db, payment)
        left = dollars(rest - payment.amount_cents)
        return {"reference": booking.reference, **show_payment(payment), "balance": left}


# ---------------------------------------------------------------- writes: the rooms


@app.post("/rooms/{room_id}/cleanings", operation_id="request_cleaning")
async def request_cleaning(
    room_id: RoomId,
    kind: Annotated[Literal["departure", "stayover", "deep"], given("What kind of cleaning.")],
    day: Annotated[date | None, given("The day, YYYY-MM-DD; today if left out.")] = None,
) -> Record:
    """Ask for a cleaning of a room. Refuses past days and a second open cleaning of the room on one day."""
    with transaction() as db:
        room, wanted = find(db, Room, room_id), day or today()
        if wanted < today():
            refuse(f"{wanted} is past: today is {today()}.")
        same = (Cleaning.room_id == room.id, Cleaning.day == wanted, Cleaning.status == "open")
        if db.scalars(select(Cleaning).where(*same)).first():
            refuse(f"Room {room.number} has an open cleaning on {wanted} already: see list_cleanings.")
        return show_cleaning(save(db, Cleaning(room=room, day=wanted, kind=kind)))


@app.post("/cleanings/{cleaning_id}/housekeeper", operation_id="assign_cleaning")
async def assign_cleaning(
    cleaning_id: CleaningId, staff_id: Annotated[Id, given("The housekeeper, from list_staff.")]
) -> Record:
    """Give an open cleaning to a housekeeper, also one that somebody else had. Refuses a seventh open
    cleaning of one person on one day, and staff who are not housekeepers."""
    with transaction() as db:
        cleaning, staff = find(db, Cleaning, cleaning_id), find(db, Staff, staff_id)
        require_open(cleaning)
        if staff.role != "housekeeper":
            refuse(f"{staff.name} is a {staff.role}, not a housekeeper.")
        if cleaning.staff_id == staff.id:
            refuse(f"{staff.name} has this cleaning already.")
        mine = (Cleaning.staff_id == staff.id, Cleaning.day == cleaning.day, Cleaning.status == "open")
        if (db.scalar(select(func.count()).where(*mine)) or 0) >= MOST_OPEN_CLEANINGS:
            refuse(
                f"{staff.name} has {MOST_OPEN_CLEANINGS} open cleanings on {cleaning.day}, the most one may."
            )
        cleaning.staff = staff
        return show_cleaning(cleaning)


def require_open(cleaning: Cleaning) -> None:
    if cleaning.status != "open":
        refuse(f"The cleaning of room {cleaning.room.number} on {cleaning.day} is done already.")


@app.post("/cleanings/{cleaning_id}/end", operation_id="finish_cleaning")
async def finish_cleaning(cleaning_id: CleaningId) -> Record:
    """Record that a cleaning is done: the room is then clean. Refuses those of days to come, those that
    nobody was given, and departure cleanings while the guests are still there."""
    with transaction() as db:
        cleaning = find(db, Cleaning, cleaning_id)
        require_open(cleaning)
        if cleaning.day > today():
            refuse(f"This cleaning is for {cleaning.day}; today is {today()}.")
        if cleaning.staff_id is None:
            refuse("Nobody was given this cleaning: assign_cleaning first.")
        if cleaning.kind == "departure":
            occupied = (Booking.room_id == cleaning.room_id, Booking.status == "in_house")
            if other := db.scalars(select(Booking).where(*occupied)).first():
                refuse(f"{other.guest.name} is still in room {cleaning.room.number}: check out first.")
        cleaning.status, cleaning.room.condition = "done", "clean"
        return show_cleaning(cleaning)


@app.post("/rooms/{room_id}/repairs", operation_id="report_repair")
async def report_repair(
    room_id: RoomId,
    issue: Annotated[str, given("What is broken, in a word or two.", min_length=3, max_length=60)],
    first_day: Annotated[date, given("The first day on which the room cannot be used, YYYY-MM-DD.")],
    last_day: Annotated[date, given("The last such day, YYYY-MM-DD.")],
) -> Record:
    """Take a room out of use for a repair. Refuses while the room is booked for any of these nights: give
    those bookings another room first (change_room)."""
    with transaction() as db:
        room = find(db, Room, room_id)
        if last_day < first_day:
            refuse(f"The last day ({last_day}) must not come before the first ({first_day}).", 422)
        if first_day < today():
            refuse(f"{first_day} is past: today is {today()}.")
        require_free(db, room, first_day, last_day + timedelta(days=1))
        return show_repair(save(db, Repair(room=room, issue=issue, first_day=first_day, last_day=last_day)))


@app.post("/repairs/{repair_id}/end", operation_id="finish_repair")
async def finish_repair(repair_id: RepairId) -> Record:
    """Record that a repair is done: the room can be booked again. Refuses repairs that are done already."""
    with transaction() as db:
        repair = find(db, Repair, repair_id)
        if repair.status != "open":
            refuse(f"The repair of room {repair.room.number} ({repair.issue}) is done already.")
        repair.status = "done"
        return show_repair(repair)
