"""The built-in worlds are sound: their tools work, and each task is solved by its gold solution."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from unittest.mock import patch

import httpx
import pytest
import sqlalchemy
import time_machine
from fastapi import FastAPI
from sqlalchemy.pool import NullPool

JSON: TypeAlias = Any
Dump: TypeAlias = dict[str, list[tuple[JSON, ...]]]

PACKS = Path(__file__).parents[2] / "scenarios" / "packs"
WORLDS = tuple(sorted(path.parent.name for path in PACKS.glob("*/scenario.json")))
GROWN = tuple(name for name in WORLDS if (PACKS / name / "generator.py").exists())
"""Worlds of the full size, with tasks that are generated."""
RESERVED = {"done", "verify", "reset", "step", "state", "close"}


def tasks_of(name: str) -> list[JSON]:
    return [json.loads(line) for line in (PACKS / name / "tasks.jsonl").read_text().splitlines()]


TASKS = {task["id"]: task for name in WORLDS for task in tasks_of(name)}


@dataclass(frozen=True)
class Tool:
    """Where a tool's arguments go in a request."""

    method: str
    path: str
    parameters: dict[str, str]
    """Name to place: path or query. All other arguments are fields of the body."""
    about: JSON

    def request(self, arguments: dict[str, JSON]) -> httpx.Request:
        unplaced = dict(arguments)
        path = re.sub(r"{(\w+)}", lambda name: str(unplaced.pop(name[1])), self.path)
        query = {name: unplaced.pop(name) for name in arguments if self.parameters.get(name) == "query"}
        body = None if self.method == "get" else unplaced
        return httpx.Request(self.method, f"http://world{path}", params=query, json=body)


