"""The fleet: trips are planned, given a vehicle and a driver, and driven; vehicles are fuelled and serviced.

Reading order: what is fixed, the tables, the plumbing, what the tools are given and show, the rules at
work, then the tools themselves, reads before writes. The database counts cents, the tools speak of euros.
All trips end at the depot where they began. What only the office decides stands in the house rules.
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

REST = timedelta(hours=9)
"""What a driver must rest between two trips, by law."""
MOST_DAYS_AHEAD = 90
INSPECTION = timedelta(days=365)
LIVE = ("planned", "under_way")
OPEN = ("planned", "in_progress")
CATEGORIES = ("B", "C1", "C", "CE")
"""A licence of one category covers those before it."""

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


class Depot(Table):
    __tablename__ = "depots"
    name: Mapped[str]
    town: Mapped[str]
    capacity: Mapped[int]


class Vehicle(Table):
    __tablename__ = "vehicles"
    plate: Mapped[str]
    model: Mapped[str]
    category: Mapped[str]
    payload_kg: Mapped[int]
    depot_id: Mapped[int] = mapped_column(ForeignKey("depots.id"))
    status: Mapped[str]
    odometer_km: Mapped[int]
    serviced_at_km: Mapped[int]
    inspected_until: Mapped[date]
    depot: Mapped[Depot] = relationship(lazy="joined", innerjoin=True)


class Driver(Table):
    __tablename__ = "drivers"
    name: Mapped[str]
    badge: Mapped[str]
    phone: Mapped[str]
    depot_id: Mapped[int] = mapped_column(ForeignKey("depots.id"))
    status: Mapped[str]
    depot: Mapped[Depot] = relationship(lazy="joined", innerjoin=True)
    licences: Mapped[list["Licence"]] = relationship(order_by="Licence.id")


class Licence(Table):
    __tablename__ = "licences"
    driver_id: Mapped[int] = mapped_column(ForeignKey("drivers.id"))
    category: Mapped[str]
    expires_on: Mapped[date]


class Trip(Table):
    __tablename__ = "trips"
    number: Mapped[str]
    customer: Mapped[str]
    depot_id: Mapped[int] = mapped_column(ForeignKey("depots.id"))
    destination: Mapped[str]
    distance_km: Mapped[int]
    load_kg: Mapped[int]
    starts_at: Mapped[str]
    ends_at: Mapped[str]
    vehicle_id: Mapped[int | None] = mapped_column(ForeignKey("vehicles.id"))
    driver_id: Mapped[int | None] = mapped_column(ForeignKey("drivers.id"))
    status: Mapped[str] = mapped_column(default="planned")
    depot: Mapped[Depot] = relationship(lazy="joined", innerjoin=True)
    vehicle: Mapped[Vehicle | None] = relationship(lazy="joined")
    driver: Mapped[Driver | None] = relationship(lazy="joined")


class Maintenance(Table):
    __tablename__ = "maintenance"
    number: Mapped[str]
    vehicle_id: Mapped[int] = mapped_column(ForeignKey("vehicles.id"))
    kind: Mapped[str]
    fault: Mapped[str | None]
    planned_on: Mapped[date]
    finished_on: Mapped[date | None]
    cost_cents: Mapped[int | None]
    status: Mapped[str] = mapped_column(default="planned")
    vehicle: Mapped[Vehicle] = relationship(lazy="joined", innerjoin=True)


class Fuel(Table):
    __tablename__ = "fuel"
    vehicle_id: Mapped[int] = mapped_column(ForeignKey("vehicles.id"))
    driver_id: Mapped[int] = mapped_column(ForeignKey("drivers.id"))
    filled_on: Mapped[date]
    litres: Mapped[int]
    cost_cents: Mapped[int]
    odometer_km: Mapped[int]
    vehicle: Mapped[Vehicle] = relationship(lazy="joined", innerjoin=True)
    driver: Mapped[Driver] = relationship(lazy="joined", innerjoin=True)


class Incident(Table):
    __tablename__ = "incidents"
    number: Mapped[str]
    vehicle_id: Mapped[int] = mapped_column(ForeignKey("vehicles.id"))
    driver_id: Mapped[int] = mapped_column(ForeignKey("drivers.id"))
    happened_on: Mapped[date]
    kind: Mapped[str]
    cost_cents: Mapped[int]
    status: Mapped[str] = mapped_column(default="open")
    outcome: Mapped[str | None]
    vehicle: Mapped[Vehicle] = relationship(lazy="joined", innerjoin=True)
    driver: Mapped[Driver] = relationship(lazy="joined", innerjoin=True)


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Greenway Haulage")
engine = create_engine("sqlite:///world.db")
transaction = sessionmaker(engine).begin


@event.listens_for(engine, "connect")
def enforce_foreign_keys(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def refuse(reason: str, status: int = 409) -> NoReturn:
    """Answer with an error. The open transaction is rolled back."""
    raise HTTPException(status, reason)


def find(db: Session, table: type[Row], key: int) -> Row:
    return db.get(table, key) or refuse(f"Nothing in {table.__tablename__} has id {key}: look it up.", 404)


def save(db: Session, row: Row) -> Row:
    """Add a new row and give it its id."""
    db.add(row)
    db.flush()
    return row


def next_number(db: Session, table: type[Row], series: str) -> str:
    """The number that papers carry: the series and the id that the row will get."""
    return f"{series}-{(db.scalar(select(func.max(table.id))) or 0) + 1}"


def page(db: Session, query: Select[Row], show: Callable[[Row], Record], limit: int) -> Record:
    """Show the first results and say how many there are in all."""
    total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery()))
    return {"total": total, "results": [show(row) for row in db.scalars(query.limit(limit))]}


def narrow(query: Select[Row], *wanted: tuple[InstrumentedAttribute[Any], Any]) -> Select[Row]:
    """Keep the rows whose columns have the wanted values. None means that any value will do."""
    return query.where(*(column == value for column, value in wanted if value is not None))


def between(
    query: Select[Row], day: InstrumentedAttribute[Any], first: date | None, last: date | None
) -> Select[Row]:
    """Keep the rows of these days, both included. None leaves an end open."""
    if first is not None:
        query = query.where(func.date(day) >= first.isoformat())
    if last is not None:
        query = query.where(func.date(day) <= last.isoformat())
    return query


def mentions(text: str, *columns: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Every word occurs in at least one of the columns."""
    return and_(
        True,
        *(or_(*(column.icontains(word, autoescape=True) for column in columns)) for word in text.split()),
    )


