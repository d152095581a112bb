"""Loading native packs: folders, files, scenario.json, SQL and app. Every problem says where it is."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from subworlds.scenarios import files
from subworlds.scenarios.errors import PackError, Problem
from subworlds.scenarios.pack import Pack
from subworlds.scenarios.task import DEFAULT_CLOCK, StateCheck, ToolCall

ABOUT = {"name": "toy", "title": "Toy", "description": "A toy world."}
TASK = {"id": "toy/one", "prompt": "Do it.", "solution": [{"tool": "add", "arguments": {"n": 1}}]}
ANATOMY = {
    "scenario.json": json.dumps(ABOUT),
    "schema.sql": "CREATE TABLE a (x);",
    "seed.sql": "INSERT INTO a VALUES (1);",
    "app.py": "app = 1\n",
    "tasks.jsonl": json.dumps(TASK) + "\n",
}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The folder of a sound scenario, in a pack of its own."""
    folder = tmp_path / "pack" / "toy"
    folder.mkdir(parents=True)
    for name, content in ANATOMY.items():
        (folder / name).write_text(content)
    return folder


def problems_of(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(PackError) as raised:
        Pack.load(path)
    return raised.value.problems


def problem_of(path: Path) -> Problem:
    (problem,) = problems_of(path)
    return problem


def test_sound_pack_is_loaded_whole(toy: Path) -> None:
    pack = Pack.load(toy.parent)
    scenario = pack.scenarios["toy"]
    assert (scenario.name, scenario.title, scenario.description) == ("toy", "Toy", "A toy world.")
    assert (scenario.app_source, scenario.app_file) == ("app = 1\n", "toy/app.py")
    assert (scenario.clock, scenario.strict_references) == (DEFAULT_CLOCK, True)
    assert [(s.sql, s.file, s.line) for s in scenario.schema] == [
        ("CREATE TABLE a (x);", "toy/schema.sql", 1)
    ]
    task = pack.tasks["toy/one"]
    assert (task.scenario, task.index, task.prompt, task.split) == ("toy", 0, "Do it.", "train")
    assert (task.check, task.solution) == (StateCheck(), (ToolCall("add", {"n": 1}),))
    assert (pack.path, pack.repairs, pack.left_out) == (toy.parent, (), ())


def test_scenario_folder_is_a_pack_by_itself(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(Pack.load(toy).scenarios) == ["toy"]
    monkeypatch.chdir(toy)
    assert Pack.load(Path()).scenarios["toy"].schema[0].file == "toy/schema.sql"


def test_scenarios_come_by_name_and_hidden_folders_are_passed_over(toy: Path) -> None:
    other = toy.parent / "another"
    other.mkdir()
    for name, content in ANATOMY.items():
        (other / name).write_text(content.replace('"toy', '"another'))
    for name in (".git", "__pycache__"):
        (toy.parent / name).mkdir()
    (toy.parent / "README.md").write_text("about")
    assert list(Pack.load(toy.parent).scenarios) == ["another", "toy"]


def test_path_that_is_no_folder(tmp_path: Path) -> None:
    assert "is missing" in problem_of(tmp_path / "nowhere").reason
    (tmp_path / "file").touch()
    assert problem_of(tmp_path / "file") == Problem(str(tmp_path / "file"), None, None, "is not a folder")


def test_empty_pack_folder_is_a_problem(tmp_path: Path) -> None:
    problem = problem_of(tmp_path)
    assert problem.file == str(tmp_path)
    assert "holds no scenarios: expected folders with scenario.json, schema.sql" in problem.reason


def test_every_missing_file_is_named(toy: Path) -> None:
    for name in ANATOMY:
        (toy / name).unlink()
    assert [(p.file, p.reason) for p in problems_of(toy.parent)] == [
        (str(toy / name), "is missing") for name in ANATOMY
    ]


@pytest.mark.parametrize("name", list(ANATOMY))
def test_folder_or_pipe_in_place_of_a_file(toy: Path, name: str) -> None:
    (toy / name).unlink()
    (toy / name).mkdir()
    assert problem_of(toy.parent) == Problem(str(toy / name), None, None, "is not a regular file")
    (toy / name).rmdir()
    os.mkfifo(toy / name)
    assert problem_of(toy.parent) == Problem(str(toy / name), None, None, "is not a regular file")


@pytest.mark.parametrize("name", list(ANATOMY))
def test_file_that_links_to_itself_cannot_be_read(toy: Path, name: str) -> None:
    (toy / name).unlink()
    (toy / name).symlink_to(toy / name)
    problem = problem_of(toy.parent)
    assert problem.file == str(toy / name)
    assert "cannot be read: " in problem.reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_cannot_be_read(toy: Path) -> None:
    (toy / "app.py").chmod(0)
    assert "Permission denied" in problem_of(toy.parent).reason


@pytest.mark.parametrize("name", list(ANATOMY))
def test_text_that_is_not_utf8_is_named_with_its_line(toy: Path, name: str) -> None:
    content = (toy / name).read_bytes().rstrip(b"\n")
    (toy / name).write_bytes(b"\n" + content + b"\n--caf\xe9")
    problem = problem_of(toy.parent)
    assert (problem.file, problem.line) == (str(toy / name), 3)
    assert "is not UTF-8: " in problem.reason
    assert "at byte 6 of the line" in problem.reason


@pytest.mark.parametrize("name", list(ANATOMY))
def test_byte_order_mark_is_no_trouble(toy: Path, name: str) -> None:
    (toy / name).write_text((toy / name).read_text(), encoding="utf-8-sig")
    assert Pack.load(toy.parent) is not None


@pytest.mark.parametrize("name", ["scenario.json", "schema.sql", "seed.sql", "app.py"])
def test_huge_file_is_not_read(toy: Path, name: str) -> None:
    os.truncate(toy / name, files.MAX_BYTES + 1)
    assert problem_of(toy.parent).reason == f"has {files.MAX_BYTES + 1} bytes, more than {files.MAX_BYTES}"


def test_huge_line_is_passed_over_and_the_next_read(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 200)
    (toy / "tasks.jsonl").write_text(f"{'x' * 999}\n{json.dumps(TASK)}\n[]\n{'x' * 201}")
    assert [(p.line, p.reason) for p in problems_of(toy.parent)] == [
        (1, "is longer than 200 bytes"),
        (3, "expected an object, found a list of 0"),
        (4, "is longer than 200 bytes"),
    ]


@pytest.mark.parametrize(
    ("content", "line", "field", "reason"),
    [
        ("", 1, None, "is not JSON: Expecting value at column 1"),
        ('{"name": "toy",\n "title" "Toy"}', 2, None, "is not JSON: Expecting ':' delimiter at column 10"),
        ("[]", None, None, "expected an object, found a list of 0"),
        ("null", None, None, "expected an object, found null"),
        ("[" * 100_000, None, None, "is not usable JSON: nested too deeply"),
        ('{"name": ' * 100_000, None, None, "is not usable JSON: nested too deeply"),
    ],
)
def test_scenario_json_that_is_no_object(
    toy: Path, content: str, line: int | None, field: str | None, reason: str
) -> None:
    (toy / "scenario.json").write_text(content)
    assert problem_of(toy.parent) == Problem(str(toy / "scenario.json"), line, field, reason)


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"name": None}, "name", "expected a text, found null"),
        ({"name": "shop"}, "name", "expected the folder's name 'toy', found 'shop'"),
        ({"name": "toy\n"}, "name", r"expected the folder's name 'toy', found 'toy\n'"),
        ({"title": 3}, "title", "expected a text, found 3"),
        ({"title": " "}, "title", "is empty"),
        ({"description": ["x"]}, "description", "expected a text, found a list of 1"),
        ({"descripton": "x"}, "descripton", "unknown field 'descripton'; did you mean 'description'?"),
        ({"clock": 5}, "clock", "expected a text, found 5"),
        ({"clock": "noon"}, "clock", "expected a time such as '2026-03-01T09:00:00Z', found 'noon'"),
        ({"clock": "2026-03-01T09:00:00"}, "clock", "with its zone, found '2026-03-01T09:00:00'"),
        ({"clock": "2026-03-01"}, "clock", "with its zone"),
    ],
)
def test_wrong_field_of_scenario_json(toy: Path, change: dict[str, object], field: str, reason: str) -> None:
    (toy / "scenario.json").write_text(json.dumps(ABOUT | change))
    problem = problem_of(toy.parent)
    assert (problem.file, problem.field) == (str(toy / "scenario.json"), field)
    assert reason in problem.reason


