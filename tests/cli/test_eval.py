"""`subworlds eval`: many episodes through a real server, and a report."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Command


def test_gold_solves_what_can_be_solved(subworlds: Command, worlds: Path, server_url: str) -> None:
    ran = subworlds(
        "eval",
        "--agent",
        "gold",
        "--split",
        "train",
        "-k",
        "2",
        "--json",
        "--url",
        server_url,
        "--pack",
        worlds,
    )
    found = ran.json
    assert ran.status == 0
    assert (found["agent"], found["tasks"], found["episodes"], found["invalid"]) == ("gold", 2, 4, 0)
    assert found["success"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert found["pass_at"]["2"]["value"] == found["pass_all"]["2"]["value"] == 1.0
    assert found["reward"]["value"] == 1.0
    assert set(found["components"]) == {"task", "process", "format", "efficiency"}
    assert found["by_difficulty"]["easy"]["value"] == 1.0


def test_doing_nothing_earns_nothing(subworlds: Command, worlds: Path, server_url: str) -> None:
    ran = subworlds(
        "eval", "--agent", "noop", "--split", "train", "--json", "--url", server_url, "--pack", worlds
    )
    assert (ran.json["success"]["value"], ran.json["reward"]["value"], ran.json["calls"]) == (0.0, 0.0, 0.0)


def test_what_a_verifier_broke_is_counted_and_kept_out_of_the_rates(
    subworlds: Command, worlds: Path, server_url: str
) -> None:
    ran = subworlds("eval", "--split", "test", "--json", "--url", server_url, "--pack", worlds)
    assert ran.status == 1
    assert (ran.json["episodes"], ran.json["invalid"], ran.json["success"]) == (4, 4, None)
    assert "every episode was invalid" in ran.err


def test_every_trajectory_is_stored(
    subworlds: Command, worlds: Path, server_url: str, tmp_path: Path
) -> None:
    out = tmp_path / "episodes.jsonl"
    command = ("eval", "--split", "train", "-k", "3", "--out", out, "--url", server_url, "--pack", worlds)
    assert subworlds(*command).status == 0
    stored = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted((episode["task"], episode["seed"]) for episode in stored) == [
        (task, seed) for task in ("kiosk/price-of-pear", "kiosk/sell-apples") for seed in range(3)
    ]
    assert all(episode["reward"] == 1.0 and episode["steps"] for episode in stored)
    again = subworlds(*command)
    assert (again.status, again.out) == (2, "")
    assert "exists already" in again.err


def test_the_page_for_people_names_rates_and_intervals(subworlds: Command, worlds: Path) -> None:
    """On a server of its own."""
    ran = subworlds(
        "eval", "--agent", "early-done", "--split", "train", "--scenario", "kiosk", "--pack", worlds
    )
    assert ran.status == 0
    assert "early-done: 2 tasks, 2 episodes, 0 invalid" in ran.out
    assert "0.000 to 0.000" in ran.out


def test_what_cannot_be_played_is_bad_input(subworlds: Command, worlds: Path) -> None:
    for wrong, said in (
        (("--split", "nope"), "there is no split 'nope'; there are train"),
        (("--scenario", "nope"), "there is no world 'nope'"),
        (("--agent", "nope"), "there is no agent 'nope'"),
    ):
        ran = subworlds("eval", *wrong, "--pack", worlds)
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err


def test_a_server_that_is_not_there_is_a_failure(subworlds: Command, worlds: Path) -> None:
    ran = subworlds("eval", "--url", "http://127.0.0.1:9", "--pack", worlds)
    assert ran.status == 1
    assert "broke off" in ran.err
