"""The school's rows, and templates of what the office is asked to do.

Reading order: the rows; what templates look up; then the templates, easy, medium, hard.
"""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from roll import KIND_OF_ROOM, MOST_COURSES, TODAY, YEARS, Roll
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]
Time = tuple[int, int]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
FEWEST_COURSES = 5
CORRECTED_WITHIN_DAYS = 30
HANDED_IN_WITHIN_DAYS = 5
LATE_SINCE = "2026-02-01"
LATE_DAYS = 3


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """The roll of the school and all around it."""
    yield from Roll(rng).rows()


# ---------------------------------------------------------------- what templates look up


def students(world: World, where: str = "1") -> list[Row]:
    """Students with their class and `called`: the name, and the class as well where two share the name."""
    return world.rows(f"""
        SELECT students.*, classes.name AS class, year, tutor_id, CASE
            WHEN (SELECT count(*) FROM students AS other WHERE other.name = students.name) = 1 THEN students.name
            ELSE students.name || ' of ' || classes.name END AS called
        FROM students JOIN classes ON classes.id = class_id WHERE {where} ORDER BY students.id
    """)


def enrolled(world: World, where: str = "1") -> list[Row]:
    return students(world, f"status = 'enrolled' AND {where}")


def student(world: World, key: int) -> Row:
    [found] = students(world, f"students.id = {key}")
    return found


def classes(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT * FROM (
            SELECT classes.*, teachers.name AS tutor, places - (
                SELECT count(*) FROM students WHERE class_id = classes.id AND status = 'enrolled'
            ) AS free FROM classes JOIN teachers ON teachers.id = tutor_id
        ) WHERE {where} ORDER BY name
    """)


def contacts(world: World, student_id: int) -> list[Row]:
    """The first contact comes first, as list_contacts has it."""
    return world.rows(
        "SELECT contacts.*, guardians.name, phone FROM contacts JOIN guardians ON guardians.id = guardian_id "
        "WHERE student_id = ? ORDER BY is_first DESC, contacts.id",
        student_id,
    )


def courses(world: World, where: str = "1") -> list[Row]:
    """Courses with the teacher's name and how many places are taken."""
    return world.rows(f"""
        SELECT * FROM (
            SELECT courses.*, teachers.name AS teacher, (
                SELECT count(*) FROM enrolments WHERE course_id = courses.id AND ended_on IS NULL
            ) AS taken FROM courses JOIN teachers ON teachers.id = teacher_id
        ) WHERE {where} ORDER BY id
    """)


def course(world: World, key: int) -> Row:
    [found] = courses(world, f"id = {key}")
    return found


def taken_by(world: World, student_id: int) -> list[Row]:
    """The student's live enrolments, with the courses."""
    return world.rows(
        "SELECT enrolments.*, courses.name AS course, subject, teacher_id FROM enrolments "
        "JOIN courses ON courses.id = course_id WHERE student_id = ? AND ended_on IS NULL ORDER BY course",
        student_id,
    )


def slots(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT slots.*, courses.name AS course, subject, teacher_id, rooms.name AS room, kind FROM slots
        JOIN courses ON courses.id = course_id JOIN rooms ON rooms.id = room_id
        WHERE {where} ORDER BY weekday, period, slots.id
    """)


def times(world: World, course_id: int) -> set[Time]:
    return {(slot["weekday"], slot["period"]) for slot in slots(world, f"course_id = {course_id}")}


def fits(world: World, who: Row, wanted: Row, leaving: int | None = None) -> bool:
    """Whether the tools let the student into the course, the one that is left aside."""
    others = [one["course_id"] for one in taken_by(world, who["id"]) if one["course_id"] != leaving]
    busy = {time for other in others for time in times(world, other)}
    free = wanted["taken"] < wanted["places"] and wanted["id"] not in (*others, leaving)
    return bool(free and wanted["year"] == who["year"] and not busy & times(world, wanted["id"]))


def tests(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT assessments.*, courses.name AS course FROM assessments JOIN courses ON courses.id = course_id
        WHERE {where} ORDER BY assessments.id
    """)


def grades(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT grades.*, title, held_on, course_id, courses.name AS course, assessments.points AS most
        FROM grades JOIN assessments ON assessments.id = assessment_id JOIN courses ON courses.id = course_id
        JOIN students ON students.id = student_id WHERE status = 'enrolled' AND {where} ORDER BY grades.id
    """)


def notes(world: World, where: str = "1") -> list[Row]:
    """Notes, with whether the guardian who signed may be told."""
    return world.rows(f"""
        SELECT notes.*, may_be_told, guardians.name AS signed_by FROM notes
        JOIN contacts ON contacts.student_id = notes.student_id AND contacts.guardian_id = notes.guardian_id
        JOIN guardians ON guardians.id = notes.guardian_id WHERE {where} ORDER BY first_day, notes.id
    """)


def decision_on(note: Row) -> str:
    first, last, handed_in = (date.fromisoformat(note[name]) for name in ("first_day", "last_day", "handed_in"))
    good = note["reason"] in ("illness", "appointment") or (
        note["reason"] == "family" and (last - first).days < 2
    )
    in_time = (handed_in - last).days <= HANDED_IN_WITHIN_DAYS
    return "accepted" if note["may_be_told"] and good and in_time else "declined"


def is_wanted(rng: random.Random, rare: bool, share: float = 0.3) -> bool:
    """Of the draws of the common kind, most are thrown away."""
    return rare or rng.random() < share


def in_words(day: str) -> str:
    when = date.fromisoformat(day)
    return f"{when.day} {when:%B}"


def on_weekday(day: str) -> str:
    return f"{date.fromisoformat(day):%A} {in_words(day)}"


def find(who: Row) -> Row:
    return call("search_students", query=who["name"])


def find_course(wanted: Row) -> Row:
    return call("list_courses", query=wanted["name"])


# ---------------------------------------------------------------- easy


@template("whom-to-ring", difficulty="easy", tags=("read",))
def whom_to_ring(world: World, rng: random.Random) -> Draft | None:
    """The number of the first contact."""
    who = pick(rng, enrolled(world))
    if who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} has a fever and must be fetched. Which number do I ring first? Just the phone number.",
            "I have to reach the family of {who}. Give me the phone number of the first contact, nothing else.",
            "Whom do we ring first about {who}? Answer with the phone number only.",
            who=who["called"],
        ),
        solution=[find(who), call("list_contacts", student_id=who["id"])],
        answer={"text": contacts(world, who["id"])[0]["phone"]},
    )


@template("who-is-the-tutor", difficulty="easy", tags=("read",))
def who_is_the_tutor(world: World, rng: random.Random) -> Draft | None:
    """The tutor of a student's class."""
    who = pick(rng, enrolled(world))
    if who is None:
        return None
    [its] = classes(world, f"id = {who['class_id']}")
    return Draft(
        prompt=phrase(
            rng,
            "Who is the tutor of the class that {who} is in? Just the teacher's full name.",
            "A parent of {who} would like to write to the tutor of the class. Who is that? Full name only.",
            "Which teacher is the tutor of {who}? Answer with the full name and nothing else.",
            who=who["called"],
        ),
        solution=[find(who), call("list_classes", year=who["year"])],
        answer={"text": its["tutor"]},
    )


@template("where-is-the-lesson", difficulty="easy", tags=("read",))
def where_is_the_lesson(world: World, rng: random.Random) -> Draft | None:
    """The room of a lesson."""
    slot = pick(rng, slots(world))
    if slot is None:
        return None
    day = WEEKDAYS[slot["weekday"] - 1]
    return Draft(
        prompt=phrase(
            rng,
            "In which room is {course} taught on {day}s? Just the room's name.",
            "A visitor wants to sit in on {course} on {day}. Where does he have to go? Name of the room only.",
            "Where does {course} meet on {day}s? Answer with the room, nothing else.",
            course=slot["course"],
            day=day,
        ),
        solution=[
            call("list_courses", query=slot["course"]),
            call("list_timetable", course_id=slot["course_id"], weekday=day),
        ],
        answer={"text": slot["room"]},
    )


@template("when-was-the-test", difficulty="easy", tags=("read",))
def when_was_the_test(world: World, rng: random.Random) -> Draft | None:
    """The day of an assessment."""
    test = pick(rng, tests(world))
    if test is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'On which day was "{title}" held in {course}? Date only, YYYY-MM-DD.',
            'I need the date of "{title}" in {course}, written YYYY-MM-DD and nothing else.',
            'When did {course} have "{title}"? Just the date, YYYY-MM-DD.',
            title=test["title"],
            course=test["course"],
        ),
        solution=[
            call("list_courses", query=test["course"]),
            call("list_assessments", course_id=test["course_id"]),
        ],
        answer={"text": test["held_on"]},
    )