def plain(name: str) -> str:
    return name.replace("_", " ")


def now() -> datetime:
    return datetime.now(UTC)


def today() -> date:
    return now().date()


def stamp(moment: datetime) -> str:
    """A moment as the database has it: in UTC, to the minute."""
    return (moment.astimezone(UTC) if moment.tzinfo else moment).strftime("%Y-%m-%dT%H:%M")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def euros(cents: int | None) -> float | None:
    return None if cents is None else cents / 100


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
VehicleId: TypeAlias = Annotated[Id, Path(description="The vehicle's id, from list_vehicles.")]
DriverId: TypeAlias = Annotated[Id, Path(description="The driver's id, from list_drivers.")]
TripId: TypeAlias = Annotated[Id, Path(description="The trip's id, from list_trips.")]
MaintenanceId: TypeAlias = Annotated[Id, Path(description="The order's id, from list_maintenance.")]
IncidentId: TypeAlias = Annotated[Id, Path(description="The incident's id, from list_incidents.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=50, description="How many results to show at most.")]
NumberFilter: TypeAlias = Annotated[str | None, Query(description="Only the one with this number.")]
DepotFilter: TypeAlias = Annotated[Id | None, Query(description="Only of this depot, from list_depots.")]
VehicleFilter: TypeAlias = Annotated[Id | None, Query(description="Only of this vehicle.")]
DriverFilter: TypeAlias = Annotated[Id | None, Query(description="Only of this driver.")]
FirstDay: TypeAlias = Annotated[date | None, Query(description="Only from this day on, YYYY-MM-DD.")]
LastDay: TypeAlias = Annotated[date | None, Query(description="Only to this day, YYYY-MM-DD, included.")]
Category: TypeAlias = Literal["B", "C1", "C", "CE"]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_vehicle(vehicle: Vehicle) -> Record:
    return {
        "vehicle_id": vehicle.id,
        "plate": vehicle.plate,
        "model": vehicle.model,
        "category": vehicle.category,
        "payload_kg": vehicle.payload_kg,
        "depot_id": vehicle.depot_id,
        "depot": vehicle.depot.name,
        "status": vehicle.status,
        "odometer_km": vehicle.odometer_km,
        "km_since_service": vehicle.odometer_km - vehicle.serviced_at_km,
        "inspected_until": vehicle.inspected_until,
    }


def show_driver(driver: Driver) -> Record:
    return {
        "driver_id": driver.id,
        "name": driver.name,
        "badge": driver.badge,
        "phone": driver.phone,
        "depot_id": driver.depot_id,
        "depot": driver.depot.name,
        "status": driver.status,
    }


def show_licence(licence: Licence) -> Record:
    return {"category": licence.category, "expires_on": licence.expires_on}


def show_trip(trip: Trip) -> Record:
    return {
        "trip_id": trip.id,
        "number": trip.number,
        "customer": trip.customer,
        "depot_id": trip.depot_id,
        "depot": trip.depot.name,
        "destination": trip.destination,
        "distance_km": trip.distance_km,
        "load_kg": trip.load_kg,
        "starts_at": trip.starts_at,
        "ends_at": trip.ends_at,
        "vehicle_id": trip.vehicle_id,
        "vehicle": trip.vehicle.plate if trip.vehicle else None,
        "driver_id": trip.driver_id,
        "driver": trip.driver.name if trip.driver else None,
        "status": trip.status,
    }


def show_maintenance(order: Maintenance) -> Record:
    return {
        "maintenance_id": order.id,
        "number": order.number,
        "vehicle_id": order.vehicle_id,
        "vehicle": order.vehicle.plate,
        "kind": order.kind,
        "fault": order.fault,
        "planned_on": order.planned_on,
        "finished_on": order.finished_on,
        "cost": euros(order.cost_cents),
        "status": order.status,
    }


def show_fuel(fill: Fuel) -> Record:
    return {
        "fuel_id": fill.id,
        "vehicle": fill.vehicle.plate,
        "driver": fill.driver.name,
        "filled_on": fill.filled_on,
        "litres": fill.litres,
        "cost": euros(fill.cost_cents),
        "odometer_km": fill.odometer_km,
    }


def show_incident(incident: Incident) -> Record:
    return {
        "incident_id": incident.id,
        "number": incident.number,
        "vehicle": incident.vehicle.plate,
        "driver_id": incident.driver_id,
        "driver": incident.driver.name,
        "happened_on": incident.happened_on,
        "kind": incident.kind,
        "cost": euros(incident.cost_cents),
        "status": incident.status,
        "outcome": incident.outcome,
    }


# ---------------------------------------------------------------- the rules at work


def require_status(what: str, status: str, *allowed: str) -> None:
    if status not in allowed:
        refuse(f"{what} is {plain(status)}, not {' or '.join(map(plain, allowed))}.")


def clashing(trip: Trip, rest: timedelta = timedelta()) -> Select[Any]:
    """Other live trips at the time of a trip, or so close to it that no rest lies between."""
    starts, ends = stamp(moment(trip.starts_at) - rest), stamp(moment(trip.ends_at) + rest)
    apart = or_(Trip.ends_at <= starts, Trip.starts_at >= ends)
    return select(Trip).where(Trip.id != trip.id, Trip.status.in_(LIVE), ~apart)


def workshop_days(trip: Trip) -> Select[Any]:
    """Open maintenance on the days of a trip."""
    first, last = moment(trip.starts_at).date(), moment(trip.ends_at).date()
    return select(Maintenance).where(
        Maintenance.status.in_(OPEN), Maintenance.planned_on.between(first, last)
    )


def covering(category: str) -> tuple[str, ...]:
    """The categories whose licences allow to drive this one."""
    return CATEGORIES[CATEGORIES.index(category) :]


def require_vehicle(db: Session, trip: Trip, vehicle: Vehicle) -> None:
    """Refuse vehicles that cannot do a trip."""
    require_status(vehicle.plate, vehicle.status, "available", "on_trip")
    if vehicle.depot_id != trip.depot_id:
        refuse(f"{vehicle.plate} stands at {vehicle.depot.name}; {trip.number} leaves {trip.depot.name}.")
    if vehicle.payload_kg < trip.load_kg:
        refuse(
            f"{vehicle.plate} carries {vehicle.payload_kg} kg, not the {trip.load_kg} kg of {trip.number}."
        )
    if vehicle.inspected_until < moment(trip.ends_at).date():
        refuse(
            f"The inspection of {vehicle.plate} runs out on {vehicle.inspected_until}, before the trip ends."
        )
    if other := db.scalars(clashing(trip).where(Trip.vehicle_id == vehicle.id)).first():
        refuse(f"{vehicle.plate} is on {other.number} then. See find_free_vehicles.")
    if order := db.scalars(workshop_days(trip).where(Maintenance.vehicle_id == vehicle.id)).first():
        refuse(f"{vehicle.plate} is due in the workshop on {order.planned_on} ({order.number}).")


def require_driver(db: Session, trip: Trip, vehicle: Vehicle, driver: Driver) -> None:
    """Refuse drivers who may not do a trip."""
    require_status(driver.name, driver.status, "active")
    if driver.depot_id != trip.depot_id:
        refuse(f"{driver.name} belongs to {driver.depot.name}; {trip.number} leaves {trip.depot.name}.")
    valid = [one for one in driver.licences if one.expires_on >= moment(trip.ends_at).date()]
    if not any(one.category in covering(vehicle.category) for one in valid):
        refuse(f"{driver.name} has no licence for category {vehicle.category} until the end of the trip.")
    if other := db.scalars(clashing(trip, REST).where(Trip.driver_id == driver.id)).first():
        refuse(f"{driver.name} is on {other.number} then or needs the rest after it. See find_free_drivers.")


def week_of(day: date) -> tuple[str, str]:
    """The Monday of a day's week and the next one."""
    monday = day - timedelta(days=day.weekday())
    return monday.isoformat(), (monday + timedelta(days=7)).isoformat()


def week_km(day: date, besides: int = 0) -> Select[Any]:
    """Drivers with the kilometres of their trips that start in the week of a day, but for one trip."""
    monday, next_monday = week_of(day)
    return (
        select(Trip.driver_id, func.sum(Trip.distance_km).label("km"))
        .where(Trip.status != "cancelled", Trip.starts_at >= monday, Trip.starts_at < next_monday)
        .where(Trip.id != besides)
        .group_by(Trip.driver_id)
    )


def require_future(starts_at: str) -> None:
    if not stamp(now()) < starts_at < stamp(now() + timedelta(days=MOST_DAYS_AHEAD)):
        refuse(f"A trip must start after {stamp(now())} and within {MOST_DAYS_AHEAD} days.", 422)


# ---------------------------------------------------------------- reads


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """Read the house rules that the office must follow, section by section; not all are enforced by tools."""
    with transaction() as db:
        rules = db.scalars(select(Policy).order_by(Policy.id))
        return {"sections": [{"section": rule.section, "text": rule.text} for rule in rules]}


@app.get("/depots", operation_id="list_depots")
async def list_depots() -> Record:
    """List the depots with their ids, towns, capacity and how many spaces for vehicles are free."""
    with transaction() as db:
        kept = and_(Vehicle.depot_id == Depot.id, Vehicle.status != "retired")
        parked = select(func.count()).select_from(Vehicle).where(kept).correlate(Depot).scalar_subquery()
        return {
            "results": [
                {
                    "depot_id": depot.id,
                    "name": depot.name,
                    "town": depot.town,
                    "capacity": depot.capacity,
                    "free_spaces": depot.capacity - used,
                }
                for depot, used in db.execute(select(Depot, parked).order_by(Depot.name))
            ]
        }


@app.get("/vehicles", operation_id="list_vehicles")
async def list_vehicles(
    plate: Annotated[str | None, Query(description="Only the one with this number plate.")] = None,
    depot_id: DepotFilter = None,
    category: Annotated[Category | None, Query(description="Only of this licence category.")] = None,
    status: Annotated[
        Literal["available", "on_trip", "in_workshop", "retired"] | None,
        Query(description="Only in this status."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List vehicles by plate, depot, category or status, ordered by plate, with payload, odometer, the
    kilometres since the last service and the day until which they are inspected."""
    with transaction() as db:
        wanted = ((Vehicle.plate, plate), (Vehicle.depot_id, depot_id))
        found = narrow(select(Vehicle), *wanted, (Vehicle.category, category), (Vehicle.status, status))
        return page(db, found.order_by(Vehicle.plate), show_vehicle, limit)


@app.get("/vehicles/{vehicle_id}", operation_id="get_vehicle")
async def get_vehicle(vehicle_id: VehicleId) -> Record:
    """Show one vehicle with its open maintenance and its trips that are planned or under way."""
    with transaction() as db:
        vehicle = find(db, Vehicle, vehicle_id)
        orders = select(Maintenance).where(Maintenance.vehicle_id == vehicle.id, Maintenance.status.in_(OPEN))
        trips = select(Trip).where(Trip.vehicle_id == vehicle.id, Trip.status.in_(LIVE))
        return {
            **show_vehicle(vehicle),
            "maintenance": [show_maintenance(one) for one in db.scalars(orders.order_by(Maintenance.id))],
            "trips": [show_trip(one) for one in db.scalars(trips.order_by(Trip.starts_at))],
        }


@app.get("/drivers", operation_id="list_drivers")
async def list_drivers(
    query: Annotated[str, Query(description="Words from the name, or the badge. Leave empty for all.")] = "",
    depot_id: DepotFilter = None,
    status: Annotated[
        Literal["active", "off_sick", "suspended", "left"] | None, Query(description="Only in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List drivers by name, badge, depot or status, ordered by name. get_driver shows licences."""
    with transaction() as db:
        found = select(Driver).where(mentions(query, Driver.name, Driver.badge))
        found = narrow(found, (Driver.depot_id, depot_id), (Driver.status, status))
        return page(db, found.order_by(Driver.name, Driver.id), show_driver, limit)


@app.get("/drivers/{driver_id}", operation_id="get_driver")
async def get_driver(driver_id: DriverId) -> Record:
    """Show one driver with licences and the kilometres of all trips of this week, Monday to Sunday,
    that are planned, under way or done."""
    with transaction() as db:
        driver = find(db, Driver, driver_id)
        mine = db.execute(week_km(today()).where(Trip.driver_id == driver.id)).first()
        licences = [show_licence(licence) for licence in driver.licences]
        return {**show_driver(driver), "licences": licences, "km_this_week": mine.km if mine else 0}


@app.get("/trips", operation_id="list_trips")
async def list_trips(
    number: NumberFilter = None,
    customer: Annotated[str, Query(description="Words from the customer's name. Leave empty for all.")] = "",
    depot_id: DepotFilter = None,
    vehicle_id: VehicleFilter = None,
    driver_id: DriverFilter = None,
    status: Annotated[
        Literal["planned", "under_way", "done", "cancelled"] | None, Query(description="Only in this status.")
    ] = None,
    first_day: FirstDay = None,
    last_day: LastDay = None,
    limit: Limit = 20,
) -> Record:
    """List trips by number, customer, depot, vehicle, driver, status and the day on which they start,
    the earliest first."""
    with transaction() as db:
        found = between(
            select(Trip).where(mentions(customer, Trip.customer)), Trip.starts_at, first_day, last_day
        )
        whose = ((Trip.depot_id, depot_id), (Trip.vehicle_id, vehicle_id), (Trip.driver_id, driver_id))
        found = narrow(found, (Trip.number, number), (Trip.status, status), *whose)
        return page(db, found.order_by(Trip.starts_at, Trip.id), show_trip, limit)


@app.get("/trips/{trip_id}/vehicles", operation_id="find_free_vehicles")
async def find_free_vehicles(trip_id: TripId) -> Record:
    """List the vehicles at a trip's depot that could do it, smallest payload first: they are free, carry
    the load, and are neither out of inspection nor due in the workshop then."""
    with transaction() as db:
        trip = find(db, Trip, trip_id)
        busy = clashing(trip).with_only_columns(Trip.vehicle_id).where(Trip.vehicle_id.is_not(None))
        away = workshop_days(trip).with_only_columns(Maintenance.vehicle_id)
        free = select(Vehicle).where(
            Vehicle.depot_id == trip.depot_id,
            Vehicle.status.in_(("available", "on_trip")),
            Vehicle.payload_kg >= trip.load_kg,
            Vehicle.inspected_until >= moment(trip.ends_at).date(),
            Vehicle.id.not_in(busy),
            Vehicle.id.not_in(away),
        )
        return page(db, free.order_by(Vehicle.payload_kg, Vehicle.plate), show_vehicle, limit=50)


@app.get("/trips/{trip_id}/drivers", operation_id="find_free_drivers")
async def find_free_drivers(trip_id: TripId) -> Record:
    """List the drivers of a trip's depot who could drive its vehicle then, ordered by name, each with the
    kilometres of their other trips in the week of the trip, Monday to Sunday.

    They are active, have the licence until the end of the trip and nine hours' rest before and after."""
    with transaction() as db:
        trip = find(db, Trip, trip_id)
        vehicle = trip.vehicle or refuse(f"{trip.number} has no vehicle yet: see assign_vehicle.")
        busy = clashing(trip, REST).with_only_columns(Trip.driver_id).where(Trip.driver_id.is_not(None))
        licensed = select(Licence.driver_id).where(
            Licence.category.in_(covering(vehicle.category)),
            Licence.expires_on >= moment(trip.ends_at).date(),
        )
        load = week_km(moment(trip.starts_at).date(), besides=trip.id).subquery()
        free = (
            select(Driver, func.coalesce(load.c.km, 0))
            .outerjoin(load, load.c.driver_id == Driver.id)
            .where(Driver.depot_id == trip.depot_id, Driver.status == "active")
            .where(Driver.id.not_in(busy), Driver.id.in_(licensed))
        )
        rows = db.execute(free.order_by(Driver.name, Driver.id))
        return {"results": [{**show_driver(driver), "week_km": km} for driver, km in rows]}


@app.get("/maintenance", operation_id="list_maintenance")
async def list_maintenance(
    number: NumberFilter = None,
    vehicle_id: VehicleFilter = None,
    kind: Annotated[
        Literal["service", "inspection", "repair"] | None, Query(description="Only of this kind.")
    ] = None,
    status: Annotated[
        Literal["planned", "in_progress", "finished", "cancelled"] | None,
        Query(description="Only in this status."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List workshop orders by number, vehicle, kind or status, the earliest planned first."""
    with transaction() as db:
        wanted = ((Maintenance.number, number), (Maintenance.vehicle_id, vehicle_id))
        found = narrow(select(Maintenance), *wanted, (Maintenance.kind, kind), (Maintenance.status, status))
        return page(db, found.order_by(Maintenance.planned_on, Maintenance.id), show_maintenance, limit)


@app.get("/fuel", operation_id="list_fuel")
async def list_fuel(
    vehicle_id: VehicleFilter = None,
    driver_id: DriverFilter = None,
    first_day: FirstDay = None,
    last_day: LastDay = None,
    limit: Limit = 20,
) -> Record:
    """List fill-ups by vehicle, driver and day, the earliest first, with litres, cost and odometer."""
    with transaction() as db:
        found = narrow(select(Fuel), (Fuel.vehicle_id, vehicle_id), (Fuel.driver_id, driver_id))
        found = between(found, Fuel.filled_on, first_day, last_day)
        return page(db, found.order_by(Fuel.filled_on, Fuel.id), show_fuel, limit)


@app.get("/incidents", operation_id="list_incidents")
async def list_incidents(
    number: NumberFilter = None,
    depot_id: Annotated[Id | None, Query(description="Only of drivers of this depot.")] = None,
    driver_id: DriverFilter = None,
    status: Annotated[
        Literal["open", "insurer", "closed"] | None,
        Query(description="Only in this status; insurer: the insurer decides."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List incidents by number, driver, the driver's depot or status, the earliest first."""
    with transaction() as db:
        found = select(Incident).join(Incident.driver)
        found = narrow(found, (Incident.number, number), (Driver.depot_id, depot_id))
        found = narrow(found, (Incident.driver_id, driver_id), (Incident.status, status))
        return page(db, found.order_by(Incident.happened_on, Incident.id), show_incident, limit)


# ---------------------------------------------------------------- writes: trips


@app.post("/trips", operation_id="plan_trip")
async def plan_trip(
    customer: Annotated[str, given("Whose load it is.", min_length=2, max_length=80)],
    depot_id: Annotated[Id, given("The depot where it begins and ends, from list_depots.")],
    destination: Annotated[str, given("The town that it goes to.", min_length=2, max_length=80)],
    distance_km: Annotated[int, given("Kilometres there and back.", ge=1, le=3000)],
    load_kg: Annotated[int, given("What is to be carried.", ge=1, le=30_000)],
    starts_at: Annotated[datetime, given("When it leaves, YYYY-MM-DDTHH:MM in UTC.")],
    ends_at: Annotated[datetime, given("When it is back, YYYY-MM-DDTHH:MM in UTC.")],
) -> Record:
    """Plan a trip, without vehicle and driver yet. Refuses times that are past or end before they start."""
    starts, ends = stamp(starts_at), stamp(ends_at)
    require_future(starts)
    if ends <= starts:
        refuse(f"The trip would be back at {ends}, before it leaves at {starts}.", 422)
    with transaction() as db:
        number, depot = next_number(db, Trip, "GH"), find(db, Depot, depot_id)
        way = {"destination": destination, "distance_km": distance_km, "load_kg": load_kg}
        times = {"starts_at": starts, "ends_at": ends}
        return show_trip(save(db, Trip(number=number, customer=customer, depot=depot, **way, **times)))


@app.post("/trips/{trip_id}/vehicle", operation_id="assign_vehicle")
async def assign_vehicle(
    trip_id: TripId, vehicle_id: Annotated[Id, given("The vehicle, from find_free_vehicles.")]
) -> Record:
    """Give a planned trip its vehicle, or another one. Refuses vehicles that cannot do it, and those that
    the trip's driver may not drive."""
    with transaction() as db:
        trip, vehicle = find(db, Trip, trip_id), find(db, Vehicle, vehicle_id)
        require_status(trip.number, trip.status, "planned")
        require_vehicle(db, trip, vehicle)
        if trip.driver:
            require_driver(db, trip, vehicle, trip.driver)
        trip.vehicle = vehicle
        db.flush()
        return show_trip(trip)


@app.post("/trips/{trip_id}/driver", operation_id="assign_driver")
async def assign_driver(
    trip_id: TripId, driver_id: Annotated[Id, given("The driver, from find_free_drivers.")]
) -> Record:
    """Give a planned trip its driver, or another one; it needs a vehicle first. Refuses drivers who are not
    active, lack the licence or the rest, or belong to another depot."""
    with transaction() as db:
        trip, driver = find(db, Trip, trip_id), find(db, Driver, driver_id)
        require_status(trip.number, trip.status, "planned")
        vehicle = trip.vehicle or refuse(f"{trip.number} has no vehicle yet: see assign_vehicle.")
        require_driver(db, trip, vehicle, driver)
        trip.driver = driver
        db.flush()
        return show_trip(trip)


@app.delete("/trips/{trip_id}/driver", operation_id="unassign_driver")
async def unassign_driver(trip_id: TripId) -> Record:
    """Take the driver off a planned trip; its vehicle stays. Refuses trips that have no driver."""
    with transaction() as db:
        trip = find(db, Trip, trip_id)
        require_status(trip.number, trip.status, "planned")
        if trip.driver is None:
            refuse(f"{trip.number} has no driver.")
        trip.driver = None
        db.flush()
        return show_trip(trip)


@app.post("/trips/{trip_id}/times", operation_id="reschedule_trip")
async def reschedule_trip(
    trip_id: TripId, starts_at: Annotated[datetime, given("When it leaves now, YYYY-MM-DDTHH:MM in UTC.")]
) -> Record:
    """Move a planned trip to another time; it takes as long as before. Refuses times at which its vehicle or
    driver cannot do it."""
    starts = stamp(starts_at)
    require_future(starts)
    with transaction() as db:
        trip = find(db, Trip, trip_id)
        require_status(trip.number, trip.status, "planned")
        lasts = moment(trip.ends_at) - moment(trip.starts_at)
        trip.starts_at, trip.ends_at = starts, stamp(moment(starts) + lasts)
        if trip.vehicle:
            require_vehicle(db, trip, trip.vehicle)
        if trip.vehicle and trip.driver:
            require_driver(db, trip, trip.vehicle, trip.driver)
        return show_trip(trip)


@app.post("/trips/{trip_id}/departure", operation_id="start_trip")
async def start_trip(trip_id: TripId) -> Record:
    """Book a trip of today out. Refuses trips without vehicle or driver and vehicles that are not there."""
    with transaction() as db:
        trip = find(db, Trip, trip_id)
        require_status(trip.number, trip.status, "planned")
        if trip.vehicle is None or trip.driver is None:
            refuse(f"{trip.number} has no {'driver' if trip.vehicle else 'vehicle'} yet.")
        if moment(trip.starts_at).date() != today():
            refuse(f"{trip.number} leaves on {trip.starts_at}, not today: see reschedule_trip.")
        require_status(trip.vehicle.plate, trip.vehicle.status, "available")
        trip.status, trip.vehicle.status = "under_way", "on_trip"
        return show_trip(trip)


@app.post("/trips/{trip_id}/return", operation_id="finish_trip")
async def finish_trip(
    trip_id: TripId, odometer_km: Annotated[int, given("What the odometer shows now.", ge=0, le=3_000_000)]
) -> Record:
    """Book a trip that is under way back in; its vehicle is available again. Refuses an odometer that went
    back, or on by more than twice the trip's distance."""
    with transaction() as db:
        trip = find(db, Trip, trip_id)
        require_status(trip.number, trip.status, "under_way")
        vehicle = trip.vehicle or refuse(f"{trip.number} has no vehicle.")
        if not vehicle.odometer_km <= odometer_km <= vehicle.odometer_km + 2 * trip.distance_km:
            refuse(
                f"{vehicle.plate} stood at {vehicle.odometer_km} km before {trip.distance_km} km: look again."
            )
        trip.status, vehicle.status, vehicle.odometer_km = "done", "available", odometer_km
        return show_trip(trip)


@app.post("/trips/{trip_id}/cancellation", operation_id="cancel_trip")
async def cancel_trip(trip_id: TripId) -> Record:
    """Cancel a planned trip; its vehicle and driver are free then. Refuses trips that have left."""
    with transaction() as db:
        trip = find(db, Trip, trip_id)
        require_status(trip.number, trip.status, "planned")
        trip.status = "cancelled"
        return show_trip(trip)


# ---------------------------------------------------------------- writes: vehicles and drivers


@app.post("/vehicles/{vehicle_id}/depot", operation_id="transfer_vehicle")
async def transfer_vehicle(
    vehicle_id: VehicleId, depot_id: Annotated[Id, given("Where it is to stand, from list_depots.")]
) -> Record:
    """Station an available vehicle at another depot. Refuses full depots, and vehicles with planned trips."""
    with transaction() as db:
        vehicle, depot = find(db, Vehicle, vehicle_id), find(db, Depot, depot_id)
        require_status(vehicle.plate, vehicle.status, "available")
        if vehicle.depot_id == depot.id:
            refuse(f"{vehicle.plate} stands at {depot.name} already.")
        require_no_trips(db, vehicle)
        kept = select(func.count()).select_from(Vehicle)
        if db.scalar(kept.where(Vehicle.depot_id == depot.id, Vehicle.status != "retired")) >= depot.capacity:
            refuse(f"{depot.name} is full: it has room for {depot.capacity} vehicles.")
        vehicle.depot = depot
        db.flush()
        return show_vehicle(vehicle)


def require_no_trips(db: Session, vehicle: Vehicle) -> None:
    trips = select(Trip).where(Trip.vehicle_id == vehicle.id, Trip.status.in_(LIVE))
    if trip := db.scalars(trips.order_by(Trip.starts_at)).first():
        refuse(f"{vehicle.plate} still has {trip.number} to do, from {trip.starts_at} on.")


@app.post("/vehicles/{vehicle_id}/retirement", operation_id="retire_vehicle")
async def retire_vehicle(vehicle_id: VehicleId) -> Record:
    """Take an available vehicle out of service for good. Refuses vehicles with trips or open maintenance."""
    with transaction() as db:
        vehicle = find(db, Vehicle, vehicle_id)
        require_status(vehicle.plate, vehicle.status, "available")
        require_no_trips(db, vehicle)
        orders = select(Maintenance).where(Maintenance.vehicle_id == vehicle.id, Maintenance.status.in_(OPEN))
        if order := db.scalars(orders).first():
            refuse(f"{vehicle.plate} has the open order {order.number}: cancel or finish it first.")
        vehicle.status = "retired"
        return show_vehicle(vehicle)


@app.post("/fuel", operation_id="record_fuel")
async def record_fuel(
    vehicle_id: Annotated[Id, given("What was filled up, from list_vehicles.")],
    driver_id: Annotated[Id, given("Who filled it up, from list_drivers.")],
    litres: Annotated[int, given("Whole litres.", ge=1, le=1500)],
    cost: Annotated[float, given("What it cost, in euros.", gt=0, le=5000)],
    odometer_km: Annotated[int, given("What the odometer showed.", ge=0, le=3_000_000)],
) -> Record:
    """Book a fill-up of today; the vehicle's odometer moves on to it. Refuses an odometer that went back."""
    with transaction() as db:
        vehicle, driver = find(db, Vehicle, vehicle_id), find(db, Driver, driver_id)
        if odometer_km <= vehicle.odometer_km:
            refuse(f"The odometer of {vehicle.plate} stood at {vehicle.odometer_km} km before: look again.")
        vehicle.odometer_km = odometer_km
        paid = {"litres": litres, "cost_cents": round(cost * 100), "filled_on": today()}
        return show_fuel(save(db, Fuel(vehicle=vehicle, driver=driver, odometer_km=odometer_km, **paid)))


@app.post("/drivers/{driver_id}/status", operation_id="set_driver_status")
async def set_driver_status(
    driver_id: DriverId,
    status: Annotated[Literal["active", "off_sick", "suspended"], given("How it is from now on.")],
) -> Record:
    """Note that a driver is off sick, suspended or active again; planned trips stay theirs until changed."""
    with transaction() as db:
        driver = find(db, Driver, driver_id)
        if driver.status in (status, "left"):
            refuse(f"{driver.name} is {plain(driver.status)} already.")
        driver.status = status
        return show_driver(driver)


@app.put("/drivers/{driver_id}/licences/{category}", operation_id="record_licence")
async def record_licence(
    driver_id: DriverId,
    category: Annotated[Category, Path(description="The category of the licence.")],
    expires_on: Annotated[date, given("Until when it is valid now, YYYY-MM-DD.")],
) -> Record:
    """Note a driver's licence, a new or a renewed one. Refuses licences that have run out."""
    with transaction() as db:
        driver = find(db, Driver, driver_id)
        if expires_on < today():
            refuse(f"A licence that ran out on {expires_on} is of no use.", 422)
        if licence := next((one for one in driver.licences if one.category == category), None):
            licence.expires_on = expires_on
        else:
            driver.licences.append(Licence(category=category, expires_on=expires_on))
        return {**show_driver(driver), "licences": [show_licence(one) for one in driver.licences]}


# ---------------------------------------------------------------- writes: workshop and incidents


@app.post("/maintenance", operation_id="book_maintenance")
async def book_maintenance(
    vehicle_id: Annotated[Id, given("What is to be worked on, from list_vehicles.")],
    kind: Annotated[Literal["service", "inspection", "repair"], given("What is to be done.")],
    planned_on: Annotated[date, given("The workday on which it is to be done, YYYY-MM-DD.")],
    fault: Annotated[
        Literal["brakes", "engine", "tyres", "electrics", "bodywork", "tail_lift"] | None,
        given("What is broken; for repairs only."),
    ] = None,
) -> Record:
    """Book a vehicle into the workshop for a workday. Refuses weekends, days on which the vehicle has a
    trip, and a second open order of the same kind."""
    with transaction() as db:
        vehicle = find(db, Vehicle, vehicle_id)
        require_status(vehicle.plate, vehicle.status, "available", "on_trip", "in_workshop")
        if (kind == "repair") != (fault is not None):
            refuse("Name the fault of a repair, and of nothing else.", 422)
        if not today() <= planned_on <= today() + timedelta(days=MOST_DAYS_AHEAD):
            refuse(f"The day must lie between {today()} and {MOST_DAYS_AHEAD} days later.", 422)
        if planned_on.weekday() > 4:
            refuse(f"{planned_on} is a {planned_on:%A}: the workshop works from Monday to Friday.")
        same = and_(Maintenance.vehicle_id == vehicle.id, Maintenance.kind == kind)
        if order := db.scalars(select(Maintenance).where(same, Maintenance.status.in_(OPEN))).first():
            refuse(f"{order.number} is open for this already, planned for {order.planned_on}.")
        day = planned_on.isoformat()
        on_the_day = (func.date(Trip.starts_at) <= day, func.date(Trip.ends_at) >= day)
        trips = select(Trip).where(Trip.vehicle_id == vehicle.id, Trip.status.in_(LIVE), *on_the_day)
        if trip := db.scalars(trips).first():
            refuse(f"{vehicle.plate} is on {trip.number} that day: choose another day.")
        before = db.scalar(select(func.count()).where(Maintenance.vehicle_id == vehicle.id)) or 0
        number, plan = f"WS-{vehicle.id}-{before + 1}", {"planned_on": planned_on, "fault": fault}
        return show_maintenance(save(db, Maintenance(number=number, vehicle=vehicle, kind=kind, **plan)))


@app.post("/maintenance/{maintenance_id}/start", operation_id="start_maintenance")
async def start_maintenance(maintenance_id: MaintenanceId) -> Record:
    """Take a vehicle into the workshop for a planned order. Refuses vehicles that are not available."""
    with transaction() as db:
        order = find(db, Maintenance, maintenance_id)
        require_status(order.number, order.status, "planned")
        require_status(order.vehicle.plate, order.vehicle.status, "available")
        order.status, order.vehicle.status = "in_progress", "in_workshop"
        return show_maintenance(order)


@app.post("/maintenance/{maintenance_id}/finish", operation_id="finish_maintenance")
async def finish_maintenance(
    maintenance_id: MaintenanceId, cost: Annotated[float, given("What it cost, in euros.", ge=0, le=100_000)]
) -> Record:
    """Finish an order in progress: the vehicle is available again. A service starts the count of kilometres
    anew, an inspection is good for 365 days."""
    with transaction() as db:
        order = find(db, Maintenance, maintenance_id)
        require_status(order.number, order.status, "in_progress")
        order.status, order.finished_on, order.cost_cents = "finished", today(), round(cost * 100)
        order.vehicle.status = "available"
        if order.kind == "service":
            order.vehicle.serviced_at_km = order.vehicle.odometer_km
        if order.kind == "inspection":
            order.vehicle.inspected_until = today() + INSPECTION
        return show_maintenance(order)


@app.post("/maintenance/{maintenance_id}/cancellation", operation_id="cancel_maintenance")
async def cancel_maintenance(maintenance_id: MaintenanceId) -> Record:
    """Call a planned workshop order off. Refuses orders that have begun."""
    with transaction() as db:
        order = find(db, Maintenance, maintenance_id)
        require_status(order.number, order.status, "planned")
        order.status = "cancelled"
        return show_maintenance(order)


@app.post("/incidents", operation_id="report_incident")
async def report_incident(
    vehicle_id: Annotated[Id, given("The vehicle, from list_vehicles.")],
    driver_id: Annotated[Id, given("Who drove it, from list_drivers.")],
    kind: Annotated[Literal["scratch", "collision", "breakdown", "fine"], given("What happened.")],
    happened_on: Annotated[date, given("When, YYYY-MM-DD.")],
    cost: Annotated[float, given("The damage or the fine, in euros.", gt=0, le=200_000)],
) -> Record:
    """Note an incident, which is open until it is settled. Refuses days that are still to come."""
    with transaction() as db:
        vehicle, driver = find(db, Vehicle, vehicle_id), find(db, Driver, driver_id)
        if happened_on > today():
            refuse(f"{happened_on} is still to come.", 422)
        what = {"kind": kind, "happened_on": happened_on, "cost_cents": round(cost * 100)}
        number = next_number(db, Incident, "IN")
        return show_incident(save(db, Incident(number=number, vehicle=vehicle, driver=driver, **what)))


@app.post("/incidents/{incident_id}/claim", operation_id="claim_insurance")
async def claim_insurance(incident_id: IncidentId) -> Record:
    """Hand an open incident to the insurer, who decides then. Refuses fines, which nobody insures."""
    with transaction() as db:
        incident = find(db, Incident, incident_id)
        require_status(incident.number, incident.status, "open")
        if incident.kind == "fine":
            refuse(f"{incident.number} is a fine: the insurer does not pay those.")
        incident.status = "insurer"
        return show_incident(incident)


@app.post("/incidents/{incident_id}/settlement", operation_id="settle_incident")
async def settle_incident(
    incident_id: IncidentId,
    outcome: Annotated[Literal["company_pays", "driver_pays", "insurer_pays"], given("Who pays.")],
) -> Record:
    """Close an incident by saying who pays. Refuses insurer_pays where the insurer was never asked."""
    with transaction() as db:
        incident = find(db, Incident, incident_id)
        require_status(incident.number, incident.status, "open", "insurer")
        if outcome == "insurer_pays" and incident.status == "open":
            refuse(f"{incident.number} is not with the insurer: see claim_insurance.")
        incident.status, incident.outcome = "closed", outcome
        return show_incident(incident)
