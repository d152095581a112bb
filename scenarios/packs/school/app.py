"""The school office: students in classes and courses, their timetable, their marks, and who may ask about them.

Reading order: the rules of the school, the tables, the plumbing, what the tools are given and show, the
rules at work, then the tools themselves, reads before writes.
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

# ---------------------------------------------------------------- the rules of the school

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
MOST_COURSES = 6
LONGEST_NOTE = timedelta(days=14)
CORRECTION_PERIOD = timedelta(days=28)
BETWEEN_REPORTS = timedelta(days=28)
KIND_OF_ROOM = {"Science": "laboratory", "Art": "studio", "Music": "studio", "Sport": "gym"}
"""Subjects that need a room of a kind; the others are taught in any classroom."""

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Room(Table):
    __tablename__ = "rooms"
    name: Mapped[str]
    kind: Mapped[str]
    seats: Mapped[int]


class Teacher(Table):
    __tablename__ = "teachers"
    name: Mapped[str]
    email: Mapped[str]
    subject: Mapped[str]


class SchoolClass(Table):
    __tablename__ = "classes"
    name: Mapped[str]
    year: Mapped[int]
    tutor_id: Mapped[int] = mapped_column(ForeignKey("teachers.id"))
    places: Mapped[int]
    tutor: Mapped[Teacher] = relationship(lazy="joined")


class Student(Table):
    __tablename__ = "students"
    name: Mapped[str]
    born_on: Mapped[date]
    class_id: Mapped[int] = mapped_column(ForeignKey("classes.id"))
    status: Mapped[str] = mapped_column(default="enrolled")
    school_class: Mapped[SchoolClass] = relationship(lazy="joined")


class Guardian(Table):
    __tablename__ = "guardians"
    name: Mapped[str]
    phone: Mapped[str]
    email: Mapped[str]


class Contact(Table):
    __tablename__ = "contacts"
    student_id: Mapped[int] = mapped_column(ForeignKey("students.id"))
    guardian_id: Mapped[int] = mapped_column(ForeignKey("guardians.id"))
    relation: Mapped[str]
    may_be_told: Mapped[bool]
    is_first: Mapped[bool] = mapped_column(default=False)
    student: Mapped[Student] = relationship(lazy="joined")
    guardian: Mapped[Guardian] = relationship(lazy="joined")


class Course(Table):
    __tablename__ = "courses"
    name: Mapped[str]
    subject: Mapped[str]
    year: Mapped[int]
    teacher_id: Mapped[int] = mapped_column(ForeignKey("teachers.id"))
    places: Mapped[int]
    teacher: Mapped[Teacher] = relationship(lazy="joined")


class Enrolment(Table):
    __tablename__ = "enrolments"
    student_id: Mapped[int] = mapped_column(ForeignKey("students.id"))
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    since: Mapped[date]
    ended_on: Mapped[date | None]
    student: Mapped[Student] = relationship(lazy="joined")
    course: Mapped[Course] = relationship(lazy="joined")


class Slot(Table):
    __tablename__ = "slots"
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"))
    weekday: Mapped[int]
    period: Mapped[int]
    course: Mapped[Course] = relationship(lazy="joined")
    room: Mapped[Room] = relationship(lazy="joined")


class Attendance(Table):
    """A day on which a student was not there in time. Days without a row are days of presence."""

    __tablename__ = "attendance"
    student_id: Mapped[int] = mapped_column(ForeignKey("students.id"))
    day: Mapped[date]
    mark: Mapped[str]
    student: Mapped[Student] = relationship(lazy="joined")


class Note(Table):
    __tablename__ = "notes"
    student_id: Mapped[int] = mapped_column(ForeignKey("students.id"))
    guardian_id: Mapped[int] = mapped_column(ForeignKey("guardians.id"))
    reason: Mapped[str]
    first_day: Mapped[date]
    last_day: Mapped[date]
    handed_in: Mapped[date]
    status: Mapped[str] = mapped_column(default="open")
    student: Mapped[Student] = relationship(lazy="joined")
    guardian: Mapped[Guardian] = relationship(lazy="joined")


class Assessment(Table):
    __tablename__ = "assessments"
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    title: Mapped[str]
    held_on: Mapped[date]
    points: Mapped[int]
    course: Mapped[Course] = relationship(lazy="joined")


class Grade(Table):
    __tablename__ = "grades"
    assessment_id: Mapped[int] = mapped_column(ForeignKey("assessments.id"))
    student_id: Mapped[int] = mapped_column(ForeignKey("students.id"))
    points: Mapped[int]
    assessment: Mapped[Assessment] = relationship(lazy="joined")
    student: Mapped[Student] = relationship(lazy="joined")


class Report(Table):
    __tablename__ = "reports"
    student_id: Mapped[int] = mapped_column(ForeignKey("students.id"))
    tutor_id: Mapped[int] = mapped_column(ForeignKey("teachers.id"))
    matter: Mapped[str]
    reported_on: Mapped[date]
    student: Mapped[Student] = relationship(lazy="joined")
    tutor: Mapped[Teacher] = relationship(lazy="joined")


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Larchfield School")
engine = create_engine("sqlite:///world.db")
transaction = sessionmaker(engine).begin


@event.listens_for(engine, "connect")
def enforce_foreign_keys(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def refuse(reason: str, status: int = 409) -> NoReturn:
    """Answer with an error. The open transaction is rolled back."""
    raise HTTPException(status, reason)


def find(db: Session, table: type[Row], key: int) -> Row:
    kind = "class" if table is SchoolClass else table.__tablename__.removesuffix("s")
    return db.get(table, key) or refuse(f"No {kind} with id {key}: look it up first.", 404)


def save(db: Session, row: Row) -> Row:
    """Add a new row and give it its id."""
    db.add(row)
    db.flush()
    return row


def page(db: Session, query: Select[Row], show: Callable[[Row], Record], limit: int) -> Record:
    """Show the first results and say how many there are in all."""
    rows = db.scalars(query.limit(limit)).all()
    total = len(rows)
    if total == limit:
        total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery()))
    return {"total": total, "results": [show(row) for row in rows]}


def narrow(query: Select[Row], *wanted: tuple[InstrumentedAttribute[Any], Any]) -> Select[Row]:
    """Keep the rows whose columns have the wanted values. None means that any value will do."""
    return query.where(*(column == value for column, value in wanted if value is not None))


def mentions(text: str, *columns: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Every word occurs in at least one of the columns."""
    return and_(
        True,
        *(or_(*(column.icontains(word, autoescape=True) for column in columns)) for word in text.split()),
    )