class World:
    """A built-in world on a database of its own, played through its routes under its own clock."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.initial = folder / "initial.db"
        self.final = folder / "final.db"
        self.clock = datetime.fromisoformat(json.loads((PACKS / name / "scenario.json").read_text())["clock"])
        self._build()
        self.app = self._app()
        self.tools = dict(self._tools())

    def _build(self) -> None:
        with closing(sqlite3.connect(self.initial)) as db:
            db.executescript((PACKS / self.name / "schema.sql").read_text())
            db.executescript((PACKS / self.name / "seed.sql").read_text())

    def _app(self) -> FastAPI:
        create_engine = sqlalchemy.create_engine

        def on_the_final_database(_url: str, **_options: JSON) -> sqlalchemy.Engine:
            return create_engine("sqlite://", creator=lambda: sqlite3.connect(self.final), poolclass=NullPool)

        file = PACKS / self.name / "app.py"
        module = ModuleType(f"{self.name}_app")
        with patch.object(sqlalchemy, "create_engine", on_the_final_database):
            exec(compile(file.read_text(), file, "exec", dont_inherit=True), module.__dict__)
        app = module.app
        assert isinstance(app, FastAPI)
        return app

    def _tools(self) -> Iterator[tuple[str, Tool]]:
        for path, methods in self.app.openapi()["paths"].items():
            for method, about in methods.items():
                places = {parameter["name"]: parameter["in"] for parameter in about.get("parameters", ())}
                yield about["operationId"], Tool(method, path, places, about)

    def play(self, calls: list[JSON]) -> list[httpx.Response]:
        """The answers to the calls, made one after the other on a fresh database."""
        shutil.copy(self.initial, self.final)
        return asyncio.run(self._play(calls))

    async def _play(self, calls: list[JSON]) -> list[httpx.Response]:
        transport = httpx.ASGITransport(self.app)
        with time_machine.travel(self.clock, tick=False):
            async with httpx.AsyncClient(transport=transport) as client:
                return [
                    await client.send(self.tools[call["tool"]].request(call["arguments"])) for call in calls
                ]

    def attached(self) -> closing[sqlite3.Connection]:
        """The final database, with the first one attached as `initial`."""
        db = sqlite3.connect(self.final)
        db.execute("ATTACH ? AS initial", (str(self.initial),))
        return closing(db)


def dump(file: Path) -> Dump:
    with closing(sqlite3.connect(file)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: sorted(db.execute(f'SELECT * FROM "{table}"'), key=repr) for table in tables}


def changed_tables(world: World) -> set[str]:
    before, after = dump(world.initial), dump(world.final)
    return {table for table in before if before[table] != after[table]}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    return {name: World(name, tmp_path_factory.mktemp(name)) for name in WORLDS}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, worlds: dict[str, World]) -> World:
    return worlds[request.param]


def with_each_task(kind: Callable[[JSON], bool]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("task", [pytest.param(t, id=t["id"]) for t in TASKS.values() if kind(t)])


def check_of(task: JSON) -> JSON:
    return task.get("verify", {"kind": "state"})


def is_read_only(task: JSON) -> bool:
    return "read" in task["tags"]


def world_of(task: JSON, worlds: dict[str, World]) -> World:
    return worlds[task["id"].partition("/")[0]]


# ---------------------------------------------------------------- worlds


def test_world_is_large_enough(world: World) -> None:
    rows = dump(world.initial)
    assert len(rows) >= 6
    assert sum(map(len, rows.values())) >= 150
    assert len(world.tools) >= 14
    assert len(tasks_of(world.name)) >= 12


@pytest.mark.parametrize("name", GROWN)
def test_grown_world_has_the_full_anatomy(name: str, worlds: dict[str, World]) -> None:
    rows, tools, tasks = dump(worlds[name].initial), worlds[name].tools, tasks_of(name)
    assert len(rows) >= 6
    assert sum(map(len, rows.values())) >= 300
    assert len(tools) >= 15
    assert "read_policy" in tools
    assert 6 <= len(rows["policy"]) <= 12
    assert len(tasks) >= 45
    assert len({task["template"] for task in tasks if "template" in task}) >= 14
    assert {task["difficulty"] for task in tasks} == {"easy", "medium", "hard"}
    assert min(Counter(task["split"] for task in tasks).values()) >= 2


@pytest.mark.parametrize("name", GROWN)
def test_no_two_tasks_of_a_grown_world_share_a_prompt_or_a_gold(name: str) -> None:
    tasks = tasks_of(name)
    golds = {json.dumps([task["solution"], task.get("answer")], sort_keys=True) for task in tasks}
    assert len({task["prompt"].casefold() for task in tasks}) == len(tasks)
    assert len(golds) == len(tasks)


def test_seed_has_no_dangling_references(world: World) -> None:
    with closing(sqlite3.connect(world.initial)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_schema_declares_a_reference_for_every_foreign_id(world: World) -> None:
    with closing(sqlite3.connect(world.initial)) as db:
        for table in dump(world.initial):
            columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
            declared = {row[3] for row in db.execute(f"PRAGMA foreign_key_list({table})")}
            assert {column for column in columns if column.endswith("_id")} == declared, table


def test_tools_and_their_parameters_are_described(world: World) -> None:
    schemas = world.app.openapi()["components"]["schemas"]
    for name, tool in world.tools.items():
        assert name not in RESERVED
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", name)
        assert len(tool.about["description"]) > 40, name
        assert all(parameter.get("description") for parameter in tool.about.get("parameters", ())), name
        body = schemas.get(f"Body_{name}", {"properties": {}})
        assert all(field.get("description") for field in body["properties"].values()), name


def test_tools_refuse_what_does_not_exist(world: World) -> None:
    """Tools that take an id in their path answer 404 with a reason, or 422 where other arguments are due."""
    for name, tool in world.tools.items():
        ids = {parameter: 99999 for parameter, place in tool.parameters.items() if place == "path"}
        if ids:
            [response] = world.play([{"tool": name, "arguments": ids}])
            assert response.status_code in (404, 422), name
            assert response.json()["detail"], name
            assert not changed_tables(world), name


REFUSALS: list[tuple[str, str, JSON, int]] = [
    ("library", "lend_copy", {"copy_id": 401, "member_id": 113}, 409),  # out on loan
    ("library", "lend_copy", {"copy_id": 421, "member_id": 114}, 409),  # a lapsed membership
    ("library", "lend_copy", {"copy_id": 448, "member_id": 119}, 409),  # too much debt
    ("library", "lend_copy", {"copy_id": 434, "member_id": 123}, 409),  # kept for another member
    ("library", "renew_loan", {"loan_id": 650}, 409),  # others wait for it
    ("library", "renew_loan", {"loan_id": 652}, 409),  # overdue
    ("library", "return_loan", {"loan_id": 601}, 409),  # returned long ago
    ("library", "place_hold", {"book_id": 311, "member_id": 101, "pickup_branch_id": 1}, 409),  # on the shelf
    ("library", "waive_fine", {"fine_id": 921}, 409),  # too large
    ("library", "update_member", {"member_id": 101}, 422),  # nothing to change
    ("shop", "cancel_order", {"order_id": 1053}, 409),  # shipped
    ("shop", "apply_coupon", {"order_id": 1063, "code": "WINTER20"}, 409),  # over
    ("shop", "apply_coupon", {"order_id": 1063, "code": "SPRING15"}, 409),  # too small an order
    ("shop", "apply_coupon", {"order_id": 1063, "code": "NOSUCH"}, 404),
    ("shop", "set_item_quantity", {"order_id": 1057, "product_id": 412, "quantity": 5}, 409),  # out of stock
    ("shop", "set_item_quantity", {"order_id": 1067, "product_id": 433, "quantity": 0}, 409),  # the only item
    ("shop", "change_delivery", {"order_id": 1066, "address_id": 201}, 409),  # another customer's address
    ("shop", "refund_return", {"return_id": 3006, "method": "card"}, 409),  # not approved
    ("shop", "set_product_price", {"product_id": 423, "new_price": 4.40}, 409),  # looks like a slip
    ("shop", "place_purchase_order", {"product_id": 412, "quantity": 20}, 409),  # on order already
    ("clinic", "cancel_appointment", {"appointment_id": 736, "cancelled_by": "patient"}, 409),  # past
    ("clinic", "record_no_show", {"appointment_id": 786}, 409),  # still to come
    ("clinic", "waive_fee", {"fee_id": 906}, 409),  # let off within the year
    ("clinic", "dispense_repeat", {"prescription_id": 856}, 409),  # no repeats left
    ("clinic", "remove_time_off", {"time_off_id": 601}, 409),  # begun
    (
        "clinic",
        "find_free_slots",
        {"service_id": 401, "first_day": "2026-03-02", "last_day": "2026-04-02"},
        422,
    ),
    (
        "clinic",
        "add_time_off",  # with appointments booked
        {"practitioner_id": 302, "first_day": "2026-03-06", "last_day": "2026-03-06", "reason": "illness"},
        409,
    ),
    (
        "clinic",
        "issue_prescription",  # of what the patient is allergic to
        {"patient_id": 107, "practitioner_id": 303, "medicine_id": 802, "repeats": 1},
        409,
    ),
    (
        "clinic",
        "book_appointment",  # when the nurse is booked
        {
            "patient_id": 106,
            "service_id": 405,
            "practitioner_id": 305,
            "day": "2026-03-09",
            "starts": "11:00",
        },
        409,
    ),
]


@pytest.mark.parametrize(("name", "tool", "arguments", "status"), REFUSALS)
def test_refusal_says_why_and_leaves_nothing_behind(
    name: str, tool: str, arguments: JSON, status: int, worlds: dict[str, World]
) -> None:
    world = worlds[name]
    [response] = world.play([{"tool": tool, "arguments": arguments}])
    assert response.status_code == status, response.text
    assert isinstance(response.json()["detail"], str)
    assert len(response.json()["detail"]) > 20
    assert not changed_tables(world)


# ---------------------------------------------------------------- tasks


def test_tasks_cover_every_split_and_difficulty(world: World) -> None:
    tasks = tasks_of(world.name)
    splits = [task["split"] for task in tasks]
    assert splits.count("validation") >= 2
    assert splits.count("test") >= 2
    assert set(splits) == {"train", "validation", "test"}
    assert {task["difficulty"] for task in tasks} == {"easy", "medium", "hard"}
    assert len({task["id"] for task in tasks}) == len(tasks)
    assert "sql" in {check_of(task)["kind"] for task in tasks}


def test_some_task_has_a_verifier_in_python() -> None:
    assert "python" in {check_of(task)["kind"] for task in TASKS.values()}


@with_each_task(lambda task: True)
def test_gold_solution_succeeds(task: JSON, worlds: dict[str, World]) -> None:
    for response in world_of(task, worlds).play(task["solution"]):
        assert response.is_success, f"{response.request.url}: {response.text}"


@with_each_task(lambda task: True)
def test_gold_solution_writes_only_where_the_task_is_to_write(task: JSON, worlds: dict[str, World]) -> None:
    world = world_of(task, worlds)
    world.play(task["solution"])
    assert bool(changed_tables(world)) != is_read_only(task)


@with_each_task(lambda task: "answer" in task)
def test_answer_appears_in_what_the_gold_solution_sees(task: JSON, worlds: dict[str, World]) -> None:
    seen = {
        text for response in world_of(task, worlds).play(task["solution"]) for text in leaves(response.json())
    }
    [expected] = [value for kind, value in task["answer"].items() if kind in ("number", "text", "list")]
    wanted = {str(item) for item in (expected if isinstance(expected, list) else [expected])}
    assert wanted <= seen or "arithmetic" in task["tags"]


def leaves(value: JSON) -> Iterator[str]:
    """The texts and numbers in a JSON value, as text. 3.0 reads as 3 does."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield str(int(value) if isinstance(value, float) and value.is_integer() else value)


