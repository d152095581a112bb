"""The toy shop as SQL, and the time in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

CLOCK = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)
"""The world's time when an episode is judged."""

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, updated_at TEXT);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER REFERENCES customers (id),
    note TEXT,
    total REAL,
    placed_at TEXT,
    closed_at TEXT
);
CREATE TABLE items (
    id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES Orders (ID), product TEXT, quantity INTEGER
);
CREATE TABLE products (code TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, price REAL, picture BLOB);
CREATE TABLE stock (place TEXT, code TEXT, amount INTEGER, PRIMARY KEY (place, code)) WITHOUT ROWID;
CREATE TABLE log (line TEXT, level INTEGER);
CREATE TABLE profiles (customer_id INTEGER PRIMARY KEY REFERENCES customers (id), bio TEXT);
CREATE INDEX orders_by_note ON orders (note);
INSERT INTO customers VALUES
    (1, 'Ada', 'ada@example.org', 'then'), (2, 'Bob', NULL, 'then'), (3, 'Cyd', 'c@example.org', 'then');
INSERT INTO orders VALUES
    (1, 1, 'old', 10, 'then', NULL), (2, 2, 'old', 20, 'then', NULL), (3, 2, 'last', 5.5, 'then', NULL);
INSERT INTO items VALUES (1, 1, 'tea', 1), (2, 2, 'jam', 2);
INSERT INTO products VALUES ('tea', 2.5, x'00ff'), ('jam', 4, NULL);
INSERT INTO stock VALUES ('north', 'tea', 5), ('south', 'tea', 7), ('north', 'jam', 1);
INSERT INTO log VALUES ('open', 1), ('open', 1), ('shut', 2);
INSERT INTO profiles VALUES (1, 'likes tea');
"""


def execute(path: Path, sql: str) -> None:
    """Run SQL on a database, in one transaction."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {sql}; COMMIT")