@template("new-phone", difficulty="easy", tags=("write",))
def new_phone(world: World, rng: random.Random) -> Draft | None:
    """A guardian's new phone number."""
    guardian = pick(
        rng,
        world.rows("SELECT *, count(*) OVER (PARTITION BY name) AS alike FROM guardians ORDER BY id"),
    )
    if guardian is None or guardian["alike"] > 1:
        return None
    number = f"0{rng.randrange(1200, 1999)} {rng.randrange(100000, 999999)}"
    return Draft(
        prompt=phrase(
            rng,
            "{guardian} has a new phone number: {number}. Please put it on record.",
            "Please change the phone number of {guardian}, one of our students' guardians, to {number}.",
            "From now on the guardian {guardian} is reached under {number}. Please note that.",
            guardian=guardian["name"],
            number=number,
        ),
        solution=[
            call("search_guardians", query=guardian["name"]),
            call("update_guardian", guardian_id=guardian["id"], phone=number),
        ],
        about=["phone", guardian["id"]],
    )


@template("late-today", difficulty="easy", tags=("write",))
def late_today(world: World, rng: random.Random) -> Draft | None:
    """Somebody is late, or missing, today."""
    who = pick(rng, enrolled(world))
    mark, said = rng.choice((("late", "came ten minutes late"), ("absent", "has not come at all")))
    if who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} {said} today. Please enter that.",
            "Today {who} {said}. Put it into the register, please.",
            "The teacher of the first lesson says that {who} {said} today: please mark it.",
            who=who["called"],
            said=said,
        ),
        solution=[find(who), call("mark_attendance", student_id=who["id"], mark=mark)],
    )


