"""What one session does, no other sees; and whatever database an app opens, it is the session's own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from .toys import Worlds, ask, dump, fail, make_scenario, rows

pytestmark = pytest.mark.asyncio(loop_scope="module")


def is_complete(database: Path) -> bool:
    """Whether the file says that it needs no journal, and no journal lies beside it."""
    beside = [path.name for path in database.parent.iterdir() if path != database]
    return database.read_bytes()[18:20] == b"\x01\x01" and not [name for name in beside if "world.db" in name]


async def test_what_the_app_keeps_in_memory_ends_with_the_session(worlds: Worlds) -> None:
    first = await worlds.start()
    assert [await ask(first, "bump"), await ask(first, "bump")] == [1, 2]
    await first.close()
    second = await worlds.start()
    assert await ask(second, "bump") == 1


async def test_rows_of_one_live_session_are_not_seen_by_another(worlds: Worlds) -> None:
    one, other = await worlds.start(), await worlds.start()
    await asyncio.gather(ask(one, "add_note", text="mine"), ask(other, "add_note", text="yours"))
    assert [note["text"] for note in await ask(one, "list_notes")] == ["milk", "bread", "mine"]
    assert [note["text"] for note in await ask(other, "list_notes")] == ["milk", "bread", "yours"]


async def test_the_snapshot_never_changes(worlds: Worlds) -> None:
    session = await worlds.start()
    before = session.snapshot.read_bytes()
    await ask(session, "add_note", text="butter")
    assert await session.finish() != session.snapshot
    assert session.snapshot.read_bytes() == before
    assert is_complete(session.snapshot)


async def test_tables_that_the_app_creates_are_in_the_snapshot(worlds: Worlds) -> None:
    session = await worlds.start()
    assert rows(session.snapshot, "SELECT name FROM sqlite_master WHERE name = 'tags'") == [("tags",)]


async def test_a_finished_session_leaves_one_complete_file(worlds: Worlds) -> None:
    session = await worlds.start()
    await ask(session, "add_note", text="butter")
    database = await session.finish()
    assert is_complete(database)
    assert rows(database, "SELECT text FROM notes WHERE id = 3") == [("butter",)]
    assert await session.finish() == database


async def test_a_session_that_does_nothing_ends_with_the_snapshot(worlds: Worlds) -> None:
    session = await worlds.start()
    assert dump(await session.finish()) == dump(session.snapshot)


async def test_sqlite_opened_by_hand_is_the_sessions_database(worlds: Worlds) -> None:
    session = await worlds.start()
    await ask(session, "add_note", text="butter")
    assert await ask(session, "count_raw") == 3


async def test_a_transaction_left_open_by_a_failed_call_is_rolled_back_and_locks_nothing(
    worlds: Worlds,
) -> None:
    session = await worlds.start()
    await fail(session, "leak_session")
    assert await ask(session, "add_note", text="butter") == {"id": 3}
    assert [note["text"] for note in await ask(session, "list_notes")] == ["milk", "bread", "butter"]


APP = """
import sqlite3
from fastapi import FastAPI
from sqlalchemy import create_engine, event, text
from sqlalchemy.orm import sessionmaker
from sqlalchemy.pool import NullPool, SingletonThreadPool, StaticPool

{opening}
app = FastAPI()

@app.post("/notes", operation_id="add")
def add(note: str) -> None:
{adding}

@app.get("/notes", operation_id="count")
def count() -> int:
{counting}
"""
BY_ENGINE = (
    "    with engine.begin() as db:\n"
    "        db.execute(text('INSERT INTO notes (text) VALUES (:n)'), {'n': note})",
    "    with engine.connect() as db:\n"
    "        return db.execute(text('SELECT count(*) FROM notes')).scalar_one()",
)
BY_SESSION = (
    "    db.execute(text('INSERT INTO notes (text) VALUES (:n)'), {'n': note})\n    db.commit()",
    "    return db.execute(text('SELECT count(*) FROM notes')).scalar_one()",
)
BY_HAND = (
    "    db.execute('INSERT INTO notes (text) VALUES (?)', (note,))\n    db.commit()",
    "    return db.execute('SELECT count(*) AS n FROM notes').fetchone()['n']",
)
WAL = """
engine = create_engine("sqlite:///notes.db")

