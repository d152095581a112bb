-- A secondary school. Dates are ISO texts; periods are numbered 1 to 6 on the weekdays 1 (Monday) to 5.

CREATE TABLE rooms (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE,
  kind  TEXT NOT NULL CHECK (kind IN ('classroom', 'laboratory', 'studio', 'gym')),
  seats INTEGER NOT NULL CHECK (seats > 0)
);

CREATE TABLE teachers (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  email   TEXT NOT NULL UNIQUE,
  subject TEXT NOT NULL
);

CREATE TABLE classes (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL UNIQUE,
  year     INTEGER NOT NULL CHECK (year BETWEEN 7 AND 12),
  tutor_id INTEGER NOT NULL UNIQUE REFERENCES teachers (id),
  places   INTEGER NOT NULL CHECK (places > 0)
);

CREATE TABLE students (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,
  born_on  TEXT NOT NULL,
  class_id INTEGER NOT NULL REFERENCES classes (id),
  status   TEXT NOT NULL CHECK (status IN ('enrolled', 'left'))
);
CREATE INDEX students_of_class ON students (class_id);

CREATE TABLE guardians (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL,
  phone TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE
);

CREATE TABLE contacts (
  id          INTEGER PRIMARY KEY,
  student_id  INTEGER NOT NULL REFERENCES students (id),
  guardian_id INTEGER NOT NULL REFERENCES guardians (id),
  relation    TEXT NOT NULL CHECK (relation IN ('mother', 'father', 'grandparent', 'aunt', 'uncle', 'carer')),
  may_be_told INTEGER NOT NULL CHECK (may_be_told IN (0, 1)),
  is_first    INTEGER NOT NULL CHECK (is_first IN (0, 1)),
  UNIQUE (student_id, guardian_id),
  CHECK (may_be_told = 1 OR is_first = 0)
);
CREATE UNIQUE INDEX one_first_contact ON contacts (student_id) WHERE is_first = 1;
CREATE INDEX contacts_of_guardian ON contacts (guardian_id);

CREATE TABLE courses (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  subject    TEXT NOT NULL,
  year       INTEGER NOT NULL CHECK (year BETWEEN 7 AND 12),
  teacher_id INTEGER NOT NULL REFERENCES teachers (id),
  places     INTEGER NOT NULL CHECK (places > 0)
);

CREATE TABLE enrolments (
  id         INTEGER PRIMARY KEY,
  student_id INTEGER NOT NULL REFERENCES students (id),
  course_id  INTEGER NOT NULL REFERENCES courses (id),
  since      TEXT NOT NULL,
  ended_on   TEXT
);
CREATE UNIQUE INDEX one_live_enrolment ON enrolments (student_id, course_id) WHERE ended_on IS NULL;
CREATE INDEX enrolments_in_course ON enrolments (course_id);

CREATE TABLE slots (
  id        INTEGER PRIMARY KEY,
  course_id INTEGER NOT NULL REFERENCES courses (id),
  room_id   INTEGER NOT NULL REFERENCES rooms (id),
  weekday   INTEGER NOT NULL CHECK (weekday BETWEEN 1 AND 5),
  period    INTEGER NOT NULL CHECK (period BETWEEN 1 AND 6),
  UNIQUE (room_id, weekday, period),
  UNIQUE (course_id, weekday, period)
);

CREATE TABLE attendance (
  id         INTEGER PRIMARY KEY,
  student_id INTEGER NOT NULL REFERENCES students (id),
  day        TEXT NOT NULL,
  mark       TEXT NOT NULL CHECK (mark IN ('absent', 'late', 'excused')),
  UNIQUE (student_id, day)
);

CREATE TABLE notes (
  id          INTEGER PRIMARY KEY,
  student_id  INTEGER NOT NULL REFERENCES students (id),
  guardian_id INTEGER NOT NULL REFERENCES guardians (id),
  reason      TEXT NOT NULL CHECK (reason IN ('illness', 'appointment', 'family', 'travel')),
  first_day   TEXT NOT NULL,
  last_day    TEXT NOT NULL CHECK (last_day >= first_day),
  handed_in   TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'declined'))
);
CREATE INDEX notes_of_student ON notes (student_id);

CREATE TABLE reports (
  id          INTEGER PRIMARY KEY,
  student_id  INTEGER NOT NULL REFERENCES students (id),
  tutor_id    INTEGER NOT NULL REFERENCES teachers (id),
  matter      TEXT NOT NULL CHECK (matter IN ('lateness', 'absences')),
  reported_on TEXT NOT NULL,
  UNIQUE (student_id, matter, reported_on)
);

CREATE TABLE assessments (
  id        INTEGER PRIMARY KEY,
  course_id INTEGER NOT NULL REFERENCES courses (id),
  title     TEXT NOT NULL,
  held_on   TEXT NOT NULL,
  points    INTEGER NOT NULL CHECK (points > 0),
  UNIQUE (course_id, title)
);

CREATE TABLE grades (
  id            INTEGER PRIMARY KEY,
  assessment_id INTEGER NOT NULL REFERENCES assessments (id),
  student_id    INTEGER NOT NULL REFERENCES students (id),
  points        INTEGER NOT NULL CHECK (points >= 0),
  UNIQUE (assessment_id, student_id)
);
CREATE INDEX grades_of_student ON grades (student_id);

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);