@template("was-there-after-all", difficulty="easy", tags=("write",))
def was_there_after_all(world: World, rng: random.Random) -> Draft | None:
    """A mark that was wrong."""
    entry = pick(
        rng,
        world.rows(
            "SELECT * FROM attendance WHERE mark IN ('late', 'absent') AND day >= ? ORDER BY id",
            (TODAY - timedelta(days=28)).isoformat(),
        ),
    )
    if entry is None:
        return None
    who = student(world, entry["student_id"])
    mark = "present" if entry["mark"] == "late" or rng.random() < 0.5 else "late"
    return Draft(
        prompt=phrase(
            rng,
            "The register says that {who} was {wrong} on {day}, but {right}. Please correct it.",
            "{who} is down as {wrong} for {day}. That is a mistake: {right}. Please put it right.",
            "Please mend the register for {day}: {who} was not {wrong}; {right}.",
            who=who["called"],
            wrong=entry["mark"],
            day=on_weekday(entry["day"]),
            right="this student was there in time" if mark == "present" else "this student only came late",
        ),
        solution=[find(who), call("mark_attendance", student_id=who["id"], mark=mark, day=entry["day"])],
    )


@template("who-signed", difficulty="easy", tags=("read",))
def who_signed(world: World, rng: random.Random) -> Draft | None:
    """Who signed a note."""
    note = pick(rng, notes(world))
    if note is None:
        return None
    who = student(world, note["student_id"])
    return Draft(
        prompt=phrase(
            rng,
            "Who signed the note that asks to excuse {who} from {day} on? Full name only.",
            "There is a note for {who} that begins on {day}. Whose signature is on it? Just the full name.",
            "Please look up which guardian signed the note for {who} for the time from {day}: the full name, nothing else.",
            who=who["called"],
            day=on_weekday(note["first_day"]),
        ),
        solution=[find(who), call("list_notes", student_id=who["id"])],
        answer={"text": note["signed_by"]},
    )


# ---------------------------------------------------------------- medium


@template("join-a-course", difficulty="medium", tags=("write",))
def join_a_course(world: World, rng: random.Random) -> Draft | None:
    """A student takes one more course."""
    who, wanted = pick(rng, enrolled(world)), pick(rng, courses(world))
    if who is None or wanted is None or not fits(world, who, wanted):
        return None
    mine = taken_by(world, who["id"])
    if len(mine) >= MOST_COURSES or any(one["subject"] == wanted["subject"] for one in mine):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} would like to take {course} as well. Please enrol this student.",
            "Please put {who} into {course} from today.",
            "{who} joins {course}: there is nothing against it. Please enter that.",
            who=who["called"],
            course=wanted["name"],
        ),
        solution=[
            find(who),
            find_course(wanted),
            call("enrol_in_course", course_id=wanted["id"], student_id=who["id"]),
        ],
    )


@template("parallel-course", difficulty="medium", tags=("write",))
def parallel_course(world: World, rng: random.Random) -> Draft | None:
    """From one course to the parallel one."""
    who = pick(rng, enrolled(world))
    old = pick(rng, taken_by(world, who["id"])) if who else None
    if who is None or old is None:
        return None
    others = courses(world, f"subject = '{old['subject']}' AND year = {who['year']} AND id <> {old['course_id']}")
    if not others or not fits(world, who, others[0], leaving=old["course_id"]):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} is to change from {old} to {new}. Please see to it.",
            "Please move {who} to {new}; {old} ends for this student.",
            "{who} gets on badly with {old} and switches to {new}. Please enter that.",
            who=who["called"],
            old=old["course"],
            new=others[0]["name"],
        ),
        solution=[
            find(who),
            call("list_enrolments", student_id=who["id"]),
            call("list_courses", subject=old["subject"], year=who["year"]),
            call("switch_course", enrolment_id=old["id"], course_id=others[0]["id"]),
        ],
    )


@template("ring-first", difficulty="medium", tags=("write",))
def ring_first(world: World, rng: random.Random) -> Draft | None:
    """Another guardian is rung first."""
    who = pick(rng, enrolled(world))
    others = [one for one in contacts(world, who["id"]) if one["may_be_told"] and not one["is_first"]] if who else []
    new = pick(rng, others)
    if who is None or new is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "From now on the {relation} of {who} wants to be rung first. Please change that.",
            "Please make the {relation} of {who} the first contact.",
            "If something happens to {who}, we are to ring the {relation} first from today. Please note it.",
            who=who["called"],
            relation=new["relation"],
        ),
        solution=[
            find(who),
            call("list_contacts", student_id=who["id"]),
            call("make_first_contact", contact_id=new["id"]),
        ],
    )


