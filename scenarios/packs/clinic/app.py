"""The clinic's front desk: appointments are booked, moved and cancelled, repeats dispensed, fees settled.

Reading order: the rules of the house, the tables, the plumbing, what the tools are given and show, the
rules at work, then the tools themselves, reads before writes. The database counts cents, the tools speak
of dollars.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import islice
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

# ---------------------------------------------------------------- the rules of the house

LATE_NOTICE = timedelta(hours=24)
FEE_CENTS = {"late_cancellation": 2500, "no_show": 4000}
BOOKING_HORIZON = timedelta(days=90)
SEARCH_SPAN = timedelta(days=14)
WAIVER_PERIOD = timedelta(days=365)
PRESCRIPTION_PERIOD = timedelta(days=180)

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Offer(Table):
    """That a practitioner offers a service."""

    __tablename__ = "offers"
    practitioner_id: Mapped[int] = mapped_column(ForeignKey("practitioners.id"))
    service_id: Mapped[int] = mapped_column(ForeignKey("services.id"))


class Service(Table):
    __tablename__ = "services"
    name: Mapped[str]
    minutes: Mapped[int]
    room_kind: Mapped[str]


class Practitioner(Table):
    __tablename__ = "practitioners"
    name: Mapped[str]
    role: Mapped[str]
    services: Mapped[list[Service]] = relationship(secondary="offers", order_by=Service.name, viewonly=True)


class Room(Table):
    __tablename__ = "rooms"
    name: Mapped[str]
    kind: Mapped[str]


class Shift(Table):
    """When a practitioner works, every week. Weekday 0 is Monday."""

    __tablename__ = "shifts"
    practitioner_id: Mapped[int] = mapped_column(ForeignKey("practitioners.id"))
    weekday: Mapped[int]
    starts: Mapped[str]
    ends: Mapped[str]


class TimeOff(Table):
    __tablename__ = "time_off"
    practitioner_id: Mapped[int] = mapped_column(ForeignKey("practitioners.id"))
    first_day: Mapped[date]
    last_day: Mapped[date]
    reason: Mapped[str]
    practitioner: Mapped[Practitioner] = relationship()


class Patient(Table):
    __tablename__ = "patients"
    name: Mapped[str]
    born_on: Mapped[date]
    phone: Mapped[str]
    doctor_id: Mapped[int] = mapped_column(ForeignKey("practitioners.id"))
    status: Mapped[str] = mapped_column(default="active")
    doctor: Mapped[Practitioner] = relationship()


class Allergy(Table):
    __tablename__ = "allergies"
    patient_id: Mapped[int] = mapped_column(ForeignKey("patients.id"))
    substance: Mapped[str]


class Appointment(Table):
    __tablename__ = "appointments"
    patient_id: Mapped[int] = mapped_column(ForeignKey("patients.id"))
    practitioner_id: Mapped[int] = mapped_column(ForeignKey("practitioners.id"))
    service_id: Mapped[int] = mapped_column(ForeignKey("services.id"))
    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"))
    day: Mapped[date]
    starts: Mapped[str]
    ends: Mapped[str]
    status: Mapped[str] = mapped_column(default="booked")
    cancelled_by: Mapped[str | None]
    booked_at: Mapped[str]
    patient: Mapped[Patient] = relationship()
    practitioner: Mapped[Practitioner] = relationship()
    service: Mapped[Service] = relationship()
    room: Mapped[Room] = relationship()


class Fee(Table):
    __tablename__ = "fees"
    appointment_id: Mapped[int] = mapped_column(ForeignKey("appointments.id"))
    reason: Mapped[str]
    amount_cents: Mapped[int]
    status: Mapped[str] = mapped_column(default="open")
    issued_on: Mapped[date]
    settled_on: Mapped[date | None]
    appointment: Mapped[Appointment] = relationship()


class Wait(Table):
    """An entry of the waiting list. Without a practitioner, anyone who offers the service will do."""

    __tablename__ = "waiting_list"
    patient_id: Mapped[int] = mapped_column(ForeignKey("patients.id"))
    service_id: Mapped[int] = mapped_column(ForeignKey("services.id"))
    practitioner_id: Mapped[int | None] = mapped_column(ForeignKey("practitioners.id"))
    status: Mapped[str] = mapped_column(default="waiting")
    added_on: Mapped[date]
    patient: Mapped[Patient] = relationship()
    service: Mapped[Service] = relationship()
    practitioner: Mapped[Practitioner | None] = relationship()


class Medicine(Table):
    __tablename__ = "medicines"
    name: Mapped[str]
    strength: Mapped[str]
    substance: Mapped[str | None]


class Prescription(Table):
    __tablename__ = "prescriptions"
    patient_id: Mapped[int] = mapped_column(ForeignKey("patients.id"))
    practitioner_id: Mapped[int] = mapped_column(ForeignKey("practitioners.id"))
    medicine_id: Mapped[int] = mapped_column(ForeignKey("medicines.id"))
    repeats_left: Mapped[int]
    issued_on: Mapped[date]
    expires_on: Mapped[date]
    status: Mapped[str] = mapped_column(default="active")
    patient: Mapped[Patient] = relationship()
    practitioner: Mapped[Practitioner] = relationship()
    medicine: Mapped[Medicine] = relationship()


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Elm Street Clinic")
engine = create_engine("sqlite:///world.db")
transaction = sessionmaker(engine).begin


@event.listens_for(engine, "connect")
def enforce_foreign_keys(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def refuse(reason: str, status: int = 409) -> NoReturn:
    """Answer with an error. The open transaction is rolled back."""
    raise HTTPException(status, reason)


def find(db: Session, table: type[Row], key: int) -> Row:
    return db.get(table, key) or refuse(
        f"No {plain(table.__tablename__)} with id {key}: look it up first.", 404
    )


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


def plain(name: str) -> str:
    return name.replace("_", " ")


def now() -> datetime:
    return datetime.now(UTC)


def today() -> date:
    return now().date()


def dollars(cents: int) -> float:
    return cents / 100


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
Time: TypeAlias = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):(00|15|30|45)$")]
Substance: TypeAlias = Literal["penicillin", "aspirin", "codeine", "sulfonamide", "latex"]
PatientId: TypeAlias = Annotated[Id, Path(description="The patient's id, from search_patients.")]
AppointmentId: TypeAlias = Annotated[
    Id, Path(description="The appointment's id, from get_patient or list_appointments.")
]
PractitionerId: TypeAlias = Annotated[Id, Path(description="The practitioner's id, from list_practitioners.")]
PrescriptionId: TypeAlias = Annotated[Id, Path(description="The prescription's id, from get_patient.")]
FeeId: TypeAlias = Annotated[Id, Path(description="The fee's id, from list_fees.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=50, description="How many results to show at most.")]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_practitioner(practitioner: Practitioner) -> Record:
    return {
        "practitioner_id": practitioner.id,
        "name": practitioner.name,
        "role": practitioner.role,
        "services": [service.name for service in practitioner.services],
    }


def show_service(service: Service) -> Record:
    return {"service_id": service.id, "name": service.name, "minutes": service.minutes}


def show_time_off(time_off: TimeOff) -> Record:
    return {
        "time_off_id": time_off.id,
        "practitioner": time_off.practitioner.name,
        "first_day": time_off.first_day,
        "last_day": time_off.last_day,
        "reason": time_off.reason,
    }


def show_patient(patient: Patient) -> Record:
    return {
        "patient_id": patient.id,
        "name": patient.name,
        "born_on": patient.born_on,
        "phone": patient.phone,
        "doctor": patient.doctor.name,
        "status": patient.status,
    }


def show_appointment(appointment: Appointment) -> Record:
    return {
        "appointment_id": appointment.id,
        "patient_id": appointment.patient_id,
        "patient": appointment.patient.name,
        "service": appointment.service.name,
        "practitioner": appointment.practitioner.name,
        "room": appointment.room.name,
        "day": appointment.day,
        "weekday": weekday(appointment.day),
        "starts": appointment.starts,
        "ends": appointment.ends,
        "status": appointment.status,
    }


def show_fee(fee: Fee) -> Record:
    return {
        "fee_id": fee.id,
        "patient": fee.appointment.patient.name,
        "appointment_day": fee.appointment.day,
        "reason": fee.reason,
        "amount": dollars(fee.amount_cents),
        "status": fee.status,
        "issued_on": fee.issued_on,
        "settled_on": fee.settled_on,
    }


def show_wait(wait: Wait) -> Record:
    return {
        "wait_id": wait.id,
        "patient_id": wait.patient_id,
        "patient": wait.patient.name,
        "service": wait.service.name,
        "practitioner": wait.practitioner.name if wait.practitioner else "any",
        "status": wait.status,
        "added_on": wait.added_on,
    }


def show_medicine(medicine: Medicine) -> Record:
    return {
        "medicine_id": medicine.id,
        "name": medicine.name,
        "strength": medicine.strength,
        "contains": medicine.substance,
    }


def show_prescription(prescription: Prescription) -> Record:
    return {
        "prescription_id": prescription.id,
        "patient": prescription.patient.name,
        "medicine": f"{prescription.medicine.name} {prescription.medicine.strength}",
        "prescribed_by": prescription.practitioner.name,
        "repeats_left": prescription.repeats_left,
        "expires_on": prescription.expires_on,
        "status": prescription.status,
    }


# ---------------------------------------------------------------- the rules at work


def weekday(day: date) -> str:
    return f"{day:%A}"


def later(time: str, minutes: int) -> str:
    """A time of day so many minutes later. Past midnight it reads 24:00 and on, after all closing times."""
    hours, minutes = divmod(int(time[:2]) * 60 + int(time[3:]) + minutes, 60)
    return f"{hours:02d}:{minutes:02d}"


def moment(day: date, time: str) -> datetime:
    return datetime.fromisoformat(f"{day}T{time}+00:00")


class Diary:
    """One day at the clinic: who works, what is booked, and so who and what is free."""

    def __init__(self, db: Session, day: date, without: Appointment | None = None) -> None:
        booked = select(Appointment).where(Appointment.day == day, Appointment.status == "booked")
        away = select(TimeOff.practitioner_id).where(TimeOff.first_day <= day, TimeOff.last_day >= day)
        self.day = day
        self.booked = [
            booking for booking in db.scalars(booked.order_by(Appointment.id)) if booking is not without
        ]
        self.away = set(db.scalars(away))
        self.shifts = db.scalars(
            select(Shift).where(Shift.weekday == day.weekday()).order_by(Shift.starts, Shift.id)
        ).all()
        self.rooms = db.scalars(select(Room).order_by(Room.id)).all()

    def obstacle(self, practitioner: Practitioner, service: Service, starts: str) -> str | None:
        """Why the practitioner cannot give the service then; None if all is free."""
        ends = later(starts, service.minutes)
        if service not in practitioner.services:
            return f"{practitioner.name} does not offer {service.name}."
        if not any(shift.starts <= starts and ends <= shift.ends for shift in self.shifts_of(practitioner)):
            return f"{practitioner.name} does not work on {weekday(self.day)} {self.day}, {starts} to {ends}."
        if any(booking.practitioner_id == practitioner.id for booking in self.during(starts, ends)):
            return f"{practitioner.name} is already booked on {self.day} between {starts} and {ends}."
        if self.free_room(service, starts) is None:
            return f"No {service.room_kind} room is free on {self.day} from {starts} to {ends}."
        return None

    def shifts_of(self, practitioner: Practitioner) -> list[Shift]:
        """Empty on days off."""
        present = practitioner.id not in self.away
        return [shift for shift in self.shifts if present and shift.practitioner_id == practitioner.id]

    def during(self, starts: str, ends: str) -> list[Appointment]:
        return [booking for booking in self.booked if booking.starts < ends and starts < booking.ends]

    def free_room(self, service: Service, starts: str) -> Room | None:
        taken = {booking.room_id for booking in self.during(starts, later(starts, service.minutes))}
        fitting = (room for room in self.rooms if room.kind == service.room_kind and room.id not in taken)
        return next(fitting, None)


def free_slots(
    db: Session, service: Service, practitioners: list[Practitioner], first_day: date, last_day: date
) -> Iterator[Record]:
    """Every quarter hour at which the service could start, earliest first."""
    for days in range((last_day - first_day).days + 1):
        diary = Diary(db, first_day + timedelta(days=days))
        for starts in (later("00:00", minutes) for minutes in range(0, 24 * 60, 15)):
            if moment(diary.day, starts) <= now():
                continue
            for practitioner in practitioners:
                if diary.obstacle(practitioner, service, starts) is None:
                    yield {
                        "day": diary.day,
                        "weekday": weekday(diary.day),
                        "starts": starts,
                        "practitioner_id": practitioner.id,
                        "practitioner": practitioner.name,
                    }


def schedule(
    db: Session, appointment: Appointment, practitioner: Practitioner, day: date, starts: str
) -> None:
    """Put an appointment where it is wanted, in the first room that is free; refuse if that cannot be."""
    if moment(day, starts) <= now():
        refuse(f"{day} {starts} is past.")
    if day > today() + BOOKING_HORIZON:
        refuse(f"Appointments are booked at most {BOOKING_HORIZON.days} days ahead.")
    diary = Diary(db, day, without=appointment)
    if obstacle := diary.obstacle(practitioner, appointment.service, starts):
        refuse(f"{obstacle} Use find_free_slots to see what is free.")
    ends = later(starts, appointment.service.minutes)
    if any(booking.patient_id == appointment.patient.id for booking in diary.during(starts, ends)):
        refuse(f"{appointment.patient.name} has another appointment on {day} between {starts} and {ends}.")
    room = diary.free_room(appointment.service, starts)
    assert room is not None
    appointment.practitioner, appointment.room = practitioner, room
    appointment.day, appointment.starts, appointment.ends = day, starts, ends


def require_active(patient: Patient) -> None:
    if patient.status != "active":
        refuse(f"{patient.name} has moved away and is no longer a patient here.")


def require_booked(appointment: Appointment) -> None:
    if appointment.status != "booked":
        refuse(f"This appointment is {plain(appointment.status)}, not booked.")


def require_current(prescription: Prescription) -> None:
    if prescription.status != "active":
        refuse("This prescription was stopped.")
    if prescription.expires_on < today():
        refuse(f"This prescription expired on {prescription.expires_on}. A doctor must issue a new one.")


def require_no_allergy(db: Session, patient: Patient, medicine: Medicine) -> None:
    same = (Allergy.patient_id == patient.id, Allergy.substance == medicine.substance)
    if db.scalars(select(Allergy).where(*same)).first():
        refuse(f"{patient.name} is allergic to {medicine.substance}, which {medicine.name} contains.")


def charge(db: Session, appointment: Appointment, reason: Literal["late_cancellation", "no_show"]) -> Record:
    fee = Fee(appointment=appointment, reason=reason, amount_cents=FEE_CENTS[reason], issued_on=today())
    return show_fee(save(db, fee))


def settle(fee: Fee, outcome: Literal["paid", "waived"]) -> None:
    if fee.status != "open":
        refuse(f"This fee was already {fee.status}.")
    fee.status, fee.settled_on = outcome, today()


# ---------------------------------------------------------------- reads


@app.get("/patients", operation_id="search_patients")
async def search_patients(
    query: Annotated[str, Query(min_length=2, description="Words from the patient's name or phone number.")],
    limit: Limit = 10,
) -> Record:
    """Find patients by name or phone number. Returns their ids, dates of birth and usual doctors."""
    with transaction() as db:
        found = select(Patient).where(mentions(query, Patient.name, Patient.phone))
        return page(db, found.order_by(Patient.name, Patient.id), show_patient, limit)


@app.get("/patients/{patient_id}", operation_id="get_patient")
async def get_patient(patient_id: PatientId) -> Record:
    """Show one patient with allergies, booked appointments, active prescriptions and the dollars owed."""
    with transaction() as db:
        patient = find(db, Patient, patient_id)
        allergies = (
            select(Allergy.substance).where(Allergy.patient_id == patient.id).order_by(Allergy.substance)
        )
        booked = select(Appointment).where(
            Appointment.patient_id == patient.id, Appointment.status == "booked"
        )
        active = select(Prescription).where(
            Prescription.patient_id == patient.id, Prescription.status == "active"
        )
        owed = select(func.coalesce(func.sum(Fee.amount_cents), 0)).join(Fee.appointment)
        owed = owed.where(Appointment.patient_id == patient.id, Fee.status == "open")
        return {
            **show_patient(patient),
            "owes": dollars(db.scalars(owed).one()),
            "allergies": db.scalars(allergies).all(),
            "appointments": [show_appointment(row) for row in db.scalars(in_order(booked))],
            "prescriptions": [show_prescription(row) for row in db.scalars(active.order_by(Prescription.id))],
        }


def in_order(appointments: Select[Appointment]) -> Select[Appointment]:
    return appointments.order_by(Appointment.day, Appointment.starts, Appointment.id)


@app.get("/practitioners", operation_id="list_practitioners")
async def list_practitioners(
    role: Annotated[
        Literal["doctor", "nurse", "physiotherapist"] | None,
        Query(description="Only practitioners of this role."),
    ] = None,
) -> Record:
    """List the practitioners with their ids, roles and the services they offer, ordered by name."""
    with transaction() as db:
        found = narrow(select(Practitioner), (Practitioner.role, role)).order_by(Practitioner.name)
        return page(db, found, show_practitioner, limit=50)


@app.get("/services", operation_id="list_services")
async def list_services() -> Record:
    """List the services that can be booked with their ids and how many minutes they take, ordered by name."""
    with transaction() as db:
        return page(db, select(Service).order_by(Service.name), show_service, limit=50)


@app.get("/slots", operation_id="find_free_slots")
async def find_free_slots(
    service_id: Annotated[Id, Query(description="The service wanted, from list_services.")],
    first_day: Annotated[date, Query(description="The first day to look at.")],
    last_day: Annotated[date, Query(description="The last day to look at, at most 14 days after the first.")],
    practitioner_id: Annotated[
        Id | None, Query(description="Only with this practitioner, from list_practitioners.")
    ] = None,
    not_before: Annotated[
        Time, Query(description="Only slots that start at this time of day or later.")
    ] = "00:00",
    limit: Limit = 10,
) -> Record:
    """Find when a service can be booked, earliest first. Every quarter hour that is free for it is a result.

    Refuses to look at more than 14 days at once. An empty result means that nothing is free."""
    if not timedelta(0) <= last_day - first_day <= SEARCH_SPAN:
        refuse(f"Choose a last_day from the first_day to {SEARCH_SPAN.days} days after it.", 422)
    with transaction() as db:
        service = find(db, Service, service_id)
        found = narrow(select(Practitioner), (Practitioner.id, practitioner_id)).order_by(Practitioner.name)
        slots = free_slots(db, service, list(db.scalars(found)), first_day, last_day)
        wanted = (slot for slot in slots if slot["starts"] >= not_before)
        return {"service": service.name, "minutes": service.minutes, "results": list(islice(wanted, limit))}


@app.get("/appointments", operation_id="list_appointments")
async def list_appointments(
    first_day: Annotated[date | None, Query(description="Only appointments on this day or later.")] = None,
    last_day: Annotated[date | None, Query(description="Only appointments on this day or earlier.")] = None,
    practitioner_id: Annotated[Id | None, Query(description="Only with this practitioner.")] = None,
    patient_id: Annotated[Id | None, Query(description="Only this patient's appointments.")] = None,
    status: Annotated[
        Literal["booked", "completed", "cancelled", "no_show"] | None,
        Query(description="Only in this status."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List appointments by days, practitioner, patient and status, earliest first, and how many there are."""
    with transaction() as db:
        wanted = ((Appointment.practitioner_id, practitioner_id), (Appointment.patient_id, patient_id))
        found = narrow(select(Appointment), *wanted, (Appointment.status, status))
        if first_day is not None:
            found = found.where(Appointment.day >= first_day)
        if last_day is not None:
            found = found.where(Appointment.day <= last_day)
        return page(db, in_order(found), show_appointment, limit)


