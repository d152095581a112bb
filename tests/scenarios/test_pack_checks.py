"""Reading the `verify` field of a native task: the kinds of checks and what can be wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from subworlds.scenarios.errors import PackError, Problem
from subworlds.scenarios.pack import Pack
from subworlds.scenarios.task import Check, JudgeCheck, PythonCheck, SqlAssertion, SqlCheck

CALL: dict[str, Any] = {"tool": "add", "arguments": {"n": 1}}
TASK: dict[str, Any] = {"id": "toy/one", "prompt": "Do it.", "solution": [CALL]}
VERIFIER = "def verify_it(initial, final, answer=None):\n    return {}\n"


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


def load(toy: Path, *lines: dict[str, Any]) -> Pack:
    (toy / "tasks.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return Pack.load(toy)


def check_of(toy: Path, verify: dict[str, Any]) -> Check:
    return load(toy, TASK | {"verify": verify}).tasks["toy/one"].check


def problems_of(toy: Path, *lines: dict[str, Any]) -> list[Problem]:
    with pytest.raises(PackError) as raised:
        load(toy, *lines)
    return list(raised.value.problems)


def problem_of_check(toy: Path, verify: dict[str, Any]) -> tuple[str | None, str]:
    """Field and reason of the one problem of a task with this check, which is on line 2."""
    (problem,) = problems_of(toy, TASK | {"id": "toy/zero"}, TASK | {"verify": verify})
    assert (problem.file, problem.line) == (str(toy / "tasks.jsonl"), 2)
    return problem.field, problem.reason


@pytest.mark.parametrize(
    ("verify", "field", "reason"),
    [
        ({"ignore": ["a"]}, "verify.ignore", "expected an object, found a list of 1"),
        ({"ignore": {"a": "x"}}, "verify.ignore.a", "expected a list, found 'x'"),
        ({"ignore": {"a": ["x", 1]}}, "verify.ignore.a[1]", "expected a text, found 1"),
        ({"alternatives": [CALL]}, "verify.alternatives[0]", "expected a list, found an object"),
        (
            {"alternatives": [[CALL, {"tool": "done"}]]},
            "verify.alternatives[0][1].tool",
            "'done' is reserved",
        ),
        ({"natural_keys": "a"}, "verify.natural_keys", "expected a list, found 'a'"),
        ({"assert": []}, "verify.assert", "unknown field 'assert'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_state_check(toy: Path, verify: dict[str, Any], field: str, reason: str) -> None:
    found, why = problem_of_check(toy, {"kind": "state"} | verify)
    assert found == field
    assert reason in why


@pytest.mark.parametrize(
    ("equals", "rows"),
    [
        (3, ((3,),)),
        (None, ((None,),)),
        (True, ((1,),)),
        ("x", (("x",),)),
        ([1, "a", None, False], ((1, "a", None, 0),)),
        ([], ()),
        ([[1, 2.5], [3, 4]], ((1, 2.5), (3, 4))),
    ],
)
def test_expected_rows_and_their_short_forms(
    toy: Path, equals: Any, rows: tuple[tuple[Any, ...], ...]
) -> None:
    verify = {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": equals}], "may_change": []}
    assert check_of(toy, verify) == SqlCheck((SqlAssertion("SELECT 1", rows),))


def test_sql_check_protects_named_tables_or_all_but_named_ones(toy: Path) -> None:
    asserted = {"kind": "sql", "assert": [{"sql": "WITH t AS (SELECT 1) SELECT * FROM t;", "equals": 1}]}
    assertions = (SqlAssertion("WITH t AS (SELECT 1) SELECT * FROM t;", ((1,),)),)
    assert check_of(toy, asserted | {"unchanged": ["a"]}) == SqlCheck(assertions, frozenset({"a"}))
    assert check_of(toy, asserted | {"may_change": ["b"]}) == SqlCheck(assertions, None, frozenset({"b"}))


WRONG_SQL_CHECKS: list[tuple[dict[str, Any], str, str]] = [
    ({"assert": None}, "verify.assert", "expected a list, found null"),
    ({"assert": []}, "verify.assert", "is empty"),
    ({"assert": ["SELECT 1"]}, "verify.assert[0]", "expected an object, found 'SELECT 1'"),
    ({"assert": [{"sql": "SELECT 1"}]}, "verify.assert[0].equals", "is missing"),
    ({"assert": [{"equals": 1}]}, "verify.assert[0].sql", "is missing"),
    (
        {"assert": [{"sql": "SELECT 1", "equal": 1, "equals": 1}]},
        "verify.assert[0].equal",
        "did you mean 'equals'?",
    ),
    ({"assert": [{"sql": " ", "equals": 1}]}, "verify.assert[0].sql", "is empty"),
    (
        {"assert": [{"sql": "DELETE FROM a", "equals": 1}]},
        "verify.assert[0].sql",
        "expected one SELECT or WITH statement, found 'DELETE FROM a'",
    ),
    (
        {"assert": [{"sql": "SELECT 1; DROP TABLE a", "equals": 1}]},
        "verify.assert[0].sql",
        "expected one SELECT or WITH statement, found 2 statements",
    ),
    ({"assert": [{"sql": "-- no", "equals": 1}]}, "verify.assert[0].sql", "found 0 statements"),
    (
        {"assert": [{"sql": "SELECT 'a", "equals": 1}]},
        "verify.assert[0].sql",
        "' is opened and never closed",
    ),
    (
        {"assert": [{"sql": "SELECT 1", "equals": {}}]},
        "verify.assert[0].equals",
        "a column can hold, found an object",
    ),
    (
        {"assert": [{"sql": "SELECT 1", "equals": [[1], 2]}]},
        "verify.assert[0].equals[1]",
        "expected a row, as",
    ),
    (
        {"assert": [{"sql": "SELECT 1", "equals": [1, {}]}]},
        "verify.assert[0].equals[1]",
        "a column can hold",
    ),
    (
        {"assert": [{"sql": "SELECT 1", "equals": [[1], [[]]]}]},
        "verify.assert[0].equals[1][0]",
        "found a list of 0",
    ),
    ({"unchanged": "a"}, "verify.unchanged", "expected a list, found 'a'"),
    ({"choices": ["lend_copy"]}, "verify.choices[0]", "expected 'tool.argument', found 'lend_copy'"),
    ({"choices": "a.b"}, "verify.choices", "expected a list, found 'a.b'"),
    ({"may_change": ["a"]}, "verify", "exactly one of 'unchanged' and 'may_change', found both"),
    ({"unchange": ["a"]}, "verify.unchange", "did you mean 'unchanged' or"),
]


@pytest.mark.parametrize(("change", "field", "reason"), WRONG_SQL_CHECKS, ids=lambda value: str(value)[:40])
def test_wrong_sql_check(toy: Path, change: dict[str, Any], field: str, reason: str) -> None:
    sound = {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": 1}], "unchanged": ["a"]}
    found, why = problem_of_check(toy, sound | change)
    assert found == field
    assert reason in why


def test_what_is_the_agents_to_choose_is_read(toy: Path) -> None:
    verify = {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": 1}], "unchanged": ["a"]}
    choices = frozenset({"lend_copy.copy_id"})
    assert check_of(toy, verify | {"choices": list(choices)}).choices == choices


def test_sql_check_without_protection_is_a_problem(toy: Path) -> None:
    verify = {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": 1}]}
    expected = "expected exactly one of 'unchanged' and 'may_change', found neither"
    assert problem_of_check(toy, verify) == ("verify", expected)


def test_python_check_from_a_file_and_inline(toy: Path) -> None:
    code = f"def helper(x): ...\n{VERIFIER}def verify_other(a, b): ...\n"
    (toy / "checks").mkdir()
    (toy / "checks" / "verifiers.py").write_text(code)
    file = {"kind": "python", "file": "checks/verifiers.py"}
    assert check_of(toy, file) == PythonCheck(code, "verify_it")
    assert check_of(toy, file | {"function": "verify_other"}) == PythonCheck(code, "verify_other")
    assert check_of(toy, {"kind": "python", "code": VERIFIER}) == PythonCheck(VERIFIER, "verify_it")


@pytest.mark.parametrize(
    ("verify", "field", "reason"),
    [
        ({}, "verify", "exactly one of 'code' and 'file', found neither"),
        ({"code": " "}, "verify.code", "is empty"),
        ({"code": 1}, "verify.code", "expected a text, found 1"),
        ({"code": "x = 1\ndef f(:"}, "verify.code", "line 2 of the code is not Python: invalid syntax"),
        ({"code": "def check(a, b): ..."}, "verify.code", "no function whose name starts with 'verify_'"),
        (
            {"code": VERIFIER, "function": "verify_if"},
            "verify.code",
            "'verify_if'; did you mean 'verify_it'?",
        ),
        (
            {"code": "\ndef verify_x(a): ..."},
            "verify.code",
            "line 2 of the code 'verify_x' has 1 parameters: expected",
        ),
        ({"code": "def verify_x(a, b, c, d): ..."}, "verify.code", "'verify_x' has 4 parameters"),
        ({"code": VERIFIER, "function": ""}, "verify.function", "is empty"),
        ({"code": VERIFIER, "fucntion": "x"}, "verify.fucntion", "did you mean 'function'?"),
        ({"file": ""}, "verify.file", "is empty"),
        (
            {"file": "/etc/passwd"},
            "verify.file",
            "expected a file in the scenario's folder, found '/etc/passwd'",
        ),
        ({"file": "../x.py"}, "verify.file", "expected a file in the scenario's folder"),
        ({"file": "a/../../x.py"}, "verify.file", "expected a file in the scenario's folder"),
        ({"file": "a\0.py"}, "verify.file", "expected a file in the scenario's folder"),
        ({"file": "out.py"}, "verify.file", "'out.py' is a link that leads out of the scenario's folder"),
        ({"file": "outside/x.py"}, "verify.file", "is a link that leads out of the scenario's folder"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_python_check(toy: Path, verify: dict[str, Any], field: str, reason: str) -> None:
    (toy.parent / "x.py").write_text(VERIFIER)
    (toy / "out.py").symlink_to(toy.parent / "x.py")
    (toy / "outside").symlink_to(toy.parent)
    found, why = problem_of_check(toy, {"kind": "python"} | verify)
    assert found == field
    assert reason in why


@pytest.mark.parametrize(
    ("code", "line", "reason"),
    [
        (None, None, "is missing"),
        ("", None, "defines no function whose name starts with 'verify_'"),
        ("x = 1\ny = = 2", 2, "is not Python: invalid syntax"),
        ("x = 1\n\ndef verify_x(a): ...", 3, "'verify_x' has 1 parameters"),
    ],
)
def test_wrong_file_of_a_python_check_is_named_once(
    toy: Path, code: str | None, line: int | None, reason: str
) -> None:
    if code is not None:
        (toy / "verifiers.py").write_text(code)
    task = TASK | {"verify": {"kind": "python", "file": "verifiers.py"}}
    (problem,) = problems_of(toy, task, task | {"id": "toy/two"})
    assert (problem.file, problem.line, problem.field) == (str(toy / "verifiers.py"), line, None)
    assert reason in problem.reason


def test_judge_check_names_code_as_a_python_check_does_and_criteria(toy: Path) -> None:
    (toy / "verifiers.py").write_text(VERIFIER)
    found = JudgeCheck(VERIFIER, "verify_it", "All of it.")
    said = {"kind": "judge", "criteria": "All of it."}
    assert check_of(toy, said | {"function": "verify_it"}) == found
    assert check_of(toy, said | {"file": "verifiers.py"}) == found
    assert check_of(toy, said | {"code": VERIFIER}) == found
    assert check_of(toy, said) == JudgeCheck(criteria="All of it.")
    assert check_of(toy, {"kind": "judge", "file": "verifiers.py"}) == JudgeCheck(VERIFIER, "verify_it")


@pytest.mark.parametrize(
    ("verify", "field", "reason"),
    [
        ({}, "verify", "expected 'criteria', or code that gathers evidence ('file' or 'code')"),
        ({"criteria": " "}, "verify.criteria", "is empty"),
        ({"criteria": 1, "code": VERIFIER}, "verify.criteria", "expected a text, found 1"),
        (
            {"code": VERIFIER, "file": "verifiers.py"},
            "verify",
            "expected one of 'code' and 'file', found both",
        ),
        ({"code": VERIFIER, "function": "other"}, "verify.code", "unknown function 'other'"),
        ({"criterion": "x", "criteria": "y"}, "verify.criterion", "did you mean 'criteria'"),
    ],
)
def test_wrong_judge_check(toy: Path, verify: dict[str, Any], field: str, reason: str) -> None:
    found, why = problem_of_check(toy, {"kind": "judge"} | verify)
    assert found == field
    assert reason in why


def test_judge_check_needs_its_function_in_verifiers_py(toy: Path) -> None:
    task = TASK | {"verify": {"kind": "judge", "function": "verify_it", "criteria": "x"}}
    assert problems_of(toy, task) == [Problem(str(toy / "verifiers.py"), None, None, "is missing")]