@template("correct-a-grade", difficulty="medium", tags=("write", "policy", "condition"))
def correct_a_grade(world: World, rng: random.Random) -> Draft | None:
    """A grade was entered wrongly: it is corrected, or stands because it is old."""
    grade = pick(rng, grades(world))
    if grade is None:
        return None
    who = student(world, grade["student_id"])
    points = grade["points"] + rng.choice((-3, -2, 1, 2, 4))
    recent = date.fromisoformat(grade["held_on"]) >= TODAY - timedelta(days=CORRECTED_WITHIN_DAYS)
    if not 0 < points <= grade["most"] or not is_wanted(rng, recent, share=0.6):
        return None
    change = [call("set_grade", assessment_id=grade["assessment_id"], student_id=who["id"], points=points)]
    return Draft(
        prompt=phrase(
            rng,
            'A teacher says that {who} had {points} points in "{title}" ({course}), not {wrong}. Correct it if the house '
            "rules let the office do so. If not, leave it and answer with the day on which it was held, YYYY-MM-DD.",
            '"{title}" in {course}: {who} should have {points} points instead of {wrong}. Change that, provided that our '
            "rules allow it; otherwise change nothing and tell me the date of the assessment, only YYYY-MM-DD.",
            'Please check with the house rules whether the {wrong} points of {who} for "{title}" in {course} may become '
            "{points}, and change them if so. If they have to stay, I want the day it was held: YYYY-MM-DD, nothing else.",
            who=who["called"],
            title=grade["title"],
            course=grade["course"],
            points=points,
            wrong=grade["points"],
        ),
        solution=[
            find(who),
            call("list_grades", student_id=who["id"]),
            call("read_policy"),
            *(change if recent else []),
        ],
        answer=None if recent else {"text": grade["held_on"]},
        tags=("write", "policy", "condition") if recent else ("read", "policy", "condition"),
        about=["correct", grade["id"]],
    )


@template("rung-in-sick", difficulty="medium", tags=("write", "policy"))
def rung_in_sick(world: World, rng: random.Random) -> Draft | None:
    """A guardian rings before school."""
    who = pick(rng, enrolled(world))
    caller = pick(rng, contacts(world, who["id"])) if who else None
    last = TODAY + timedelta(days=rng.choice((0, 1, 2)))
    if who is None or caller is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{caller} has just rung: {who} is ill and stays at home {span}. Please enter it as the house rules say.",
            "{caller}, {relation} of {who}, rings before school to say that the child is ill and will be away {span}. Do what "
            "our rules have us do.",
            "{who} is ill and will be missing {span}, says {caller} on the phone. Please do everything that our rules ask "
            "for.",
            caller=caller["name"],
            who=who["called"],
            relation=caller["relation"],
            span="today only" if last == TODAY else f"from today up to and including {last:%A}",
        ),
        solution=[
            find(who),
            call("list_contacts", student_id=who["id"]),
            call("read_policy"),
            call("mark_attendance", student_id=who["id"], mark="absent"),
            sick_note(who, caller["guardian_id"], last),
        ],
        about=["sick", who["id"]],
    )


def sick_note(who: Row, guardian_id: int, last: date) -> Row:
    days = {"first_day": TODAY.isoformat(), "last_day": last.isoformat()}
    return call("add_note", student_id=who["id"], guardian_id=guardian_id, reason="illness", **days)


@template("may-they-know", difficulty="medium", tags=("read", "policy", "condition"))
def may_they_know(world: World, rng: random.Random) -> Draft | None:
    """A relative asks for a grade, and may or may not be told."""
    grade = pick(rng, grades(world))
    caller = pick(rng, contacts(world, grade["student_id"])) if grade else None
    if grade is None or caller is None or not is_wanted(rng, not caller["may_be_told"], share=0.25):
        return None
    who = student(world, grade["student_id"])
    told = bool(caller["may_be_told"])
    return Draft(
        prompt=phrase(
            rng,
            '{caller} is on the phone and asks how many points {who} had in "{title}" ({course}). Look at the house rules '
            "and give me what I may say: the points, or the full name. Nothing else.",
            "{caller}, the {relation} of {who}, wants to know the points that the child had in {course} for \"{title}\". What "
            "do our rules let us tell? Answer with just that: a number or a full name.",
            '{caller} asks how {who} did: how many points were there for "{title}" in {course}? Go by the house rules and '
            "answer with the number of points or the name that they leave us to say, nothing more.",
            caller=caller["name"],
            who=who["called"],
            relation=caller["relation"],
            title=grade["title"],
            course=grade["course"],
        ),
        solution=[
            find(who),
            call("list_contacts", student_id=who["id"]),
            call("read_policy"),
            *([call("list_grades", student_id=who["id"])] if told else []),
        ],
        answer={"number": grade["points"]} if told else {"text": contacts(world, who["id"])[0]["name"]},
    )


@template("decide-on-a-note", difficulty="medium", tags=("write", "policy", "condition"))
def decide_on_a_note(world: World, rng: random.Random) -> Draft | None:
    """One open note, by the rules."""
    note = pick(rng, notes(world, "status = 'open'"))
    if note is None:
        return None
    who = student(world, note["student_id"])
    return Draft(
        prompt=phrase(
            rng,
            "There is an open note for {who}, from {day} on. Accept or decline it, as the house rules say.",
            "Please decide by our rules on the open note for {who} (first day: {day}).",
            "What becomes of the note that asks to excuse {who} from {day} on? Settle it according to the house rules.",
            who=who["called"],
            day=on_weekday(note["first_day"]),
        ),
        solution=[
            find(who),
            call("list_notes", student_id=who["id"], status="open"),
            call("list_contacts", student_id=who["id"]),
            call("read_policy"),
            call("decide_note", note_id=note["id"], decision=decision_on(note)),
        ],
    )