@event.listens_for(engine, "connect")
def configure(connection, record):
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
"""


@pytest.mark.parametrize(
    ("opening", "body"),
    [
        ("engine = create_engine('sqlite:///notes.db')", BY_ENGINE),
        ("engine = create_engine('sqlite:////tmp/notes.db', future=True, echo=False)", BY_ENGINE),
        ("engine = create_engine('sqlite://')", BY_ENGINE),
        ("engine = create_engine('sqlite:///:memory:', poolclass=StaticPool)", BY_ENGINE),
        ("engine = create_engine('sqlite:///file:notes?mode=memory&cache=shared&uri=true')", BY_ENGINE),
        ("engine = create_engine('sqlite:///notes.db', poolclass=NullPool)", BY_ENGINE),
        ("engine = create_engine('sqlite:///notes.db', poolclass=SingletonThreadPool)", BY_ENGINE),
        ("engine = create_engine('sqlite:///notes.db', pool_size=1, max_overflow=0)", BY_ENGINE),
        ("engine = create_engine(url='sqlite:///notes.db', isolation_level='AUTOCOMMIT')", BY_ENGINE),
        (
            "engine = create_engine('sqlite:///n.db', connect_args={'timeout': 1, 'sslmode': 'off'})",
            BY_ENGINE,
        ),
        ("import sqlalchemy as sa\nengine = sa.create_engine('sqlite:///notes.db')", BY_ENGINE),
        (WAL, BY_ENGINE),
        ("db = sessionmaker(create_engine('sqlite:///notes.db'))()", BY_SESSION),
        ("db = sessionmaker(create_engine('sqlite:///n.db'))()\ndb.execute(text('SELECT 1'))", BY_SESSION),
        ("db = sqlite3.connect('notes.db', check_same_thread=False)\ndb.row_factory = sqlite3.Row", BY_HAND),
        ("db = sqlite3.connect('notes.db', 5.0, 0, None, False)\ndb.row_factory = sqlite3.Row", BY_HAND),
        ("db = sqlite3.connect('n.db', factory=sqlite3.Connection)\ndb.row_factory = sqlite3.Row", BY_HAND),
    ],
)
async def test_every_way_to_open_a_database_opens_the_sessions_own(
    worlds: Worlds, opening: str, body: tuple[str, str]
) -> None:
    scenario = worlds.add(make_scenario(APP.format(opening=opening, adding=body[0], counting=body[1])))
    session, bystander = await worlds.start(scenario), await worlds.start(scenario)
    await ask(session, "add", note="butter")
    assert await ask(session, "count") == 3
    assert await ask(bystander, "count") == 2
    database = await session.finish()
    assert is_complete(database)
    assert rows(database, "SELECT text FROM notes WHERE id = 3") == [("butter",)]
    assert dump(await bystander.finish()) == dump(bystander.snapshot)


async def test_a_connection_opened_at_import_keeps_its_settings(worlds: Worlds) -> None:
    scenario = make_scenario(
        """
import sqlite3
from fastapi import FastAPI
db = sqlite3.connect("notes.db")
db.execute("PRAGMA foreign_keys = ON")
db.execute("CREATE TABLE children (note INTEGER REFERENCES notes)")
cursor = db.cursor()
app = FastAPI()

@app.post("/", operation_id="adopt")
def adopt(note: int) -> list[int]:
    cursor.execute("INSERT INTO children VALUES (?)", (note,))
    db.commit()
    return [row[0] for row in cursor.execute("SELECT note FROM children")]
