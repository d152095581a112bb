-- A clinic's front desk. Money is in cents, days are ISO texts, times of day are HH:MM on the quarter hour.

CREATE TABLE practitioners (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL CHECK (role IN ('doctor', 'nurse', 'physiotherapist'))
);

CREATE TABLE services (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE,
  minutes   INTEGER NOT NULL CHECK (minutes > 0 AND minutes % 15 = 0),
  room_kind TEXT NOT NULL CHECK (room_kind IN ('consulting', 'treatment', 'gym'))
);

CREATE TABLE offers (
  id              INTEGER PRIMARY KEY,
  practitioner_id INTEGER NOT NULL REFERENCES practitioners (id),
  service_id      INTEGER NOT NULL REFERENCES services (id),
  UNIQUE (practitioner_id, service_id)
);

CREATE TABLE rooms (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('consulting', 'treatment', 'gym'))
);

CREATE TABLE shifts (
  id              INTEGER PRIMARY KEY,
  practitioner_id INTEGER NOT NULL REFERENCES practitioners (id),
  weekday         INTEGER NOT NULL CHECK (weekday BETWEEN 0 AND 6), -- 0 is Monday
  starts          TEXT NOT NULL,
  ends            TEXT NOT NULL CHECK (ends > starts)
);

CREATE TABLE time_off (
  id              INTEGER PRIMARY KEY,
  practitioner_id INTEGER NOT NULL REFERENCES practitioners (id),
  first_day       TEXT NOT NULL,
  last_day        TEXT NOT NULL CHECK (last_day >= first_day),
  reason          TEXT NOT NULL CHECK (reason IN ('holiday', 'illness', 'training'))
);

CREATE TABLE patients (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  born_on   TEXT NOT NULL,
  phone     TEXT NOT NULL,
  doctor_id INTEGER NOT NULL REFERENCES practitioners (id),
  status    TEXT NOT NULL CHECK (status IN ('active', 'moved_away')),
  UNIQUE (name, born_on)
);

CREATE TABLE allergies (
  id         INTEGER PRIMARY KEY,
  patient_id INTEGER NOT NULL REFERENCES patients (id),
  substance  TEXT NOT NULL CHECK (substance IN ('penicillin', 'aspirin', 'codeine', 'sulfonamide', 'latex')),
  UNIQUE (patient_id, substance)
);

CREATE TABLE appointments (
  id              INTEGER PRIMARY KEY,
  patient_id      INTEGER NOT NULL REFERENCES patients (id),
  practitioner_id INTEGER NOT NULL REFERENCES practitioners (id),
  service_id      INTEGER NOT NULL REFERENCES services (id),
  room_id         INTEGER NOT NULL REFERENCES rooms (id),
  day             TEXT NOT NULL,
  starts          TEXT NOT NULL,
  ends            TEXT NOT NULL CHECK (ends > starts),
  status          TEXT NOT NULL CHECK (status IN ('booked', 'completed', 'cancelled', 'no_show')),
  cancelled_by    TEXT CHECK (cancelled_by IN ('patient', 'clinic')),
  booked_at       TEXT NOT NULL,
  CHECK ((status = 'cancelled') = (cancelled_by IS NOT NULL))
);

CREATE TABLE fees (
  id             INTEGER PRIMARY KEY,
  appointment_id INTEGER NOT NULL UNIQUE REFERENCES appointments (id),
  reason         TEXT NOT NULL CHECK (reason IN ('late_cancellation', 'no_show')),
  amount_cents   INTEGER NOT NULL CHECK (amount_cents > 0),
  status         TEXT NOT NULL CHECK (status IN ('open', 'paid', 'waived')),
  issued_on      TEXT NOT NULL,
  settled_on     TEXT,
  CHECK ((status = 'open') = (settled_on IS NULL))
);

CREATE TABLE waiting_list (
  id              INTEGER PRIMARY KEY,
  patient_id      INTEGER NOT NULL REFERENCES patients (id),
  service_id      INTEGER NOT NULL REFERENCES services (id),
  practitioner_id INTEGER REFERENCES practitioners (id), -- NULL: anyone will do
  status          TEXT NOT NULL CHECK (status IN ('waiting', 'booked', 'left')),
  added_on        TEXT NOT NULL
);
CREATE UNIQUE INDEX one_wait_per_patient_and_service ON waiting_list (patient_id, service_id)
  WHERE status = 'waiting';

CREATE TABLE medicines (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  strength  TEXT NOT NULL,
  substance TEXT CHECK (substance IN ('penicillin', 'aspirin', 'codeine', 'sulfonamide')), -- what people react to
  UNIQUE (name, strength)
);

CREATE TABLE prescriptions (
  id              INTEGER PRIMARY KEY,
  patient_id      INTEGER NOT NULL REFERENCES patients (id),
  practitioner_id INTEGER NOT NULL REFERENCES practitioners (id),
  medicine_id     INTEGER NOT NULL REFERENCES medicines (id),
  repeats_left    INTEGER NOT NULL CHECK (repeats_left >= 0),
  issued_on       TEXT NOT NULL,
  expires_on      TEXT NOT NULL CHECK (expires_on > issued_on),
  status          TEXT NOT NULL CHECK (status IN ('active', 'stopped'))
);
CREATE UNIQUE INDEX one_active_prescription_per_medicine ON prescriptions (patient_id, medicine_id)
  WHERE status = 'active';

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);
