"""Generators: an author's code at work in its confined process, and what becomes of what it says."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import pytest_asyncio

from subworlds.sandbox import SandboxUnavailable
from subworlds.scenarios.errors import PackError
from subworlds.scenarios.generation import generator
from subworlds.scenarios.generation.generator import (
    DrawOrder,
    GeneratorError,
    GeneratorLimits,
    Generators,
)
from subworlds.scenarios.generation.seed import seed_sql
from subworlds.scenarios.generation.task_lines import as_jsonl, taken, task_lines
from subworlds.scenarios.generation.world_folder import WorldFolder
from subworlds.scenarios.native_about import Generated
from subworlds.scenarios.pack import Pack

pytestmark = pytest.mark.asyncio(loop_scope="module")

BAKERY = Path(__file__).parent.parent / "generators" / "bakery"
HEAD = """
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template
def rows(rng):
    yield "customers", {"id": 1, "name": "Ada", "since": "2020-01-01"}
"""
ONE_TEMPLATE = "@template('one', difficulty='easy')\ndef one(world, rng):\n    "

FORGED = """
import contextlib, os
for descriptor in range(64):
    with contextlib.suppress(OSError):
        os.write(descriptor, %r)
os._exit(0)
"""

Lines: TypeAlias = list[dict[str, Any]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def generators() -> AsyncIterator[Generators]:
    async with Generators(limits=GeneratorLimits(draw_s=0.5, load_s=0.5)) as opened:
        yield opened


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bakery, seeded."""
    path = tmp_path_factory.mktemp("bakery") / "it's 100% full?#.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((BAKERY / "schema.sql").read_text() + (BAKERY / "seed.sql").read_text())
    return path


@pytest.fixture
def bakery(tmp_path: Path) -> WorldFolder:
    """A copy of the bakery, to write in."""
    copied = shutil.copytree(BAKERY, tmp_path / "bakery", ignore=shutil.ignore_patterns("__pycache__"))
    return WorldFolder(copied)


@pytest.fixture
def written(bakery: WorldFolder) -> Callable[[str], WorldFolder]:
    """The bakery with another generator.py."""

    def write(source: str) -> WorldFolder:
        (bakery.path / "generator.py").write_text(source)
        return bakery

    return write


async def drawn(generators: Generators, folder: WorldFolder, database: Path, **order: Any) -> Lines:
    asked = DrawOrder(**{"seed": 1, "count": 30, "taken": taken(folder.hand_written()), **order})
    drafts = await generators.drafts(folder.path, folder.about().clock, database, asked)
    return task_lines(folder.name, drafts, folder.hand_written())


async def rows(generators: Generators, folder: WorldFolder) -> str:
    return seed_sql(folder.name, await generators.rows(folder.path, folder.about().clock))


# ---------------------------------------------------------------- the seed


async def test_seed_written_from_rows_is_the_committed_one(
    generators: Generators, bakery: WorldFolder
) -> None:
    assert await rows(generators, bakery) == (BAKERY / "seed.sql").read_text()


