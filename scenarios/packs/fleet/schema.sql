-- A haulage company. Money is in cents, distances are kilometres, days and times are ISO texts in UTC.

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);

CREATE TABLE depots (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL UNIQUE,
  town     TEXT NOT NULL,
  capacity INTEGER NOT NULL CHECK (capacity > 0)
);

CREATE TABLE vehicles (
  id              INTEGER PRIMARY KEY,
  plate           TEXT NOT NULL UNIQUE,
  model           TEXT NOT NULL,
  category        TEXT NOT NULL CHECK (category IN ('B', 'C1', 'C', 'CE')),
  payload_kg      INTEGER NOT NULL CHECK (payload_kg > 0),
  depot_id        INTEGER NOT NULL REFERENCES depots (id),
  status          TEXT NOT NULL CHECK (status IN ('available', 'on_trip', 'in_workshop', 'retired')),
  odometer_km     INTEGER NOT NULL CHECK (odometer_km >= 0),
  serviced_at_km  INTEGER NOT NULL CHECK (serviced_at_km BETWEEN 0 AND odometer_km),
  inspected_until TEXT NOT NULL
);

CREATE TABLE drivers (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,
  badge    TEXT NOT NULL UNIQUE,
  phone    TEXT NOT NULL UNIQUE,
  depot_id INTEGER NOT NULL REFERENCES depots (id),
  status   TEXT NOT NULL CHECK (status IN ('active', 'off_sick', 'suspended', 'left'))
);

CREATE TABLE licences (
  id         INTEGER PRIMARY KEY,
  driver_id  INTEGER NOT NULL REFERENCES drivers (id),
  category   TEXT NOT NULL CHECK (category IN ('B', 'C1', 'C', 'CE')),
  expires_on TEXT NOT NULL,
  UNIQUE (driver_id, category)
);

CREATE TABLE trips (
  id          INTEGER PRIMARY KEY,
  number      TEXT NOT NULL UNIQUE,
  customer    TEXT NOT NULL,
  depot_id    INTEGER NOT NULL REFERENCES depots (id),
  destination TEXT NOT NULL,
  distance_km INTEGER NOT NULL CHECK (distance_km > 0),
  load_kg     INTEGER NOT NULL CHECK (load_kg > 0),
  starts_at   TEXT NOT NULL,
  ends_at     TEXT NOT NULL CHECK (ends_at > starts_at),
  vehicle_id  INTEGER REFERENCES vehicles (id),
  driver_id   INTEGER REFERENCES drivers (id),
  status      TEXT NOT NULL CHECK (status IN ('planned', 'under_way', 'done', 'cancelled')),
  CHECK (status NOT IN ('under_way', 'done') OR (vehicle_id IS NOT NULL AND driver_id IS NOT NULL))
);

CREATE TABLE maintenance (
  id          INTEGER PRIMARY KEY,
  number      TEXT NOT NULL UNIQUE,
  vehicle_id  INTEGER NOT NULL REFERENCES vehicles (id),
  kind        TEXT NOT NULL CHECK (kind IN ('service', 'inspection', 'repair')),
  fault       TEXT CHECK (fault IN ('brakes', 'engine', 'tyres', 'electrics', 'bodywork', 'tail_lift')),
  planned_on  TEXT NOT NULL,
  finished_on TEXT,
  cost_cents  INTEGER CHECK (cost_cents >= 0),
  status      TEXT NOT NULL CHECK (status IN ('planned', 'in_progress', 'finished', 'cancelled')),
  CHECK ((kind = 'repair') = (fault IS NOT NULL)),
  CHECK ((status = 'finished') = (finished_on IS NOT NULL)),
  CHECK ((status = 'finished') = (cost_cents IS NOT NULL))
);
CREATE UNIQUE INDEX one_open_order_per_vehicle_and_kind ON maintenance (vehicle_id, kind)
  WHERE status IN ('planned', 'in_progress');

CREATE TABLE fuel (
  id          INTEGER PRIMARY KEY,
  vehicle_id  INTEGER NOT NULL REFERENCES vehicles (id),
  driver_id   INTEGER NOT NULL REFERENCES drivers (id),
  filled_on   TEXT NOT NULL,
  litres      INTEGER NOT NULL CHECK (litres > 0),
  cost_cents  INTEGER NOT NULL CHECK (cost_cents > 0),
  odometer_km INTEGER NOT NULL CHECK (odometer_km >= 0),
  UNIQUE (vehicle_id, odometer_km)
);

CREATE TABLE incidents (
  id           INTEGER PRIMARY KEY,
  number       TEXT NOT NULL UNIQUE,
  vehicle_id   INTEGER NOT NULL REFERENCES vehicles (id),
  driver_id    INTEGER NOT NULL REFERENCES drivers (id),
  happened_on  TEXT NOT NULL,
  kind         TEXT NOT NULL CHECK (kind IN ('scratch', 'collision', 'breakdown', 'fine')),
  cost_cents   INTEGER NOT NULL CHECK (cost_cents > 0),
  status       TEXT NOT NULL CHECK (status IN ('open', 'insurer', 'closed')),
  outcome      TEXT CHECK (outcome IN ('company_pays', 'driver_pays', 'insurer_pays')),
  CHECK ((status = 'closed') = (outcome IS NOT NULL))
);
