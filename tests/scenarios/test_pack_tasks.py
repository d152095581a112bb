"""Reading the lines of a native tasks.jsonl: every wrong field is named with its line, path and reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from subworlds.scenarios.errors import PackError, Problem
from subworlds.scenarios.pack import Pack
from subworlds.scenarios.task import (
    RESERVED_TOOL_NAMES,
    Answer,
    StateCheck,
    Task,
    ToolCall,
)

CALL: dict[str, Any] = {"tool": "add", "arguments": {"n": 1}}
TASK: dict[str, Any] = {"id": "toy/one", "prompt": "Do it.", "solution": [CALL]}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A scenario that lacks nothing but tasks."""
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "scenario.json").write_text('{"name": "toy", "title": "Toy", "description": "A toy."}')
    (folder / "schema.sql").write_text("CREATE TABLE a (x);")
    (folder / "seed.sql").touch()
    (folder / "app.py").write_text("app = 1")
    return folder


def load(toy: Path, *lines: str | dict[str, Any]) -> list[Task]:
    written = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (toy / "tasks.jsonl").write_text("\n".join(written))
    return list(Pack.load(toy).tasks.values())


def problems_of(toy: Path, *lines: str | dict[str, Any]) -> list[Problem]:
    with pytest.raises(PackError) as raised:
        load(toy, *lines)
    return list(raised.value.problems)


def problem_of(toy: Path, line: str | dict[str, Any]) -> tuple[str | None, str]:
    """Field and reason of the one problem of the second of two lines."""
    (problem,) = problems_of(toy, TASK | {"id": "toy/zero"}, line)
    assert (problem.file, problem.line) == (str(toy / "tasks.jsonl"), 2)
    return problem.field, problem.reason


def test_task_with_every_field(toy: Path) -> None:
    line = TASK | {
        "difficulty": "hard",
        "split": "held-out",
        "tags": ["write", "two steps"],
        "answer": {"number": 3, "tolerance": 0.5},
        "verify": {
            "kind": "state",
            "ignore": {"a": ["x"]},
            "alternatives": [[], [CALL]],
            "natural_keys": ["a"],
        },
    }
    call = ToolCall("add", {"n": 1})
    check = StateCheck({"a": ("x",)}, ((), (call,)), frozenset({"a"}))
    answer = Answer("number", 3, tolerance=0.5)
    assert load(toy, line) == [
        Task(
            "toy/one",
            "toy",
            0,
            "Do it.",
            check,
            answer,
            (call,),
            "hard",
            "held-out",
            ("write", "two steps"),
        )
    ]


def test_blank_lines_are_passed_over_and_counted(toy: Path) -> None:
    tasks = load(toy, "", TASK, "  \t\r", TASK | {"id": "toy/two"}, "")
    assert [(task.id, task.index) for task in tasks] == [("toy/one", 0), ("toy/two", 1)]
    assert [p.line for p in problems_of(toy, "", " ", "x")] == [3]


