"""`subworlds import-awm`: an AWM folder becomes worlds that an author can change, and a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from subworlds.scenarios.pack import Catalog, Pack
from subworlds.scenarios.task import JudgeCheck, PythonCheck

from .conftest import Command

APP = """
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from sqlalchemy import create_engine, text

app = FastAPI()
engine = create_engine("sqlite:///somewhere/else.db")

class NewNote(BaseModel):
    line: str
    kind: str

@app.get("/notes", operation_id="list_notes")
def list_notes():
    with engine.connect() as c:
        return {"notes": [dict(row) for row in c.execute(text("SELECT id, line FROM notes")).mappings()]}

@app.post("/notes", operation_id="add_note")
def add_note(note: NewNote):
    with engine.begin() as c:
        c.execute(text("INSERT INTO notes (line, kind) VALUES (:line, :kind)"), note.model_dump())
    return {"added": True}

@app.get("/notes/{note_id}", operation_id="read_note")
def read_note(note_id: int):
    with engine.connect() as c:
        found = c.execute(text("SELECT line FROM notes WHERE id = :id"), {"id": note_id}).one()
    return {"line": found.line}

@app.post("/notes", operation_id="add_note_again")
def add_note_again(note: NewNote):
    return {"added": False}

@app.get("/broken", operation_id="broken_tool")
def broken_tool():
    raise HTTPException(500, "this never works")
"""
TABLES = [
    {"name": "owners", "ddl": "CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT) -- people"},
    {
        "name": "notes",
        "ddl": "CREATE TABLE notes (id INTEGER PRIMARY KEY, line TEXT NOT NULL,"
        " kind TEXT CHECK (kind IN ('plain', 'urgent')), owner INTEGER REFERENCES owners (id));",
        "indexes": ["CREATE INDEX notes_by_line ON notes (line)"],
    },
]
ROWS = [
    "INSERT INTO notes (line, kind) VALUES ('milk; and -- bread', 'plain');",
    "INSERT INTO notes (line, kind, owner) VALUES ('it isn't here', 'plain', 99) -- nobody",
    "INSERT INTO notes (line, kind) VALUES ('lost', 'no such kind');",
]
COUNTS = """def verify_task_completion(initial_db_path, final_db_path, final_answer=None):
    import sqlite3
    before, after = (
        sqlite3.connect(path).execute("SELECT count(*) FROM notes").fetchone()[0]
        for path in (initial_db_path, final_db_path)
    )
    return {"result": "complete" if after == before + 1 else "others"}
"""
WITH_HELPER = "import json\n\ndef helper():\n    return 'others'\n\n" + (
    "def verify_it(initial_db_path, final_db_path, final_answer=None):\n    return {'result': helper()}\n"
)
ALWAYS = "def verify_it(initial_db_path, final_db_path, answer=None):\n    return {'result': 'complete'}\n"
RAISES = "def verify_task_completion(initial_db_path, final_db_path, final_answer=None):\n    return 1 / 0\n"
EVIDENCE = "def verify_task(initial_db_path, final_db_path):\n    return {'seen': 1}\n"

Change = Callable[[dict[str, list[dict[str, Any]]]], None]
Make = Callable[..., Path]


@pytest.fixture
def awm(tmp_path: Path) -> Make:
    """Makes an AWM folder of these scenarios, with a task for each verifier's code."""

    def make(*names: str, codes: tuple[str, ...] = (COUNTS,), change: Change | None = None) -> Path:
        files: dict[str, list[dict[str, Any]]] = {
            "gen_scenario.jsonl": [{"name": name, "description": f"About {name}."} for name in names],
            "gen_envs.jsonl": [{"scenario": name, "full_code": APP} for name in names],
            "gen_db.jsonl": [{"scenario": name, "db_schema": {"tables": TABLES}} for name in names],
            "gen_sample.jsonl": [
                {"scenario": name, "sample_data": [{"table_name": "notes", "insert_statements": ROWS[:1]}]}
                for name in names
            ],
            "gen_tasks.jsonl": [
                {"scenario": name, "tasks": [f"Task {index}." for index in range(len(codes))]}
                for name in names
            ],
            "gen_verifier.pure_code.jsonl": [
                {"scenario": name, "task_idx": index, "verification": {"code": code}}
                for name in names
                for index, code in enumerate(codes)
            ],
        }
        if change is not None:
            change(files)
        folder = tmp_path / "awm"
        folder.mkdir(exist_ok=True)
        for file, lines in files.items():
            (folder / file).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return folder

    return make


