-- A retail bank. Money is in cents, dates are ISO texts, times are UTC.
-- An account's balance is the sum of its entries; the entries of each transaction add up to nothing.

CREATE TABLE customers (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  email     TEXT NOT NULL UNIQUE,
  phone     TEXT NOT NULL,
  town      TEXT NOT NULL,
  tier      TEXT NOT NULL CHECK (tier IN ('basic', 'plus')),
  joined_on TEXT NOT NULL,
  moved_on  TEXT
);

CREATE TABLE accounts (
  id              INTEGER PRIMARY KEY,
  customer_id     INTEGER REFERENCES customers (id),
  number          TEXT NOT NULL UNIQUE,
  kind            TEXT NOT NULL CHECK (kind IN ('current', 'savings', 'house')),
  status          TEXT NOT NULL CHECK (status IN ('open', 'closed')),
  overdraft_cents INTEGER NOT NULL DEFAULT 0 CHECK (overdraft_cents >= 0),
  opened_on       TEXT NOT NULL,
  closed_on       TEXT,
  CHECK ((kind = 'house') = (customer_id IS NULL)),
  CHECK ((status = 'closed') = (closed_on IS NOT NULL)),
  CHECK (overdraft_cents = 0 OR kind = 'current')
);
CREATE INDEX accounts_of_customer ON accounts (customer_id);

CREATE TABLE cards (
  id          INTEGER PRIMARY KEY,
  account_id  INTEGER NOT NULL REFERENCES accounts (id),
  digits      TEXT NOT NULL UNIQUE CHECK (length(digits) = 4),
  status      TEXT NOT NULL CHECK (status IN ('active', 'frozen', 'blocked', 'expired')),
  blocked_for TEXT CHECK (blocked_for IN ('lost', 'stolen', 'damaged', 'misused', 'not_needed')),
  limit_cents INTEGER NOT NULL CHECK (limit_cents > 0),
  issued_on   TEXT NOT NULL,
  expires_on  TEXT NOT NULL CHECK (expires_on > issued_on),
  replaces_id INTEGER UNIQUE REFERENCES cards (id),
  CHECK ((status = 'blocked') = (blocked_for IS NOT NULL))
);
CREATE INDEX cards_of_account ON cards (account_id);

CREATE TABLE payees (
  id             INTEGER PRIMARY KEY,
  customer_id    INTEGER NOT NULL REFERENCES customers (id),
  name           TEXT NOT NULL,
  account_number TEXT NOT NULL,
  added_on       TEXT NOT NULL,
  UNIQUE (customer_id, account_number)
);

CREATE TABLE transactions (
  id          INTEGER PRIMARY KEY,
  kind        TEXT NOT NULL CHECK (
    kind IN ('deposit', 'salary', 'card', 'transfer', 'payment', 'standing_order', 'fee', 'fee_refund', 'dispute')
  ),
  text        TEXT NOT NULL,
  booked_at   TEXT NOT NULL,
  card_id     INTEGER REFERENCES cards (id),
  payee_id    INTEGER REFERENCES payees (id),
  reverses_id INTEGER UNIQUE REFERENCES transactions (id),
  CHECK ((kind = 'card') = (card_id IS NOT NULL)),
  CHECK ((kind IN ('fee_refund', 'dispute')) = (reverses_id IS NOT NULL))
);

CREATE TABLE entries (
  id             INTEGER PRIMARY KEY,
  transaction_id INTEGER NOT NULL REFERENCES transactions (id),
  account_id     INTEGER NOT NULL REFERENCES accounts (id),
  amount_cents   INTEGER NOT NULL CHECK (amount_cents <> 0),
  UNIQUE (transaction_id, account_id)
);
CREATE INDEX entries_of_account ON entries (account_id);

CREATE TABLE standing_orders (
  id           INTEGER PRIMARY KEY,
  account_id   INTEGER NOT NULL REFERENCES accounts (id),
  payee_id     INTEGER NOT NULL REFERENCES payees (id),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  day          INTEGER NOT NULL CHECK (day BETWEEN 1 AND 28),
  next_on      TEXT,
  status       TEXT NOT NULL CHECK (status IN ('active', 'cancelled')),
  CHECK ((status = 'active') = (next_on IS NOT NULL))
);
CREATE UNIQUE INDEX one_standing_order_per_account_and_payee ON standing_orders (account_id, payee_id)
  WHERE status = 'active';

CREATE TABLE disputes (
  id             INTEGER PRIMARY KEY,
  transaction_id INTEGER NOT NULL UNIQUE REFERENCES transactions (id),
  reason         TEXT NOT NULL CHECK (reason IN ('unrecognised', 'not_delivered', 'wrong_amount')),
  status         TEXT NOT NULL CHECK (status IN ('open', 'upheld', 'rejected', 'withdrawn')),
  opened_on      TEXT NOT NULL,
  closed_on      TEXT,
  CHECK ((status = 'open') = (closed_on IS NULL))
);

CREATE TABLE holds (
  id           INTEGER PRIMARY KEY,
  account_id   INTEGER NOT NULL REFERENCES accounts (id),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  kind         TEXT NOT NULL CHECK (kind IN ('merchant', 'court_order')),
  placed_by    TEXT NOT NULL,
  placed_on    TEXT NOT NULL,
  released_on  TEXT
);
CREATE INDEX holds_of_account ON holds (account_id);

CREATE TABLE fees (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL UNIQUE,
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0)
);

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);