@template("another-room", difficulty="medium", tags=("write",))
def another_room(world: World, rng: random.Random) -> Draft | None:
    """A lesson needs the smallest other room that will do."""
    slot = pick(rng, slots(world))
    if slot is None:
        return None
    needed = course(world, slot["course_id"])
    free = rooms_for(world, slot, needed)
    if not free:
        return None
    day = WEEKDAYS[slot["weekday"] - 1]
    return Draft(
        prompt=phrase(
            rng,
            "The roof drips into {room} where {course} is taught on {day}s. Move that lesson, at the same time, to the "
            "smallest free {kind} with enough seats.",
            "Please give the {day} lesson of {course} another {kind} at the same time: the smallest that is free and has a "
            "seat for everyone who takes the course.",
            "{course} cannot stay in {room} on {day}s. Please find the smallest other {kind} that is free then and large "
            "enough for all who take it, and move the lesson there.",
            room=slot["room"],
            course=slot["course"],
            day=day,
            kind=slot["kind"],
        ),
        solution=[
            find_course(needed),
            call("list_timetable", course_id=needed["id"], weekday=day),
            call(
                "find_free_rooms", weekday=day, period=slot["period"], kind=slot["kind"], seats=needed["taken"]
            ),
            call("move_lesson", slot_id=slot["id"], room_id=free[0]["id"]),
        ],
    )


def rooms_for(world: World, slot: Row, needed: Row) -> list[Row]:
    """Rooms that are free at the time of the lesson and hold the course, the smallest first."""
    return world.rows(
        """SELECT * FROM rooms WHERE kind = ? AND seats >= ? AND id NOT IN (
               SELECT room_id FROM slots WHERE weekday = ? AND period = ?) ORDER BY seats, name""",
        KIND_OF_ROOM.get(needed["subject"], "classroom"),
        needed["taken"],
        slot["weekday"],
        slot["period"],
    )


@template("any-other-room", difficulty="medium", tags=("write", "free-choice"))
def any_other_room(world: World, rng: random.Random) -> Draft | None:
    """A lesson needs another room, whichever."""
    slot = pick(rng, slots(world, "kind = 'classroom'"))
    if slot is None:
        return None
    needed = course(world, slot["course_id"])
    free = rooms_for(world, slot, needed)
    if len(free) < 3:
        return None
    day = WEEKDAYS[slot["weekday"] - 1]
    moved = (
        "SELECT count(*), sum(slots.id = {id} AND kind = 'classroom' AND slots.weekday = {weekday} "
        "AND slots.period = {period} AND slots.course_id = {course_id}) FROM slots "
        "JOIN initial.slots AS old ON old.id = slots.id JOIN rooms ON rooms.id = slots.room_id "
        "WHERE old.room_id <> slots.room_id OR old.weekday <> slots.weekday OR old.period <> slots.period "
        "OR old.course_id <> slots.course_id"
    ).format(**slot)
    kept = "SELECT (SELECT count(*) FROM slots), (SELECT count(*) FROM initial.slots WHERE id NOT IN (SELECT id FROM slots))"
    return Draft(
        prompt=phrase(
            rng,
            "{room} is being painted: please move the {day} lesson of {course} to any other classroom that is free at that "
            "time and large enough. The time stays.",
            "{course} needs some other classroom on {day}s, at the same time. It does not matter which, so long as there is "
            "a seat for everyone. Please move it.",
            "Please find any free classroom for the {day} lesson of {course} instead of {room}, with seats enough, and move it "
            "there. Do not change the time.",
            room=slot["room"],
            day=day,
            course=slot["course"],
        ),
        solution=[
            find_course(needed),
            call("list_timetable", course_id=needed["id"], weekday=day),
            call("find_free_rooms", weekday=day, period=slot["period"], kind="classroom", seats=needed["taken"]),
            call("move_lesson", slot_id=slot["id"], room_id=free[-1]["id"]),
        ],
        verify={
            "kind": "sql",
            "may_change": ["slots"],
            "assert": [
                {"sql": moved, "equals": [[1, 1]]},
                {"sql": kept, "equals": [[world.value("SELECT count(*) FROM slots"), 0]]},
            ],
            "choices": ["move_lesson.room_id"],
        },
        about=["any room", slot["id"]],
    )


@template("best-of-the-course", difficulty="medium", tags=("read",))
def best_of_the_course(world: World, rng: random.Random) -> Draft | None:
    """Who had most points in an assessment."""
    test = pick(rng, tests(world))
    if test is None:
        return None
    results = sorted(grades(world, f"assessment_id = {test['id']}"), key=lambda one: -one["points"])
    if len(results) < 4 or results[0]["points"] == results[1]["points"]:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'Who had the most points in "{title}" in {course}? Full name only.',
            'There is a book for the best in "{title}" ({course}). Whose is it? Just the full name.',
            'Look at the results of {course} in "{title}": which student came first? Answer with the full name.',
            title=test["title"],
            course=test["course"],
        ),
        solution=[
            call("list_courses", query=test["course"]),
            call("list_assessments", course_id=test["course_id"]),
            call("list_grades", assessment_id=test["id"]),
        ],
        answer={"text": student(world, results[0]["student_id"])["name"]},
    )


