-- A hotel. Money is in cents, days are ISO texts, times are UTC. A stay covers the nights from arrival up to, not including, departure.

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);

CREATE TABLE seasons (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL,
  first_day    TEXT NOT NULL UNIQUE,
  last_day     TEXT NOT NULL CHECK (last_day >= first_day),
  rate_percent INTEGER NOT NULL CHECK (rate_percent BETWEEN 10 AND 300)
);

CREATE TABLE room_types (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  category   INTEGER NOT NULL UNIQUE CHECK (category > 0),
  sleeps     INTEGER NOT NULL CHECK (sleeps > 0),
  rate_cents INTEGER NOT NULL CHECK (rate_cents > 0)
);

CREATE TABLE rooms (
  id           INTEGER PRIMARY KEY,
  number       TEXT NOT NULL UNIQUE,
  floor        INTEGER NOT NULL CHECK (floor BETWEEN 1 AND 4),
  room_type_id INTEGER NOT NULL REFERENCES room_types (id),
  view         TEXT NOT NULL CHECK (view IN ('sea', 'garden', 'street')),
  condition    TEXT NOT NULL CHECK (condition IN ('clean', 'dirty'))
);

CREATE TABLE guests (
  id     INTEGER PRIMARY KEY,
  name   TEXT NOT NULL,
  email  TEXT NOT NULL UNIQUE,
  phone  TEXT NOT NULL,
  town   TEXT NOT NULL,
  level  TEXT NOT NULL DEFAULT 'none' CHECK (level IN ('none', 'silver', 'gold')),
  barred INTEGER NOT NULL DEFAULT 0 CHECK (barred IN (0, 1))
);

CREATE TABLE bookings (
  id             INTEGER PRIMARY KEY,
  reference      TEXT NOT NULL UNIQUE,
  guest_id       INTEGER NOT NULL REFERENCES guests (id),
  room_id        INTEGER NOT NULL REFERENCES rooms (id),
  arrival        TEXT NOT NULL,
  departure      TEXT NOT NULL CHECK (departure > arrival),
  persons        INTEGER NOT NULL CHECK (persons > 0),
  breakfast      INTEGER NOT NULL CHECK (breakfast IN (0, 1)),
  room_cents     INTEGER NOT NULL CHECK (room_cents >= 0),
  status         TEXT NOT NULL CHECK (status IN ('booked', 'in_house', 'departed', 'cancelled', 'no_show')),
  late_until     TEXT CHECK (late_until IN ('13:00', '16:00')),
  booked_on      TEXT NOT NULL,
  checked_in_at  TEXT,
  checked_out_at TEXT,
  CHECK ((checked_in_at IS NOT NULL) = (status IN ('in_house', 'departed'))),
  CHECK ((checked_out_at IS NOT NULL) = (status = 'departed'))
);
CREATE INDEX bookings_of_a_room ON bookings (room_id, arrival);
CREATE INDEX bookings_of_a_guest ON bookings (guest_id);

CREATE TABLE charges (
  id           INTEGER PRIMARY KEY,
  booking_id   INTEGER NOT NULL REFERENCES bookings (id),
  kind         TEXT NOT NULL CHECK (kind IN ('minibar', 'restaurant', 'laundry', 'parking', 'damage',
                                             'late_checkout', 'cancellation', 'credit')),
  description  TEXT NOT NULL,
  amount_cents INTEGER NOT NULL CHECK ((amount_cents < 0) = (kind = 'credit')),
  charged_on   TEXT NOT NULL,
  void         INTEGER NOT NULL DEFAULT 0 CHECK (void IN (0, 1))
);
CREATE INDEX charges_of_a_booking ON charges (booking_id);

CREATE TABLE payments (
  id           INTEGER PRIMARY KEY,
  booking_id   INTEGER NOT NULL REFERENCES bookings (id),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  method       TEXT NOT NULL CHECK (method IN ('card', 'cash', 'transfer')),
  paid_on      TEXT NOT NULL
);
CREATE INDEX payments_of_a_booking ON payments (booking_id);

CREATE TABLE staff (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE,
  role  TEXT NOT NULL CHECK (role IN ('housekeeper', 'porter', 'clerk')),
  floor INTEGER CHECK (floor BETWEEN 1 AND 4)
);

CREATE TABLE cleanings (
  id       INTEGER PRIMARY KEY,
  room_id  INTEGER NOT NULL REFERENCES rooms (id),
  staff_id INTEGER REFERENCES staff (id),
  day      TEXT NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('departure', 'stayover', 'deep')),
  status   TEXT NOT NULL CHECK (status IN ('open', 'done'))
);
CREATE UNIQUE INDEX one_open_cleaning_per_room_and_day ON cleanings (room_id, day) WHERE status = 'open';

CREATE TABLE repairs (
  id        INTEGER PRIMARY KEY,
  room_id   INTEGER NOT NULL REFERENCES rooms (id),
  issue     TEXT NOT NULL,
  first_day TEXT NOT NULL,
  last_day  TEXT NOT NULL CHECK (last_day >= first_day),
  status    TEXT NOT NULL CHECK (status IN ('open', 'done'))
);