async def test_seed_holds_every_value_as_it_was_yielded(
    generators: Generators, bakery: WorldFolder, database: Path
) -> None:
    with closing(sqlite3.connect(database)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM customers ORDER BY id")]
    assert len(names) == 24
    assert {"Ada O'Hara", "Bo Baker; Sons", "Cleo Müller", "Dan Line\nBreak"} <= set(names)
    assert len(Pack.load(_with_a_task(bakery)).scenarios["bakery"].seed) == 2


async def test_seed_keeps_the_order_of_insertion_and_quotes_odd_names(
    generators: Generators, written: Callable[[str], WorldFolder]
) -> None:
    source = """
def rows(rng):
    yield "b", {"id": 1, "select": None}
    yield "b", {"id": 2, "select": 1.5}
    yield "a b", {'q"': -(2**63)}
    yield "b", {"id": 3, "select": True}
"""
    sql = await rows(generators, written(source))
    assert sql.partition("\n\n")[2] == (
        'INSERT INTO b (id, "select") VALUES\n  (1, NULL),\n  (2, 1.5);\n\n'
        'INSERT INTO "a b" ("q""") VALUES\n  (-9223372036854775808);\n\n'
        'INSERT INTO b (id, "select") VALUES\n  (3, 1);\n'
    )


# ---------------------------------------------------------------- drawing


async def test_same_seed_draws_the_same_lines_in_another_process_with_another_hash_seed(
    bakery: WorldFolder, generators: Generators, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = as_jsonl(await drawn(generators, bakery, database))
    monkeypatch.setenv("PYTHONHASHSEED", "12345")
    async with Generators() as others:
        assert as_jsonl(await drawn(others, bakery, database)) == first
    assert as_jsonl(await drawn(generators, bakery, database, seed=2)) != first


async def test_draw_is_balanced_and_free_of_duplicates(
    generators: Generators, bakery: WorldFolder, database: Path
) -> None:
    lines = await drawn(generators, bakery, database)
    assert Counter(line["template"] for line in lines) == {"customer-since": 15, "cancel-order": 15}
    assert len({line["prompt"] for line in lines}) == 30
    assert len({str(line["solution"]) for line in lines}) == 30
    assert lines[0]["id"] == f"bakery/{lines[0]['template']}-001"


async def test_asking_for_more_keeps_what_there_was_and_its_splits(
    generators: Generators, bakery: WorldFolder, database: Path
) -> None:
    few = {line["id"]: line for line in await drawn(generators, bakery, database, count=11)}
    many = {line["id"]: line for line in await drawn(generators, bakery, database, count=40)}
    assert len(few) == 11
    assert few.items() <= many.items()
    assert {line["split"] for line in many.values()} == {"train", "validation", "test"}


async def test_exhausted_templates_give_what_they_have(
    generators: Generators, bakery: WorldFolder, database: Path
) -> None:
    lines = await drawn(generators, bakery, database, count=500)
    assert 40 < len(lines) < 500
    assert sum(line["template"] == "customer-since" for line in lines) == 24


async def test_drafts_about_one_thing_share_a_split(
    generators: Generators, written: Callable[[str], WorldFolder], database: Path
) -> None:
    source = (
        HEAD
        + """
@template("about", difficulty="easy")
def about(world, rng):
    n = rng.randrange(10**6)
    return Draft(prompt=f"Do {n}.", solution=[call("do", n=n)], about={"parity": n % 2})
"""
    )
    lines = await drawn(generators, written(source), database, count=60)
    splits = {(line["solution"][0]["arguments"]["n"] % 2, line["split"]) for line in lines}
    assert len(splits) == 2


async def test_tasks_written_by_hand_are_not_drawn_again_and_stay_first(
    generators: Generators, bakery: WorldFolder, database: Path
) -> None:
    by_hand = (await drawn(generators, bakery, database))[3]
    del by_hand["template"]
    text = as_jsonl([{**by_hand, "id": "bakery/by-hand"}]).replace(", ", ",  ")
    (bakery.path / "tasks.jsonl").write_text(text)
    lines = await drawn(generators, bakery, database)
    assert by_hand["prompt"] not in {line["prompt"] for line in lines}
    for _ in range(2):
        bakery.write_tasks(as_jsonl(lines), Generated(1, len(lines)))
        assert (bakery.path / "tasks.jsonl").read_text() == text + as_jsonl(lines)
    tasks = Pack.load(bakery.path).tasks
    assert [task.template for task in tasks.values()][:2] == [None, lines[0]["template"]]
    assert bakery.about().generated == Generated(1, 30)


async def test_id_of_a_task_written_by_hand_is_refused(
    generators: Generators, bakery: WorldFolder, database: Path
) -> None:
    (bakery.path / "tasks.jsonl").write_text('{"id": "bakery/cancel-order-001", "prompt": "Mine."}\n')
    with pytest.raises(GeneratorError, match="give the template another name"):
        await drawn(generators, bakery, database)


async def test_world_is_the_seeded_database_at_its_time_and_cannot_be_written(
    generators: Generators, written: Callable[[str], WorldFolder], database: Path
) -> None:
    source = (
        HEAD
        + ONE_TEMPLATE
        + """
    try:
        world.rows("DELETE FROM customers")
    except Exception as error:
        refused = str(error)
    clocks = f"{world.clock:%Y-%m-%d %H:%M} {datetime.now():%Y} " + world.value("SELECT date('now')")
    return Draft(f"{world.value('SELECT count(*) FROM customers')} {refused} {clocks}", [call("x")])
""".lstrip()
    )
    source = "from datetime import datetime\n" + source
    [line] = await drawn(generators, written(source), database)
    assert line["prompt"] == ("24 attempt to write a readonly database 2026-03-02 09:00 2026 2026-03-02")


# ---------------------------------------------------------------- broken and hostile generators


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def rows(:", "generator.py:1: is not Python: "),
        ("x = 1\nraise KeyError('x')", "generator.py:2: KeyError: 'x'"),
        ("import sys\nsys.exit(0)", "generator.py:2: SystemExit: 0"),
        ("while True:\n    pass", "did not end within 0.5 s"),
        ("import fastapi", "a generator has the standard library"),
        ("import os\nos._exit(0)", "its process ended without an answer"),
        (FORGED % b'{"drafts": 7}', "something that is neither rows nor tasks"),
        (FORGED % b'{"drafts": [{}]}', "something that is neither rows nor tasks"),
        (FORGED % b'{"failed": [1]}', "something that is neither rows nor tasks"),
        (FORGED % b"[]", "something that is neither rows nor tasks"),
        (FORGED % b"{", "its process ended without an answer"),
        ("x = 'a' * 10**10", "MemoryError"),
        ("import socket\nsocket.socket()", "generator.py:2: PermissionError"),
        (f"open({str(Path(__file__))!r})", "generator.py:1: PermissionError"),
        ("x = 1", "has no templates"),
        (HEAD + ONE_TEMPLATE + "raise ValueError('odd')", "generator.py:7: template 'one': ValueError: odd"),
        (HEAD + ONE_TEMPLATE + "while True: pass", "template 'one': did not end within 0.5 s"),
        (HEAD + ONE_TEMPLATE + "return 'Renew it.'", "expected a Draft or None"),
        (HEAD + ONE_TEMPLATE + "return Draft(7, [])", "template 'one': prompt: expected a text, found 7"),
        (HEAD + ONE_TEMPLATE + "return Draft('Do.', 'x')", "solution: expected a list, found 'x'"),
        (HEAD + ONE_TEMPLATE + "return Draft('Do.', [call('a', b={1})])", "solution: is not JSON: "),
        (HEAD + ONE_TEMPLATE + "return world.rows('SELECT nonsense')", "OperationalError: no such column"),
        (HEAD + ONE_TEMPLATE + "phrase(rng, 'a', 'b {c}')", "template 'one': KeyError: 'c'"),
        (HEAD + ONE_TEMPLATE + "pass\ntwo = template('one', difficulty='easy')(one.draw)", "has this name"),
        (HEAD + ONE_TEMPLATE.replace("'one'", "'O ne'") + "pass", "template name: expected a text of small"),
        (
            HEAD + ONE_TEMPLATE.replace("'easy'", "'trivial'") + "pass",
            "difficulty: expected 'easy', 'medium'",
        ),
    ],
)
async def test_broken_generator_is_one_clear_message(
    generators: Generators,
    written: Callable[[str], WorldFolder],
    database: Path,
    source: str,
    reason: str,
) -> None:
    with pytest.raises(GeneratorError) as raised:
        await drawn(generators, written(source), database)
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1", "has no function rows(rng)"),
        ("def rows(rng):\n    yield 'a', {'b': object()}", "rows: row 1 (a.b): expected a text, a number"),
        ("def rows(rng):\n    yield 'a', {'b': float('nan')}", "rows: row 1 (a.b): nan is no number"),
        ("def rows(rng):\n    yield 'a', {'b': 2**63}", "does not fit into 64 bits"),
        ("def rows(rng):\n    yield 'a', {'b': '\\0'}", "has a NUL character"),
        ("def rows(rng):\n    yield 'a', {}", "expected (table, {column: value}), found ('a', {})"),
        ("def rows(rng):\n    yield 'a'", "expected (table, row), found 'a'"),
        ("def rows(rng):\n    return 7", "rows: TypeError: "),
        ("def rows(rng):\n    while True: yield 'a', {'b': 1}", "rows: "),
    ],
)
async def test_rows_that_are_none_are_one_clear_message(
    generators: Generators, written: Callable[[str], WorldFolder], source: str, reason: str
) -> None:
    with pytest.raises(GeneratorError) as raised:
        await rows(generators, written(source))
    assert reason in str(raised.value)


