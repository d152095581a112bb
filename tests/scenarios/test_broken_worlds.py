"""A broken world does not start: every fault is named, with its place."""

from __future__ import annotations

from typing import Any

import pytest

from subworlds.scenarios import template_handle
from subworlds.scenarios.errors import Problem, ScenarioError
from subworlds.scenarios.manager import ManagerSettings
from subworlds.scenarios.session import WorldCrashed
from subworlds.scenarios.task import Statement

from .toys import SEED, Worlds, ask, make_scenario, open_worlds, rows

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOUND = """
from fastapi import FastAPI
app = FastAPI()

@app.get("/", operation_id="look")
def look() -> int:
    return 1
"""
CHILDREN = (
    "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
    "CREATE TABLE children (parent INTEGER REFERENCES parents (id))",
)


async def problems_of(worlds: Worlds, app: str = SOUND, **how: Any) -> tuple[Problem, ...]:
    """Why a world cannot start."""
    with pytest.raises(ScenarioError) as caught:
        await worlds.start(make_scenario(app, **how))
    return caught.value.problems


async def problem_of(worlds: Worlds, app: str, **how: Any) -> Problem:
    """The only reason why a world cannot start."""
    (problem,) = await problems_of(worlds, app, **how)
    return problem


async def test_every_failing_statement_of_the_schema_is_named(worlds: Worlds) -> None:
    schema = ("CREATE TABLE a (id INTEGER)", "CREATE TABEL b (id INTEGER)", "CREATE TABLE a (id INTEGER)")
    found = await problems_of(worlds, schema=schema, seed=())
    assert [(problem.file, problem.line) for problem in found] == [("schema.sql", 2), ("schema.sql", 3)]
    assert 'near "TABEL": syntax error: CREATE TABEL b (id INTEGER)' in found[0].reason
    assert "table a already exists" in found[1].reason


async def test_every_failing_seed_row_is_named_with_its_table(worlds: Worlds) -> None:
    values = {7: "'fine'", 8: "NULL", 9: r"'it\'s'"}
    seed = [
        Statement(f"INSERT INTO notes (text) VALUES ({value})", "seed.sql", line, "notes")
        for line, value in values.items()
    ]
    found = await problems_of(worlds, seed=seed)
    assert [str(problem).partition(": statement failed")[0] for problem in found] == [
        "seed.sql:8: notes",
        "seed.sql:9: notes",
    ]


async def test_a_statement_that_is_no_text_for_sqlite_is_named(worlds: Worlds) -> None:
    found = await problems_of(worlds, seed=("SELECT '\0'", "SELECT '\ud800'"))
    assert [problem.line for problem in found] == [1, 2]


async def test_a_seed_that_manages_its_own_transaction_is_sound_or_named(worlds: Worlds) -> None:
    session = await worlds.start(make_scenario(SOUND, seed=(*SEED, "COMMIT")))
    assert rows(session.snapshot, "SELECT count(*) FROM notes") == [(2,)]
    found = await problems_of(worlds, seed=("BEGIN", *SEED))
    assert [problem.line for problem in found] == [1]


async def test_lost_rows_are_reported_where_they_are_allowed_and_leave_nothing_of_themselves() -> None:
    seed = (*SEED, "INSERT INTO notes (id, text) VALUES (10, 'eggs'), (11, 'jam'), (1, 'taken'), (12, 'tea')")
    settings = ManagerSettings(allow_lost_rows=True)
    async with open_worlds(make_scenario(SOUND, seed=seed), settings=settings) as lenient:
        session = await lenient.start()
        assert rows(session.snapshot, "SELECT id FROM notes ORDER BY id") == [(1,), (2,)]
        assert rows(session.snapshot, "PRAGMA integrity_check") == [("ok",)]
        (note,) = (await lenient.manager.template("toy")).notes
        assert (note.file, note.line) == ("seed.sql", 3)
        assert "UNIQUE constraint failed" in note.reason


async def test_a_row_that_refers_to_a_missing_row_is_named(worlds: Worlds) -> None:
    seed = ("INSERT INTO parents VALUES (1)", "INSERT INTO children VALUES (1), (2)")
    (found,) = await problems_of(worlds, schema=CHILDREN, seed=seed)
    assert str(found) == "seed.sql: children: row 2 refers to a row of 'parents' that does not exist"


async def test_a_missing_row_is_accepted_where_references_are_not_strict(worlds: Worlds) -> None:
    seed = ("INSERT INTO children VALUES (2)",)
    scenario = make_scenario(SOUND, schema=CHILDREN, seed=seed, strict_references=False)
    session = await worlds.start(scenario)
    assert rows(session.snapshot, "SELECT parent FROM children") == [(2,)]