@app.get("/time-off", operation_id="list_time_off")
async def list_time_off(
    practitioner_id: Annotated[Id | None, Query(description="Only this practitioner's time off.")] = None,
    limit: Limit = 20,
) -> Record:
    """List when practitioners are away, today and later, earliest first."""
    with transaction() as db:
        found = narrow(select(TimeOff), (TimeOff.practitioner_id, practitioner_id)).where(
            TimeOff.last_day >= today()
        )
        return page(db, found.order_by(TimeOff.first_day, TimeOff.id), show_time_off, limit)


@app.get("/waiting-list", operation_id="list_waiting_list")
async def list_waiting_list(
    service_id: Annotated[Id | None, Query(description="Only those who wait for this service.")] = None,
    patient_id: Annotated[Id | None, Query(description="Only this patient.")] = None,
    limit: Limit = 20,
) -> Record:
    """List who is waiting for an opening, those who have waited longest first."""
    with transaction() as db:
        found = narrow(select(Wait), (Wait.service_id, service_id), (Wait.patient_id, patient_id))
        return page(
            db, found.where(Wait.status == "waiting").order_by(Wait.added_on, Wait.id), show_wait, limit
        )


@app.get("/medicines", operation_id="search_medicines")
async def search_medicines(
    query: Annotated[
        str, Query(description="Words from the medicine's name or strength. Leave empty for all.")
    ] = "",
    limit: Limit = 20,
) -> Record:
    """Find medicines by name, ordered by name and strength. Shows contents that some are allergic to."""
    with transaction() as db:
        found = select(Medicine).where(mentions(query, Medicine.name, Medicine.strength))
        return page(db, found.order_by(Medicine.name, Medicine.id), show_medicine, limit)


