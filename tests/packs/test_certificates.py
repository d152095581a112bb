"""Every built-in task is certified as it is now, and by world the rates are what users were promised."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from subworlds.scenarios.certificate import CERTIFICATE
from subworlds.scenarios.pack import BUILTIN_PACKS, Catalog

KILL_RATE = 0.99
FALSE_REJECT_RATE = 0.01
MUTANTS, VARIANTS = 12, 4
COUNTED = ("mutants", "killed", "harmless", "rejected")
README = Path(__file__).parents[2] / "README.md"

WORLDS = sorted(path.parent.name for path in BUILTIN_PACKS.glob("*/scenario.json"))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """The built-in packs."""
    return Catalog.load([BUILTIN_PACKS])


@pytest.mark.parametrize("world", WORLDS)
def test_every_task_is_certified_as_it_is_now(catalog: Catalog, world: str) -> None:
    standings = {task.id: catalog.standing(task.id) for task in catalog.tasks_of(world)}
    assert standings == dict.fromkeys(standings, "certified"), f"run `subworlds certify --world {world}`"


@pytest.mark.parametrize("world", WORLDS)
def test_wrong_episodes_are_told_from_right_ones(world: str) -> None:
    found = json.loads((BUILTIN_PACKS / world / CERTIFICATE).read_text())
    assert found["kill_rate"] >= KILL_RATE
    assert found["false_reject_rate"] <= FALSE_REJECT_RATE
    for task, counts in found["tasks"].items():
        assert counts["mutants"] + counts["choices"] >= MUTANTS, task
        assert counts["harmless"] >= VARIANTS, task


def test_figures_in_the_readme_are_those_of_the_certificates() -> None:
    counts: Counter[str] = Counter()
    for world in WORLDS:
        for task in json.loads((BUILTIN_PACKS / world / CERTIFICATE).read_text())["tasks"].values():
            counts.update({"tasks": 1, **{name: task[name] for name in COUNTED}})
    survivors = counts["mutants"] - counts["killed"]
    wrong = f"{counts['mutants']:,} wrong episodes, {survivors or 'none'} of them paid"
    right = f"{counts['harmless']:,} right ones, {counts['rejected'] or 'none'} of them refused"
    shown = " ".join(README.read_text().split())
    assert f"in {counts['tasks']} tasks, {wrong}, and {right}" in shown