"""
    )
    session = await worlds.start(scenario)
    assert await ask(session, "adopt", note=1) == [1]
    assert "FOREIGN KEY" in (await fail(session, "adopt", note=99))[1]
    assert is_complete(await session.finish())


async def test_a_file_opened_at_import_is_nobodys_and_never_mistaken_for_the_database(worlds: Worlds) -> None:
    """Descriptors are numbers: one that was closed behind the app's back would soon be another file's."""
    scenario = make_scenario(
        """
import asyncio, logging, os
from fastapi import FastAPI
from sqlalchemy import create_engine, text
logging.basicConfig(filename="app.log", level=logging.INFO)
files = [open(f"file{number}", "w") for number in range(8)]
loop = asyncio.new_event_loop()
engine = create_engine("sqlite:///notes.db")
app = FastAPI()

@app.post("/", operation_id="log")
def log() -> int:
    logging.info("x" * 100)
    for file in files:
        file.write("y" * 100)
        file.flush()
    with engine.begin() as db:
        db.execute(text("INSERT INTO notes (text) VALUES ('butter')"))
        return db.execute(text("SELECT count(*) FROM notes")).scalar_one()
"""
    )
    session = await worlds.start(scenario)
    assert [await ask(session, "log") for _ in range(3)] == [3, 4, 5]
    database = await session.finish()
    assert rows(database, "PRAGMA integrity_check") == [("ok",)]
    assert rows(database, "SELECT count(*) FROM notes") == [(5,)]


async def test_a_transaction_that_is_never_committed_is_not_in_the_final_database(worlds: Worlds) -> None:
    scenario = make_scenario(
        """
from fastapi import FastAPI
from sqlalchemy import create_engine, text
engine = create_engine("sqlite:///notes.db")
kept = []
app = FastAPI()

@app.post("/", operation_id="hoard")
def hoard() -> None:
    kept.append(engine.connect())
    kept[-1].execute(text("INSERT INTO notes (text) VALUES ('never committed')"))
"""
    )
    session = await worlds.start(scenario)
    await ask(session, "hoard")
    database = await session.finish()
    assert is_complete(database)
    assert dump(database) == dump(session.snapshot)


HOOKS = """
import random
from contextlib import asynccontextmanager
from fastapi import FastAPI, Request
from sqlalchemy import create_engine, text
engine = create_engine("sqlite:///notes.db")
greeting = "none"

def start():
    global greeting
    greeting = "hello"
    with engine.begin() as db:
        db.execute(text("INSERT INTO notes (text) VALUES (:n)"), {"n": f"opened {random.random()}"})

def stop():
    with engine.begin() as db:
        db.execute(text("DELETE FROM notes"))

@asynccontextmanager
async def lifespan(app):
    start()
    yield {"color": "blue"}
    stop()

__APP__

@app.get("/", operation_id="look")
def look(request: Request) -> list:
    with engine.connect() as db:
        count = db.execute(text("SELECT count(*) FROM notes")).scalar_one()
    return [greeting, getattr(request.state, "color", "blue"), count]
"""


@pytest.mark.parametrize(
    "app",
    [
        "app = FastAPI(lifespan=lifespan)",
        "app = FastAPI(on_startup=[start], on_shutdown=[stop])",
        "app = FastAPI()\napp.router.on_startup.append(start)",
        "app = FastAPI()\n@app.on_event('startup')\nasync def go():\n    start()",
    ],
)
async def test_start_up_hooks_write_into_the_snapshot_once_and_into_the_memory_of_every_session(
    worlds: Worlds, app: str
) -> None:
    scenario = worlds.add(make_scenario(HOOKS.replace("__APP__", app)))
    for seed in (1, 2):
        session = await worlds.start(scenario, seed=seed)
        assert await ask(session, "look") == ["hello", "blue", 3]
        assert dump(await session.finish()) == dump(session.snapshot)
