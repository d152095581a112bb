"""The published JSON Schemas accept and refuse what the loader does, and every built-in file fits them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from subworlds.scenarios.certificate import CERTIFICATE, read_certificate
from subworlds.scenarios.errors import Problem
from subworlds.scenarios.fields import Fields, Place
from subworlds.scenarios.formats import FORMATS
from subworlds.scenarios.native import STARTER
from subworlds.scenarios.native_about import ABOUT, read_about
from subworlds.scenarios.native_tasks import read_task
from subworlds.scenarios.pack import BUILTIN_PACKS

from .schemas import SCHEMAS, written

WORLDS = [STARTER, *sorted(path.parent for path in BUILTIN_PACKS.glob(f"*/{ABOUT}"))]
CALL = {"tool": "look", "arguments": {"id": 1}}
SQL = {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": 1}], "may_change": ["t"]}
CODE = "def verify_it(initial, final):\n    return {'result': 'complete'}\n"
TASK = {"id": "w/one", "prompt": "Do it.", "solution": [CALL], "answer": {"number": 3}}
ABOUT_IT = {"name": "w", "title": "W", "description": "It.", "clock": "2026-03-02T09:00:00Z"}
TASK_CERTIFICATE = {"content": "abc", "standing": "certified", "mutants": 12, "killed": 12}
CERTIFICATES = {
    "format": 1,
    "kill_rate": 1.0,
    "false_reject_rate": None,
    "tasks": {"w/one": TASK_CERTIFICATE},
}
ANYTHING: list[Any] = [None, True, 0, -1, 1.5, "", " ", "x", "Train", [], ["a", ""], [1], {}, {"x": 1}]


def fits(name: str, value: Any) -> bool:
    return bool(Draft202012Validator(FORMATS[name]).is_valid(value))


@pytest.mark.parametrize("name", FORMATS)
def test_published_schema_is_that_of_the_code_and_a_schema(name: str) -> None:
    assert (SCHEMAS / f"{name}.json").read_text() == written(name), "stale: run `make schemas`"
    Draft202012Validator.check_schema(FORMATS[name])


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_every_built_in_file_fits(world: Path) -> None:
    assert fits("scenario", json.loads((world / ABOUT).read_text()))
    for line in (world / "tasks.jsonl").read_text().splitlines():
        errors = [
            error.message for error in Draft202012Validator(FORMATS["task"]).iter_errors(json.loads(line))
        ]
        assert errors == [], line
    if (world / CERTIFICATE).exists():
        assert fits("certificate", json.loads((world / CERTIFICATE).read_text()))


def loads_task(value: dict[str, Any], folder: Path) -> bool:
    (folder / "verifiers.py").write_text(CODE)
    problems: list[Problem] = []
    read_task(Fields(value, Place(problems, "tasks.jsonl")), "w", 0, folder)
    return not problems


def loads_about(value: dict[str, Any], folder: Path) -> bool:
    problems: list[Problem] = []
    (folder / ABOUT).write_text(json.dumps(value))
    read_about(folder / ABOUT, "w", Place(problems, ABOUT))
    return not problems


def loads_certificate(value: dict[str, Any], folder: Path) -> bool:
    problems: list[Problem] = []
    (folder / CERTIFICATE).write_text(json.dumps(value))
    read_certificate(folder, Place(problems, CERTIFICATE))
    return not problems


VERIFIES: list[Any] = [
    {"kind": "state"},
    {"kind": "state", "ignore": {"t": ["c"]}, "alternatives": [[CALL]], "natural_keys": ["t"]},
    SQL,
    {**SQL, "unchanged": ["t"]},
    {**SQL, "choices": ["look.id", "look", ".id"]},
    {**SQL, "choices": ["look.id"]},
    {"kind": "sql", "assert": [], "may_change": []},
    {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": [[1, None], [2, "x"]]}], "unchanged": []},
    {"kind": "python", "code": CODE},
    {"kind": "python", "file": "verifiers.py", "function": "verify_it"},
    {"kind": "python", "file": "verifiers.py", "code": CODE},
    {"kind": "python"},
    {"kind": "judge", "criteria": "It is kind."},
    {"kind": "judge", "function": "verify_it"},
    {"kind": "judge", "file": "verifiers.py", "code": CODE},
    {"kind": "judge"},
    {"kind": "magic"},
]
SAMPLES: dict[str, tuple[Callable[[dict[str, Any], Path], bool], list[dict[str, Any]]]] = {
    "task": (
        loads_task,
        [TASK, *({**TASK, "verify": verify} for verify in VERIFIES)]
        + [{key: value for key, value in TASK.items() if key != gone} for gone in TASK]
        + [
            {**TASK, "answer": answer}
            for answer in ({"text": "x"}, {"list": ["a", 1], "ordered": True}, {"number": 1, "text": "x"})
        ]
        + [{"id": "w/one", "prompt": "x", "solution": []}, {"id": "w/one", "prompt": "x", "verify": SQL}]
        + [
            {
                "id": "w/one",
                "prompt": "x",
                "solution": [CALL],
                "verify": {"kind": "state", "alternatives": [[]]},
            }
        ]
        + [{**TASK, "solution": [{"tool": name}]} for name in ("look", "done", "reset", " ")],
    ),
    "scenario": (
        loads_about,
        [ABOUT_IT, {**ABOUT_IT, "generated": {"seed": 1, "count": 2}, "strict_references": False}]
        + [{key: value for key, value in ABOUT_IT.items() if key != gone} for gone in ABOUT_IT]
        + [{**ABOUT_IT, "clock": clock} for clock in ("2026-03-02T09:00:00", "2026-03-02T09:00:00+02:00")],
    ),
    "certificate": (
        loads_certificate,
        [CERTIFICATES, {**CERTIFICATES, "format": 2}, {"format": 1}, {"tasks": {}}],
    ),
}


def variants(value: dict[str, Any]) -> list[dict[str, Any]]:
    """`value` with each field, at any depth, replaced by anything; and with a field that nobody knows."""
    found = [{**value, "surprise": 1}]
    for path in _paths(value):
        for other in ANYTHING:
            changed = copy.deepcopy(value)
            inner: Any = changed
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = other
            found.append(changed)
    return found


def _paths(value: Any, so_far: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for step, part in steps for path in [(*so_far, step), *_paths(part, (*so_far, step))]]


@pytest.mark.parametrize("name", SAMPLES)
def test_schema_accepts_and_refuses_what_the_loader_does(name: str, tmp_path: Path) -> None:
    loads, samples = SAMPLES[name]
    seen = {True: 0, False: 0}
    for sample in samples:
        for value in (sample, *variants(sample)):
            if _is_beyond_a_schema(name, value):
                continue
            accepted = loads(value, tmp_path)
            assert fits(name, value) == accepted, json.dumps(value)
            seen[accepted] += 1
    assert min(seen.values()) > 10


def _is_beyond_a_schema(name: str, value: dict[str, Any]) -> bool:
    """Whether the loader decides by what no schema knows: other files, names, what a text means."""
    text = json.dumps(value)
    if name == "scenario":
        return value.get("name") != "w" or value.get("clock") in ("x", "Train")
    if name != "task" or value.get("id") == "x":
        return False
    verify = value.get("verify")
    if not isinstance(verify, dict):
        return False
    odd = {verify.get(key) for key in ("file", "function", "code") if isinstance(verify.get(key), str)}
    if odd & {"x", "Train"}:
        return True
    return '"sql": "x"' in text or '"sql": "Train"' in text
