-- An IT helpdesk. Days and times are ISO texts; times are UTC, to the second. Money is in cents.

CREATE TABLE policy (
  id      INTEGER PRIMARY KEY,
  section TEXT NOT NULL UNIQUE,
  text    TEXT NOT NULL
);

CREATE TABLE departments (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE people (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL,
  email         TEXT NOT NULL UNIQUE,
  department_id INTEGER NOT NULL REFERENCES departments (id),
  office        TEXT NOT NULL CHECK (office IN ('Leith', 'York', 'Bath', 'Derry')),
  title         TEXT NOT NULL,
  manager_id    INTEGER REFERENCES people (id),
  vip           INTEGER NOT NULL DEFAULT 0 CHECK (vip IN (0, 1)),
  active        INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  locked        INTEGER NOT NULL DEFAULT 0 CHECK (locked IN (0, 1))
);

CREATE TABLE teams (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  does TEXT NOT NULL
);

CREATE TABLE agents (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE,
  team_id   INTEGER NOT NULL REFERENCES teams (id),
  level     INTEGER NOT NULL CHECK (level BETWEEN 1 AND 3),
  on_duty   INTEGER NOT NULL CHECK (on_duty IN (0, 1))
);

CREATE TABLE slas (
  id            INTEGER PRIMARY KEY,
  priority      TEXT NOT NULL UNIQUE CHECK (priority IN ('low', 'normal', 'high', 'urgent')),
  resolve_hours INTEGER NOT NULL CHECK (resolve_hours > 0)
);

CREATE TABLE assets (
  id          INTEGER PRIMARY KEY,
  tag         TEXT NOT NULL UNIQUE,
  kind        TEXT NOT NULL CHECK (kind IN ('laptop', 'monitor', 'phone', 'dock')),
  model       TEXT NOT NULL,
  office      TEXT NOT NULL CHECK (office IN ('Leith', 'York', 'Bath', 'Derry')),
  bought_on   TEXT NOT NULL,
  warranty_to TEXT NOT NULL CHECK (warranty_to > bought_on),
  status      TEXT NOT NULL CHECK (status IN ('in_use', 'in_stock', 'in_repair', 'retired')),
  person_id   INTEGER REFERENCES people (id),
  CHECK ((status = 'in_use') = (person_id IS NOT NULL))
);
CREATE INDEX assets_of_a_person ON assets (person_id);

CREATE TABLE licences (
  id       INTEGER PRIMARY KEY,
  software TEXT NOT NULL UNIQUE,
  seats    INTEGER NOT NULL CHECK (seats > 0)
);

CREATE TABLE grants (
  id         INTEGER PRIMARY KEY,
  person_id  INTEGER NOT NULL REFERENCES people (id),
  licence_id INTEGER NOT NULL REFERENCES licences (id),
  granted_on TEXT NOT NULL,
  UNIQUE (person_id, licence_id)
);

CREATE TABLE admin_rights (
  id         INTEGER PRIMARY KEY,
  person_id  INTEGER NOT NULL REFERENCES people (id),
  asset_id   INTEGER NOT NULL REFERENCES assets (id),
  from_day   TEXT NOT NULL,
  until_day  TEXT NOT NULL CHECK (until_day >= from_day),
  revoked    INTEGER NOT NULL DEFAULT 0 CHECK (revoked IN (0, 1))
);

CREATE TABLE articles (
  id      INTEGER PRIMARY KEY,
  code    TEXT NOT NULL UNIQUE,
  title   TEXT NOT NULL,
  text    TEXT NOT NULL,
  status  TEXT NOT NULL CHECK (status IN ('current', 'outdated'))
);

CREATE TABLE tickets (
  id          INTEGER PRIMARY KEY,
  number      TEXT NOT NULL UNIQUE,
  person_id   INTEGER NOT NULL REFERENCES people (id),
  asset_id    INTEGER REFERENCES assets (id),
  subject     TEXT NOT NULL,
  category    TEXT NOT NULL CHECK (category IN ('hardware', 'software', 'network', 'access', 'phone')),
  priority    TEXT NOT NULL CHECK (priority IN ('low', 'normal', 'high', 'urgent')),
  status      TEXT NOT NULL CHECK (status IN ('open', 'waiting', 'resolved', 'closed')),
  team_id     INTEGER NOT NULL REFERENCES teams (id),
  agent_id    INTEGER REFERENCES agents (id),
  article_id  INTEGER REFERENCES articles (id),
  merged_into_id INTEGER REFERENCES tickets (id),
  escalated   INTEGER NOT NULL DEFAULT 0 CHECK (escalated IN (0, 1)),
  opened_at   TEXT NOT NULL,
  due_at      TEXT NOT NULL,
  resolved_at TEXT,
  CHECK ((resolved_at IS NOT NULL) = (status IN ('resolved', 'closed')))
);
CREATE INDEX tickets_of_a_person ON tickets (person_id);

CREATE TABLE comments (
  id         INTEGER PRIMARY KEY,
  ticket_id  INTEGER NOT NULL REFERENCES tickets (id),
  author     TEXT NOT NULL,
  internal   INTEGER NOT NULL CHECK (internal IN (0, 1)),
  text       TEXT NOT NULL,
  written_at TEXT NOT NULL
);
CREATE INDEX comments_of_a_ticket ON comments (ticket_id);