def test_arguments_may_be_left_out(toy: Path) -> None:
    assert load(toy, TASK | {"solution": [{"tool": "list"}]})[0].solution == (ToolCall("list", {}),)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_file_without_tasks_is_a_problem(toy: Path, content: str) -> None:
    assert problems_of(toy, content) == [Problem(str(toy / "tasks.jsonl"), None, None, "has no tasks")]


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        ('{"id": "toy/one" "prompt"}', None, "is not JSON: Expecting ',' delimiter at column 18"),
        ("{'id': 1}", None, "is not JSON: Expecting property name enclosed in double quotes at column 2"),
        ("{} {}", None, "is not JSON: Extra data at column 4"),
        ("7", None, "expected an object, found 7"),
        ('"toy/one"', None, "expected an object, found 'toy/one'"),
        ("[" * 20_000, None, "is not usable JSON: nested too deeply"),
        (
            json.dumps(TASK).replace('"n": 1', '"n": ' + "[" * 20_000 + "]" * 20_000),
            None,
            "is not usable JSON: nested too deeply",
        ),
        (json.dumps(TASK).replace('"n": 1', '"n": ' + "9" * 5_000), None, "is too large a number"),
        (json.dumps(TASK).replace('"n": 1', '"n": NaN'), None, "is not JSON: NaN is no JSON number"),
        (json.dumps(TASK).replace('"n": 1', '"n": -Infinity'), None, "-Infinity is no JSON number"),
        (json.dumps(TASK).replace('"n": 1', '"n": 1e999'), None, "'1e999' is too large a number"),
        (json.dumps(TASK).replace("Do it.", r"Do \ud83d."), None, "surrogates not allowed"),
        (json.dumps(TASK).replace('"n": 1', '"n": 1, "n": 2'), "n", "appears 2 times in one object"),
        ('{"id": "toy/b", ' + json.dumps(TASK)[1:], "id", "appears 2 times in one object"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_line_that_is_no_json_object(toy: Path, line: str, field: str | None, reason: str) -> None:
    found, why = problem_of(toy, line)
    assert found == field
    assert reason in why


def test_surrogate_pairs_are_text(toy: Path) -> None:
    assert load(toy, TASK | {"prompt": "😀"})[0].prompt == "😀"


WRONG_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    ({"id": 1}, "id", "expected a text, found 1"),
    ({"id": ""}, "id", "is empty"),
    ({"id": "one"}, "id", "expected 'toy/' and then small letters, digits, - or _, found 'one'"),
    ({"id": "shop/one"}, "id", "expected 'toy/' and then"),
    ({"id": "toy/"}, "id", "expected 'toy/' and then"),
    ({"id": "toy/One two"}, "id", "expected 'toy/' and then"),
    ({"id": "toy/../x"}, "id", "expected 'toy/' and then"),
    ({"id": "toy/one\n"}, "id", "expected 'toy/' and then"),
    ({"prompt": " \n"}, "prompt", "is empty"),
    ({"prompt": {}}, "prompt", "expected a text, found an object"),
    ({"difficulty": "hardest"}, "difficulty", "expected 'easy', 'medium' or 'hard', found 'hardest'"),
    ({"difficulty": 3}, "difficulty", "expected a text, found 3"),
    ({"difficulty": None}, "difficulty", "expected a text, found null"),
    ({"split": ""}, "split", "is empty"),
    ({"split": "Train set"}, "split", "expected small letters, digits, - or _, found 'Train set'"),
    ({"tags": "write"}, "tags", "expected a list, found 'write'"),
    ({"tags": ["write", 2]}, "tags[1]", "expected a text, found 2"),
    ({"tags": [""]}, "tags[0]", "is empty"),
    ({"promt": "x"}, "promt", "unknown field 'promt'; did you mean 'prompt'?"),
    ({"a\nb": "x"}, r"'a\nb'", r"unknown field 'a\nb'"),
    ({"zzz": "x"}, "zzz", "unknown field 'zzz'"),
    ({"solution": {}}, "solution", "expected a list, found an object"),
    ({"solution": ["add"]}, "solution[0]", "expected an object, found 'add'"),
    ({"solution": [CALL, {"arguments": {}}]}, "solution[1].tool", "is missing"),
    (
        {"solution": [CALL, CALL | {"arguments": []}]},
        "solution[1].arguments",
        "expected an object, found a list",
    ),
    ({"solution": [CALL | {"args": {}}]}, "solution[0].args", "unknown field 'args'"),
    ({"solution": []}, "solution", "an agent that does nothing would pass"),
    ({"answer": 3}, "answer", "expected an object, found 3"),
    ({"answer": {}}, "answer", "exactly one of 'number', 'text' and 'list', found none of them"),
    ({"answer": {"number": 3, "text": "x"}}, "answer", "found 'number' and 'text'"),
    ({"answer": {"number": "3"}}, "answer.number", "expected a number, found '3'"),
    ({"answer": {"number": True}}, "answer.number", "expected a number, found true"),
    (
        {"answer": {"number": 3, "tolerance": -1}},
        "answer.tolerance",
        "expected a number from 0, found -1",
    ),
    ({"answer": {"number": 3, "ordered": True}}, "answer.ordered", "unknown field 'ordered'"),
    ({"answer": {"text": " "}}, "answer.text", "is empty"),
    ({"answer": {"text": "x", "tolerance": 1}}, "answer.tolerance", "unknown field 'tolerance'"),
    ({"answer": {"list": "a, b"}}, "answer.list", "expected a list, found 'a, b'"),
    ({"answer": {"list": ["a", None]}}, "answer.list[1]", "expected a text or a number, found null"),
    ({"answer": {"list": ["a", False]}}, "answer.list[1]", "expected a text or a number, found false"),
    ({"answer": {"list": ["a"], "ordered": 1}}, "answer.ordered", "expected true or false, found 1"),
    ({"verify": None}, "verify", "expected an object, found null"),
    ({"verify": {}}, "verify.kind", "is missing"),
    (
        {"verify": {"kind": "stat"}},
        "verify.kind",
        "unknown kind of verifier 'stat'; did you mean 'state'?",
    ),
    ({"verify": {"kind": "judge"}}, "verify", "expected 'criteria', or code that gathers evidence"),
    ({"verify": {"kind": 1}}, "verify.kind", "expected a text, found 1"),
]