@pytest.mark.parametrize(
    ("app", "line", "reason"),
    [
        ("from fastapi import FastAPI\napp = FastAPI(\n", 2, "SyntaxError: '(' was never closed"),
        ("\nimport no_such_library\n", 2, "ModuleNotFoundError: No module named 'no_such_library'"),
        ("\n\nfrom fastapi import NoSuchName\n", 3, "ImportError: cannot import name 'NoSuchName'"),
        ("def start():\n    return 1 / 0\n\nstart()\n", 2, "ZeroDivisionError: division by zero"),
        ("x = 1\nraise SystemExit('no')\n", 2, "SystemExit: no"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"),
        ("class E(Exception):\n    def __str__(self): return 1 / 0\n\nraise E\n", 4, "E: "),
        ("x = 1\n", None, "defines no FastAPI application"),
        ("from fastapi import FastAPI\napp = FastAPI()\n", None, "the app has no route that could be a tool"),
        (
            SOUND + "from sqlalchemy import create_engine, text\n"
            "create_engine('sqlite://').connect().execute(text('SELECT * FROM nowhere'))\n",
            9,
            "OperationalError: (sqlite3.OperationalError) no such table: nowhere",
        ),
        (
            SOUND + "from sqlalchemy.orm import declarative_base, relationship\n"
            "from sqlalchemy import Column, Integer\n"
            "class Thing(declarative_base()):\n"
            "    __tablename__ = 'things'\n    id = Column(Integer, primary_key=True)\n"
            "    other = relationship('Nothing')\n",
            None,
            "InvalidRequestError: When initializing mapper",
        ),
    ],
)
async def test_an_app_that_fails_at_import_is_named_with_its_line(
    worlds: Worlds, app: str, line: int | None, reason: str
) -> None:
    problem = await problem_of(worlds, app)
    assert (problem.file, problem.line) == ("app.py", line)
    assert reason in problem.reason


@pytest.mark.parametrize(
    "app",
    ["import os\nos._exit(0)\n", "import os\nos.abort()\n", "import ctypes\nctypes.string_at(0)\n"],
)
async def test_an_app_that_ends_its_process_at_import_is_named(worlds: Worlds, app: str) -> None:
    problem = await problem_of(worlds, app)
    assert "the process that built the world ended" in problem.reason


async def test_an_app_that_hangs_at_import_is_given_up(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template_handle, "_BUILD_TIMEOUT_S", 0.5)
    problem = await problem_of(worlds, "while True:\n    pass\n")
    assert problem.reason == "the world was not built within 0.5 s"


async def test_an_app_that_forks_at_import_has_one_template(worlds: Worlds) -> None:
    scenario = worlds.add(make_scenario("import os\nos.fork()\n" + SOUND))
    for _ in range(4):
        session = await worlds.start(scenario)
        assert await ask(session, "look") == 1
        await session.close()


@pytest.mark.parametrize(
    "forgery",
    [
        "os.write(3, b'{\"ready\": true}'); os._exit(0)",
        "open('report.json', 'w').write('[]'); os.write(3, b'{\"ready\": true}'); os._exit(0)",
        "open('report.json', 'w').write('{\"tools\": [7], \"notes\": []}'); os.write(3, b'{\"ready\": 1}')",
        "os.mkdir('report.json'); os.write(3, b'{\"ready\": true}')",
        "os.write(3, b'nonsense')",
        "os.write(3, b'7')",
        'os.write(3, b\'{"id": [], "pid": 1}\')',
        "os.write(3, b'{\"ready\": true}'); os.truncate('building.db', 0); os._exit(0)",
    ],
)
async def test_an_app_that_forges_its_report_is_a_broken_world(worlds: Worlds, forgery: str) -> None:
    find_channel = """
import os, stat
control = next(fd for fd in range(3, 64) if stat.S_ISSOCK(os.fstat(fd).st_mode))
os.dup2(control, 3)
"""
    with pytest.raises(ScenarioError):
        await worlds.start(make_scenario(find_channel + forgery + "\nimport time\ntime.sleep(60)\n"))


async def test_names_of_the_control_plane_and_names_taken_twice_are_left_out_and_noted(
    worlds: Worlds,
) -> None:
    template = await worlds.manager.template("toy")
    assert {(note.file, note.field, note.reason) for note in template.notes} == {
        ("app.py", "done", "this tool name is reserved for the control plane; the tool is left out"),
        ("app.py", "recite", "this tool name is taken; the tool is left out"),
    }
    assert "done" not in {tool.name for tool in template.tools}


HOOK = """
import os, time
from contextlib import asynccontextmanager
from fastapi import FastAPI

@asynccontextmanager
async def lifespan(app):
    {start}
    yield

app = FastAPI(lifespan=lifespan)

@app.get("/", operation_id="look")
def look() -> int:
    return 1
"""


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ("raise RuntimeError('no network')", "RuntimeError: no network"),
        ("raise SystemExit(2)", "SystemExit: 2"),
        ("os._exit(0)", "they ended the process"),
        ("os._exit(3)", "they ended the process"),
    ],
)
async def test_start_up_hooks_that_fail_are_named(worlds: Worlds, start: str, reason: str) -> None:
    problem = await problem_of(worlds, HOOK.format(start=start))
    assert problem.reason == f"the app's start-up hooks failed: {reason}"


async def test_start_up_hooks_that_fail_only_in_a_session_crash_it(worlds: Worlds) -> None:
    scenario = make_scenario(HOOK.format(start="assert not os.path.exists('pristine.db'), 'not again'"))
    with pytest.raises(WorldCrashed, match="the app's start-up hooks failed: AssertionError: not again"):
        await worlds.start(scenario)


@pytest.mark.parametrize(
    "ending",
    ["import uvicorn\nuvicorn.run(app)", "from uvicorn import Config, Server\nServer(Config(app)).run()"],
)
async def test_an_app_that_serves_itself_at_import_is_sound(worlds: Worlds, ending: str) -> None:
    session = await worlds.start(make_scenario(f"{SOUND}\n{ending}\n"))
    assert await ask(session, "look") == 1
