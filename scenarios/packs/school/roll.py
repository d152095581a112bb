"""The school's rows: classes, courses and their timetable, families, attendance, notes and grades."""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from cast import ADULT_NAMES, FAMILIES, FIRST_NAMES, POLICY, ROOMS, TEACHERS, TITLES, TWINS_IN_NAME

Row = dict[str, Any]

TODAY = date(2026, 3, 11)
YEARS = (8, 9, 10)
_PER_CLASS = 13
MOST_COURSES = 6
_GROUPED = ("Mathematics", "English", "French", "Science")
_CHOSEN = ("History", "Geography", "Art", "Music", "Sport")
KIND_OF_ROOM = {"Science": "laboratory", "Art": "studio", "Music": "studio", "Sport": "gym"}
_TIMES = [(weekday, period) for weekday in range(1, 6) for period in range(1, 7)]
_TABLES = (
    *("rooms", "teachers", "classes", "students", "guardians", "contacts", "courses", "enrolments", "slots"),
    *("attendance", "notes", "reports", "assessments", "grades", "policy"),
)


class Roll:
    """All rows, table by table."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._tables: dict[str, list[Row]] = {table: [] for table in _TABLES}
        self._times: dict[int, list[tuple[int, int]]] = {}
        self._emails: set[str] = set()
        self._house()
        self._courses()
        self._students()
        self._limit_places()
        for course in self._tables["courses"]:
            self._assess(course)
        self._absences()

    def rows(self) -> Iterator[tuple[str, Row]]:
        for table, rows in self._tables.items():
            for row in rows:
                yield table, row

    # ------------------------------------------------------------ the house

    def _house(self) -> None:
        for name, kind, seats in ROOMS:
            self._add("rooms", name=name, kind=kind, seats=seats)
        for subject, name in TEACHERS:
            self._add("teachers", name=name, email=self._email(name, "larchfield"), subject=subject)
        tutors = [teacher["id"] for teacher in self._tables["teachers"]]
        self._rng.shuffle(tutors)
        for year in YEARS:
            for letter in "AB":
                self._add("classes", name=f"{year}{letter}", year=year, tutor_id=tutors.pop(), places=0)
        for section, text in POLICY:
            self._add("policy", section=section, text=text)

    # ------------------------------------------------------------ courses and their times

    def _courses(self) -> None:
        busy: set[tuple[str, int, tuple[int, int]]] = set()
        for year in YEARS:
            taken: list[tuple[int, int]] = []
            for subject in (*_GROUPED, *_CHOSEN):
                teachers = [one["id"] for one in self._tables["teachers"] if one["subject"] == subject]
                for letter in "AB" if subject in _GROUPED else ("",):
                    teacher = teachers["AB".index(letter)] if letter else teachers[0]
                    course = self._add(
                        "courses", name=f"{subject} {year}{letter}", subject=subject, year=year, teacher_id=teacher, places=0
                    )
                    self._schedule(course, taken, busy)

    def _schedule(
        self, course: Row, taken: list[tuple[int, int]], busy: set[tuple[str, int, tuple[int, int]]]
    ) -> None:
        """Two lessons a week, some on purpose at the times of others: then not all can be taken together."""
        kind = KIND_OF_ROOM.get(course["subject"], "classroom")
        rooms = [one for one in self._tables["rooms"] if one["kind"] == kind]
        times = [time for time in _TIMES if time not in taken]
        self._rng.shuffle(times)
        if course["subject"] in ("Music", "Sport"):
            times = taken[-6:] + times
        elif course["name"].endswith("B") and self._rng.random() < 0.4:
            times = taken[-2:] + times
        weekdays: set[int] = set()
        for time in times:
            free = [one for one in rooms if ("room", one["id"], time) not in busy]
            if free and ("teacher", course["teacher_id"], time) not in busy and time[0] not in weekdays:
                room = self._rng.choice(free)
                busy |= {("room", room["id"], time), ("teacher", course["teacher_id"], time)}
                weekdays.add(time[0])
                taken.append(time)
                self._times.setdefault(course["id"], []).append(time)
                self._add("slots", course_id=course["id"], room_id=room["id"], weekday=time[0], period=time[1])
            if len(weekdays) == 2:
                return

    # ------------------------------------------------------------ students and their families

    def _students(self) -> None:
        names = [(first, family) for first in FIRST_NAMES for family in FAMILIES]
        self._rng.shuffle(names)
        families: dict[str, list[int]] = {}
        twins = [*TWINS_IN_NAME, *TWINS_IN_NAME]
        for index, school_class in enumerate(self._tables["classes"]):
            for number in range(_PER_CLASS + self._rng.choice((0, 0, 1))):
                name = twins[index] if number == 5 else names.pop()
                while number != 5 and name in twins:
                    name = names.pop()
                self._student(name, school_class, families, has_left=number == 9)

    def _student(
        self, name: tuple[str, str], school_class: Row, families: dict[str, list[int]], *, has_left: bool
    ) -> None:
        first, family = name
        born = date(2025 - school_class["year"] - 5, 9, 1) + timedelta(days=self._rng.randrange(364))
        student = self._add(
            "students",
            name=f"{first} {family}",
            born_on=born,
            class_id=school_class["id"],
            status="left" if has_left else "enrolled",
        )
        shared = name not in TWINS_IN_NAME and family in families
        guardians = families[family] if shared else self._guardians(family)
        if name not in TWINS_IN_NAME:
            families[family] = guardians
        self._contacts(student, guardians)
        self._choose(student, school_class, ended=has_left)

    def _guardians(self, family: str) -> list[int]:
        found: list[int] = []
        for adult in self._rng.sample(ADULT_NAMES, self._rng.choice((2, 2, 2, 3))):
            name = f"{adult} {family if self._rng.random() < 0.8 else self._rng.choice(FAMILIES)}"
            phone = f"0{self._rng.randrange(1200, 1999)} {self._rng.randrange(100000, 999999)}"
            row = self._add("guardians", name=name, phone=phone, email=self._email(name, "homepost"))
            found.append(row["id"])
        return found

    def _contacts(self, student: Row, guardians: list[int]) -> None:
        relations = ("mother", "father", self._rng.choice(("grandparent", "aunt", "uncle", "carer")))
        for number, guardian in enumerate(guardians):
            told = number == 0 or self._rng.random() < 0.6
            self._add(
                "contacts",
                student_id=student["id"],
                guardian_id=guardian,
                relation=relations[number],
                may_be_told=told,
                is_first=number == 0,
            )

    def _choose(self, student: Row, school_class: Row, *, ended: bool) -> None:
        letter = school_class["name"][-1]
        courses = {one["name"]: one for one in self._tables["courses"] if one["year"] == school_class["year"]}
        year = school_class["year"]
        wanted = [f"{subject} {year}{letter}" for subject in ("Mathematics", "English", "Science")]
        options = [f"French {year}A", f"French {year}B", *(f"{subject} {year}" for subject in _CHOSEN)]
        self._rng.shuffle(options)
        most = self._rng.choice((5, 5, 5, MOST_COURSES))
        subjects: set[str] = set()
        times: set[tuple[int, int]] = set()
        for name in [*wanted, *options]:
            course = courses[name]
            if len(subjects) >= most or course["subject"] in subjects or times & set(self._times[course["id"]]):
                continue
            subjects.add(course["subject"])
            times |= set(self._times[course["id"]])
            since = date(2025, 9, self._rng.choice((1, 1, 1, 8, 15)))
            end = TODAY - timedelta(days=40) if ended else None
            self._add("enrolments", student_id=student["id"], course_id=course["id"], since=since, ended_on=end)

    def _limit_places(self) -> None:
        for school_class in self._tables["classes"]:
            heads = sum(
                one["class_id"] == school_class["id"] and one["status"] == "enrolled" for one in self._tables["students"]
            )
            school_class["places"] = heads + self._rng.choice((0, 1, 1, 3, 4))
        for course in self._tables["courses"]:
            course["places"] = max(8, len(self._in_course(course["id"])) + self._rng.choice((0, 1, 1, 2, 4)))

    def _in_course(self, course: int) -> list[int]:
        live = [one for one in self._tables["enrolments"] if one["course_id"] == course and one["ended_on"] is None]
        return [one["student_id"] for one in live]

    # ------------------------------------------------------------ grades and attendance

    def _assess(self, course: Row) -> None:
        titles = TITLES[course["subject"]]
        for title, weeks in ((titles[0], self._rng.randrange(6, 11)), (titles[1], self._rng.randrange(1, 4))):
            weekday = self._rng.choice(self._times[course["id"]])[0]
            held = TODAY - timedelta(days=TODAY.isoweekday() - weekday + 7 * weeks)
            points = self._rng.choice((20, 30, 40, 50))
            test = self._add("assessments", course_id=course["id"], title=title, held_on=held, points=points)
            self._grade(test, course, missing=self._rng.randrange(2, 5) if weeks < 4 else 0)

    def _grade(self, test: Row, course: Row, *, missing: int) -> None:
        students = self._in_course(course["id"])
        for student in students[: max(1, len(students) - missing)]:
            points = self._rng.randrange(test["points"] * 2 // 5, test["points"] + 1)
            self._add("grades", assessment_id=test["id"], student_id=student, points=points)

    def _absences(self) -> None:
        days = [TODAY - timedelta(days=back) for back in range(1, 60)]
        days = [day for day in days if day.isoweekday() <= 5]
        for student in self._tables["students"]:
            if student["status"] == "left":
                continue
            often = self._rng.random() < 0.3
            chosen = sorted(self._rng.sample(days, self._rng.randrange(4, 7) if often else self._rng.randrange(0, 4)))
            for day in chosen:
                mark = "late" if often else self._rng.choice(("late", "late", "absent"))
                self._add("attendance", student_id=student["id"], day=day, mark=mark)
            if often and self._rng.random() < 0.6:
                self._report(student, self._rng.choice((5, 12, 20, 35, 50)))
            if self._rng.random() < 0.4:
                self._illness(student, days[26:])
            if self._rng.random() < 0.55:
                self._illness(student, days[2:24])

    def _report(self, student: Row, age_days: int) -> None:
        [school_class] = [one for one in self._tables["classes"] if one["id"] == student["class_id"]]
        day = TODAY - timedelta(days=age_days)
        self._add(
            "reports", student_id=student["id"], tutor_id=school_class["tutor_id"], matter="lateness", reported_on=day
        )

    def _illness(self, student: Row, days: list[date]) -> None:
        """Days away, and most times a note about them."""
        first = self._rng.choice(days)
        known = {row["day"] for row in self._tables["attendance"] if row["student_id"] == student["id"]}
        away = [first + timedelta(days=more) for more in range(self._rng.choice((1, 1, 2, 2, 3, 4)))]
        away = [day for day in away if day.isoweekday() <= 5 and day < TODAY]
        if known & set(away):
            return
        status = "open" if first > TODAY - timedelta(days=20) else self._rng.choice(("accepted", "accepted", "declined"))
        for day in away:
            mark = "excused" if status == "accepted" else "absent"
            self._add("attendance", student_id=student["id"], day=day, mark=mark)
        if self._rng.random() < 0.9:
            contacts = [one for one in self._tables["contacts"] if one["student_id"] == student["id"]]
            self._add(
                "notes",
                student_id=student["id"],
                guardian_id=self._rng.choice(contacts)["guardian_id"],
                reason=self._rng.choice(("illness", "illness", "illness", "appointment", "family", "travel")),
                first_day=away[0],
                last_day=away[-1],
                handed_in=_school_day(away[-1] + timedelta(days=self._rng.choice((1, 2, 3, 4, 7, 9)))),
                status=status,
            )

    # ------------------------------------------------------------ rows

    def _email(self, name: str, host: str) -> str:
        plain = name.lower().replace(" ", ".").replace("'", "").replace("ö", "o")
        address, number = f"{plain}@{host}.example", 2
        while address in self._emails:
            address, number = f"{plain}{number}@{host}.example", number + 1
        self._emails.add(address)
        return address

    def _add(self, table: str, **row: Any) -> Row:
        rows = self._tables[table]
        first = 100 * (_TABLES.index(table) + 1) + 1
        added = {"id": rows[-1]["id"] + 1 if rows else first, **row}
        rows.append(added)
        return added


def _school_day(day: date) -> date:
    """The day itself or the Monday after, but no later than yesterday."""
    wait = 8 - day.isoweekday() if day.isoweekday() > 5 else 0
    return min(day + timedelta(days=wait), TODAY - timedelta(days=1))
