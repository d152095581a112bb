"""A template calls every tool once before it forks sessions, unless a session could notice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from .toys import SETTINGS, Worlds, ask, dump, make_scenario, open_worlds, rows

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEAD = """
import contextvars, functools, itertools, os, random, sqlite3, threading, time
from fastapi import FastAPI
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session, scoped_session, sessionmaker
engine = create_engine("sqlite:///notes.db")
app = FastAPI()
"""
ROUTE = """
@app.get("/", operation_id="act")
def act() -> int:
    {act}
"""
KEEPERS = {
    "a global number": ("count = 0", "global count; count += 1; return count"),
    "a dictionary": ("seen = {}", "seen[len(seen)] = 1; return len(seen)"),
    "a nested list": ("box = {'a': ([],)}", "box['a'][0].append(1); return len(box['a'][0])"),
    "a set": ("box = set()", "box.add(len(box)); return len(box)"),
    "a counter": ("counter = itertools.count(1)", "return next(counter)"),
    "a generator": ("numbers = (n for n in range(1, 99))", "return next(numbers)"),
    "an iterator": ("numbers = iter(range(1, 99))", "return next(numbers)"),
    "a class attribute": ("class Box:\n    n = 0", "Box.n += 1; return Box.n"),
    "an instance": (
        "class Box:\n    def __init__(self): self.n = 0\nbox = Box()",
        "box.n += 1; return box.n",
    ),
    "an instance with slots": (
        "class Box:\n    __slots__ = ('n',)\nbox = Box()\nbox.n = 0",
        "box.n += 1; return box.n",
    ),
    "a closure": (
        "def make():\n    n = 0\n    def bump():\n        nonlocal n\n        n += 1\n        return n\n"
        "    return bump\nbump = make()",
        "return bump()",
    ),
    "an attribute of a function": ("def box(): pass\nbox.n = 0", "box.n += 1; return box.n"),
    "a default argument": ("def add(to=[]):\n    to.append(1)\n    return len(to)", "return add()"),
    "a cache of results": (
        "hits = itertools.count(1)\n@functools.lru_cache\ndef first(): return next(hits)",
        "return first()",
    ),
    "the app's own state": ("app.state.n = 0", "app.state.n += 1; return app.state.n"),
    "a generator of numbers with a seed": ("dice = random.Random(7)", "return dice.randrange(10 ** 9)"),
    "the environment": (
        "",
        "os.environ['N'] = str(int(os.environ.get('N', '0')) + 1); return int(os.environ['N'])",
    ),
    "a context variable": (
        "box = contextvars.ContextVar('box', default=[])",
        "box.get().append(1); return len(box.get())",
    ),
    "an attribute of a thread": (
        "box = threading.local()\nbox.n = 0",
        "box.n += 1; return box.n",
    ),
    "a session that outlives its call": (
        "db = Session(engine)",
        "db.execute(text('SELECT 1')); return 1",
    ),
    "a session of a registry": (
        "db = scoped_session(sessionmaker(engine))",
        "db.execute(text('SELECT 1')); return 1",
    ),
}
OTHERS = {
    "a thread": ("", "threading.Thread(target=threading.Event().wait, daemon=True).start(); return 1"),
    "the end of the process": ("", "os._exit(3)"),
    "an endless loop": ("", "while True: pass"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def many() -> AsyncIterator[Worlds]:
    """A world for each way of keeping something."""
    async with open_worlds() as worlds:
        yield worlds


async def cold(worlds: Worlds, name: str) -> str | None:
    """Why the template of a world stays cold; None if it does not."""
    return (await worlds.manager.template(name)).cold


@pytest.mark.parametrize("what", KEEPERS)
async def test_an_app_that_keeps(what: str, many: Worlds) -> None:
    kept, act = KEEPERS[what]
    name = many.add(make_scenario(HEAD + kept + ROUTE.format(act=act)))
    assert "what it keeps in memory" in str(await cold(many, name))
    first = [await ask(await many.start(name), "act") for _ in range(2)]
    assert first[0] == first[1]


@pytest.mark.parametrize("what", OTHERS)
async def test_an_app_whose_tools_leave_or_take(what: str, many: Worlds) -> None:
    kept, act = OTHERS[what]
    assert await cold(many, many.add(make_scenario(HEAD + kept + ROUTE.format(act=act)))) is not None


async def test_the_place_is_named(many: Worlds) -> None:
    app = HEAD + "seen = {'n': 0}" + ROUTE.format(act="seen['n'] += 1; return seen['n']")
    name = many.add(make_scenario(app))
    assert await cold(many, name) == "its tools change what it keeps in memory: world_app.seen['n']"


CLEAN = """
import os, random
from datetime import datetime
from uuid import uuid4
@app.post("/notes", operation_id="add")
def add(note: str) -> list:
    open("trace.txt", "a").write("x")
    with engine.begin() as db:
        db.execute(text("INSERT INTO notes (text) VALUES (:n)"), {"n": note})
        return [str(datetime.now()), random.random(), str(uuid4()), os.path.getsize("trace.txt")]
@app.delete("/notes", operation_id="clear")
def clear() -> None:
    with engine.begin() as db:
        db.execute(text("DELETE FROM notes"))
"""


async def test_a_warm_world_starts_as_a_cold_one(many: Worlds) -> None:
    """Time, chance, rows and files: nothing tells the two apart."""
    scenario = make_scenario(HEAD + CLEAN)
    name = many.add(scenario)
    assert await cold(many, name) is None
    warm = await many.start(name, seed=5)
    async with open_worlds(scenario, settings=replace(SETTINGS, warm=False)) as worlds:
        assert await cold(worlds, "toy") is not None
        other = await worlds.start("toy", seed=5)
        for _ in range(2):
            assert await ask(warm, "add", note="butter") == await ask(other, "add", note="butter")
        assert rows(warm.snapshot, "SELECT text FROM notes") == [("milk",), ("bread",)]
        assert sorted(path.name for path in warm.database.parent.iterdir()) == ["trace.txt", "world.db"]
        assert dump(await warm.finish()) == dump(await other.finish())


async def test_the_toy_world_keeps_something_and_so_stays_cold(many: Worlds) -> None:
    assert await cold(many, "toy") is not None
