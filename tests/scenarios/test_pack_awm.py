"""Loading AWM folders as they are: what is repaired, what is left out, and what stops the folder."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from subworlds.scenarios.awm import scenario_name
from subworlds.scenarios.errors import PackError, Problem
from subworlds.scenarios.pack import Catalog, Pack
from subworlds.scenarios.task import PythonCheck, Scenario, Statement, Task

VERIFIER = "import os\n\ndef helper(): ...\n\ndef verify_task_two(initial, final, answer=None): ...\n"
TABLE = {"name": "a", "ddl": "CREATE TABLE a (x INTEGER, y TEXT);", "indexes": ["CREATE INDEX i ON a (x);"]}
ROWS = {"table_name": "a", "reasoning": "…", "insert_statements": ["INSERT INTO a VALUES (1, 'one');"]}

Lines = list[dict[str, Any]]


def lines_of(*names: str) -> dict[str, Lines]:
    """The files of a folder with these scenarios, each with two tasks."""
    return {
        "gen_scenario.jsonl": [{"name": name, "description": f"About {name}."} for name in names],
        "gen_envs.jsonl": [{"scenario": name, "db_path": "x", "full_code": "app = 1"} for name in names],
        "gen_db.jsonl": [{"scenario": name, "db_schema": {"tables": [TABLE]}} for name in names],
        "gen_sample.jsonl": [{"scenario": name, "sample_data": {"tables": [ROWS]}} for name in names],
        "gen_tasks.jsonl": [{"scenario": name, "tasks": ["First.", "Second."]} for name in names],
        "gen_verifier.pure_code.jsonl": [
            {"scenario": scenario_name(name), "task_idx": index, "verification": {"code": VERIFIER}}
            for name in names
            for index in (1, 0)
        ],
    }


def write(folder: Path, files: dict[str, Lines]) -> Path:
    for file, lines in files.items():
        (folder / file).write_text("\n".join(map(json.dumps, lines)))
    return folder


def load_rows(folder: Path, *statements: str) -> Pack:
    """A folder whose one scenario is seeded with these statements."""
    files = lines_of("Toy Box")
    files["gen_sample.jsonl"][0]["sample_data"] = {"tables": [ROWS | {"insert_statements": statements}]}
    return Pack.load(write(folder, files))


def problems_of(folder: Path) -> list[tuple[str, int | None, str | None, str]]:
    with pytest.raises(PackError) as raised:
        Pack.load(folder)
    return [(Path(p.file).name, p.line, p.field, p.reason) for p in raised.value.problems]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("SurveyMonkey Apply", "surveymonkey_apply"),
        ("surveymonkey_apply", "surveymonkey_apply"),
        ("DoorDash Drive (Delivery Tracking)", "doordash_drive_delivery_tracking"),
        ("  --A__b / c!! ", "a_b_c"),
        ("23andMe", "23andme"),
        ("!?", ""),
    ],
)
def test_scenario_names_are_normalised(written: str, name: str) -> None:
    assert scenario_name(written) == name


def test_folder_is_loaded_whole(tmp_path: Path) -> None:
    pack = Pack.load(write(tmp_path, lines_of("Zoo", "Toy Box")))
    assert list(pack.scenarios) == ["zoo", "toy_box"]
    assert pack.scenarios["toy_box"] == Scenario(
        name="toy_box",
        title="Toy Box",
        description="About Toy Box.",
        schema=(
            Statement("CREATE TABLE a (x INTEGER, y TEXT);", "gen_db.jsonl", 2, "a"),
            Statement("CREATE INDEX i ON a (x);", "gen_db.jsonl", 2, "a"),
        ),
        seed=(Statement("INSERT INTO a VALUES (1, 'one');", "gen_sample.jsonl", 2, "a"),),
        app_source="app = 1",
        app_file="gen_envs.jsonl#toy_box",
        strict_references=False,
    )
    assert list(pack.tasks) == ["zoo/task-000", "zoo/task-001", "toy_box/task-000", "toy_box/task-001"]
    check = PythonCheck(VERIFIER, "verify_task_two")
    assert pack.tasks["toy_box/task-001"] == Task(
        "toy_box/task-001", "toy_box", 1, "Second.", check, tags=("awm",)
    )
    assert (pack.repairs, pack.left_out) == ((), ())


def test_descriptions_and_sample_tables_have_other_forms(tmp_path: Path) -> None:
    files = lines_of("Toy Box")
    del files["gen_scenario.jsonl"]
    files["gen_sample.jsonl"][0]["sample_data"] = [ROWS, "INSERT INTO a VALUES (2, 'two')"]
    files["gen_verifier.pure_code.jsonl"][0]["verification"] = {"code": "x = 1", "raw_response": "…"}
    pack = Pack.load(write(tmp_path, files))
    scenario = pack.scenarios["toy_box"]
    assert (scenario.title, scenario.description) == ("Toy Box", "")
    assert [(s.table, s.sql) for s in scenario.seed] == [
        ("a", "INSERT INTO a VALUES (1, 'one');"),
        (None, "INSERT INTO a VALUES (2, 'two')"),
    ]
    assert pack.tasks["toy_box/task-001"].check == PythonCheck("x = 1", "verify_task_completion")


@pytest.mark.parametrize(
    ("written", "mended", "what"),
    [
        (
            r"INSERT INTO a VALUES (1, 'I didn\'t');",
            "INSERT INTO a VALUES (1, 'I didn''t');",
            r"\' written as ''",
        ),
        (
            "INSERT INTO a VALUES (1, 'heads-up—I'll check');",
            "INSERT INTO a VALUES (1, 'heads-up—I''ll check');",
            "an apostrophe inside a word doubled",
        ),
        (
            r"insert or ignore into a (x, y) values (1, 'the dogs\' bowl isn't here');",
            "insert or ignore into a (x, y) values (1, 'the dogs'' bowl isn''t here');",
            r"\' written as '', an apostrophe inside a word doubled",
        ),
        (
            r"INSERT INTO a VALUES (1, 'C:\'), (2, 'it's');",
            r"INSERT INTO a VALUES (1, 'C:\'), (2, 'it''s');",
            "an apostrophe inside a word doubled",
        ),
    ],
)
def test_broken_apostrophes_are_mended_and_reported(
    tmp_path: Path, written: str, mended: str, what: str
) -> None:
    pack = load_rows(tmp_path, "INSERT INTO a VALUES (0, 'x');", written)
    untouched, row = pack.scenarios["toy_box"].seed
    assert (untouched.repaired, row.sql, row.line, row.table) == (None, mended, 1, "a")
    assert row.repaired is not None
    assert row.repaired.startswith(f"{what}: …")
    assert pack.repairs == (
        Problem(str(tmp_path / "gen_sample.jsonl"), 1, None, f"a row of 'a': {row.repaired}"),
    )


@pytest.mark.parametrize(
    "statement",
    [
        r"INSERT INTO a VALUES (1, 'C:\');",  # SQL as it stands: the backslash is the text's own
        "INSERT INTO a VALUES (1, 'it''s');",
        "INSERT INTO a VALUES (1, x'AB12');",
        r"INSERT INTO a VALUES (1, 'isn\'t', 'a column too many');",
        r"INSERT INTO missing VALUES (1, 'isn\'t');",
        r"INSERT INTO a VALUES (1, 'isn\'t'); DELETE FROM a;",
        r"DELETE FROM a WHERE y = 'isn\'t';",
        "INSERT INTO a VALUES (1, 'unclosed);",
        "INSERT INTO a VALUES (1, 'nul \0 isn't');",
    ],
)
def test_statement_that_is_fine_or_past_mending_stays_as_written(tmp_path: Path, statement: str) -> None:
    pack = load_rows(tmp_path, statement)
    assert [(s.sql, s.repaired) for s in pack.scenarios["toy_box"].seed] == [(statement, None)]
    assert pack.repairs == ()


@pytest.mark.parametrize(
    "ddl",
    [
        "CREATE TABLE b AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO a SELECT i, i FROM n",
        "ATTACH 'attached.db' AS other",
        "PRAGMA hard_heap_limit = 1",
        "VACUUM INTO 'attached.db'",
        "nonsense",
    ],
)
def test_only_tables_are_made_to_judge_a_repair(
    tmp_path: Path, ddl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = lines_of("Toy Box")
    files["gen_db.jsonl"][0]["db_schema"]["tables"].append({"name": "b", "ddl": ddl})
    files["gen_sample.jsonl"][0]["sample_data"] = ["INSERT INTO a VALUES (1, 'isn't')"]
    assert len(Pack.load(write(tmp_path, files)).repairs) == 1
    assert not (tmp_path / "attached.db").exists()
    with sqlite3.connect(":memory:") as database:
        assert database.execute("PRAGMA hard_heap_limit").fetchone() == (0,)
    database.close()


@pytest.mark.parametrize("file", ["gen_envs.jsonl", "gen_db.jsonl", "gen_sample.jsonl", "gen_tasks.jsonl"])
def test_file_that_must_exist(tmp_path: Path, file: str) -> None:
    write(tmp_path, lines_of("Toy Box"))
    (tmp_path / file).unlink()
    assert problems_of(tmp_path) == [(file, None, None, "is missing")]


def test_verifiers_may_be_missing_only_if_there_are_judged_ones(tmp_path: Path) -> None:
    write(tmp_path, lines_of("Toy Box"))
    (tmp_path / "gen_verifier.pure_code.jsonl").unlink()
    assert problems_of(tmp_path) == [("gen_verifier.pure_code.jsonl", None, None, "is missing")]
    (tmp_path / "gen_verifier.jsonl").touch()
    pack = Pack.load(tmp_path)
    assert (list(pack.scenarios), dict(pack.tasks), len(pack.left_out)) == (["toy_box"], {}, 2)


def test_folder_without_scenarios_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, lines_of())
    assert problems_of(tmp_path) == [("gen_envs.jsonl", None, None, "holds no scenarios")]


@pytest.mark.parametrize(
    ("file", "change", "field", "reason"),
    [
        ("gen_db.jsonl", None, None, "scenario 'toy_box' is not in gen_db.jsonl"),
        ("gen_sample.jsonl", None, None, "scenario 'toy_box' is not in gen_sample.jsonl"),
        ("gen_tasks.jsonl", None, None, "scenario 'toy_box' is not in gen_tasks.jsonl"),
        ("gen_envs.jsonl", {"full_code": ""}, "full_code", "scenario 'toy_box' was left without it"),
        ("gen_db.jsonl", {"db_schema": None}, "db_schema", "was left without it"),
        ("gen_db.jsonl", {"db_schema": {"tables": []}}, None, "scenario 'toy_box' has no tables"),
        ("gen_sample.jsonl", {"sample_data": None}, "sample_data", "was left without it"),
        ("gen_tasks.jsonl", {"tasks": None}, "tasks", "was left without it"),
    ],
)
def test_unfinished_scenario_is_left_out_and_named(
    tmp_path: Path, file: str, change: dict[str, Any] | None, field: str | None, reason: str
) -> None:
    files = lines_of("Zoo", "Toy Box")
    files[file][1:] = [files[file][1] | change] if change else []
    pack = Pack.load(write(tmp_path, files))
    assert (list(pack.scenarios), list(pack.tasks)) == (["zoo"], ["zoo/task-000", "zoo/task-001"])
    (problem,) = pack.left_out
    named = file if change else "gen_envs.jsonl"
    assert (problem.file, problem.line, problem.field) == (str(tmp_path / named), 2, field)
    assert reason in problem.reason


@pytest.mark.parametrize("file", ["gen_envs.jsonl", "gen_db.jsonl", "gen_sample.jsonl", "gen_tasks.jsonl"])
def test_scenario_with_two_lines_is_left_out(tmp_path: Path, file: str) -> None:
    files = lines_of("Toy Box", "Zoo")
    files[file].append(files[file][0] | {"scenario": "TOY-BOX"})
    pack = Pack.load(write(tmp_path, files))
    assert list(pack.scenarios) == ["zoo"]
    reason = "scenario 'toy_box' is on line 1 already: which of them is meant?"
    assert pack.left_out == (Problem(str(tmp_path / file), 3, None, reason),)


@pytest.mark.parametrize("verification", [None, {}, {"code": ""}, {"code": None}])
def test_task_without_verifier_is_left_out_and_the_others_keep_their_numbers(
    tmp_path: Path, verification: Any
) -> None:
    files = lines_of("Toy Box")
    files["gen_verifier.pure_code.jsonl"][1]["verification"] = verification
    pack = Pack.load(write(tmp_path, files))
    assert list(pack.tasks) == ["toy_box/task-001"]
    reason = "task 0 of 'toy_box' has no code verifier"
    assert pack.left_out == (Problem(str(tmp_path / "gen_tasks.jsonl"), 1, "tasks[0]", reason),)


def test_empty_task_is_left_out(tmp_path: Path) -> None:
    files = lines_of("Toy Box")
    files["gen_tasks.jsonl"][0]["tasks"] = ["First.", " "]
    pack = Pack.load(write(tmp_path, files))
    assert list(pack.tasks) == ["toy_box/task-000"]
    assert [(p.field, p.reason) for p in pack.left_out] == [("tasks[1]", "task 1 of 'toy_box' is empty")]


def test_everything_malformed_is_named_at_once(tmp_path: Path) -> None:
    files = lines_of("Toy Box", "Zoo")
    files["gen_scenario.jsonl"][0]["description"] = 7
    files["gen_envs.jsonl"][0]["full_code"] = ["x"]
    files["gen_envs.jsonl"][1]["scenario"] = "??"
    files["gen_db.jsonl"][0]["db_schema"]["tables"] = [{"name": "a"}, TABLE | {"indexes": "x"}, 3]
    files["gen_sample.jsonl"][0]["sample_data"]["tables"] = [
        ROWS,
        {"table_name": 1, "insert_statements": [2]},
    ]
    files["gen_tasks.jsonl"][0]["tasks"] = ["First.", {}]
    files["gen_verifier.pure_code.jsonl"][0:3] = [
        {"scenario": "toy_box", "task_idx": "0", "verification": {"code": VERIFIER}},
        {"scenario": "toy_box", "task_idx": -1, "verification": "x"},
        {"task_idx": 0, "verification": {"code": 1}},
    ]
    write(tmp_path, files)
    with (tmp_path / "gen_tasks.jsonl").open("a") as tasks:
        tasks.write("\n\n{oops\n")
    assert problems_of(tmp_path) == [
        ("gen_envs.jsonl", 2, "scenario", "expected a name with a letter or digit, found '??'"),
        (
            "gen_tasks.jsonl",
            4,
            None,
            "is not JSON: Expecting property name enclosed in double quotes at column 2",
        ),
        ("gen_verifier.pure_code.jsonl", 1, "task_idx", "expected a whole number from 0, found '0'"),
        ("gen_verifier.pure_code.jsonl", 2, "task_idx", "expected a whole number from 0, found -1"),
        ("gen_verifier.pure_code.jsonl", 2, "verification", "expected an object, found 'x'"),
        ("gen_verifier.pure_code.jsonl", 3, "scenario", "is missing"),
        ("gen_verifier.pure_code.jsonl", 3, "verification.code", "expected a text, found 1"),
        ("gen_envs.jsonl", 1, "full_code", "expected a text, found a list of 1"),
        ("gen_db.jsonl", 1, "db_schema.tables[0].ddl", "is missing"),
        ("gen_db.jsonl", 1, "db_schema.tables[1].indexes", "expected a list, found 'x'"),
        ("gen_db.jsonl", 1, "db_schema.tables[2]", "expected an object, found 3"),
        ("gen_sample.jsonl", 1, "sample_data.tables[1].table_name", "expected a text, found 1"),
        ("gen_sample.jsonl", 1, "sample_data.tables[1].insert_statements[0]", "expected a text, found 2"),
        ("gen_tasks.jsonl", 1, "tasks[1]", "expected a text, found an object"),
        ("gen_scenario.jsonl", 1, "description", "expected a text, found 7"),
    ]


@pytest.mark.skipif("SUBWORLDS_AWM_DIR" not in os.environ, reason="SUBWORLDS_AWM_DIR names no AWM folder")
def test_real_folder_is_loaded_with_every_task() -> None:
    folder = Path(os.environ["SUBWORLDS_AWM_DIR"])
    catalog = Catalog.load([folder])
    with (folder / "gen_tasks.jsonl").open() as lines:
        written = [json.loads(line) for line in lines if line.strip()]
    left_out = {problem.field for pack in catalog.packs for problem in pack.left_out}
    assert left_out == set()
    assert len(catalog.scenarios) == len(written)
    assert [task.prompt for task in catalog.tasks_of(scenario_name(written[0]["scenario"]))] == written[0][
        "tasks"
    ]
    assert {pack.repairs[0].file for pack in catalog.packs if pack.repairs} == {
        str(folder / "gen_sample.jsonl")
    }
