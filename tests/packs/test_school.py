"""The school's office refuses what the school forbids, says why, and keeps a timetable without clashes."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import pytest
import pytest_asyncio

from subworlds.scenarios.generation.world_folder import WorldFolder
from subworlds.scenarios.pack import BUILTIN_PACKS
from subworlds.scenarios.session import Session
from subworlds.scenarios.tool import FailureKind

from ..scenarios.toys import Worlds, ask, fail, open_worlds

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALINA, HAS_LEFT, OF_9A = 401, 410, 429
"""Students: Alina Novak of 8A, Alina Castro who has left, and one of another year."""
MATHEMATICS, ENGLISH, HISTORY, MUSIC = 701, 703, 709, 712
"""Courses of year 8; History and Music are taught at the same times. Mathematics 8A is full."""

CLASHES = """
    SELECT one.student_id FROM enrolments AS one JOIN slots AS mine ON mine.course_id = one.course_id
    JOIN enrolments AS other ON other.student_id = one.student_id AND other.course_id <> one.course_id
    JOIN slots AS theirs ON theirs.course_id = other.course_id
    WHERE one.ended_on IS NULL AND other.ended_on IS NULL
        AND mine.weekday = theirs.weekday AND mine.period = theirs.period
    UNION SELECT courses.teacher_id FROM slots JOIN courses ON courses.id = slots.course_id
    GROUP BY courses.teacher_id, weekday, period HAVING count(*) > 1
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worlds() -> AsyncIterator[Worlds]:
    async with open_worlds(WorldFolder(BUILTIN_PACKS / "school").scenario()) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def office(worlds: Worlds) -> AsyncIterator[Session]:
    session = await worlds.start("school")
    yield session
    await session.close()


async def refusal(office: Session, tool: str, /, **arguments: Any) -> str:
    kind, message = await fail(office, tool, **arguments)
    assert kind is FailureKind.TOOL_FAILED
    return message


async def results(office: Session, tool: str, /, **arguments: Any) -> list[Any]:
    return (await ask(office, tool, **arguments))["results"]


NEWCOMER = {"name": "Rhea Patel", "born_on": "2013-02-26"}
ILLNESS = {"reason": "illness", "first_day": "2026-03-11", "last_day": "2026-03-12"}

REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("enrol_student", {**NEWCOMER, "class_id": 301}, "8A is full: 13 of 13"),
    ("change_class", {"student_id": ALINA, "class_id": 301}, "is in 8A already"),
    ("change_class", {"student_id": ALINA, "class_id": 303}, "of year 9, not 8"),
    ("change_class", {"student_id": HAS_LEFT, "class_id": 302}, "has left the school"),
    ("withdraw_student", {"student_id": ALINA}, "end all enrolments first"),
    ("update_guardian", {"guardian_id": 501}, "Say what to change"),
    ("make_first_contact", {"contact_id": 601}, "is rung first about"),
    ("make_first_contact", {"contact_id": 607}, "may not be told anything"),
    ("enrol_in_course", {"course_id": 714, "student_id": ALINA}, "is for year 9"),
    ("enrol_in_course", {"course_id": MATHEMATICS, "student_id": ALINA}, "takes Mathematics 8A already"),
    ("enrol_in_course", {"course_id": MATHEMATICS, "student_id": 415}, "13 of 13 places are taken"),
    ("enrol_in_course", {"course_id": MUSIC, "student_id": ALINA}, "has History 8 on Monday in period 3"),
    ("enrol_in_course", {"course_id": 702, "student_id": 406}, "takes Mathematics 8A, the parallel course"),
    ("enrol_in_course", {"course_id": HISTORY, "student_id": 406}, "takes 6 courses, the most one may"),
    ("switch_course", {"enrolment_id": 801, "course_id": ENGLISH}, "no parallel course"),
    ("move_lesson", {"slot_id": 901}, "Say what to change"),
    ("move_lesson", {"slot_id": 901, "period": 5}, "there at that time already"),
    ("move_lesson", {"slot_id": 901, "room_id": 107}, "is taught in a classroom"),
    ("move_lesson", {"slot_id": 901, "period": 4}, "Room 12 has History 8 on Wednesday in period 4"),
    ("move_lesson", {"slot_id": 902, "period": 3}, "has English 8A on Tuesday in period 3"),
    ("change_teacher", {"course_id": MATHEMATICS, "teacher_id": 201}, "teaches Mathematics 8A already"),
    ("change_teacher", {"course_id": MATHEMATICS, "teacher_id": 203}, "teaches English, not Mathematics"),
    ("mark_attendance", {"student_id": ALINA, "mark": "late", "day": "2026-02-12"}, "marked late on"),
    ("mark_attendance", {"student_id": ALINA, "mark": "late", "day": "2026-02-15"}, "no school day"),
    ("mark_attendance", {"student_id": ALINA, "mark": "late", "day": "2026-02-10"}, "last four weeks"),
    ("mark_attendance", {"student_id": ALINA, "mark": "late", "day": "2026-03-12"}, "last four weeks"),
    ("mark_attendance", {"student_id": ALINA, "mark": "present"}, "present already"),
    ("add_note", {"student_id": ALINA, "guardian_id": 519, **ILLNESS}, "no guardian of Alina Novak"),
    ("add_note", {"student_id": ALINA, "guardian_id": 501, **ILLNESS, "last_day": "2026-03-25"}, "two weeks"),
    ("report_to_tutor", {"student_id": 416, "matter": "lateness"}, "to Owen Pryce on 2026-03-06 already"),
    (
        "add_assessment",
        {"course_id": MATHEMATICS, "title": "algebra Test", "held_on": "2026-03-17", "points": 20},
        "called",
    ),
    (
        "add_assessment",
        {"course_id": MATHEMATICS, "title": "Mock", "held_on": "2026-03-16", "points": 20},
        "no lesson on",
    ),
    ("set_grade", {"assessment_id": 1301, "student_id": ALINA, "points": 41}, "40 points at most"),
    ("set_grade", {"assessment_id": 1301, "student_id": OF_9A, "points": 20}, "does not take"),
]


