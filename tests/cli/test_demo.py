"""`subworlds demo`: the newcomer's one screen."""

from __future__ import annotations

import pytest

from subworlds.scenarios.pack import BUILTIN_PACKS, Catalog
from subworlds.scenarios.task import Task
from subworlds.training import NoopAgent

from .conftest import Command


def test_demo_pays_the_gold_agent_in_every_world_and_the_idle_one_nowhere(subworlds: Command) -> None:
    ran = subworlds("demo")
    worlds = Catalog.load([BUILTIN_PACKS]).scenarios
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.count("reward 1.00 complete") == len(worlds)
    assert ran.out.count("reward 0.00 incomplete") == len(worlds)
    assert all(scenario.title in ran.out for scenario in worlds.values())


def test_demo_fits_one_screen_and_ends_with_what_to_try(subworlds: Command) -> None:
    lines = subworlds("demo").out.splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 100
    assert lines[-1].startswith("subworlds serve")


def test_demo_fails_where_a_solved_task_is_not_paid(
    subworlds: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def idle(task: Task) -> NoopAgent:
        return NoopAgent()

    monkeypatch.setattr("subworlds.cli.demo.gold_agent", idle)
    ran = subworlds("demo")
    assert ran.status == 1
    assert "gold is incomplete" in ran.err