async def test_missing_generator_is_named(generators: Generators, bakery: WorldFolder) -> None:
    (bakery.path / "generator.py").unlink()
    with pytest.raises(GeneratorError, match=r"bakery/generator\.py: is missing"):
        await rows(generators, bakery)


async def test_where_generators_cannot_be_confined_they_run_only_on_request(
    bakery: WorldFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise SandboxUnavailable("no Landlock here; pass --allow-unconfined")

    monkeypatch.setattr(generator, "require_confinement", refuse)
    with pytest.raises(SandboxUnavailable, match="--allow-unconfined"):
        await Generators().__aenter__()
    async with Generators(allow_unconfined=True) as unconfined:
        assert len(await unconfined.rows(bakery.path, bakery.about().clock)) == 84


# ---------------------------------------------------------------- what the loader makes of it


@pytest.mark.parametrize(
    ("generated", "reason"),
    [
        ({"seed": 1, "count": 2}, "generated.count: is 2, but tasks.jsonl has 1 lines with a 'template'"),
        ({"seed": 1}, "scenario.json: generated.count: is missing"),
        ({"seed": -1, "count": 1}, "generated.seed: expected a whole number from 0, found -1"),
        ({"seed": 1, "count": 1, "sead": 2}, "generated.sead: unknown field"),
        ([], "generated: expected an object, found a list of 0"),
    ],
)
async def test_wrong_note_on_generation_is_reported(bakery: WorldFolder, generated: Any, reason: str) -> None:
    _with_a_task(bakery, generated)
    with pytest.raises(PackError) as raised:
        Pack.load(bakery.path)
    assert reason in str(raised.value)


def _with_a_task(bakery: WorldFolder, generated: Any = None) -> Path:
    """The bakery with one generated task."""
    task = {
        "id": "bakery/x-001",
        "prompt": "Who?",
        "template": "x",
        "answer": {"text": "Ada"},
        "solution": [],
    }
    bakery.write_tasks(as_jsonl([task]), Generated(1, 1))
    if generated is not None:
        about = bakery.path / "scenario.json"
        about.write_text(as_jsonl([{**_json(about), "generated": generated}]))
    return bakery.path


def _json(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text()))
