-- The tables. Let the database refuse what can never be right: references, CHECKs, UNIQUE.

CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    phone TEXT NOT NULL
);

CREATE TABLE bikes (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    description TEXT NOT NULL,
    UNIQUE (customer_id, description)
);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    bike_id INTEGER NOT NULL REFERENCES bikes (id),
    work TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'ready', 'collected', 'cancelled')),
    booked_on TEXT NOT NULL,
    due_on TEXT NOT NULL
);

CREATE TABLE parts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    price_cents INTEGER NOT NULL CHECK (price_cents > 0),
    stock INTEGER NOT NULL CHECK (stock >= 0)
);

CREATE TABLE job_parts (
    job_id INTEGER NOT NULL REFERENCES jobs (id),
    part_id INTEGER NOT NULL REFERENCES parts (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (job_id, part_id)
);

CREATE TABLE policy (
    id INTEGER PRIMARY KEY,
    section TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL
);
