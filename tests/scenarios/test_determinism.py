"""The same seed and the same calls leave the same database, whenever and wherever they are played."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from .toys import CLOCK, SCHEMA, Worlds, ask, dump, make_scenario, open_worlds, rows, statements, toy

CALCULATOR = make_scenario(
    """
import sqlite3
from typing import Any
from fastapi import FastAPI
app = FastAPI()

@app.get("/", operation_id="evaluate")
def evaluate(expression: str) -> Any:
    return sqlite3.connect("world.db").execute(f"SELECT {expression}").fetchone()[0]
""",
    name="calculator",
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def play(worlds: Worlds, *, seed: int, clock_offset_s: float = 0.0) -> list[str]:
    """Play a fixed list of calls, and return the final database."""
    session = await worlds.start(seed=seed, clock_offset_s=clock_offset_s)
    await ask(session, "stamp")
    await ask(session, "add_note", text="butter", tags=["cold", "fat"])
    await ask(session, "stamp")
    final = dump(await session.finish())
    await session.close()
    return final


async def stamps(worlds: Worlds, *, seed: int = 0, clock_offset_s: float = 0.0) -> dict[str, str]:
    """What the toy's `stamp` wrote in a fresh session, by source."""
    session = await worlds.start(seed=seed, clock_offset_s=clock_offset_s)
    await ask(session, "stamp")
    found = rows(await session.finish(), "SELECT source, value FROM stamps")
    await session.close()
    return dict(found)


async def test_two_sessions_with_one_seed_end_alike(worlds: Worlds) -> None:
    assert await play(worlds, seed=7) == await play(worlds, seed=7)


async def test_two_servers_end_alike(worlds: Worlds) -> None:
    async with open_worlds() as others:
        assert await play(worlds, seed=7) == await play(others, seed=7)


async def test_another_seed_changes_every_random_source_and_no_clock(worlds: Worlds) -> None:
    one, other = await stamps(worlds, seed=1), await stamps(worlds, seed=2)
    assert {source for source in one if one[source] != other[source]} == {
        "random, seeded anew",
        "random.Random",
        "older random.Random",
        "random.SystemRandom",
        "secrets",
        "uuid1",
        "uuid4",
        "urandom",
        "random()",
        "hex(randomblob(8))",
    }


async def test_python_and_sqlite_tell_the_worlds_time(worlds: Worlds) -> None:
    moment = CLOCK + timedelta(seconds=1)
    found = await stamps(worlds)
    assert found["datetime.now"] == found["datetime.utcnow"] == "2026-03-01 09:00:01"
    assert found["date.today"] == found["CURRENT_DATE"] == found["date()"] == "2026-03-01"
    assert float(found["time.time"]) == moment.timestamp()
    assert found["CURRENT_TIMESTAMP"] == "2026-03-01 09:00:01"
    assert found["CURRENT_TIME"] == found["time('now')"] == "09:00:01"
    assert found["datetime('now', '-1 day')"] == "2026-02-28 09:00:01"
    assert found["strftime('%s', 'now')"] == str(int(moment.timestamp()))
    assert float(found["julianday('now')"]) == pytest.approx(moment.timestamp() / 86_400 + 2_440_587.5)


async def test_defaults_in_table_definitions_tell_the_worlds_time(worlds: Worlds) -> None:
    session = await worlds.start()
    await ask(session, "stamp")
    found = rows(await session.finish(), "SELECT DISTINCT made_at, day_before FROM stamps")
    assert found == [("2026-03-01 09:00:01", "2026-02-28")]


async def test_defaults_of_sqlalchemy_tell_the_worlds_time(worlds: Worlds) -> None:
    session = await worlds.start()
    await ask(session, "add_note", text="butter", tags=["cold"])
    assert rows(await session.finish(), "SELECT made_at FROM tags") == [("2026-03-01 09:00:01",)]


async def test_triggers_and_views_tell_the_worlds_time() -> None:
    schema = (
        *SCHEMA,
        "CREATE TRIGGER log AFTER INSERT ON notes BEGIN"
        " INSERT INTO stamps (source, value) VALUES ('trigger', datetime('now')); END",
        "CREATE VIEW today AS SELECT CURRENT_DATE AS day",
    )
    async with open_worlds(replace(toy(), schema=statements(schema, "schema.sql"))) as worlds:
        session = await worlds.start()
        await ask(session, "add_note", text="butter")
        found = rows(await session.finish(), "SELECT value, made_at FROM stamps ORDER BY id DESC LIMIT 1")
        assert found == [("2026-03-01 09:00:01",) * 2]


async def test_seed_rows_are_as_old_as_the_worlds_clock(worlds: Worlds) -> None:
    session = await worlds.start()
    assert rows(session.snapshot, "SELECT DISTINCT made_at FROM notes") == [("2026-03-01 09:00:00",)]


async def test_the_clock_starts_at_the_scenarios_and_ticks_a_second_per_call(worlds: Worlds) -> None:
    session = await worlds.start()
    told = [await ask(session, "tell_time") for _ in range(3)]
    assert [time["python"] for time in told] == [f"2026-03-01T09:00:0{second}" for second in (1, 2, 3)]
    assert [time["sqlite"] for time in told] == [f"2026-03-01 09:00:0{second}" for second in (1, 2, 3)]
    assert told[0]["import"] == "2026-03-01T09:00:00"


async def test_a_clock_offset_shifts_everything(worlds: Worlds) -> None:
    session = await worlds.start(clock_offset_s=86_400)
    told = await ask(session, "tell_time")
    assert (told["python"], told["sqlite"]) == ("2026-03-02T09:00:01", "2026-03-02 09:00:01")


async def test_time_that_a_world_waits_is_real_but_not_seen(worlds: Worlds) -> None:
    session = await worlds.start(
        make_scenario(
            "import time\nfrom datetime import datetime\nfrom fastapi import FastAPI\napp = FastAPI()\n"
            "@app.get('/', operation_id='nap')\n"
            "def nap() -> list[bool]:\n"
            "    before, started = datetime.now(), time.monotonic()\n"
            "    time.sleep(0.01)\n"
            "    return [datetime.now() == before, time.monotonic() > started]\n"
        )
    )
    assert await ask(session, "nap") == [True, True]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("datetime('now', 'start of month', '+1 month', '-1 day')", "2026-03-31 00:00:00"),
        ("strftime('%Y-%m', 'now')", "2026-03"),
        ("strftime('%Y')", "2026"),
        ("unixepoch()", 1_772_355_601),
        ("date('NOW')", "2026-03-01"),
        ("date('2020-02-29', '+1 year')", "2021-03-01"),
        ("date(0, 'unixepoch')", "1970-01-01"),
        ("date(NULL)", None),
        ("date('nonsense')", None),
        ("datetime('now', 'nonsense')", None),
    ],
)
async def test_sqlites_date_functions_keep_their_meaning(
    worlds: Worlds, expression: str, expected: object
) -> None:
    worlds.scenarios.setdefault("calculator", CALCULATOR)
    session = await worlds.start("calculator")
    assert await ask(session, "evaluate", expression=expression) == expected
    await session.close()
