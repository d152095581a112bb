-- A wholesaler's warehouses. Money is in cents, dates are ISO texts, quantities are whole units.

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);

CREATE TABLE sites (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  town TEXT NOT NULL
);

CREATE TABLE staff (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  role    TEXT NOT NULL CHECK (role IN ('clerk', 'supervisor', 'manager')),
  site_id INTEGER NOT NULL REFERENCES sites (id),
  UNIQUE (name, site_id)
);

CREATE TABLE bins (
  id       INTEGER PRIMARY KEY,
  site_id  INTEGER NOT NULL REFERENCES sites (id),
  code     TEXT NOT NULL UNIQUE,
  zone     TEXT NOT NULL CHECK (zone IN ('ambient', 'cold', 'hazardous', 'quarantine')),
  capacity INTEGER NOT NULL CHECK (capacity > 0)
);

CREATE TABLE suppliers (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE,
  email     TEXT NOT NULL UNIQUE,
  lead_days INTEGER NOT NULL CHECK (lead_days BETWEEN 1 AND 60),
  on_hold   INTEGER NOT NULL DEFAULT 0 CHECK (on_hold IN (0, 1))
);

CREATE TABLE items (
  id               INTEGER PRIMARY KEY,
  sku              TEXT NOT NULL UNIQUE,
  name             TEXT NOT NULL UNIQUE,
  storage          TEXT NOT NULL CHECK (storage IN ('ambient', 'cold', 'hazardous')),
  unit_cost_cents  INTEGER NOT NULL CHECK (unit_cost_cents > 0),
  reorder_point    INTEGER NOT NULL CHECK (reorder_point >= 0),
  reorder_quantity INTEGER NOT NULL CHECK (reorder_quantity > 0),
  supplier_id      INTEGER NOT NULL REFERENCES suppliers (id),
  discontinued     INTEGER NOT NULL DEFAULT 0 CHECK (discontinued IN (0, 1))
);

CREATE TABLE stock (
  id       INTEGER PRIMARY KEY,
  bin_id   INTEGER NOT NULL REFERENCES bins (id),
  item_id  INTEGER NOT NULL REFERENCES items (id),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  UNIQUE (bin_id, item_id)
);

CREATE TABLE purchase_orders (
  id          INTEGER PRIMARY KEY,
  number      TEXT NOT NULL UNIQUE,
  supplier_id INTEGER NOT NULL REFERENCES suppliers (id),
  site_id     INTEGER NOT NULL REFERENCES sites (id),
  status      TEXT NOT NULL CHECK (status IN ('draft', 'sent', 'received', 'cancelled')),
  created_on  TEXT NOT NULL,
  expected_on TEXT CHECK (expected_on >= created_on),
  CHECK ((status = 'draft') <= (expected_on IS NULL))
);

CREATE TABLE order_lines (
  id                INTEGER PRIMARY KEY,
  purchase_order_id INTEGER NOT NULL REFERENCES purchase_orders (id),
  item_id           INTEGER NOT NULL REFERENCES items (id),
  quantity          INTEGER NOT NULL CHECK (quantity > 0),
  received          INTEGER NOT NULL DEFAULT 0 CHECK (received BETWEEN 0 AND quantity),
  UNIQUE (purchase_order_id, item_id)
);

CREATE TABLE receipts (
  id            INTEGER PRIMARY KEY,
  order_line_id INTEGER NOT NULL REFERENCES order_lines (id),
  bin_id        INTEGER NOT NULL REFERENCES bins (id),
  quantity      INTEGER NOT NULL CHECK (quantity > 0),
  received_at   TEXT NOT NULL
);

CREATE TABLE transfers (
  id           INTEGER PRIMARY KEY,
  number       TEXT NOT NULL UNIQUE,
  item_id      INTEGER NOT NULL REFERENCES items (id),
  quantity     INTEGER NOT NULL CHECK (quantity > 0),
  from_bin_id  INTEGER NOT NULL REFERENCES bins (id),
  to_site_id   INTEGER NOT NULL REFERENCES sites (id),
  status       TEXT NOT NULL CHECK (status IN ('requested', 'in_transit', 'completed', 'cancelled')),
  requested_on TEXT NOT NULL
);

CREATE TABLE customer_orders (
  id       INTEGER PRIMARY KEY,
  number   TEXT NOT NULL UNIQUE,
  customer TEXT NOT NULL,
  site_id  INTEGER NOT NULL REFERENCES sites (id),
  due_on   TEXT NOT NULL,
  status   TEXT NOT NULL CHECK (status IN ('open', 'on_hold', 'shipped', 'cancelled'))
);

CREATE TABLE pick_lines (
  id                INTEGER PRIMARY KEY,
  customer_order_id INTEGER NOT NULL REFERENCES customer_orders (id),
  item_id           INTEGER NOT NULL REFERENCES items (id),
  quantity          INTEGER NOT NULL CHECK (quantity > 0),
  picked            INTEGER NOT NULL DEFAULT 0 CHECK (picked BETWEEN 0 AND quantity),
  UNIQUE (customer_order_id, item_id)
);

CREATE TABLE counts (
  id            INTEGER PRIMARY KEY,
  bin_id        INTEGER NOT NULL REFERENCES bins (id),
  item_id       INTEGER NOT NULL REFERENCES items (id),
  booked        INTEGER NOT NULL CHECK (booked >= 0),
  counted       INTEGER NOT NULL CHECK (counted >= 0),
  counted_by_id INTEGER NOT NULL REFERENCES staff (id),
  counted_on    TEXT NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'rejected'))
);
CREATE UNIQUE INDEX one_open_count_per_bin_and_item ON counts (bin_id, item_id) WHERE status = 'open';

CREATE TABLE write_offs (
  id              INTEGER PRIMARY KEY,
  number          TEXT NOT NULL UNIQUE,
  bin_id          INTEGER NOT NULL REFERENCES bins (id),
  item_id         INTEGER NOT NULL REFERENCES items (id),
  quantity        INTEGER NOT NULL CHECK (quantity > 0),
  reason          TEXT NOT NULL CHECK (reason IN ('damaged', 'expired', 'lost')),
  value_cents     INTEGER NOT NULL CHECK (value_cents > 0),
  requested_by_id INTEGER NOT NULL REFERENCES staff (id),
  approved_by_id  INTEGER REFERENCES staff (id),
  status          TEXT NOT NULL CHECK (status IN ('requested', 'approved', 'rejected')),
  requested_on    TEXT NOT NULL,
  CHECK ((status = 'approved') = (approved_by_id IS NOT NULL)),
  CHECK (approved_by_id <> requested_by_id)
);
