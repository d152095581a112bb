-- An events organiser. Money is in cents, days are ISO texts, times of day are HH:MM.

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);

CREATE TABLE venues (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL UNIQUE,
  street   TEXT NOT NULL,
  district TEXT NOT NULL
);

CREATE TABLE rooms (
  id       INTEGER PRIMARY KEY,
  venue_id INTEGER NOT NULL REFERENCES venues (id),
  name     TEXT NOT NULL,
  seats    INTEGER NOT NULL CHECK (seats > 0),
  UNIQUE (venue_id, name)
);

CREATE TABLE events (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE,
  venue_id  INTEGER NOT NULL REFERENCES venues (id),
  first_day TEXT NOT NULL,
  last_day  TEXT NOT NULL CHECK (last_day >= first_day),
  capacity  INTEGER NOT NULL CHECK (capacity > 0),
  status    TEXT NOT NULL CHECK (status IN ('planned', 'on_sale', 'closed', 'cancelled', 'over'))
);

CREATE TABLE ticket_types (
  id          INTEGER PRIMARY KEY,
  event_id    INTEGER NOT NULL REFERENCES events (id),
  name        TEXT NOT NULL,
  price_cents INTEGER NOT NULL CHECK (price_cents >= 0),
  quota       INTEGER NOT NULL CHECK (quota >= 0),
  sales_end   TEXT NOT NULL,
  UNIQUE (event_id, name),
  CHECK ((price_cents = 0) = (name = 'Complimentary'))
);

CREATE TABLE attendees (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL,
  email        TEXT NOT NULL UNIQUE,
  town         TEXT NOT NULL,
  organisation TEXT,
  kind         TEXT NOT NULL CHECK (kind IN ('regular', 'member', 'student', 'press'))
);

CREATE TABLE speakers (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE,
  email     TEXT NOT NULL UNIQUE,
  subject   TEXT NOT NULL,
  fee_cents INTEGER NOT NULL CHECK (fee_cents >= 0)
);

CREATE TABLE sessions (
  id       INTEGER PRIMARY KEY,
  event_id INTEGER NOT NULL REFERENCES events (id),
  room_id  INTEGER NOT NULL REFERENCES rooms (id),
  title    TEXT NOT NULL,
  day      TEXT NOT NULL,
  starts   TEXT NOT NULL,
  ends     TEXT NOT NULL CHECK (ends > starts),
  expected INTEGER NOT NULL CHECK (expected > 0),
  status   TEXT NOT NULL DEFAULT 'scheduled' CHECK (status IN ('scheduled', 'cancelled')),
  UNIQUE (event_id, title)
);
CREATE INDEX sessions_of_a_room ON sessions (room_id, day);

CREATE TABLE session_speakers (
  id         INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  speaker_id INTEGER NOT NULL REFERENCES speakers (id),
  UNIQUE (session_id, speaker_id)
);
CREATE INDEX sessions_of_a_speaker ON session_speakers (speaker_id);

CREATE TABLE sponsors (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL
);

CREATE TABLE sponsorships (
  id           INTEGER PRIMARY KEY,
  sponsor_id   INTEGER NOT NULL REFERENCES sponsors (id),
  event_id     INTEGER NOT NULL REFERENCES events (id),
  level        TEXT NOT NULL CHECK (level IN ('gold', 'silver', 'bronze')),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  status       TEXT NOT NULL DEFAULT 'pledged' CHECK (status IN ('pledged', 'paid', 'withdrawn'))
);
CREATE UNIQUE INDEX one_live_sponsorship_per_event ON sponsorships (event_id, sponsor_id) WHERE status <> 'withdrawn';

CREATE TABLE orders (
  id        INTEGER PRIMARY KEY,
  buyer_id  INTEGER NOT NULL REFERENCES attendees (id),
  event_id  INTEGER NOT NULL REFERENCES events (id),
  placed_on TEXT NOT NULL,
  status    TEXT NOT NULL DEFAULT 'unpaid' CHECK (status IN ('unpaid', 'paid', 'cancelled')),
  method    TEXT CHECK (method IN ('card', 'transfer', 'cash')),
  CHECK ((status = 'paid') = (method IS NOT NULL))
);
CREATE INDEX orders_of_a_buyer ON orders (buyer_id);

CREATE TABLE tickets (
  id             INTEGER PRIMARY KEY,
  ticket_type_id INTEGER NOT NULL REFERENCES ticket_types (id),
  holder_id      INTEGER NOT NULL REFERENCES attendees (id),
  order_id       INTEGER REFERENCES orders (id),
  sponsorship_id INTEGER REFERENCES sponsorships (id),
  price_cents    INTEGER NOT NULL CHECK (price_cents >= 0),
  status         TEXT NOT NULL DEFAULT 'valid' CHECK (status IN ('valid', 'refunded', 'cancelled')),
  CHECK ((order_id IS NULL) = (price_cents = 0)),
  CHECK (sponsorship_id IS NULL OR order_id IS NULL)
);
CREATE INDEX tickets_of_a_type ON tickets (ticket_type_id);
CREATE INDEX tickets_of_a_holder ON tickets (holder_id);
CREATE INDEX tickets_of_an_order ON tickets (order_id);

CREATE TABLE transfers (
  id               INTEGER PRIMARY KEY,
  ticket_id        INTEGER NOT NULL UNIQUE REFERENCES tickets (id),
  from_attendee_id INTEGER NOT NULL REFERENCES attendees (id),
  to_attendee_id   INTEGER NOT NULL REFERENCES attendees (id) CHECK (to_attendee_id <> from_attendee_id),
  fee_cents        INTEGER NOT NULL CHECK (fee_cents >= 0),
  transferred_on   TEXT NOT NULL
);

CREATE TABLE refunds (
  id           INTEGER PRIMARY KEY,
  ticket_id    INTEGER NOT NULL UNIQUE REFERENCES tickets (id),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  refunded_on  TEXT NOT NULL
);

CREATE TABLE waiting_list (
  id             INTEGER PRIMARY KEY,
  ticket_type_id INTEGER NOT NULL REFERENCES ticket_types (id),
  attendee_id    INTEGER NOT NULL REFERENCES attendees (id),
  joined_on      TEXT NOT NULL,
  status         TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'offered', 'served', 'lapsed', 'left')),
  offered_on     TEXT,
  CHECK (status <> 'offered' OR offered_on IS NOT NULL)
);
CREATE UNIQUE INDEX nobody_waits_twice ON waiting_list (ticket_type_id, attendee_id) WHERE status IN ('waiting', 'offered');

CREATE TABLE check_ins (
  id            INTEGER PRIMARY KEY,
  ticket_id     INTEGER NOT NULL REFERENCES tickets (id),
  day           TEXT NOT NULL,
  checked_in_at TEXT NOT NULL,
  UNIQUE (ticket_id, day)
);
