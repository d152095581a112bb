"""`subworlds list`."""

from __future__ import annotations

from pathlib import Path

from .conftest import Command


def test_list_counts_tools_and_tasks_of_each_world(subworlds: Command, worlds: Path) -> None:
    ran = subworlds("list", "--json", "--pack", worlds)
    assert ran.status == 0
    tasks = (worlds / "kiosk" / "tasks.jsonl").read_text().splitlines()
    (row,) = ran.json
    assert set(row) == {"name", "title", "tools", "tasks", "standings"}
    assert (row["name"], row["title"], row["tasks"]) == ("kiosk", "A kiosk", len(tasks))
    assert row["tools"] > 0


def test_list_without_json_is_a_table(subworlds: Command, worlds: Path) -> None:
    ran = subworlds("list", "--pack", worlds)
    header, row = ran.out.splitlines()
    assert header.split() == ["world", "title", "tools", "tasks", "certified"]
    assert row.startswith("kiosk")


def test_built_in_worlds_all_start(subworlds: Command) -> None:
    ran = subworlds("list", "--json")
    assert (ran.status, ran.err) == (0, "")
    assert all(row["tools"] and row["tasks"] for row in ran.json)


def test_broken_world_is_listed_with_the_statement_that_fails(subworlds: Command, kiosk: Path) -> None:
    seed = kiosk / "seed.sql"
    seed.write_text(seed.read_text() + "INSERT INTO nowhere VALUES (1);\n")
    ran = subworlds("list", "--json", "--pack", kiosk)
    assert ran.status == 1
    (row,) = ran.json
    assert row["tools"] is None
    assert "no such table: nowhere" in row["error"]
    assert "1 of 1 world cannot start" in ran.err
