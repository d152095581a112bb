"""`subworlds show`."""

from __future__ import annotations

from pathlib import Path

from .conftest import Command


def test_show_has_tools_with_arguments_and_tasks_without_solutions(subworlds: Command, worlds: Path) -> None:
    ran = subworlds("show", "kiosk", "--json", "--pack", worlds)
    shown = ran.json
    assert ran.status == 0
    assert set(shown) == {"name", "title", "description", "tools", "tasks"}
    assert all(set(tool) == {"name", "description", "arguments"} for tool in shown["tools"])
    assert all(
        set(task) == {"id", "prompt", "difficulty", "split", "tags", "standing"} for task in shown["tasks"]
    )
    (sell,) = [tool for tool in shown["tools"] if tool["name"] == "sell"]
    assert "good_id" in sell["arguments"]["properties"]


def test_show_for_people_has_signatures_and_prompts(subworlds: Command, worlds: Path) -> None:
    ran = subworlds("show", "kiosk", "--pack", worlds)
    assert ran.status == 0
    assert "sell(good_id, [quantity])" in ran.out
    assert "What does a pear cost" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100


def test_unknown_world_names_the_one_that_was_meant(subworlds: Command, worlds: Path) -> None:
    ran = subworlds("show", "kiosc", "--pack", worlds)
    assert (ran.status, ran.out) == (2, "")
    assert "did you mean 'kiosk'?" in ran.err


def test_broken_world_is_a_failure_that_names_the_statement(subworlds: Command, kiosk: Path) -> None:
    (kiosk / "app.py").write_text("raise RuntimeError('no kiosk today')\n")
    ran = subworlds("show", "kiosk", "--pack", kiosk)
    assert (ran.status, ran.out) == (1, "")
    assert "no kiosk today" in ran.err
