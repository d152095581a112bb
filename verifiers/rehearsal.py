"""A toy verdict, reached once in the zygote: every fork inherits what first use initialises."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

from .changes import difference
from .expectation import Runs, learn
from .state import Rules, Window, match
from .wire import decode_expectation, encode_expectation, receipt

_TIMES = 10
"""How often: Python rewrites the code it runs often for speed, and a fork had better find that done."""

_RUNS = Runs(datetime(2026, 3, 1, tzinfo=UTC), 127.0, 1)

_SCHEMA = """
CREATE TABLE {where}.shelves (id INTEGER PRIMARY KEY, name TEXT NOT NULL, made_at TEXT);
CREATE TABLE {where}.items (
    id INTEGER PRIMARY KEY, shelf INTEGER REFERENCES shelves (id), name TEXT, price REAL, picture BLOB
);
CREATE TABLE {where}.places (shelf INTEGER, item INTEGER, amount INTEGER, PRIMARY KEY (shelf, item));
CREATE TABLE {where}.log (line TEXT);
CREATE INDEX {where}.items_by_name ON items (name);
INSERT INTO {where}.shelves VALUES (1, 'top', 'then'), (2, 'low', 'then');
INSERT INTO {where}.items VALUES (1, 1, 'tea', 2.5, x'00'), (2, 1, 'jam', 4.0, NULL);
INSERT INTO {where}.places VALUES (1, 1, 3), (2, 2, 4);
INSERT INTO {where}.log VALUES ('open');
"""
_EPISODE = """
INSERT INTO final.shelves VALUES (3, 'new', 'now');
INSERT INTO final.items VALUES (3, 3, 'ink', 1.5, x'ff');
UPDATE final.items SET price = 3 WHERE id = 1;
DELETE FROM final.places WHERE shelf = 2;
INSERT INTO final.log VALUES ('shut');
"""


def rehearse() -> None:
    """Judge an episode between two databases in memory."""
    for _ in range(_TIMES):
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute("ATTACH ':memory:' AS final")
            connection.executescript(_SCHEMA.format(where="main") + _SCHEMA.format(where="final") + _EPISODE)
            found = difference(connection)
        expectation = decode_expectation(
            json.loads(json.dumps(encode_expectation(learn(found, found, _RUNS))))
        )
        best = match(expectation, found, Rules(found.tables), Window(0.0, 1.0))
        json.dumps(dataclasses.asdict(receipt(made=best.made, missing=best.missing)))
