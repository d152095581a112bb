"""`subworlds generate`: an author makes tasks, and learns at once which do not hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Command

BAKERY = Path(__file__).parent.parent / "generators" / "bakery"
HEAD = """
from subworlds.scenarios.generation import Draft, call, pick, template

def customer(world, rng):
    return pick(rng, world.rows("SELECT * FROM customers ORDER BY id"))
"""


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    """A copy of the bakery, to write in."""
    return shutil.copytree(BAKERY, tmp_path / "bakery", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.fixture
def broken(bakery: Path) -> Callable[[str], Path]:
    """The bakery with templates of the test's own."""

    def write(templates: str) -> Path:
        (bakery / "generator.py").write_text(HEAD + templates)
        return bakery

    return write


def test_author_starts_with_rows_and_ends_with_tasks_that_play(subworlds: Command, bakery: Path) -> None:
    (bakery / "seed.sql").unlink()
    seeded = subworlds("generate", bakery, "--seed-rows")
    assert (seeded.status, seeded.out) == (0, f"wrote 84 rows of 2 tables to {bakery / 'seed.sql'}\n")
    assert (bakery / "seed.sql").read_bytes() == (BAKERY / "seed.sql").read_bytes()

    written = subworlds("generate", bakery, "--seed", "3", "--count", "12", "--write")
    assert written.status == 0
    assert "wrote 12 tasks" in written.err
    lines = (bakery / "tasks.jsonl").read_bytes()
    assert json.loads((bakery / "scenario.json").read_text())["generated"] == {"seed": 3, "count": 12}

    again = subworlds("generate", "bakery", "--write", "--json", "--pack", bakery.parent)
    assert (again.status, again.json["tasks"], again.json["difficulties"]) == (
        *(0, 12),
        {"easy": 6, "medium": 6},
    )
    assert (bakery / "tasks.jsonl").read_bytes() == lines

    played = subworlds("run", "bakery/cancel-order-001", "--json", "--pack", bakery)
    assert (played.status, played.json["reward"]) == (0, 1.0)


def test_lines_of_one_template_go_to_stdout_and_the_report_to_stderr(
    subworlds: Command, bakery: Path
) -> None:
    ran = subworlds("generate", bakery, "--count", "4", "--template", "cancel-order", "--out", "-")
    assert ran.status == 0
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["id"] for line in lines] == [f"bakery/cancel-order-00{number}" for number in (1, 2, 3, 4)]
    assert "4 medium" in ran.err
    assert not (bakery / "tasks.jsonl").exists()


def test_asking_for_more_than_there_is_says_so(subworlds: Command, bakery: Path, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    ran = subworlds("generate", bakery, "--count", "40", "--template", "customer-since", "--out", file)
    assert ran.status == 0
    assert "there are only 24 tasks to be had, not 40" in ran.err
    assert len(file.read_text().splitlines()) == 24


def test_every_kind_of_unsound_template_is_named_with_its_first_draft_and_the_reason(
    subworlds: Command, broken: Callable[[str], Path]
) -> None:
    folder = broken("""
@template("refused", difficulty="easy")
def refused(world, rng):
    return Draft("Cancel the last order.", [call("cancel_order", order_id=9999)])

@template("idle", difficulty="easy")
def idle(world, rng):
    check = {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": [[1]]}], "may_change": ["orders"]}
    return Draft("Look around.", [call("search_customers", query="Ada")], verify=check)

@template("changeless", difficulty="easy")
def changeless(world, rng):
    return Draft("Look.", [call("search_customers", query="Bo")])

@template("too-short", difficulty="hard")
def too_short(world, rng):
    return Draft("Who is Ada?", [call("search_customers", query="Ada O")], {"text": "Ada O'Hara"})

@template("unknown-tool", difficulty="easy")
def unknown_tool(world, rng):
    return Draft("Bake.", [call("bake")])

@template("sound", difficulty="easy")
def sound(world, rng):
    one = customer(world, rng)
    look = call("search_customers", query=one["name"])
    return Draft(f"Since when {one['name']}?", [look], {"text": one["since"]})
""")
    ran = subworlds("generate", folder, "--count", "20", "--write")
    assert ran.status == 1
    assert "5 templates with unsound drafts, nothing was written" in ran.err
    assert "template 'sound'" not in ran.err
    assert not (folder / "tasks.jsonl").exists()
    for name, reason in {
        "refused": "gold call 1, cancel_order, fails: tool_failed: there is no such order, or it was",
        "idle": "an agent that does nothing completes it",
        "changeless": "it cannot be judged: an agent that does nothing would solve the task",
        "too-short": "hard tasks have 6 to 12 gold calls, this one has 1",
        "unknown-tool": "gold call 1, bake, fails: tool_not_found: there is no tool 'bake' in this world",
    }.items():
        told = ran.err.partition(f"template '{name}': 1 of 1 unsound; the first:\n")[2]
        assert reason in told.partition("template '")[0]
    assert "gold:   cancel_order(order_id=9999)" in ran.err


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("Draft('Do.', [{'tol': 'x'}])", "template 'x'.solution[0].tool: is missing"),
        ("Draft('Do.', [call('done')])", "'done' is reserved"),
        ("Draft('', [call('a')])", "template 'x'.prompt: is empty"),
        (
            "Draft('Do.', [call('a')], answer={'date': 1})",
            "expected exactly one of 'number', 'text' and 'list'",
        ),
        ("Draft('Do.', [call('a')], verify={'kind': 'odd'})", "verify.kind: unknown kind of verifier 'odd'"),
        ("Draft('Do.', [])", "is empty, and the task has no answer"),
        ("1 / 0", "generator.py:9: template 'x': ZeroDivisionError"),
    ],
)
def test_draft_that_is_no_task_is_an_error_of_its_author(
    subworlds: Command, broken: Callable[[str], Path], template: str, reason: str
) -> None:
    folder = broken(f"\n@template('x', difficulty='easy')\ndef x(world, rng):\n    return {template}\n")
    ran = subworlds("generate", folder)
    assert (ran.status, ran.out) == (2, "")
    assert reason in ran.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nowhere",), "unknown world 'nowhere'"),
        (("librari",), "did you mean 'library'"),
        ((BAKERY.parent,), "has no scenario.json"),
        (("library", "--pack", "/nowhere"), "/nowhere: is no folder"),
        (
            (BAKERY, "--template", "cancel"),
            "has no template 'cancel': there are customer-since, cancel-order",
        ),
        ((BAKERY, "--write", "--out", "-"), "goes without --out and --template"),
        ((BAKERY, "--seed-rows", "--seed", "2"), "goes only with --out"),
        ((BAKERY, "--json", "--out", "-"), "give --out a file"),
    ],
)
def test_what_cannot_be_done_is_one_clear_message(
    subworlds: Command, arguments: tuple[str | Path, ...], reason: str
) -> None:
    ran = subworlds("generate", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert reason in ran.err


def test_world_without_a_generator_says_so(subworlds: Command, bakery: Path) -> None:
    (bakery / "generator.py").unlink()
    ran = subworlds("generate", bakery)
    assert ran.status == 2
    assert f"{bakery / 'generator.py'}: is missing" in ran.err


def test_rows_that_the_schema_refuses_are_named(subworlds: Command, bakery: Path) -> None:
    seed = bakery / "seed.sql"
    seed.write_text(seed.read_text().replace("Bo O''Hara", "Ada O''Hara"))
    ran = subworlds("generate", bakery)
    assert ran.status == 1
    assert "bakery/seed.sql:3: statement failed: UNIQUE constraint failed: customers.name" in ran.err