@template("late-most-often", difficulty="medium", tags=("read",))
def late_most_often(world: World, rng: random.Random) -> Draft | None:
    """Who of a year, that is of two classes, was late on most days."""
    year = rng.choice(YEARS)
    since = date(2026, rng.choice((1, 2)), rng.choice((1, 16)))
    counts = Counter(one["student_id"] for one in late_days(world, year, since.isoformat()))
    ranking = counts.most_common(2)
    if len(ranking) < 2 or ranking[0][1] == ranking[1][1]:
        return None
    both = classes(world, f"year = {year}")
    return Draft(
        prompt=phrase(
            rng,
            "Of all students of year {year}, who was late on most days since {since}? Full name only.",
            "Which student in the classes of year {year} has been late most often from {since} up to now? Just the full name.",
            "Go through the registers of year {year} since {since}: who came late on the most days? The full name, please, "
            "nothing else.",
            year=year,
            since=in_words(since.isoformat()),
        ),
        solution=[
            call("list_classes", year=year),
            *(
                call("list_attendance", class_id=one["id"], mark="late", first_day=since.isoformat(), limit=100)
                for one in both
            ),
        ],
        answer={"text": student(world, ranking[0][0])["name"]},
    )


def late_days(world: World, year: int, since: str) -> list[Row]:
    return world.rows(
        "SELECT attendance.* FROM attendance JOIN students ON students.id = student_id "
        "JOIN classes ON classes.id = class_id WHERE year = ? AND mark = 'late' AND day >= ? ORDER BY day",
        year,
        since,
    )


@template("plan-a-test", difficulty="medium", tags=("write",))
def plan_a_test(world: World, rng: random.Random) -> Draft | None:
    """A test on the first lesson of a week to come."""
    wanted = pick(rng, courses(world))
    if wanted is None:
        return None
    weeks, points = rng.choice((1, 2, 3)), rng.choice((20, 25, 30, 40))
    monday = TODAY + timedelta(days=7 * weeks - TODAY.weekday())
    days = sorted(weekday for weekday, _ in times(world, wanted["id"]))
    which = rng.choice((0, -1))
    title = rng.choice(("Spring test", "Chapter test", "Mock exam", "Short test"))
    held_on = monday + timedelta(days=days[which] - 1)
    return Draft(
        prompt=phrase(
            rng,
            '{course} has a "{title}" for {points} points in its {which} lesson of the week that begins on {monday}. Please '
            "plan it.",
            'Please enter a "{title}" ({points} points) for {course}, to be held in the {which} lesson of the week of '
            "{monday}.",
            'The {which} lesson of {course} in the week from {monday} is for a "{title}" with {points} points. Put it on '
            "record, please.",
            course=wanted["name"],
            title=title,
            points=points,
            which="last" if which else "first",
            monday=on_weekday(monday.isoformat()),
        ),
        solution=[
            find_course(wanted),
            call("list_timetable", course_id=wanted["id"]),
            call(
                "add_assessment",
                course_id=wanted["id"],
                title=title,
                held_on=held_on.isoformat(),
                points=points,
            ),
        ],
        about=["plan", wanted["id"]],
    )


@template("change-class", difficulty="medium", tags=("write", "policy", "condition"))
def change_class(world: World, rng: random.Random) -> Draft | None:
    """A student changes to the parallel class, if there is a place that may be taken."""
    who = pick(rng, enrolled(world))
    if who is None:
        return None
    [new] = classes(world, f"year = {who['year']} AND id <> {who['class_id']}")
    allowed = new["free"] > 1
    if not is_wanted(rng, allowed, share=0.6):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} would like to change to class {new}. Do it if our house rules allow it; if they do not, change nothing and "
            "tell me who the tutor of {new} is: full name only.",
            "Can {who} move to {new}? If the rules of the house let us, please do it. If not, leave it and answer with the "
            "name of {new}'s tutor, nothing else.",
            "Move {who} to class {new}, unless our rules forbid it. In that case I will speak to {new}'s tutor: just give me "
            "the full name.",
            who=who["called"],
            new=new["name"],
        ),
        solution=[
            find(who),
            call("list_classes", year=who["year"]),
            call("read_policy"),
            *([call("change_class", student_id=who["id"], class_id=new["id"])] if allowed else []),
        ],
        answer=None if allowed else {"text": new["tutor"]},
        tags=("write", "policy", "condition") if allowed else ("read", "policy", "condition"),
        about=["class", who["id"]],
    )


@template("drop-a-course", difficulty="medium", tags=("write", "policy", "condition"))
def drop_a_course(world: World, rng: random.Random) -> Draft | None:
    """A student drops a course, if enough are left."""
    who = pick(rng, enrolled(world))
    mine = taken_by(world, who["id"]) if who else []
    dropped = pick(rng, mine)
    if who is None or dropped is None:
        return None
    allowed = len(mine) > FEWEST_COURSES
    if not is_wanted(rng, allowed, share=0.2):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants to drop {course}. If our rules allow it, end that enrolment. If they do not, leave it and answer "
            "with the day since which this student has taken it, YYYY-MM-DD.",
            "May {who} give up {course}? Check with the house rules and do it if so; otherwise change nothing and tell me only "
            "since when this student has been in it, as YYYY-MM-DD.",
            "Please take {who} out of {course}, provided that the house rules permit it. If not, I need the day on which the "
            "enrolment began: YYYY-MM-DD, nothing else.",
            who=who["called"],
            course=dropped["course"],
        ),
        solution=[
            find(who),
            call("list_enrolments", student_id=who["id"]),
            call("read_policy"),
            *([call("end_enrolment", enrolment_id=dropped["id"])] if allowed else []),
        ],
        answer=None if allowed else {"text": dropped["since"]},
        tags=("write", "policy", "condition") if allowed else ("read", "policy", "condition"),
    )


