"""`subworlds certify`, and what a certificate does to serving, listing and showing."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from subworlds.envs import SubworldsEnv
from subworlds.envs.app import ServerSettings

from ..conftest import Serve
from .conftest import Command

DEPOT = Path(__file__).parent.parent / "certification" / "depot"
RIGHT, WRONG = "depot/right-number", "depot/always"


@pytest.fixture
def depot(tmp_path: Path) -> Path:
    """A copy of the depot with three tasks: one right, one failing, one without a solution."""
    folder = shutil.copytree(DEPOT, tmp_path / "depot", ignore=shutil.ignore_patterns("__pycache__"))
    lines = (folder / "tasks.jsonl").read_text().splitlines()
    kept = [line for line in lines if json.loads(line)["id"] in (RIGHT, WRONG, "depot/no-solution")]
    (folder / "tasks.jsonl").write_text("\n".join(kept) + "\n")
    return folder


def standings(command: Command, folder: Path) -> dict[str, str]:
    shown = command("show", "depot", "--json", "--pack", folder).json
    return {task["id"]: task["standing"] for task in shown["tasks"]}


def rewrite(folder: Path, task: str, old: str, new: str) -> None:
    """Change one line of tasks.jsonl."""
    path = folder / "tasks.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line.replace(old, new) if task in line else line for line in lines) + "\n")


def test_failing_task_makes_the_exit_status_1_and_is_shown_with_its_reason(
    subworlds: Command, depot: Path
) -> None:
    ran = subworlds("certify", depot)
    assert ran.status == 1
    assert "1 task of 3 failed: depot/always" in ran.err
    assert "nothing-passes: an agent that does nothing" in ran.out
    assert "kill rate 100.00%, false-reject rate 0.00%" in ran.out
    assert f"wrote {depot / 'certificate.json'}" in ran.out.replace("\n", "")


def test_certified_tasks_alone_make_it_0(subworlds: Command, depot: Path, tmp_path: Path) -> None:
    ran = subworlds("certify", depot, "--task", RIGHT, "--json", "--out", tmp_path / "out")
    assert ran.status == 0
    (task,) = ran.json["tasks"]
    assert (task["task"], task["standing"]) == (RIGHT, "certified")
    assert (ran.json["kill_rate"], ran.json["false_reject_rate"]) == (1.0, 0.0)
    assert not (depot / "certificate.json").exists()
    written = json.loads((tmp_path / "out" / "depot" / "certificate.json").read_text())
    assert written["tasks"].keys() == {RIGHT}


def test_certificates_mark_tasks_until_something_changes(subworlds: Command, depot: Path) -> None:
    assert set(standings(subworlds, depot).values()) == {"unknown"}
    subworlds("certify", depot)
    marks = {RIGHT: "certified", WRONG: "failed", "depot/no-solution": "floor-checked"}
    assert standings(subworlds, depot) == marks
    (row,) = subworlds("list", "--json", "--pack", depot).json
    assert row["standings"] == {"certified": 1, "failed": 1, "floor-checked": 1}
    rewrite(depot, RIGHT, "How many nuts", "What number of nuts")
    assert standings(subworlds, depot) == {**marks, RIGHT: "outdated"}
    with (depot / "seed.sql").open("a") as seed:
        seed.write("INSERT INTO shelves (id, name) VALUES (15, 'Cellar');\n")
    assert set(standings(subworlds, depot).values()) == {"outdated"}


def test_one_task_certified_again_leaves_the_others_as_they_are(subworlds: Command, depot: Path) -> None:
    subworlds("certify", depot)
    assert subworlds("certify", depot, "--task", RIGHT).status == 0
    assert standings(subworlds, depot)[WRONG] == "failed"


def test_failed_task_is_served_only_by_its_id(subworlds: Command, depot: Path, serve: Serve) -> None:
    async def play(url: str) -> None:
        async with SubworldsEnv(base_url=url) as env:
            for index in range(2):
                reset = (await env.reset(scenario="depot", index=index)).observation
                assert reset.task != WRONG
            assert (await env.reset(scenario="depot", index=2)).observation.error is not None
            assert (await env.reset(task=WRONG)).observation.task == WRONG

    subworlds("certify", depot)
    with serve([depot], ServerSettings()) as url:
        asyncio.run(play(url))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON"),
        ('{"format": 7, "tasks": {}}', "format: expected 1"),
        ('{"format": 1}', "tasks: is missing"),
        ('{"format": 1, "tasks": {"depot/a": {"content": "x", "standing": "fine"}}}', "depot/a.standing"),
        ('{"format": 1, "tasks": {}, "kind_rate": 1}', "kind_rate"),
    ],
)
def test_malformed_certificate_is_reported_as_any_file(
    subworlds: Command, depot: Path, content: str, reason: str
) -> None:
    (depot / "certificate.json").write_text(content)
    for command in (("show", "depot", "--pack", depot), ("certify", depot)):
        ran = subworlds(*command)
        assert (ran.status, ran.out) == (2, "")
        assert f"{depot / 'certificate.json'}" in ran.err
        assert reason in ran.err


def test_unknown_names_are_bad_input(subworlds: Command, depot: Path) -> None:
    assert subworlds("certify", depot, "--task", "depot/rihgt-number").status == 2
    assert subworlds("certify", depot, "--world", "depto").status == 2
    assert subworlds("certify", depot / "nowhere").status == 2


def test_world_that_cannot_start_fails_its_tasks(subworlds: Command, depot: Path) -> None:
    (depot / "app.py").write_text("raise RuntimeError('closed today')\n")
    ran = subworlds("certify", depot, "--json")
    assert ran.status == 1
    assert {task["standing"] for task in ran.json["tasks"]} == {"failed"}
    assert "closed today" in ran.json["tasks"][0]["flaws"][0]["reason"]
