-- An online shop's back office. Money is in cents, dates are ISO texts, times are UTC.

CREATE TABLE customers (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL,
  email        TEXT NOT NULL UNIQUE,
  tier         TEXT NOT NULL CHECK (tier IN ('regular', 'gold')),
  credit_cents INTEGER NOT NULL DEFAULT 0 CHECK (credit_cents >= 0),
  joined_on    TEXT NOT NULL
);

CREATE TABLE addresses (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  label       TEXT NOT NULL,
  street      TEXT NOT NULL,
  city        TEXT NOT NULL,
  postcode    TEXT NOT NULL,
  UNIQUE (customer_id, label)
);

CREATE TABLE suppliers (
  id               INTEGER PRIMARY KEY,
  name             TEXT NOT NULL UNIQUE,
  lead_days        INTEGER NOT NULL CHECK (lead_days > 0),
  minimum_quantity INTEGER NOT NULL CHECK (minimum_quantity > 0)
);

CREATE TABLE products (
  id            INTEGER PRIMARY KEY,
  sku           TEXT NOT NULL UNIQUE,
  name          TEXT NOT NULL UNIQUE,
  category      TEXT NOT NULL CHECK (category IN ('tents', 'sleeping', 'cooking', 'lights', 'clothing', 'packs')),
  supplier_id   INTEGER NOT NULL REFERENCES suppliers (id),
  price_cents   INTEGER NOT NULL CHECK (price_cents > 0),
  on_hand       INTEGER NOT NULL CHECK (on_hand >= 0),
  reorder_level INTEGER NOT NULL CHECK (reorder_level >= 0),
  status        TEXT NOT NULL CHECK (status IN ('active', 'discontinued'))
);

CREATE TABLE coupons (
  id                 INTEGER PRIMARY KEY,
  code               TEXT NOT NULL UNIQUE,
  percent_off        INTEGER NOT NULL CHECK (percent_off BETWEEN 1 AND 90),
  min_subtotal_cents INTEGER NOT NULL DEFAULT 0,
  gold_only          INTEGER NOT NULL DEFAULT 0 CHECK (gold_only IN (0, 1)),
  starts_on          TEXT NOT NULL,
  ends_on            TEXT NOT NULL CHECK (ends_on >= starts_on)
);

CREATE TABLE orders (
  id           INTEGER PRIMARY KEY,
  customer_id  INTEGER NOT NULL REFERENCES customers (id),
  address_id   INTEGER NOT NULL REFERENCES addresses (id),
  coupon_id    INTEGER REFERENCES coupons (id),
  shipping     TEXT NOT NULL CHECK (shipping IN ('standard', 'express')),
  status       TEXT NOT NULL CHECK (status IN ('placed', 'shipped', 'delivered', 'cancelled')),
  placed_on    TEXT NOT NULL,
  shipped_on   TEXT CHECK (shipped_on >= placed_on),
  delivered_on TEXT CHECK (delivered_on >= shipped_on),
  updated_at   TEXT NOT NULL,
  CHECK ((status IN ('shipped', 'delivered')) = (shipped_on IS NOT NULL)),
  CHECK ((status = 'delivered') = (delivered_on IS NOT NULL))
);

CREATE TABLE order_items (
  id               INTEGER PRIMARY KEY,
  order_id         INTEGER NOT NULL REFERENCES orders (id),
  product_id       INTEGER NOT NULL REFERENCES products (id),
  quantity         INTEGER NOT NULL CHECK (quantity > 0),
  unit_price_cents INTEGER NOT NULL CHECK (unit_price_cents > 0),
  UNIQUE (order_id, product_id)
);

CREATE TABLE returns (
  id            INTEGER PRIMARY KEY,
  order_item_id INTEGER NOT NULL REFERENCES order_items (id),
  quantity      INTEGER NOT NULL CHECK (quantity > 0),
  reason        TEXT NOT NULL CHECK (reason IN ('damaged', 'wrong_item', 'changed_mind')),
  status        TEXT NOT NULL CHECK (status IN ('requested', 'approved', 'rejected', 'refunded')),
  requested_on  TEXT NOT NULL
);

CREATE TABLE refunds (
  id           INTEGER PRIMARY KEY,
  return_id    INTEGER NOT NULL UNIQUE REFERENCES returns (id),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  method       TEXT NOT NULL CHECK (method IN ('card', 'store_credit')),
  issued_on    TEXT NOT NULL
);

CREATE TABLE purchase_orders (
  id          INTEGER PRIMARY KEY,
  product_id  INTEGER NOT NULL REFERENCES products (id),
  quantity    INTEGER NOT NULL CHECK (quantity > 0),
  status      TEXT NOT NULL CHECK (status IN ('open', 'received', 'cancelled')),
  ordered_on  TEXT NOT NULL,
  expected_on TEXT NOT NULL CHECK (expected_on > ordered_on)
);
CREATE UNIQUE INDEX one_open_purchase_order_per_product ON purchase_orders (product_id) WHERE status = 'open';

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);