# ---------------------------------------------------------------- hard


@template("leaves-the-school", difficulty="hard", tags=("write", "policy"))
def leaves_the_school(world: World, rng: random.Random) -> Draft | None:
    """All courses are ended, then the leaving is recorded."""
    who = pick(rng, enrolled(world))
    if who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "The family of {who} is moving away: today is the last day here. Please do everything that our house rules ask for.",
            "{who} leaves the school today. Please record it, in the order that the house rules want.",
            "Please see to the leaving of {who} as of today, just as it stands in our rules.",
            who=who["called"],
        ),
        solution=[
            find(who),
            call("read_policy"),
            call("list_enrolments", student_id=who["id"]),
            *(call("end_enrolment", enrolment_id=one["id"]) for one in taken_by(world, who["id"])),
            call("withdraw_student", student_id=who["id"]),
        ],
    )


@template("report-the-late", difficulty="hard", tags=("write", "policy", "condition"))
def report_the_late(world: World, rng: random.Random) -> Draft | None:
    """Who has been late too often is reported, unless that was done lately."""
    year = rng.choice(YEARS)
    counts = Counter(one["student_id"] for one in late_days(world, year, LATE_SINCE))
    often = [student(world, key) for key in sorted(counts) if counts[key] >= LATE_DAYS]
    known = world.rows(
        "SELECT student_id FROM reports WHERE matter = 'lateness' AND reported_on > ? ORDER BY id",
        (TODAY - timedelta(days=28)).isoformat(),
    )
    due = [who for who in often if who["id"] not in {one["student_id"] for one in known}]
    both = classes(world, f"year = {year}")
    if not 1 <= len(due) <= 5:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please go through the lateness of year {year} and report to the tutors whoever is due by our house rules.",
            "Who in year {year} is to be reported for being late, as the house rules have it? Please report them all.",
            "The rules of the house say when a student is reported for lateness. Apply them to both classes of year {year}.",
            year=year,
        ),
        solution=[
            call("read_policy"),
            call("list_classes", year=year),
            *(
                call("list_attendance", class_id=one["id"], mark="late", first_day=LATE_SINCE, limit=100)
                for one in both
            ),
            *(call("list_reports", class_id=one["id"], matter="lateness") for one in both),
            *(call("report_to_tutor", student_id=who["id"], matter="lateness") for who in due),
        ],
    )


@template("open-notes", difficulty="hard", tags=("write", "policy", "condition"))
def open_notes(world: World, rng: random.Random) -> Draft | None:
    """All open notes of a class, by the rules."""
    chosen = pick(rng, classes(world))
    if chosen is None:
        return None
    due = notes(world, f"status = 'open' AND notes.student_id IN (SELECT id FROM students WHERE class_id = {chosen['id']})")
    if not 2 <= len(due) <= 4:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please settle all open notes of class {name}: accept or decline each, as the house rules say.",
            "The tutor of {name} asks for the open notes of the class to be decided on. Do that by our rules.",
            "Go through class {name}'s notes that are still open and decide on every one of them according to the house rules.",
            name=chosen["name"],
        ),
        solution=[
            call("list_classes"),
            call("list_notes", class_id=chosen["id"], status="open"),
            call("read_policy"),
            *(call("list_contacts", student_id=note["student_id"]) for note in due),
            *(call("decide_note", note_id=note["id"], decision=decision_on(note)) for note in due),
        ],
    )


@template("nothing-handed-in", difficulty="hard", tags=("write", "condition"))
def nothing_handed_in(world: World, rng: random.Random) -> Draft | None:
    """Points for all who have no grade yet."""
    test = pick(rng, tests(world, f"held_on >= '{(TODAY - timedelta(days=28)).isoformat()}'"))
    if test is None:
        return None
    graded = {one["student_id"] for one in grades(world, f"assessment_id = {test['id']}")}
    members = world.rows(
        "SELECT student_id, name FROM enrolments JOIN students ON students.id = student_id "
        "WHERE course_id = ? AND ended_on IS NULL ORDER BY name, student_id",
        test["course_id"],
    )
    missing = [one["student_id"] for one in members if one["student_id"] not in graded]
    points = rng.choice((0, 5, 8, 10))
    if not 2 <= len(missing) <= 6:
        return None
    return Draft(
        prompt=phrase(
            rng,
            'Everyone who takes {course} and has no grade yet for "{title}" gets {points} points for it. Please enter that.',
            '"{title}" in {course}: please find out who of the course has no result so far, and enter {points} points for each '
            "of them.",
            'Some in {course} have no grade for "{title}" yet. They all get {points} points; please complete the list.',
            course=test["course"],
            title=test["title"],
            points=points,
        ),
        solution=[
            call("list_courses", query=test["course"]),
            call("list_assessments", course_id=test["course_id"]),
            call("list_enrolments", course_id=test["course_id"]),
            call("list_grades", assessment_id=test["id"]),
            *(
                call("set_grade", assessment_id=test["id"], student_id=key, points=points)
                for key in missing
            ),
        ],
        about=["missing", test["id"]],
    )


NEWCOMERS = ("Ines Duarte", "Bela Horvat", "Signe Lund", "Tobias Reiter", "Mirela Costin", "Yann Le Goff", "Rhea Patel")