def count(db: Session, *conditions: ColumnElement[bool]) -> int:
    return db.scalar(select(func.count()).where(*conditions)) or 0


def now() -> datetime:
    return datetime.now(UTC)


def today() -> date:
    return now().date()


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
AssessmentId: TypeAlias = Annotated[Id, Path(description="The assessment's id, from list_assessments.")]
ContactId: TypeAlias = Annotated[Id, Path(description="The contact's id, from list_contacts.")]
CourseId: TypeAlias = Annotated[Id, Path(description="The course's id, from list_courses.")]
EnrolmentId: TypeAlias = Annotated[Id, Path(description="The enrolment's id, from list_enrolments.")]
NoteId: TypeAlias = Annotated[Id, Path(description="The note's id, from list_notes.")]
SlotId: TypeAlias = Annotated[Id, Path(description="The slot's id, from list_timetable.")]
StudentId: TypeAlias = Annotated[Id, Path(description="The student's id, from search_students.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=100, description="How many results to show at most.")]
OfStudent: TypeAlias = Annotated[
    Id | None, Query(description="Only this student's, by id from search_students.")
]
OfCourse: TypeAlias = Annotated[Id | None, Query(description="Only this course's, by id from list_courses.")]
OfClass: TypeAlias = Annotated[Id | None, Query(description="Only this class's, by id from list_classes.")]
Weekday: TypeAlias = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
Matter: TypeAlias = Literal["lateness", "absences"]
Mark: TypeAlias = Literal["absent", "late", "excused"]
Subject: TypeAlias = Literal[
    "Mathematics", "English", "French", "History", "Geography", "Science", "Art", "Music", "Sport"
]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_room(room: Room) -> Record:
    return {"room_id": room.id, "name": room.name, "kind": room.kind, "seats": room.seats}


def show_teacher(teacher: Teacher) -> Record:
    return {
        "teacher_id": teacher.id,
        "name": teacher.name,
        "email": teacher.email,
        "subject": teacher.subject,
    }


def show_student(student: Student) -> Record:
    return {
        "student_id": student.id,
        "name": student.name,
        "born_on": student.born_on,
        "class_id": student.class_id,
        "class": student.school_class.name,
        "status": student.status,
    }


def show_contact(contact: Contact) -> Record:
    return {
        "contact_id": contact.id,
        "student": contact.student.name,
        "guardian_id": contact.guardian_id,
        "guardian": contact.guardian.name,
        "relation": contact.relation,
        "may_be_told": contact.may_be_told,
        "is_first": contact.is_first,
        "phone": contact.guardian.phone,
        "email": contact.guardian.email,
    }


def show_course(course: Course) -> Record:
    return {
        "course_id": course.id,
        "name": course.name,
        "subject": course.subject,
        "year": course.year,
        "teacher_id": course.teacher_id,
        "teacher": course.teacher.name,
        "places": course.places,
    }


def show_enrolment(enrolment: Enrolment) -> Record:
    return {
        "enrolment_id": enrolment.id,
        "student_id": enrolment.student_id,
        "student": enrolment.student.name,
        "class": enrolment.student.school_class.name,
        "course_id": enrolment.course_id,
        "course": enrolment.course.name,
        "since": enrolment.since,
        "ended_on": enrolment.ended_on,
    }


def show_slot(slot: Slot) -> Record:
    return {
        "slot_id": slot.id,
        "weekday": WEEKDAYS[slot.weekday - 1],
        "period": slot.period,
        "course_id": slot.course_id,
        "course": slot.course.name,
        "teacher": slot.course.teacher.name,
        "room": slot.room.name,
    }


def show_attendance(entry: Attendance) -> Record:
    return {
        "student_id": entry.student_id,
        "student": entry.student.name,
        "class": entry.student.school_class.name,
        "day": entry.day,
        "mark": entry.mark,
    }


def show_note(note: Note) -> Record:
    return {
        "note_id": note.id,
        "student_id": note.student_id,
        "student": note.student.name,
        "class": note.student.school_class.name,
        "guardian_id": note.guardian_id,
        "signed_by": note.guardian.name,
        "reason": note.reason,
        "first_day": note.first_day,
        "last_day": note.last_day,
        "handed_in": note.handed_in,
        "status": note.status,
    }


def show_report(report: Report) -> Record:
    return {
        "report_id": report.id,
        "student_id": report.student_id,
        "student": report.student.name,
        "tutor": report.tutor.name,
        "matter": report.matter,
        "reported_on": report.reported_on,
    }


def show_assessment(assessment: Assessment) -> Record:
    return {
        "assessment_id": assessment.id,
        "course_id": assessment.course_id,
        "course": assessment.course.name,
        "title": assessment.title,
        "held_on": assessment.held_on,
        "points": assessment.points,
    }


def show_grade(grade: Grade) -> Record:
    return {
        "student_id": grade.student_id,
        "student": grade.student.name,
        "course": grade.assessment.course.name,
        "assessment_id": grade.assessment_id,
        "title": grade.assessment.title,
        "held_on": grade.assessment.held_on,
        "points": grade.points,
        "of": grade.assessment.points,
    }


# ---------------------------------------------------------------- the rules at work


def require_enrolled(student: Student) -> None:
    if student.status != "enrolled":
        refuse(f"{student.name} has left the school.")


def live(*conditions: ColumnElement[bool]) -> Select[Enrolment]:
    return select(Enrolment).where(Enrolment.ended_on.is_(None), *conditions)


def taken(db: Session, course: Course) -> int:
    return count(db, Enrolment.course_id == course.id, Enrolment.ended_on.is_(None))


def pupils(db: Session, school_class: SchoolClass) -> int:
    return count(db, Student.class_id == school_class.id, Student.status == "enrolled")


def clash(db: Session, student: Student, course: Course, leaving: int | None = None) -> Slot | None:
    """A slot of the student's courses, except of the one that is left, at a time of the new course's."""
    theirs = live(Enrolment.student_id == student.id, Enrolment.course_id != (leaving or 0))
    same = select(Slot).where(Slot.course_id.in_(theirs.with_only_columns(Enrolment.course_id)))
    return db.scalars(same.where(at_times_of(course)).order_by(Slot.weekday, Slot.period)).first()


def at_times_of(course: Course) -> ColumnElement[bool]:
    times = select(Slot.weekday * 10 + Slot.period).where(Slot.course_id == course.id)
    return (Slot.weekday * 10 + Slot.period).in_(times)


def require_fit(db: Session, student: Student, course: Course, leaving: int | None = None) -> None:
    """The student may take the course: of the same year, not yet in it, with a place and the time for it."""
    require_enrolled(student)
    if course.year != student.school_class.year:
        refuse(f"{course.name} is for year {course.year}; {student.name} is in year {student.school_class.year}.")
    if db.scalars(live(Enrolment.student_id == student.id, Enrolment.course_id == course.id)).first():
        refuse(f"{student.name} takes {course.name} already.")
    if (full := taken(db, course)) >= course.places:
        refuse(f"{course.name} is full: {full} of {course.places} places are taken. See list_courses.")
    if other := clash(db, student, course, leaving):
        refuse(
            f"{student.name} has {other.course.name} on {WEEKDAYS[other.weekday - 1]} in period {other.period}, "
            f"when {course.name} is taught."
        )


def require_free(db: Session, course: Course, room: Room, weekday: int, period: int, moving: int) -> None:
    """The room suits the course; room, teacher and students are free then, the moving slot aside."""
    kind = KIND_OF_ROOM.get(course.subject, "classroom")
    if room.kind != kind:
        refuse(f"{course.subject} is taught in a {kind}; {room.name} is a {room.kind}.")
    when = f"on {WEEKDAYS[weekday - 1]} in period {period}"
    then = (
        select(Slot)
        .join(Slot.course)
        .where(Slot.weekday == weekday, Slot.period == period, Slot.id != moving)
        .where(or_(Slot.room_id == room.id, Course.teacher_id == course.teacher_id))
    )
    if other := db.scalars(then.order_by(Slot.id)).first():
        who = room.name if other.room_id == room.id else course.teacher.name
        refuse(f"{who} has {other.course.name} {when}: see find_free_rooms and list_timetable.")
    members = live(Enrolment.course_id == course.id).with_only_columns(Enrolment.student_id)
    lesson = (Slot.weekday == weekday, Slot.period == period, Slot.course_id != course.id)
    elsewhere = live(Enrolment.student_id.in_(members)).join(Slot, Slot.course_id == Enrolment.course_id)
    if other := db.scalars(elsewhere.where(*lesson).order_by(Enrolment.id)).first():
        refuse(f"{other.student.name}, who takes {course.name}, has {other.course.name} {when}.")
    if taken(db, course) > room.seats:
        refuse(f"{room.name} has {room.seats} seats, fewer than {course.name} has students.")


def require_school_day(day: date) -> None:
    if day.isoweekday() > 5:
        refuse(f"{day} is no school day.", 422)


def mark_day(db: Session, student: Student, day: date, mark: str) -> Attendance:
    known = db.scalars(
        select(Attendance).where(Attendance.student_id == student.id, Attendance.day == day)
    ).first()
    if known is None:
        return save(db, Attendance(student=student, day=day, mark=mark))
    if known.mark in (mark, "excused"):
        refuse(f"{student.name} is marked {known.mark} on {day} already.")
    known.mark = mark
    return known


def number_of(weekday: str) -> int:
    return WEEKDAYS.index(weekday) + 1


# ---------------------------------------------------------------- reads


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """Read the house rules that staff must follow, section by section; the tools do not enforce all of them."""
    with transaction() as db:
        rules = db.scalars(select(Policy).order_by(Policy.id))
        return {"sections": [{"section": rule.section, "text": rule.text} for rule in rules]}


@app.get("/students", operation_id="search_students")
async def search_students(
    query: Annotated[str, Query(description="Words from the name. Leave empty for all.")] = "",
    class_id: OfClass = None,
    limit: Limit = 20,
) -> Record:
    """Find students by name or class, those who have left included. Returns ids, classes and birthdays."""
    with transaction() as db:
        found = narrow(select(Student).where(mentions(query, Student.name)), (Student.class_id, class_id))
        return page(db, found.order_by(Student.name, Student.id), show_student, limit)


@app.get("/classes", operation_id="list_classes")
async def list_classes(
    year: Annotated[int | None, Query(ge=7, le=12, description="Only classes of this year.")] = None,
) -> Record:
    """List the classes with their tutors, how many places they have and how many are taken."""
    with transaction() as db:
        found = narrow(select(SchoolClass), (SchoolClass.year, year)).order_by(SchoolClass.name)
        heads = (
            select(Student.class_id, func.count()).where(Student.status == "enrolled").group_by(Student.class_id)
        )
        taken_in = dict(db.execute(heads).all())
        shown = [
            {
                "class_id": one.id,
                "name": one.name,
                "year": one.year,
                "tutor_id": one.tutor_id,
                "tutor": one.tutor.name,
                "places": one.places,
                "taken": taken_in.get(one.id, 0),
            }
            for one in db.scalars(found)
        ]
        return {"total": len(shown), "results": shown}


@app.get("/students/{student_id}/contacts", operation_id="list_contacts")
async def list_contacts(student_id: StudentId) -> Record:
    """List a student's guardians: relation, phone, who is rung first, and who may be told anything at all."""
    with transaction() as db:
        student = find(db, Student, student_id)
        found = select(Contact).where(Contact.student_id == student.id)
        return page(db, found.order_by(Contact.is_first.desc(), Contact.id), show_contact, limit=20)


@app.get("/guardians", operation_id="search_guardians")
async def search_guardians(
    query: Annotated[
        str, Query(min_length=2, description="Words from the name, phone number or email address.")
    ],
    limit: Limit = 10,
) -> Record:
    """Find guardians, each with the students that they are a contact of."""
    with transaction() as db:
        guardians = db.scalars(
            select(Guardian)
            .where(mentions(query, Guardian.name, Guardian.phone, Guardian.email))
            .order_by(Guardian.name, Guardian.id)
            .limit(limit)
        ).all()
        keys = [guardian.id for guardian in guardians]
        contacts = db.scalars(select(Contact).where(Contact.guardian_id.in_(keys)).order_by(Contact.id)).all()
        return {
            "results": [
                {
                    "guardian_id": guardian.id,
                    "name": guardian.name,
                    "phone": guardian.phone,
                    "email": guardian.email,
                    "students": [show_contact(one) for one in contacts if one.guardian_id == guardian.id],
                }
                for guardian in guardians
            ]
        }


@app.get("/teachers", operation_id="list_teachers")
async def list_teachers(
    query: Annotated[str, Query(description="Words from the name. Leave empty for all.")] = "",
    subject: Annotated[Subject | None, Query(description="Only teachers of this subject.")] = None,
    limit: Limit = 50,
) -> Record:
    """List teachers by name or subject, with their email addresses."""
    with transaction() as db:
        found = narrow(select(Teacher).where(mentions(query, Teacher.name)), (Teacher.subject, subject))
        return page(db, found.order_by(Teacher.name, Teacher.id), show_teacher, limit)


@app.get("/courses", operation_id="list_courses")
async def list_courses(
    query: Annotated[str, Query(description="Words from the name, as in Science 9B. Empty for all.")] = "",
    subject: Annotated[Subject | None, Query(description="Only courses in this subject.")] = None,
    year: Annotated[int | None, Query(ge=7, le=12, description="Only courses of this year.")] = None,
    teacher_id: Annotated[Id | None, Query(description="Only this teacher's courses.")] = None,
    limit: Limit = 50,
) -> Record:
    """List courses with their teachers, how many places they have and how many are taken."""
    with transaction() as db:
        found = narrow(
            select(Course).where(mentions(query, Course.name)),
            (Course.subject, subject),
            (Course.year, year),
            (Course.teacher_id, teacher_id),
        )
        heads = (
            select(Enrolment.course_id, func.count())
            .where(Enrolment.ended_on.is_(None))
            .group_by(Enrolment.course_id)
        )
        taken_in = dict(db.execute(heads).all())

        def show(course: Course) -> Record:
            return {**show_course(course), "taken": taken_in.get(course.id, 0)}

        return page(db, found.order_by(Course.name), show, limit)


@app.get("/enrolments", operation_id="list_enrolments")
async def list_enrolments(
    student_id: OfStudent = None,
    course_id: OfCourse = None,
    ended: Annotated[bool, Query(description="Show those that have ended instead.")] = False,
    limit: Limit = 40,
) -> Record:
    """List who takes which course since when, by student or course."""
    with transaction() as db:
        which = Enrolment.ended_on.is_not(None) if ended else Enrolment.ended_on.is_(None)
        found = narrow(
            select(Enrolment).where(which),
            (Enrolment.student_id, student_id),
            (Enrolment.course_id, course_id),
        )
        named = found.join(Enrolment.student).join(Enrolment.course).order_by(Student.name, Course.name)
        return page(db, named, show_enrolment, limit)


@app.get("/timetable", operation_id="list_timetable")
async def list_timetable(
    student_id: OfStudent = None,
    course_id: OfCourse = None,
    teacher_id: Annotated[Id | None, Query(description="Only this teacher's lessons.")] = None,
    room_id: Annotated[Id | None, Query(description="Only lessons in this room.")] = None,
    weekday: Annotated[Weekday | None, Query(description="Only lessons on this day.")] = None,
    limit: Limit = 60,
) -> Record:
    """List lessons by student, course, teacher, room and weekday, in the order of the week."""
    with transaction() as db:
        found = narrow(
            select(Slot).join(Slot.course),
            (Slot.course_id, course_id),
            (Course.teacher_id, teacher_id),
            (Slot.room_id, room_id),
            (Slot.weekday, None if weekday is None else number_of(weekday)),
        )
        if student_id is not None:
            student = find(db, Student, student_id)
            theirs = (Enrolment.student_id == student.id, Enrolment.ended_on.is_(None))
            found = found.where(Slot.course_id.in_(select(Enrolment.course_id).where(*theirs)))
        return page(db, found.order_by(Slot.weekday, Slot.period, Slot.id), show_slot, limit)


@app.get("/rooms/free", operation_id="find_free_rooms")
async def find_free_rooms(
    weekday: Annotated[Weekday, Query(description="On which day of the week.")],
    period: Annotated[int, Query(ge=1, le=6, description="In which period.")],
    kind: Annotated[
        Literal["classroom", "laboratory", "studio", "gym"] | None, Query(description="Only rooms of this kind.")
    ] = None,
    seats: Annotated[int, Query(ge=1, description="Only rooms with at least so many seats.")] = 1,
) -> Record:
    """List the rooms in which nothing is taught at a time of the week, the smallest first."""
    with transaction() as db:
        busy = select(Slot.room_id).where(Slot.weekday == number_of(weekday), Slot.period == period)
        found = narrow(select(Room).where(Room.id.not_in(busy), Room.seats >= seats), (Room.kind, kind))
        return page(db, found.order_by(Room.seats, Room.name), show_room, limit=50)


@app.get("/attendance", operation_id="list_attendance")
async def list_attendance(
    student_id: OfStudent = None,
    class_id: OfClass = None,
    mark: Annotated[Mark | None, Query(description="Only days with this mark.")] = None,
    first_day: Annotated[date | None, Query(description="From this day on, YYYY-MM-DD.")] = None,
    last_day: Annotated[date | None, Query(description="Up to and including this day, YYYY-MM-DD.")] = None,
    limit: Limit = 50,
) -> Record:
    """List the days on which students were absent, late or excused, the latest first; other days they were in."""
    with transaction() as db:
        found = narrow(
            select(Attendance).join(Attendance.student),
            (Attendance.student_id, student_id),
            (Student.class_id, class_id),
            (Attendance.mark, mark),
        )
        if first_day is not None:
            found = found.where(Attendance.day >= first_day)
        if last_day is not None:
            found = found.where(Attendance.day <= last_day)
        return page(db, found.order_by(Attendance.day.desc(), Student.name), show_attendance, limit)


@app.get("/notes", operation_id="list_notes")
async def list_notes(
    status: Annotated[
        Literal["open", "accepted", "declined"] | None, Query(description="Only notes in this status.")
    ] = None,
    student_id: OfStudent = None,
    class_id: OfClass = None,
    limit: Limit = 30,
) -> Record:
    """List notes that ask to excuse days: whose, for which days, why, by whom and when handed in."""
    with transaction() as db:
        found = narrow(
            select(Note).join(Note.student),
            (Note.status, status),
            (Note.student_id, student_id),
            (Student.class_id, class_id),
        )
        return page(db, found.order_by(Note.first_day, Note.id), show_note, limit)


@app.get("/reports", operation_id="list_reports")
async def list_reports(
    student_id: OfStudent = None,
    class_id: OfClass = None,
    matter: Annotated[Matter | None, Query(description="Only reports about this.")] = None,
    limit: Limit = 30,
) -> Record:
    """List which students were reported to their tutors, about what and when, the latest first."""
    with transaction() as db:
        found = narrow(
            select(Report).join(Report.student),
            (Report.student_id, student_id),
            (Student.class_id, class_id),
            (Report.matter, matter),
        )
        return page(db, found.order_by(Report.reported_on.desc(), Report.id), show_report, limit)


@app.get("/assessments", operation_id="list_assessments")
async def list_assessments(course_id: OfCourse = None, limit: Limit = 30) -> Record:
    """List tests and essays by course, the latest first, with the points that can be had."""
    with transaction() as db:
        found = narrow(select(Assessment), (Assessment.course_id, course_id))
        return page(db, found.order_by(Assessment.held_on.desc(), Assessment.id), show_assessment, limit)


@app.get("/grades", operation_id="list_grades")
async def list_grades(
    student_id: OfStudent = None,
    course_id: OfCourse = None,
    assessment_id: Annotated[Id | None, Query(description="Only grades of this assessment.")] = None,
    limit: Limit = 60,
) -> Record:
    """List grades by student, course or assessment: points had, and points that could be had."""
    with transaction() as db:
        found = narrow(
            select(Grade).join(Grade.assessment).join(Grade.student),
            (Grade.student_id, student_id),
            (Assessment.course_id, course_id),
            (Grade.assessment_id, assessment_id),
        )
        return page(db, found.order_by(Assessment.held_on, Assessment.id, Student.name), show_grade, limit)


# ---------------------------------------------------------------- writes: students and guardians


@app.post("/students", operation_id="enrol_student")
async def enrol_student(
    name: Annotated[str, given("Full name.", min_length=2)],
    born_on: Annotated[date, given("Birthday, YYYY-MM-DD.")],
    class_id: Annotated[Id, given("The class, from list_classes.")],
) -> Record:
    """Take a new student into a class. Refuses classes without a free place."""
    with transaction() as db:
        school_class = find(db, SchoolClass, class_id)
        require_place(db, school_class)
        return show_student(save(db, Student(name=name, born_on=born_on, school_class=school_class)))


def require_place(db: Session, school_class: SchoolClass) -> None:
    if (full := pupils(db, school_class)) >= school_class.places:
        refuse(f"{school_class.name} is full: {full} of {school_class.places} places are taken.")


@app.post("/students/{student_id}/class", operation_id="change_class")
async def change_class(
    student_id: StudentId, class_id: Annotated[Id, given("The new class, from list_classes.")]
) -> Record:
    """Move a student to another class of the same year. Refuses classes without a free place."""
    with transaction() as db:
        student, school_class = find(db, Student, student_id), find(db, SchoolClass, class_id)
        require_enrolled(student)
        if student.class_id == school_class.id:
            refuse(f"{student.name} is in {school_class.name} already.")
        if student.school_class.year != school_class.year:
            refuse(f"{school_class.name} is of year {school_class.year}, not {student.school_class.year}.")
        require_place(db, school_class)
        student.school_class = school_class
        return show_student(student)


@app.post("/students/{student_id}/leaving", operation_id="withdraw_student")
async def withdraw_student(student_id: StudentId) -> Record:
    """Record that a student leaves the school today. Refuses while there are live enrolments: end them first."""
    with transaction() as db:
        student = find(db, Student, student_id)
        require_enrolled(student)
        if still := db.scalars(live(Enrolment.student_id == student.id).order_by(Enrolment.id)).first():
            refuse(f"{student.name} still takes {still.course.name}: end all enrolments first.")
        student.status = "left"
        return show_student(student)


@app.patch("/guardians/{guardian_id}", operation_id="update_guardian")
async def update_guardian(
    guardian_id: Annotated[Id, Path(description="The guardian's id, from search_guardians or list_contacts.")],
    phone: Annotated[str | None, given("The new phone number.", pattern=r"^[0-9 +-]{6,20}$")] = None,
    email: Annotated[str | None, given("The new email address.", pattern=r"^\S+@\S+$")] = None,
) -> Record:
    """Change a guardian's phone number or email address. Refuses an email address that another one has."""
    if phone is None and email is None:
        refuse("Say what to change: phone or email.", 422)
    with transaction() as db:
        guardian = find(db, Guardian, guardian_id)
        if email is not None:
            holder = db.scalars(select(Guardian).where(func.lower(Guardian.email) == email.lower())).first()
            if holder is not None:
                refuse(f"{email} already belongs to {holder.name} (guardian {holder.id}).")
            guardian.email = email
        guardian.phone = phone or guardian.phone
        return {
            "guardian_id": guardian.id,
            "name": guardian.name,
            "phone": guardian.phone,
            "email": guardian.email,
        }


@app.post("/contacts/{contact_id}/first", operation_id="make_first_contact")
async def make_first_contact(contact_id: ContactId) -> Record:
    """Have a guardian rung first about a student. Refuses guardians who may not be told anything."""
    with transaction() as db:
        contact = find(db, Contact, contact_id)
        if contact.is_first:
            refuse(f"{contact.guardian.name} is rung first about {contact.student.name} already.")
        if not contact.may_be_told:
            refuse(f"{contact.guardian.name} may not be told anything about {contact.student.name}.")
        before = select(Contact).where(Contact.student_id == contact.student_id, Contact.is_first)
        for other in db.scalars(before):
            other.is_first = False
        db.flush()
        contact.is_first = True
        return show_contact(contact)


# ---------------------------------------------------------------- writes: courses and timetable


@app.post("/courses/{course_id}/enrolments", operation_id="enrol_in_course")
async def enrol_in_course(
    course_id: CourseId, student_id: Annotated[Id, given("Who joins, by id from search_students.")]
) -> Record:
    """Put a student into a course from today. Refuses courses of another year, full ones, ones at a time when the
    student has another lesson, the parallel of one the student takes, and a seventh course."""
    with transaction() as db:
        student, course = find(db, Student, student_id), find(db, Course, course_id)
        require_fit(db, student, course)
        theirs = db.scalars(live(Enrolment.student_id == student.id)).all()
        if same := [one.course for one in theirs if one.course.subject == course.subject]:
            refuse(f"{student.name} takes {same[0].name}, the parallel course: see switch_course.")
        if len(theirs) >= MOST_COURSES:
            refuse(f"{student.name} takes {MOST_COURSES} courses, the most one may: end one first.")
        return show_enrolment(save(db, Enrolment(student=student, course=course, since=today())))


@app.post("/enrolments/{enrolment_id}/end", operation_id="end_enrolment")
async def end_enrolment(enrolment_id: EnrolmentId) -> Record:
    """Take a student out of a course as of today. Refuses enrolments that have ended."""
    with transaction() as db:
        enrolment = find(db, Enrolment, enrolment_id)
        if enrolment.ended_on is not None:
            refuse(f"This enrolment ended on {enrolment.ended_on}.")
        enrolment.ended_on = today()
        return show_enrolment(enrolment)


@app.post("/enrolments/{enrolment_id}/switch", operation_id="switch_course")
async def switch_course(
    enrolment_id: EnrolmentId,
    course_id: Annotated[Id, given("The other course in the same subject and year.")],
) -> Record:
    """Move a student to the parallel course: ends the enrolment and starts the other. Refuses other subjects,
    and what enrol_in_course refuses."""
    with transaction() as db:
        enrolment, course = find(db, Enrolment, enrolment_id), find(db, Course, course_id)
        if enrolment.ended_on is not None:
            refuse(f"This enrolment ended on {enrolment.ended_on}.")
        if course.subject != enrolment.course.subject:
            refuse(f"{course.name} is no parallel course of {enrolment.course.name}.")
        require_fit(db, enrolment.student, course, leaving=enrolment.course_id)
        enrolment.ended_on = today()
        return show_enrolment(save(db, Enrolment(student=enrolment.student, course=course, since=today())))


@app.post("/timetable/{slot_id}/move", operation_id="move_lesson")
async def move_lesson(
    slot_id: SlotId,
    room_id: Annotated[Id | None, given("Another room, from find_free_rooms; without it, the same.")] = None,
    weekday: Annotated[Weekday | None, given("Another day; without it, the same.")] = None,
    period: Annotated[int | None, given("Another period; without it, the same.", ge=1, le=6)] = None,
) -> Record:
    """Move a lesson to another room, day or period, for good. Refuses rooms of the wrong kind or too small, and
    times when the room, the teacher or one of the students is taken."""
    if room_id is None and weekday is None and period is None:
        refuse("Say what to change: room_id, weekday or period.", 422)
    with transaction() as db:
        slot = find(db, Slot, slot_id)
        room = slot.room if room_id is None else find(db, Room, room_id)
        day, hour = number_of(weekday) if weekday else slot.weekday, period or slot.period
        if (room.id, day, hour) == (slot.room_id, slot.weekday, slot.period):
            refuse(f"{slot.course.name} is taught there at that time already.")
        require_free(db, slot.course, room, day, hour, slot.id)
        slot.room, slot.weekday, slot.period = room, day, hour
        return show_slot(slot)


@app.post("/courses/{course_id}/teacher", operation_id="change_teacher")
async def change_teacher(
    course_id: CourseId, teacher_id: Annotated[Id, given("Who takes over, by id from list_teachers.")]
) -> Record:
    """Give a course to another teacher of the subject. Refuses teachers who have a lesson at one of its times."""
    with transaction() as db:
        course, teacher = find(db, Course, course_id), find(db, Teacher, teacher_id)
        if course.teacher_id == teacher.id:
            refuse(f"{teacher.name} teaches {course.name} already.")
        if teacher.subject != course.subject:
            refuse(f"{teacher.name} teaches {teacher.subject}, not {course.subject}.")
        busy = select(Slot).join(Slot.course).where(Course.teacher_id == teacher.id, at_times_of(course))
        if other := db.scalars(busy.order_by(Slot.weekday, Slot.period)).first():
            when = f"on {WEEKDAYS[other.weekday - 1]} in period {other.period}"
            refuse(f"{teacher.name} has {other.course.name} {when}.")
        course.teacher = teacher
        return show_course(course)


# ---------------------------------------------------------------- writes: attendance, notes and reports


@app.post("/students/{student_id}/attendance", operation_id="mark_attendance")
async def mark_attendance(
    student_id: StudentId,
    mark: Annotated[Literal["absent", "late", "present"], given("Present takes a mark away.")],
    day: Annotated[date | None, given("The day, YYYY-MM-DD; without it, today.")] = None,
) -> Record:
    """Mark a student absent, late or present on a day of the last four weeks. Days are excused through notes;
    excused days are only taken away."""
    with transaction() as db:
        student, when = find(db, Student, student_id), day or today()
        require_enrolled(student)
        require_school_day(when)
        if not today() - CORRECTION_PERIOD <= when <= today():
            refuse(f"{when} is not within the last four weeks.")
        if mark == "present":
            known = (Attendance.student_id == student.id, Attendance.day == when)
            entry = db.scalars(select(Attendance).where(*known)).first()
            if entry is None:
                refuse(f"{student.name} has no mark on {when}: that is present already.")
            db.delete(entry)
            return {"student": student.name, "day": when, "mark": "present"}
        return show_attendance(mark_day(db, student, when, mark))


@app.post("/students/{student_id}/notes", operation_id="add_note")
async def add_note(
    student_id: StudentId,
    guardian_id: Annotated[Id, given("Who signed it, by id from list_contacts.")],
    reason: Annotated[Literal["illness", "appointment", "family", "travel"], given("What it says.")],
    first_day: Annotated[date, given("From this day, YYYY-MM-DD.")],
    last_day: Annotated[date, given("Up to and including this day, YYYY-MM-DD.")],
) -> Record:
    """File a note that asks to excuse days, at most two weeks. Refuses signatures of people who are no guardian of
    the student, and days for which there is a note."""
    with transaction() as db:
        student, guardian = find(db, Student, student_id), find(db, Guardian, guardian_id)
        require_enrolled(student)
        if last_day < first_day or last_day - first_day >= LONGEST_NOTE:
            refuse("A note is for one day to two weeks, the first day first.", 422)
        known = (Contact.student_id == student.id, Contact.guardian_id == guardian.id)
        if not count(db, *known):
            refuse(f"{guardian.name} is no guardian of {student.name}: see list_contacts.")
        overlap = (Note.student_id == student.id, Note.first_day <= last_day, Note.last_day >= first_day)
        if other := db.scalars(select(Note).where(*overlap, Note.status != "declined")).first():
            refuse(f"There is a note for {other.first_day} to {other.last_day} (note {other.id}).")
        days = {"first_day": first_day, "last_day": last_day, "handed_in": today()}
        return show_note(save(db, Note(student=student, guardian=guardian, reason=reason, **days)))


@app.post("/notes/{note_id}/decision", operation_id="decide_note")
async def decide_note(
    note_id: NoteId,
    decision: Annotated[
        Literal["accepted", "declined"], given("Accepted: the days marked absent become excused.")
    ],
) -> Record:
    """Accept or decline an open note. Accepting turns the student's absences within its days into excused ones."""
    with transaction() as db:
        note = find(db, Note, note_id)
        if note.status != "open":
            refuse(f"This note was {note.status} already.")
        note.status = decision
        within = (Attendance.day >= note.first_day, Attendance.day <= note.last_day)
        absences = select(Attendance).where(Attendance.student_id == note.student_id, *within)
        excused = db.scalars(absences.where(Attendance.mark == "absent")).all() if decision == "accepted" else []
        for entry in excused:
            entry.mark = "excused"
        return {**show_note(note), "days_excused": len(excused)}


@app.post("/students/{student_id}/reports", operation_id="report_to_tutor")
async def report_to_tutor(
    student_id: StudentId, matter: Annotated[Matter, given("What the tutor should know about.")]
) -> Record:
    """Report a student to the tutor of the class. Refuses a second report on the same matter within four weeks."""
    with transaction() as db:
        student = find(db, Student, student_id)
        require_enrolled(student)
        lately = (Report.reported_on > today() - BETWEEN_REPORTS, Report.matter == matter)
        if known := db.scalars(select(Report).where(Report.student_id == student.id, *lately)).first():
            refuse(f"{student.name} was reported to {known.tutor.name} on {known.reported_on} already.")
        tutor = student.school_class.tutor
        return show_report(save(db, Report(student=student, tutor=tutor, matter=matter, reported_on=today())))


# ---------------------------------------------------------------- writes: assessments and grades


@app.post("/courses/{course_id}/assessments", operation_id="add_assessment")
async def add_assessment(
    course_id: CourseId,
    title: Annotated[str, given("What it is called; no two of a course share a title.", min_length=3)],
    held_on: Annotated[date, given("The day, YYYY-MM-DD.")],
    points: Annotated[int, given("How many points can be had.", ge=1, le=200)],
) -> Record:
    """Plan a test or an essay of a course. Refuses days on which the course has no lesson."""
    with transaction() as db:
        course = find(db, Course, course_id)
        if count(db, Assessment.course_id == course.id, func.lower(Assessment.title) == title.lower()):
            refuse(f"{course.name} has an assessment called {title!r} already.")
        lesson = (Slot.course_id == course.id, Slot.weekday == held_on.isoweekday())
        if not count(db, *lesson):
            refuse(f"{course.name} has no lesson on {held_on}: see list_timetable.")
        return show_assessment(
            save(db, Assessment(course=course, title=title, held_on=held_on, points=points))
        )


@app.post("/assessments/{assessment_id}/grades", operation_id="set_grade")
async def set_grade(
    assessment_id: AssessmentId,
    student_id: Annotated[Id, given("Whose grade, by id from search_students.")],
    points: Annotated[int, given("The points had.", ge=0, le=200)],
) -> Record:
    """Enter or correct a grade. Refuses students who do not take the course, more points than there are, and
    assessments still to come."""
    with transaction() as db:
        assessment, student = find(db, Assessment, assessment_id), find(db, Student, student_id)
        if assessment.held_on > today():
            refuse(f"{assessment.title} is on {assessment.held_on}: there is nothing to grade yet.")
        if points > assessment.points:
            refuse(f"{assessment.title} has {assessment.points} points at most.")
        takes = live(Enrolment.student_id == student.id, Enrolment.course_id == assessment.course_id)
        if db.scalars(takes).first() is None:
            refuse(f"{student.name} does not take {assessment.course.name}.")
        known = (Grade.assessment_id == assessment.id, Grade.student_id == student.id)
        grade = db.scalars(select(Grade).where(*known)).first()
        if grade is None:
            return show_grade(save(db, Grade(assessment=assessment, student=student, points=points)))
        if grade.points == points:
            refuse(f"{student.name} has {points} points in {assessment.title} already.")
        grade.points = points
        return show_grade(grade)