@with_each_task(lambda task: check_of(task)["kind"] == "state")
def test_each_alternative_reaches_an_end_state_of_its_own(task: JSON, worlds: dict[str, World]) -> None:
    world = world_of(task, worlds)
    ends: list[Dump] = []
    for calls in [task["solution"], *check_of(task).get("alternatives", [])]:
        assert all(response.is_success for response in world.play(calls))
        ends.append(dump(world.final))
    assert all(end not in ends[:index] for index, end in enumerate(ends))


@with_each_task(lambda task: check_of(task)["kind"] == "state")
def test_ignored_columns_exist(task: JSON, worlds: dict[str, World]) -> None:
    with closing(sqlite3.connect(world_of(task, worlds).initial)) as db:
        for table, columns in check_of(task).get("ignore", {}).items():
            assert set(columns) <= {row[1] for row in db.execute(f"PRAGMA table_info({table})")}


@with_each_task(lambda task: check_of(task)["kind"] == "sql")
def test_sql_assertions_hold_after_the_gold_solution_and_not_before(
    task: JSON, worlds: dict[str, World]
) -> None:
    world, check = world_of(task, worlds), check_of(task)
    world.play([])
    assert not holds(world, check)
    world.play(task["solution"])
    assert holds(world, check)
    assert changed_tables(world) <= set(check["may_change"])


def holds(world: World, check: JSON) -> bool:
    with world.attached() as db:
        return all(
            db.execute(item["sql"]).fetchall() == [tuple(row) for row in item["equals"]]
            for item in check["assert"]
        )


@with_each_task(lambda task: check_of(task)["kind"] == "python")
def test_python_verifier_accepts_the_gold_solution_and_not_the_first_database(
    task: JSON, worlds: dict[str, World]
) -> None:
    world, check = world_of(task, worlds), check_of(task)
    verify = runpy.run_path(str(PACKS / world.name / check["file"]))[check["function"]]
    world.play(task["solution"])
    assert verify(str(world.initial), str(world.final), None) == {"result": "complete"}
    assert verify(str(world.initial), str(world.initial), None) == {"result": "others"}