def test_every_missing_field_of_scenario_json_is_named(toy: Path) -> None:
    (toy / "scenario.json").write_text("{}")
    fields = [(p.field, p.reason) for p in problems_of(toy.parent)]
    assert fields == [("name", "is missing"), ("title", "is missing"), ("description", "is missing")]


@pytest.mark.parametrize(
    ("written", "clock"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05+02:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_clock_is_read_with_its_zone(toy: Path, written: str, clock: datetime) -> None:
    (toy / "scenario.json").write_text(json.dumps(ABOUT | {"clock": written}))
    found = Pack.load(toy.parent).scenarios["toy"].clock
    assert (found, found.utcoffset()) == (clock, clock.utcoffset())


@pytest.mark.parametrize("name", ["Toy", "2toys", "toy-box", "toy box", "_toy"])
def test_folder_name_that_is_no_scenario_name(toy: Path, name: str) -> None:
    folder = toy.rename(toy.parent / name)
    for file, content in ANATOMY.items():
        (folder / file).write_text(content.replace('"toy', f'"{name}'))
    problem = problems_of(folder.parent)[0]
    assert problem.file == str(folder)
    assert "expected small letters, digits and _, a letter first" in problem.reason


def test_schema_without_statements_is_a_problem_and_seed_is_not(toy: Path) -> None:
    (toy / "schema.sql").write_text("-- later\n")
    (toy / "seed.sql").write_text("-- later\n")
    assert problem_of(toy.parent) == Problem(str(toy / "schema.sql"), None, None, "has no statements")


def test_quote_that_swallows_the_rest_of_an_sql_file(toy: Path) -> None:
    (toy / "seed.sql").write_text("INSERT INTO a VALUES (1);\nINSERT INTO a VALUES ('it's');\nSELECT 1;")
    problem = problem_of(toy.parent)
    assert (problem.file, problem.line) == (str(toy / "seed.sql"), 2)
    assert problem.reason == "' is opened here and never closed"


def test_nul_character_in_sql_is_a_problem(toy: Path) -> None:
    (toy / "seed.sql").write_text("SELECT 1;\nSELECT '\0';")
    assert problem_of(toy.parent) == Problem(str(toy / "seed.sql"), 2, None, "has a NUL character")


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("", None, "is empty"),
        ("# nothing\n", None, "is empty"),
        ("x = 1\ndef f(:\n    pass\n", 2, "is not Python: invalid syntax"),
        ("x = '\0'", None, "is not Python: source code string cannot contain null bytes"),
        ("x = " + "(" * 50_000, None, "Python"),
        ("x = " + "-" * 200_000 + "1", None, "nested too deeply"),
        (
            "@app.get('/', operation_id='fine')\n@app.get('/d', operation_id=\n 'done')\ndef f(): pass",
            3,
            "'done'",
        ),
        ("add('/', operation_id='reset')", 1, "operation_id 'reset' is reserved: no tool can have this name"),
    ],
    ids=["empty", "comment", "syntax", "nul", "brackets", "deep", "done", "reset"],
)
def test_app_that_cannot_be(toy: Path, source: str, line: int | None, reason: str) -> None:
    (toy / "app.py").write_text(source)
    problem = problem_of(toy.parent)
    assert problem.file == str(toy / "app.py")
    assert line is None or problem.line == line
    assert reason in problem.reason


