-- A lending library. Money is in cents, dates are ISO texts, times are UTC.

CREATE TABLE branches (
  id     INTEGER PRIMARY KEY,
  name   TEXT NOT NULL UNIQUE,
  street TEXT NOT NULL
);

CREATE TABLE members (
  id             INTEGER PRIMARY KEY,
  name           TEXT NOT NULL,
  email          TEXT NOT NULL UNIQUE,
  kind           TEXT NOT NULL CHECK (kind IN ('adult', 'junior')),
  home_branch_id INTEGER NOT NULL REFERENCES branches (id),
  joined_on      TEXT NOT NULL,
  expires_on     TEXT NOT NULL CHECK (expires_on > joined_on),
  suspended      INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1))
);

CREATE TABLE authors (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE books (
  id        INTEGER PRIMARY KEY,
  title     TEXT NOT NULL,
  author_id INTEGER NOT NULL REFERENCES authors (id),
  genre     TEXT NOT NULL CHECK (genre IN ('novel', 'crime', 'poetry', 'history', 'science', 'children')),
  published INTEGER NOT NULL CHECK (published BETWEEN 1450 AND 2026),
  UNIQUE (title, author_id)
);

CREATE TABLE copies (
  id        INTEGER PRIMARY KEY,
  book_id   INTEGER NOT NULL REFERENCES books (id),
  branch_id INTEGER NOT NULL REFERENCES branches (id),
  barcode   TEXT NOT NULL UNIQUE,
  status    TEXT NOT NULL CHECK (status IN ('available', 'on_loan', 'on_hold_shelf', 'in_repair', 'withdrawn'))
);

CREATE TABLE loans (
  id          INTEGER PRIMARY KEY,
  copy_id     INTEGER NOT NULL REFERENCES copies (id),
  member_id   INTEGER NOT NULL REFERENCES members (id),
  borrowed_on TEXT NOT NULL,
  due_on      TEXT NOT NULL CHECK (due_on > borrowed_on),
  returned_on TEXT CHECK (returned_on >= borrowed_on),
  renewals    INTEGER NOT NULL DEFAULT 0 CHECK (renewals BETWEEN 0 AND 2)
);
CREATE UNIQUE INDEX one_open_loan_per_copy ON loans (copy_id) WHERE returned_on IS NULL;

CREATE TABLE holds (
  id               INTEGER PRIMARY KEY,
  book_id          INTEGER NOT NULL REFERENCES books (id),
  member_id        INTEGER NOT NULL REFERENCES members (id),
  pickup_branch_id INTEGER NOT NULL REFERENCES branches (id),
  copy_id          INTEGER REFERENCES copies (id),
  status           TEXT NOT NULL CHECK (status IN ('waiting', 'ready', 'collected', 'cancelled')),
  placed_at        TEXT NOT NULL,
  CHECK ((status = 'ready') = (copy_id IS NOT NULL))
);
CREATE UNIQUE INDEX one_live_hold_per_member_and_book ON holds (member_id, book_id)
  WHERE status IN ('waiting', 'ready');

CREATE TABLE fines (
  id           INTEGER PRIMARY KEY,
  member_id    INTEGER NOT NULL REFERENCES members (id),
  loan_id      INTEGER NOT NULL REFERENCES loans (id),
  reason       TEXT NOT NULL CHECK (reason IN ('late', 'damaged')),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  status       TEXT NOT NULL CHECK (status IN ('open', 'paid', 'waived')),
  issued_on    TEXT NOT NULL,
  settled_on   TEXT,
  CHECK ((status = 'open') = (settled_on IS NULL))
);

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);