@template("newcomer", difficulty="hard", tags=("write",))
def newcomer(world: World, rng: random.Random) -> Draft | None:
    """A new student, with a class and four courses."""
    joined = pick(rng, classes(world, "free > 0"))
    if joined is None:
        return None
    year, letter = joined["year"], joined["name"][-1]
    names = [f"{subject} {year}{letter}" for subject in ("Mathematics", "English", "Science")]
    names.append(f"{rng.choice(('History', 'Geography', 'Art', 'Music', 'Sport'))} {year}")
    wanted = [courses(world, f"name = '{name}'")[0] for name in names]
    busy = [time for one in wanted for time in times(world, one["id"])]
    if len(set(busy)) < len(busy) or any(one["taken"] >= one["places"] for one in wanted):
        return None
    name = rng.choice(NEWCOMERS)
    born = date(2025 - year - 5, 9, 1) + timedelta(days=rng.randrange(364))
    key = world.value("SELECT max(id) + 1 FROM students")
    return Draft(
        prompt=phrase(
            rng,
            "A new student: {name}, born on {born}, joins class {joined} and takes {courses}. Please enter all that.",
            "{name} (born {born}) comes to us today, into {joined}. Please enrol this student, also in {courses}.",
            "Please take {name}, whose birthday is {born}, into class {joined} and into the courses {courses}.",
            name=name,
            born=f"{in_words(born.isoformat())} {born.year}",
            joined=joined["name"],
            courses=f"{', '.join(names[:-1])} and {names[-1]}",
        ),
        solution=[
            call("list_classes", year=year),
            call("list_courses", year=year),
            call("enrol_student", name=name, born_on=born.isoformat(), class_id=joined["id"]),
            *(call("enrol_in_course", course_id=one["id"], student_id=key) for one in wanted),
        ],
        about=["newcomer", joined["id"], names[-1]],
    )


@template("take-over", difficulty="hard", tags=("write", "condition"))
def take_over(world: World, rng: random.Random) -> Draft | None:
    """A colleague takes over the courses that fall into free periods."""
    teacher = pick(rng, world.rows("SELECT * FROM teachers ORDER BY id"))
    if teacher is None:
        return None
    others = world.rows(
        "SELECT * FROM teachers WHERE subject = ? AND id <> ? ORDER BY id", teacher["subject"], teacher["id"]
    )
    if not others:
        return None
    busy = {(one["weekday"], one["period"]) for one in slots(world, f"teacher_id = {others[0]['id']}")}
    theirs = sorted(courses(world, f"teacher_id = {teacher['id']}"), key=lambda one: one["name"])
    possible = [one for one in theirs if not busy & times(world, one["id"])]
    if len(possible) < 2:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{teacher} is away for the rest of the year. Please give to {other} each of these courses of which no lesson falls "
            "on one of {other}'s own; the others stay as they are.",
            "{other} takes over {teacher}'s courses, as far as the timetable lets {other}: where a lesson clashes, leave the "
            "course alone. Please enter that.",
            "Which courses of {teacher}'s could {other} teach without being in two places at once? Please hand all of those "
            "over to {other}.",
            teacher=teacher["name"],
            other=others[0]["name"],
        ),
        solution=[
            call("list_teachers", subject=teacher["subject"]),
            call("list_courses", teacher_id=teacher["id"]),
            call("list_timetable", teacher_id=teacher["id"]),
            call("list_timetable", teacher_id=others[0]["id"]),
            *(call("change_teacher", course_id=one["id"], teacher_id=others[0]["id"]) for one in possible),
        ],
    )


@template("all-sick", difficulty="hard", tags=("write", "policy"))
def all_sick(world: World, rng: random.Random) -> Draft | None:
    """All children of a guardian are ill."""
    guardian = pick(
        rng,
        world.rows("""
            SELECT * FROM (
                SELECT guardians.*, count(*) OVER (PARTITION BY name) AS alike, (
                    SELECT count(*) FROM contacts JOIN students ON students.id = student_id
                    WHERE guardian_id = guardians.id) AS children
                FROM guardians
            ) WHERE alike = 1 AND children > 1 ORDER BY id
        """),
    )
    if guardian is None:
        return None
    theirs = enrolled(
        world, f"students.id IN (SELECT student_id FROM contacts WHERE guardian_id = {guardian['id']})"
    )
    if len(theirs) != guardian["children"] or not 2 <= len(theirs) <= 4:
        return None
    last = TODAY + timedelta(days=rng.choice((0, 1, 2)))
    return Draft(
        prompt=phrase(
            rng,
            "{guardian} rings: all the children we have of that family are ill, {span}. Please enter it for each of them, as "
            "the house rules say.",
            "All students for whom {guardian} is a guardian have the flu and stay at home {span}; {guardian} has just rung. Do "
            "what our rules ask for, for every one of them.",
            "{guardian} has rung before school: every child of ours whose contact {guardian} is stays in bed {span}, ill. "
            "Please follow the house rules.",
            guardian=guardian["name"],
            span="today" if last == TODAY else f"from today up to and including {last:%A}",
        ),
        solution=[
            call("search_guardians", query=guardian["name"]),
            call("read_policy"),
            *(
                step
                for who in theirs
                for step in (
                    call("mark_attendance", student_id=who["id"], mark="absent"),
                    sick_note(who, guardian["id"], last),
                )
            ),
        ],
        about=["all sick", guardian["id"]],
    )