@pytest.mark.parametrize(("change", "field", "reason"), WRONG_FIELDS, ids=lambda value: str(value)[:40])
def test_wrong_field_is_named(toy: Path, change: dict[str, Any], field: str, reason: str) -> None:
    found, why = problem_of(toy, TASK | change)
    assert found == field
    assert reason in why


@pytest.mark.parametrize("tool", sorted(RESERVED_TOOL_NAMES))
def test_solution_cannot_call_the_control_plane(toy: Path, tool: str) -> None:
    found, why = problem_of(toy, TASK | {"solution": [CALL, {"tool": tool}]})
    assert (found, why) == ("solution[1].tool", f"{tool!r} is reserved: no tool has this name")


def test_all_problems_of_a_line_come_at_once(toy: Path) -> None:
    line: dict[str, Any] = {
        "prompt": 1,
        "answer": {"number": "x", "tolerance": "y"},
        "verify": {"kind": "state", "ignor": {}},
    }
    assert [(p.field, p.line) for p in problems_of(toy, line)] == [
        ("id", 1),
        ("prompt", 1),
        ("answer.number", 1),
        ("answer.tolerance", 1),
        ("verify.ignor", 1),
        ("solution", 1),
    ]


def test_repeated_id_names_the_first_line(toy: Path) -> None:
    problems = problems_of(toy, TASK, "", TASK, TASK)
    assert [(p.line, p.field, p.reason) for p in problems] == [
        (3, "id", "'toy/one' is already the task of line 1"),
        (4, "id", "'toy/one' is already the task of line 1"),
    ]


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ({"number": 2.5}, Answer("number", 2.5)),
        ({"text": "Ada"}, Answer("text", "Ada")),
        ({"list": ["a", 2]}, Answer("list", ["a", 2])),
        ({"list": [], "ordered": True}, Answer("list", [], ordered=True)),
    ],
)
def test_answers(toy: Path, written: dict[str, Any], answer: Answer) -> None:
    assert load(toy, TASK | {"answer": written, "solution": []})[0].answer == answer


def test_state_check_needs_a_solution(toy: Path) -> None:
    line = {"id": "toy/one", "prompt": "Do it."}
    for verify in ({}, {"verify": {"kind": "state"}}):
        field, reason = problem_of(toy, line | verify)
        assert field == "solution"
        assert "is missing: the state verifier compares with what it reaches" in reason
    sql = {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": 1}], "unchanged": ["a"]}
    assert load(toy, line | {"verify": sql})[0].solution is None


def test_alternative_without_a_call_needs_an_answer(toy: Path) -> None:
    field, reason = problem_of(toy, TASK | {"verify": {"kind": "state", "alternatives": [[CALL], []]}})
    assert field == "verify.alternatives[1]"
    assert "does nothing would pass" in reason