@app.get("/fees", operation_id="list_fees")
async def list_fees(
    patient_id: Annotated[Id | None, Query(description="Only this patient's fees.")] = None,
    status: Annotated[
        Literal["open", "paid", "waived"] | None, Query(description="Only fees in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List fees for missed and late cancelled appointments in dollars, the oldest first."""
    with transaction() as db:
        found = narrow(
            select(Fee).join(Fee.appointment), (Appointment.patient_id, patient_id), (Fee.status, status)
        )
        return page(db, found.order_by(Fee.issued_on, Fee.id), show_fee, limit)


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """Read the house rules that staff must follow, section by section; the tools do not enforce all of them."""
    with transaction() as db:
        rules = db.scalars(select(Policy).order_by(Policy.id))
        sections = [{"section": rule.section, "text": rule.text} for rule in rules]
        return {"now": f"{now():%Y-%m-%d %H:%M}", "sections": sections}


# ---------------------------------------------------------------- writes


@app.post("/patients", operation_id="register_patient")
async def register_patient(
    name: Annotated[str, given("Full name.", min_length=2)],
    born_on: Annotated[date, given("Date of birth.")],
    phone: Annotated[str, given("Phone number.", min_length=5)],
    doctor_id: Annotated[Id, given("The usual doctor, from list_practitioners.")],
) -> Record:
    """Register a new patient. Refuses a usual doctor who is no doctor, and someone registered already."""
    with transaction() as db:
        doctor = require_doctor(find(db, Practitioner, doctor_id))
        same = (func.lower(Patient.name) == name.lower(), Patient.born_on == born_on)
        if known := db.scalars(select(Patient).where(*same)).first():
            refuse(f"{known.name}, born on {known.born_on}, is registered already (patient {known.id}).")
        return show_patient(save(db, Patient(name=name, born_on=born_on, phone=phone, doctor=doctor)))


def require_doctor(practitioner: Practitioner) -> Practitioner:
    if practitioner.role != "doctor":
        refuse(f"{practitioner.name} is a {practitioner.role}, not a doctor.")
    return practitioner


@app.patch("/patients/{patient_id}", operation_id="update_patient")
async def update_patient(
    patient_id: PatientId,
    phone: Annotated[str | None, given("The new phone number.", min_length=5)] = None,
    doctor_id: Annotated[Id | None, given("The new usual doctor, from list_practitioners.")] = None,
) -> Record:
    """Change a patient's phone number, usual doctor or both. Refuses a usual doctor who is no doctor."""
    if phone is None and doctor_id is None:
        refuse("Say what to change: phone, doctor_id or both.", 422)
    with transaction() as db:
        patient = find(db, Patient, patient_id)
        if phone is not None:
            patient.phone = phone
        if doctor_id is not None:
            patient.doctor = require_doctor(find(db, Practitioner, doctor_id))
        return show_patient(patient)


@app.post("/patients/{patient_id}/allergies", operation_id="record_allergy")
async def record_allergy(
    patient_id: PatientId,
    substance: Annotated[Substance, given("What the patient is allergic to.")],
) -> Record:
    """Record that a patient is allergic to a substance. Refuses what is recorded already."""
    with transaction() as db:
        patient = find(db, Patient, patient_id)
        same = (Allergy.patient_id == patient.id, Allergy.substance == substance)
        if db.scalars(select(Allergy).where(*same)).first():
            refuse(f"{patient.name}'s allergy to {substance} is recorded already.")
        save(db, Allergy(patient_id=patient.id, substance=substance))
        return {**show_patient(patient), "allergic_to": substance}


@app.post("/appointments", operation_id="book_appointment")
async def book_appointment(
    patient_id: Annotated[Id, given("The patient, from search_patients.")],
    service_id: Annotated[Id, given("The service, from list_services.")],
    practitioner_id: Annotated[Id, given("Who gives it, from list_practitioners or find_free_slots.")],
    day: Annotated[date, given("The day.")],
    starts: Annotated[Time, given("The time of day, on a quarter hour, such as 14:15.")],
) -> Record:
    """Book an appointment. The room is chosen for you. If the patient waits for this service, the wait ends.

    Refuses times when the practitioner is away or booked, the patient is booked or no room is free,
    times past, and days more than 90 days ahead."""
    with transaction() as db:
        patient, service = find(db, Patient, patient_id), find(db, Service, service_id)
        practitioner = find(db, Practitioner, practitioner_id)
        require_active(patient)
        appointment = Appointment(
            patient=patient, service=service, booked_at=now().isoformat(timespec="seconds")
        )
        schedule(db, appointment, practitioner, day, starts)
        for wait in db.scalars(waits(patient, service)):
            wait.status = "booked"
        return show_appointment(save(db, appointment))


def waits(patient: Patient, service: Service) -> Select[Wait]:
    waiting = (Wait.patient_id == patient.id, Wait.service_id == service.id, Wait.status == "waiting")
    return select(Wait).where(*waiting).order_by(Wait.id)


@app.post("/appointments/{appointment_id}/move", operation_id="reschedule_appointment")
async def reschedule_appointment(
    appointment_id: AppointmentId,
    day: Annotated[date | None, given("The new day. Leave out to keep the day.")] = None,
    starts: Annotated[
        Time | None, given("The new time of day, on a quarter hour. Leave out to keep the time.")
    ] = None,
    practitioner_id: Annotated[
        Id | None, given("Another practitioner, from list_practitioners. Leave out to keep the practitioner.")
    ] = None,
) -> Record:
    """Move a booked appointment to another day, time or practitioner, free of charge. Refuses what
    book_appointment refuses, and appointments that are not booked."""
    if day is None and starts is None and practitioner_id is None:
        refuse("Say what to change: day, starts, practitioner_id or several of them.", 422)
    with transaction() as db:
        appointment = find(db, Appointment, appointment_id)
        require_booked(appointment)
        practitioner = find(db, Practitioner, practitioner_id or appointment.practitioner_id)
        schedule(db, appointment, practitioner, day or appointment.day, starts or appointment.starts)
        return show_appointment(appointment)


@app.post("/appointments/{appointment_id}/cancellation", operation_id="cancel_appointment")
async def cancel_appointment(
    appointment_id: AppointmentId,
    cancelled_by: Annotated[Literal["patient", "clinic"], given("Who cancels.")],
) -> Record:
    """Cancel a booked appointment. If the patient cancels less than 24 hours ahead, a $25 fee is opened
    and shown. Refuses appointments that are past or not booked."""
    with transaction() as db:
        appointment = find(db, Appointment, appointment_id)
        require_booked(appointment)
        notice = moment(appointment.day, appointment.starts) - now()
        if notice < timedelta(0):
            refuse("This appointment is past. Use record_no_show if the patient did not come.")
        appointment.status, appointment.cancelled_by = "cancelled", cancelled_by
        late = cancelled_by == "patient" and notice < LATE_NOTICE
        return {
            **show_appointment(appointment),
            "fee": charge(db, appointment, "late_cancellation") if late else None,
        }


@app.post("/appointments/{appointment_id}/no-show", operation_id="record_no_show")
async def record_no_show(appointment_id: AppointmentId) -> Record:
    """Record that a patient did not come to a booked appointment; a $40 fee is opened and shown.

    Refuses appointments that are still to come or not booked."""
    with transaction() as db:
        appointment = find(db, Appointment, appointment_id)
        require_booked(appointment)
        if moment(appointment.day, appointment.starts) > now():
            refuse("This appointment is still to come. Use cancel_appointment.")
        appointment.status = "no_show"
        return {**show_appointment(appointment), "fee": charge(db, appointment, "no_show")}


@app.post("/practitioners/{practitioner_id}/time-off", operation_id="add_time_off")
async def add_time_off(
    practitioner_id: PractitionerId,
    first_day: Annotated[date, given("The first day away.")],
    last_day: Annotated[date, given("The last day away; the first day if it is only one.")],
    reason: Annotated[Literal["holiday", "illness", "training"], given("Why.")],
) -> Record:
    """Record that a practitioner is away for whole days. Refuses while appointments are booked on those days
    (move or cancel them first), and days on which time off is recorded already."""
    if last_day < first_day:
        refuse("The last day is before the first.", 422)
    with transaction() as db:
        practitioner = find(db, Practitioner, practitioner_id)
        days = (Appointment.day >= first_day, Appointment.day <= last_day, Appointment.status == "booked")
        booked = db.scalars(
            select(Appointment).where(Appointment.practitioner_id == practitioner.id, *days)
        ).all()
        if booked:
            refuse(
                f"{practitioner.name} has {len(booked)} appointments booked then. Move or cancel them first."
            )
        overlap = (TimeOff.first_day <= last_day, TimeOff.last_day >= first_day)
        if db.scalars(select(TimeOff).where(TimeOff.practitioner_id == practitioner.id, *overlap)).first():
            refuse(f"{practitioner.name} already has time off then. See list_time_off.")
        away = {"first_day": first_day, "last_day": last_day, "reason": reason}
        return show_time_off(save(db, TimeOff(practitioner=practitioner, **away)))


@app.delete("/time-off/{time_off_id}", operation_id="remove_time_off")
async def remove_time_off(
    time_off_id: Annotated[Id, Path(description="The id of the time off, from list_time_off.")],
) -> Record:
    """Take back time off that has not begun, so that the practitioner can be booked again.

    Refuses time off that has begun or is over."""
    with transaction() as db:
        time_off = find(db, TimeOff, time_off_id)
        if time_off.first_day <= today():
            refuse(f"This time off began on {time_off.first_day} and cannot be taken back.")
        shown = show_time_off(time_off)
        db.delete(time_off)
        return {**shown, "removed": True}


@app.post("/waiting-list", operation_id="join_waiting_list")
async def join_waiting_list(
    patient_id: Annotated[Id, given("The patient, from search_patients.")],
    service_id: Annotated[Id, given("The service, from list_services.")],
    practitioner_id: Annotated[
        Id | None,
        given("The one practitioner who will do, from list_practitioners. Leave out if anyone will do."),
    ] = None,
) -> Record:
    """Put a patient on the waiting list for a service. Refuses patients who already wait for it,
    and practitioners who do not offer it."""
    with transaction() as db:
        patient, service = find(db, Patient, patient_id), find(db, Service, service_id)
        practitioner = find(db, Practitioner, practitioner_id) if practitioner_id else None
        require_active(patient)
        if practitioner and service not in practitioner.services:
            refuse(f"{practitioner.name} does not offer {service.name}.")
        if db.scalars(waits(patient, service)).first():
            refuse(f"{patient.name} is already waiting for {service.name}.")
        wait = Wait(patient=patient, service=service, practitioner=practitioner, added_on=today())
        return show_wait(save(db, wait))


@app.post("/waiting-list/{wait_id}/end", operation_id="leave_waiting_list")
async def leave_waiting_list(
    wait_id: Annotated[Id, Path(description="The id of the wait, from list_waiting_list.")],
) -> Record:
    """Take a patient off the waiting list without a booking. Refuses waits that are over."""
    with transaction() as db:
        wait = find(db, Wait, wait_id)
        if wait.status != "waiting":
            refuse("This wait is over already.")
        wait.status = "left"
        return show_wait(wait)


@app.post("/prescriptions", operation_id="issue_prescription")
async def issue_prescription(
    patient_id: Annotated[Id, given("The patient, from search_patients.")],
    practitioner_id: Annotated[Id, given("The doctor who prescribes, from list_practitioners.")],
    medicine_id: Annotated[Id, given("The medicine, from search_medicines.")],
    repeats: Annotated[int, given("How often it may be dispensed again.", ge=0, le=5)],
) -> Record:
    """Issue a prescription, valid for 180 days. Refuses medicines that contain what the patient is allergic
    to, that the patient has an active prescription for already, and prescribers who are no doctors."""
    with transaction() as db:
        patient, medicine = find(db, Patient, patient_id), find(db, Medicine, medicine_id)
        doctor = require_doctor(find(db, Practitioner, practitioner_id))
        require_active(patient)
        require_no_allergy(db, patient, medicine)
        same = (Prescription.patient_id == patient.id, Prescription.medicine_id == medicine.id)
        if db.scalars(select(Prescription).where(*same, Prescription.status == "active")).first():
            refuse(f"{patient.name} already has an active prescription for it. Stop that one first.")
        term = {"issued_on": today(), "expires_on": today() + PRESCRIPTION_PERIOD}
        prescription = Prescription(
            patient=patient, practitioner=doctor, medicine=medicine, repeats_left=repeats, **term
        )
        return show_prescription(save(db, prescription))


@app.post("/prescriptions/{prescription_id}/repeat", operation_id="dispense_repeat")
async def dispense_repeat(prescription_id: PrescriptionId) -> Record:
    """Record that one repeat of a prescription was handed out.

    Refuses prescriptions that are stopped, expired or have no repeats left."""
    with transaction() as db:
        prescription = find(db, Prescription, prescription_id)
        require_current(prescription)
        if prescription.repeats_left == 0:
            refuse("No repeats are left. A doctor must issue a new prescription.")
        prescription.repeats_left -= 1
        return show_prescription(prescription)


@app.post("/prescriptions/{prescription_id}/stop", operation_id="stop_prescription")
async def stop_prescription(prescription_id: PrescriptionId) -> Record:
    """Stop an active prescription, so that it is no longer dispensed. Refuses one stopped already."""
    with transaction() as db:
        prescription = find(db, Prescription, prescription_id)
        if prescription.status != "active":
            refuse("This prescription was stopped already.")
        prescription.status = "stopped"
        return show_prescription(prescription)


@app.post("/fees/{fee_id}/payment", operation_id="pay_fee")
async def pay_fee(fee_id: FeeId) -> Record:
    """Record that a fee was paid in full. Refuses fees that are not open."""
    with transaction() as db:
        fee = find(db, Fee, fee_id)
        settle(fee, "paid")
        return show_fee(fee)


@app.post("/fees/{fee_id}/waiver", operation_id="waive_fee")
async def waive_fee(fee_id: FeeId) -> Record:
    """Let a patient off a fee. Refuses patients let off within the last 365 days, and settled fees."""
    with transaction() as db:
        fee = find(db, Fee, fee_id)
        patient = fee.appointment.patient
        waived = (
            select(Fee)
            .join(Fee.appointment)
            .where(Appointment.patient_id == patient.id, Fee.status == "waived")
        )
        if last := db.scalars(waived.where(Fee.settled_on > today() - WAIVER_PERIOD)).first():
            refuse(f"{patient.name} was let off a fee on {last.settled_on} already. This one must be paid.")
        settle(fee, "waived")
        return show_fee(fee)