def test_dubious_escapes_in_an_app_are_its_own_affair(toy: Path) -> None:
    (toy / "app.py").write_text('pattern = "\\d"\n')
    assert Pack.load(toy).scenarios["toy"].app_source == 'pattern = "\\d"\n'


def test_all_problems_of_a_messy_pack_come_at_once(toy: Path) -> None:
    (toy / "scenario.json").write_text('{"name": "toy", "title": "", "descripton": "x"}')
    (toy / "schema.sql").write_text("\n")
    (toy / "seed.sql").unlink()
    (toy / "app.py").write_text("def f(:")
    (toy / "tasks.jsonl").write_text(
        "\n".join(
            [
                "{",
                json.dumps(TASK | {"prompt": "", "difficulty": "hardest"}),
                json.dumps(TASK),
                json.dumps(TASK),
                json.dumps(TASK | {"id": "shop/x", "solution": [{"tool": "done"}, {"tol": "add"}]}),
            ]
        )
    )
    (toy.parent / "empty").mkdir()
    found = [
        (Path(p.file).relative_to(toy.parent).as_posix(), p.line, p.field) for p in problems_of(toy.parent)
    ]
    assert found == [
        *(("empty/" + name, None, None) for name in ANATOMY),
        ("toy/scenario.json", None, "descripton"),
        ("toy/scenario.json", None, "title"),
        ("toy/scenario.json", None, "description"),
        ("toy/schema.sql", None, None),
        ("toy/seed.sql", None, None),
        ("toy/app.py", 1, None),
        ("toy/tasks.jsonl", 1, None),
        ("toy/tasks.jsonl", 2, "prompt"),
        ("toy/tasks.jsonl", 2, "difficulty"),
        ("toy/tasks.jsonl", 4, "id"),
        ("toy/tasks.jsonl", 5, "id"),
        ("toy/tasks.jsonl", 5, "solution[0].tool"),
        ("toy/tasks.jsonl", 5, "solution[1].tol"),
        ("toy/tasks.jsonl", 5, "solution[1].tool"),
    ]
