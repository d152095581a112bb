"""An author's verifier function: how it is called, and what it may claim."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from subworlds.verifiers.claim import Claim, FunctionFailed, call_function, imports_of
from subworlds.verifiers.job import run_job
from subworlds.verifiers.verdict import Verdict
from subworlds.verifiers.wire import decode_verdict

from .shop import CLOCK

After: TypeAlias = Callable[..., Path]


def called(code: str, answer: str | None = "three") -> str:
    return call_function(code, "verify", "/first", "/final", answer, CLOCK.isoformat())


def claimed(first: Path, final: Path, claim: Claim) -> Verdict:
    common = {"initial": str(first), "final": str(final), "expected_answer": None, "answer": None}
    return decode_verdict(run_job({"kind": "python", "claim": lambda: claim, **common}))


@pytest.mark.parametrize(
    ("head", "result"),
    [
        ("initial_db_path, final_db_path", "initial_db_path + final_db_path"),
        ("initial_db_path, final_db_path, final_answer", "initial_db_path + final_db_path"),
        ("final_db_path, initial_db_path", "initial_db_path + final_db_path"),
        ("a, b", "a + b"),
        ("a, b, c=None", "a + b"),
        ("*paths", "paths[0] + paths[1]"),
    ],
)
def test_arguments_go_by_name_or_else_by_position(head: str, result: str) -> None:
    assert called(f"def verify({head}):\n    return {{'result': {result}}}") == "/first/final"


@pytest.mark.parametrize("head", ["initial_db_path, final_db_path, final_answer", "a, b, c", "*all"])
def test_function_of_three_arguments_gets_the_answer(head: str) -> None:
    name = head.replace("*all", "all[2]").split(", ")[-1]
    code = f"def verify({head}):\n    return {{'result': {name}}}"
    assert (called(code), called(code, None)) == ("three", "")


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        ("True", "not True; True and False are no results"),
        ("{'result': True}", "not {'result': True}; True and False are no results"),
        ("None", "not None"),
        ("'complete'", "not 'complete'"),
        ("{}", "not {}"),
        ("{'result': None}", "not {'result': None}"),
        ("['complete']", "not ['complete']"),
        ("{'result': 'x' * 10**6 and 1}", "not {'result': 1}"),
    ],
)
def test_what_is_no_claim_fails_and_is_shown(claim: str, shown: str) -> None:
    with pytest.raises(FunctionFailed) as failed:
        called(f"def verify(a, b):\n    return {claim}")
    assert str(failed.value).endswith(shown)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def verify(a, b):\n    return 1 / 0", "ZeroDivisionError at line 2: division by zero"),
        ("def verify(a, b):\n    raise SystemExit(0)", "SystemExit at line 2: 0"),
        ("def verify(a, b):\n    verify(a, b)", "RecursionError at line 2"),
        ("def verify(a, b):\n    raise KeyError('x' * 10_000)", "KeyError at line 2: 'xxx"),
        ("import nothing_like_this", "ModuleNotFoundError at line 1"),
        ("def verify(a, b:", "SyntaxError"),
        ("verify = 3", "defines no function verify"),
        ("def verify(a):\n    return {'result': 'complete'}", "TypeError"),
    ],
)
def test_what_the_code_raises_is_told_with_its_line(code: str, told: str) -> None:
    with pytest.raises(FunctionFailed) as failed:
        called(code)
    assert told in str(failed.value)
    assert len(str(failed.value)) <= 500


@pytest.mark.usefixtures("calendars")
def test_function_sees_the_worlds_time_and_leaves_ours() -> None:
    connect, before = sqlite3.connect, time.time()
    code = """
import sqlite3
from datetime import datetime
def verify(a, b):
    connection = sqlite3.connect(":memory:")
    now, = connection.execute("SELECT datetime('now')").fetchone()
    connection.close()
    return {"result": f"{now} {datetime.now().year}"}
"""
    assert called(code) == "2026-03-01 09:00:00 2026"
    assert sqlite3.connect is connect
    assert time.time() >= before


def test_imports_are_found_wherever_they_are() -> None:
    code = """
from __future__ import annotations
import json, os.path
import numpy
from xml.etree import ElementTree
from . import sibling
from math import *
def verify(a, b):
    import decimal as d
    from collections.abc import Iterable
    import turtle, this, unittest.__main__
"""
    found = imports_of(code)
    assert {
        "json",
        "os.path",
        "xml.etree",
        "xml.etree.ElementTree",
        "math",
        "decimal",
        "collections.abc",
    } <= set(found)
    assert not {"numpy", "turtle", "this", "unittest.__main__", "math.*"} & set(found)
    assert imports_of("def broken(") == imports_of("\0") == []


def test_claim_becomes_a_verdict_beside_our_own_receipt(shop: Path, after: After) -> None:
    final = after("UPDATE customers SET name = 'Eve' WHERE id = 3")
    complete = claimed(shop, final, Claim("complete", None))
    other = claimed(shop, final, Claim("others", None))
    failed = claimed(shop, final, Claim(None, "it raised"))
    assert [one.outcome for one in (complete, other, failed)] == ["complete", "incomplete", "verifier_error"]
    assert [len(one.receipt.unsorted) for one in (complete, other, failed)] == [1, 1, 1]
    assert (other.reason, failed.reason) == ("the task's verifier says 'others'", "it raised")
