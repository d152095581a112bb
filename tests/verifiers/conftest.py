"""A toy shop before and after an episode: two databases on disk, and the jobs that compare them."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import pytest_asyncio

from subworlds.scenarios import clock
from subworlds.scenarios.task import Answer, StateCheck
from subworlds.verifiers.changes import Difference, difference
from subworlds.verifiers.database import open_pair
from subworlds.verifiers.expectation import Runs
from subworlds.verifiers.job import run_job
from subworlds.verifiers.verdict import Verdict
from subworlds.verifiers.wire import decode_verdict, expectation_job, state_job

from .kiosk import Kiosk, open_kiosk
from .shop import CLOCK, SHOP, execute

Build: TypeAlias = Callable[[str], Path]
After: TypeAlias = Callable[..., Path]
Judge: TypeAlias = Callable[..., Verdict]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Makes a database from SQL."""
    numbers = itertools.count()

    def run(sql: str) -> Path:
        path = tmp_path / f"built {next(numbers)}?#%.db"
        execute(path, sql)
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
        execute(path, sql)
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
    """Judges `final` by state, after `calls` calls.

    `golds`: one database, or one for each of two runs, `shift_s` seconds apart, per accepted solution.
    Without a shift no value of theirs is a time.
    """

    def run(
        final: Path,
        *golds: Path | tuple[Path, Path],
        start: Path = shop,
        ignore: Mapping[str, tuple[str, ...]] | None = None,
        natural_keys: Sequence[str] = (),
        expected: Answer | None = None,
        given: str | None = None,
        shift_s: float = 0.0,
        calls: int = 1,
    ) -> Verdict:
        check = StateCheck(ignore=ignore or {}, natural_keys=frozenset(natural_keys))
        expectations = [_learned(start, gold, shift_s, 1) for gold in golds]
        job = state_job(check, expectations, expected, initial=start, final=final, given=given, calls=calls)
        return decode_verdict(run_job(job))

    return run


@pytest.fixture
def calendars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes the connections that a world's clock keeps for as long as its process lives."""
    with ExitStack() as stack:
        connect = clock.connect_to_sqlite

        def connect_for_now(*arguments: Any, **options: Any) -> sqlite3.Connection:
            return stack.enter_context(closing(connect(*arguments, **options)))

        monkeypatch.setattr(clock, "connect_to_sqlite", connect_for_now)
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kiosk(worlds: Path) -> AsyncIterator[Kiosk]:
    """A server's verification over the toy world, one per test module."""
    async with open_kiosk(worlds) as opened:
        yield opened


def learned(start: Path, finals: tuple[Path, Path], shift_s: float, calls: int) -> dict[str, Any]:
    """What two runs that started `shift_s` seconds apart teach, the first at the shop's clock."""
    return run_job(expectation_job(initial=start, finals=finals, runs=Runs(CLOCK, shift_s, calls)))


def _learned(start: Path, gold: Path | tuple[Path, Path], shift_s: float, calls: int) -> dict[str, Any]:
    expectation = learned(start, gold if isinstance(gold, tuple) else (gold, gold), shift_s, calls)
    assert "error" not in expectation, expectation
    return expectation