def findings_of(scenario: dict[str, Any]) -> set[tuple[str, str]]:
    return {(finding["kind"], finding["subject"]) for finding in scenario["findings"]}


def test_sound_folder_is_imported_whole(subworlds: Command, awm: Make, tmp_path: Path) -> None:
    source, out = awm("Note Book", "Diary"), tmp_path / "out"
    ran = subworlds("import-awm", source, out, "--json")
    assert (ran.status, ran.err) == (0, "")
    assert [(s["name"], s["imported"], s["tools"], s["tasks"]) for s in ran.json["scenarios"]] == [
        ("note_book", True, 5, 1),
        ("diary", True, 5, 1),
    ]
    assert json.loads((out / "import.json").read_text()) == ran.json
    assert sorted(path.name for path in out.iterdir()) == ["diary", "import.json", "note_book"]
    assert not list(tmp_path.glob(".out*")), "nothing unfinished is left"
    native, original = Catalog.load([out]), Catalog.load([source])
    assert native.scenario("diary").app_source == original.scenario("diary").app_source
    assert [task.prompt for task in native.tasks.values()] == ["Task 0."] * 2
    assert subworlds("list", "--pack", out).status == 0
    played = subworlds("run", "diary/task-000", "--agent", "noop", "--json", "--pack", out)
    assert (played.status, played.json["outcome"]) == (0, "incomplete")


def test_report_names_everything_that_is_wrong(subworlds: Command, awm: Make, tmp_path: Path) -> None:
    def break_much(files: dict[str, list[dict[str, Any]]]) -> None:
        files["gen_sample.jsonl"][0]["sample_data"][0]["insert_statements"] = ROWS
        files["gen_verifier.jsonl"] = [
            {"scenario": "notes", "task_idx": 5, "verification": {"code": EVIDENCE}}
        ]
        files["gen_verifier.pure_code.jsonl"].pop(5)

    codes = (COUNTS, WITH_HELPER, ALWAYS, RAISES, "def verify_it(:", "", "def verify_it(a): ...")
    source = awm("Notes", codes=codes, change=break_much)
    ran = subworlds("import-awm", source, tmp_path / "out", "--json")
    (scenario,) = ran.json["scenarios"]
    assert ran.status == 1
    assert "3 scenarios, tasks or rows" in ran.err
    assert findings_of(scenario) == {
        ("repaired_statement", "notes"),
        ("lost_row", "notes"),
        ("duplicate_route", "POST /notes"),
        ("tool_never_succeeds", "broken_tool"),
        ("passes_without_acting", "notes/task-002"),
        ("verifier_raises", "notes/task-003"),
        ("task_left_out", "notes/task-004"),
        ("task_left_out", "notes/task-006"),
        ("needs_a_judge", "notes/task-005"),
    }
    details = {finding["kind"]: finding["detail"] for finding in scenario["findings"]}
    assert "CHECK constraint failed" in details["lost_row"]
    assert details["duplicate_route"] == "add_note_again repeats add_note"
    assert "ZeroDivisionError" in details["verifier_raises"]
    assert "this never works" in details["tool_never_succeeds"]
    (pack,) = Catalog.load([tmp_path / "out"]).packs
    assert [row.sql for row in pack.scenarios["notes"].seed] == [
        "INSERT INTO notes (line, kind) VALUES ('milk; and -- bread', 'plain');",
        "INSERT INTO notes (line, kind, owner) VALUES ('it isn''t here', 'plain', 99) -- nobody\n;",
    ]
    checks = [task.check for task in pack.tasks.values()]
    assert [check.function for check in checks if isinstance(check, PythonCheck | JudgeCheck)] == [
        "verify_task_000",
        "verify_it",
        "verify_task_002",
        "verify_task_003",
        "verify_task_005",
    ]
    assert isinstance(checks[-1], JudgeCheck)
    assert (tmp_path / "out" / "notes" / "verifier_task-001.py").read_text() == WITH_HELPER