@pytest.mark.parametrize(("tool", "arguments", "reason"), REFUSALS)
async def test_office_says_why_it_refuses(
    office: Session, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in await refusal(office, tool, **arguments)


async def test_email_address_belongs_to_one_guardian(office: Session) -> None:
    [first, *_] = await results(office, "list_contacts", student_id=ALINA)
    assert "already belongs" in await refusal(
        office, "update_guardian", guardian_id=519, email=first["email"].upper()
    )


async def test_switch_to_the_parallel_course_frees_a_place_and_takes_one(office: Session) -> None:
    await ask(office, "switch_course", enrolment_id=801, course_id=702)
    taken = {
        one["name"]: one["taken"] for one in await results(office, "list_courses", query="Mathematics 8")
    }
    assert taken == {"Mathematics 8A": 12, "Mathematics 8B": 14}
    assert "ended on 2026-03-11" in await refusal(office, "end_enrolment", enrolment_id=801)


async def test_who_leaves_ends_all_courses_first(office: Session) -> None:
    for one in await results(office, "list_enrolments", student_id=ALINA):
        await ask(office, "end_enrolment", enrolment_id=one["enrolment_id"])
    assert (await ask(office, "withdraw_student", student_id=ALINA))["status"] == "left"
    assert "has left the school" in await refusal(office, "mark_attendance", student_id=ALINA, mark="late")


async def test_accepted_note_excuses_the_absences_within_its_days(office: Session) -> None:
    [first, *_] = await results(office, "list_contacts", student_id=ALINA)
    days = {"first_day": "2026-02-12", "last_day": "2026-02-13"}
    note = await ask(
        office, "add_note", student_id=ALINA, guardian_id=first["guardian_id"], reason="illness", **days
    )
    assert "There is a note for 2026-02-12 to 2026-02-13" in await refusal(
        office, "add_note", student_id=ALINA, guardian_id=first["guardian_id"], reason="travel", **days
    )
    decided = await ask(office, "decide_note", note_id=note["note_id"], decision="accepted")
    assert decided["days_excused"] == 1
    marks = await results(office, "list_attendance", student_id=ALINA, first_day="2026-02-12")
    assert [(one["day"], one["mark"]) for one in marks] == [("2026-02-13", "excused"), ("2026-02-12", "late")]
    assert "accepted already" in await refusal(
        office, "decide_note", note_id=note["note_id"], decision="declined"
    )
    assert "marked excused" in await refusal(
        office, "mark_attendance", student_id=ALINA, mark="late", day="2026-02-13"
    )


async def test_one_guardian_is_rung_first(office: Session) -> None:
    contacts = await results(office, "list_contacts", student_id=ALINA)
    second = next(one for one in contacts if one["may_be_told"] and not one["is_first"])
    await ask(office, "make_first_contact", contact_id=second["contact_id"])
    contacts = await results(office, "list_contacts", student_id=ALINA)
    assert [one["guardian"] for one in contacts if one["is_first"]] == [second["guardian"]]


async def test_grade_is_corrected_but_not_to_what_it_is(office: Session) -> None:
    [grade, *_] = await results(office, "list_grades", assessment_id=1301)
    same = {name: grade[name] for name in ("assessment_id", "student_id", "points")}
    assert "already" in await refusal(office, "set_grade", **same)
    assert (await ask(office, "set_grade", **{**same, "points": 40}))["points"] == 40


async def test_test_to_come_has_no_grades_yet(office: Session) -> None:
    test = {"course_id": MATHEMATICS, "title": "Mock exam", "held_on": "2026-03-17", "points": 20}
    planned = await ask(office, "add_assessment", **test)
    assert "nothing to grade yet" in await refusal(
        office, "set_grade", assessment_id=planned["assessment_id"], student_id=ALINA, points=9
    )


async def test_nobody_has_to_be_in_two_places_at_once(office: Session) -> None:
    with closing(sqlite3.connect(await office.finish())) as school:
        assert school.execute(CLASHES).fetchall() == []
