"""A toy shop before and after an episode: two databases on disk, and the jobs that compare them."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from subworlds.scenarios.task import Answer, StateCheck
from subworlds.verifiers.changes import Difference, difference
from subworlds.verifiers.database import open_pair
from subworlds.verifiers.job import run_job
from subworlds.verifiers.verdict import Verdict
from subworlds.verifiers.wire import decode_verdict, expectation_job, state_job

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

Build: TypeAlias = Callable[[str], Path]
After: TypeAlias = Callable[..., Path]
Judge: TypeAlias = Callable[..., Verdict]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Makes a database from SQL."""
    numbers = itertools.count()

    def run(sql: str) -> Path:
        path = tmp_path / f"built {next(numbers)}?#%.db"
        _execute(path, sql)
        return path

    return run


@pytest.fixture
def shop(build: Build) -> Path:
    """The shop before the episode."""
    return build(SHOP)


@pytest.fixture
def after(shop: Path, tmp_path: Path) -> After:
    """Makes the database that is left when SQL has run on the shop (or on `start`)."""
    numbers = itertools.count()

    def run(sql: str, start: Path = shop) -> Path:
        path = tmp_path / f"after{next(numbers)}.db"
        shutil.copy(start, path)
        _execute(path, sql)
        return path

    return run


@pytest.fixture
def compare(shop: Path) -> Callable[..., Difference]:
    """The difference between the shop (or `start`) and a database."""

    def run(final: Path, start: Path = shop) -> Difference:
        with open_pair(str(start), str(final)) as connection:
            return difference(connection)

    return run


@pytest.fixture
def judge(shop: Path) -> Judge:
    """Judges `final` by state. `golds`: one database, or one for each of two runs, per accepted solution."""

    def run(
        final: Path,
        *golds: Path | tuple[Path, Path],
        start: Path = shop,
        ignore: Mapping[str, tuple[str, ...]] | None = None,
        natural_keys: Sequence[str] = (),
        expected: Answer | None = None,
        given: str | None = None,
    ) -> Verdict:
        check = StateCheck(ignore=ignore or {}, natural_keys=frozenset(natural_keys))
        expectations = [_learned(start, gold) for gold in golds]
        job = state_job(check, expectations, expected, initial=start, final=final, given=given)
        return decode_verdict(run_job(job))

    return run


def _learned(start: Path, gold: Path | tuple[Path, Path]) -> dict[str, Any]:
    runs = gold if isinstance(gold, tuple) else (gold, gold)
    expectation = run_job(expectation_job(initial=start, finals=runs))
    assert "error" not in expectation, expectation
    return expectation


def _execute(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {sql}; COMMIT")