def test_scenario_that_cannot_start_is_left_behind_and_named(
    subworlds: Command, awm: Make, tmp_path: Path
) -> None:
    def break_one(files: dict[str, list[dict[str, Any]]]) -> None:
        files["gen_db.jsonl"][0]["db_schema"] = {"tables": [{"name": "notes", "ddl": "CREATE TABLE notes ("}]}

    source = awm("Broken", "Sound", change=break_one)
    ran = subworlds("import-awm", source, tmp_path / "out")
    assert ran.status == 1
    assert "not imported" in ran.out
    assert "gen_db.jsonl:1: notes: statement failed: incomplete input" in " ".join(ran.out.split())
    assert list(Pack.load(tmp_path / "out").scenarios) == ["sound"]


def test_nothing_is_written_where_nothing_can_be_imported(
    subworlds: Command, awm: Make, tmp_path: Path
) -> None:
    def break_all(files: dict[str, list[dict[str, Any]]]) -> None:
        files["gen_envs.jsonl"][0]["full_code"] = "app = "

    source = awm("Broken", change=break_all)
    assert subworlds("import-awm", source, tmp_path / "out").status == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["awm"]


def test_only_the_scenarios_asked_for_are_imported(subworlds: Command, awm: Make, tmp_path: Path) -> None:
    source = awm("One", "Two", "3 More")
    chosen = ("--scenario", "one", "--scenario", "3_more")
    ran = subworlds("import-awm", source, tmp_path / "out", *chosen, "--json")
    assert ran.status == 0
    assert list(Pack.load(tmp_path / "out").scenarios) == ["one", "w_3_more"]
    assert ("renamed", "3_more") in findings_of(ran.json["scenarios"][1])
    unknown = subworlds("import-awm", source, tmp_path / "other", "--scenario", "tow")
    assert unknown.status == 2
    assert "did you mean 'two'" in unknown.err


def test_what_lies_in_the_way_is_replaced_only_by_force_and_only_if_it_is_worlds(
    subworlds: Command, awm: Make, tmp_path: Path
) -> None:
    source, out = awm("One", "Two"), tmp_path / "out"
    assert subworlds("import-awm", source, out).status == 0
    again = subworlds("import-awm", source, out, "--scenario", "two")
    assert (again.status, len(Pack.load(out).scenarios)) == (2, 2)
    assert "--force replaces it" in again.err
    assert subworlds("import-awm", source, out, "--scenario", "two", "--force").status == 0
    assert list(Pack.load(out).scenarios) == ["two"]
    (out / "diary.txt").write_text("precious")
    refused = subworlds("import-awm", source, out, "--force")
    assert refused.status == 2
    assert "holds something else than worlds" in refused.err
    assert (out / "diary.txt").read_text() == "precious"


def test_judged_verifiers_are_imported_when_they_are_preferred(
    subworlds: Command, awm: Make, tmp_path: Path
) -> None:
    def add_judged(files: dict[str, list[dict[str, Any]]]) -> None:
        files["gen_verifier.jsonl"] = [{"scenario": "one", "task_idx": 0, "verification": {"code": EVIDENCE}}]

    source = awm("One", change=add_judged)
    assert subworlds("import-awm", source, tmp_path / "out", "--prefer-judge").status == 0
    (task,) = Pack.load(tmp_path / "out").tasks.values()
    assert isinstance(task.check, JudgeCheck)
    assert task.check.function == "verify_task_000"


@pytest.mark.parametrize("folder", ["missing", "empty"])
def test_what_is_no_awm_folder_is_refused(subworlds: Command, tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    ran = subworlds("import-awm", tmp_path / folder, tmp_path / "out")
    assert (ran.status, ran.out) == (2, "")
    assert folder in ran.err
    assert not (tmp_path / "out").exists()


def test_malformed_line_is_named_and_nothing_is_written(
    subworlds: Command, awm: Make, tmp_path: Path
) -> None:
    source = awm("One")
    with (source / "gen_tasks.jsonl").open("a") as tasks:
        tasks.write("{oops\n")
    ran = subworlds("import-awm", source, tmp_path / "out")
    assert ran.status == 2
    assert "gen_tasks.jsonl:2: is not JSON" in ran.err
    assert not (tmp_path / "out").exists()
