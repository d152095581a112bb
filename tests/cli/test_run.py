"""`subworlds run`: a whole episode through a real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from subworlds.envs.app import ServerSettings
from subworlds.envs.gate import Access
from subworlds.scenarios.manager import ManagerSettings

from .conftest import Command


def test_gold_agent_completes_the_task_and_is_paid(subworlds: Command, worlds: Path) -> None:
    ran = subworlds("run", "kiosk/sell-apples", "--agent", "gold", "--seed", "7", "--json", "--pack", worlds)
    shown = ran.json
    assert ran.status == 0
    assert set(shown) == {
        *("task", "scenario", "agent", "seed", "reward", "components", "outcome", "reason"),
        *("answer", "steps", "verdict", "fault", "model", "seconds"),
    }
    assert (shown["task"], shown["scenario"], shown["agent"]) == ("kiosk/sell-apples", "kiosk", "gold")
    assert (shown["seed"], shown["reward"], shown["outcome"]) == (7, 1.0, "complete")
    assert [step["tool"] for step in shown["steps"]] == ["list_goods", "sell"]
    assert shown["steps"][1]["arguments"] == {"good_id": 1, "quantity": 3}
    assert shown["verdict"]["receipt"]["made"]


def test_noop_agent_is_valid_and_earns_nothing(subworlds: Command, server_url: str) -> None:
    ran = subworlds("run", "kiosk/sell-apples", "--agent", "noop", "--json", "--url", server_url)
    assert ran.status == 0
    assert (ran.json["reward"], ran.json["outcome"], ran.json["steps"]) == (0.0, "incomplete", [])


def test_a_number_is_answered_as_its_text(subworlds: Command, worlds: Path, server_url: str) -> None:
    ran = subworlds("run", "kiosk/price-of-pear", "--json", "--url", server_url, "--pack", worlds)
    assert (ran.json["answer"], ran.json["outcome"]) == ("70", "complete")


def test_a_failing_call_is_shown_with_its_typed_error(
    subworlds: Command, worlds: Path, server_url: str
) -> None:
    ran = subworlds("run", "kiosk/broken-gold", "--json", "--url", server_url, "--pack", worlds)
    assert ran.json["steps"][0]["error"]["error_type"] == "tool_failed"
    assert "result" not in ran.json["steps"][0]


def test_broken_verifier_is_an_invalid_episode_not_a_failed_task(
    subworlds: Command, worlds: Path, server_url: str
) -> None:
    ran = subworlds("run", "kiosk/broken-verifier", "--json", "--url", server_url, "--pack", worlds)
    assert ran.status == 1
    assert (ran.json["reward"], ran.json["outcome"]) == (None, "verifier_error")
    assert "cannot be scored" in ran.err


def test_run_for_people_shows_calls_receipt_and_reward(
    subworlds: Command, worlds: Path, server_url: str
) -> None:
    ran = subworlds("run", "kiosk/sell-apples", "--url", server_url, "--pack", worlds)
    assert ran.status == 0
    assert "sell(good_id=1, quantity=3) → " in ran.out
    assert "reward 1.00 complete" in ran.out
    assert "✓ asked for and made: goods (id 1): stock" in ran.out


def test_unknown_task_names_the_one_that_was_meant(subworlds: Command, worlds: Path) -> None:
    ran = subworlds("run", "kiosk/sell-apple", "--pack", worlds)
    assert ran.status == 2
    assert "did you mean 'kiosk/sell-apples'" in ran.err


def test_task_without_solution_has_no_gold_agent(subworlds: Command, kiosk: Path) -> None:
    check = {"kind": "sql", "assert": [{"sql": "SELECT 1", "equals": [[1]]}], "may_change": ["goods"]}
    task = {"id": "kiosk/pears", "prompt": "Sell a pear.", "verify": check}
    (kiosk / "tasks.jsonl").write_text(json.dumps(task))
    ran = subworlds("run", "kiosk/pears", "--pack", kiosk)
    assert ran.status == 2
    assert "has no gold solution" in ran.err


def test_server_that_does_not_know_the_task_says_so(subworlds: Command, server_url: str) -> None:
    ran = subworlds("run", "library/nothing", "--agent", "noop", "--url", server_url)
    assert ran.status == 1
    assert "gave no episode: unknown_task" in ran.err


def test_no_server_is_one_clear_message(subworlds: Command, unused_tcp_port: int) -> None:
    ran = subworlds("run", "x/y", "--agent", "noop", "--url", f"http://127.0.0.1:{unused_tcp_port}")
    assert (ran.status, ran.out) == (1, "")
    assert f"127.0.0.1:{unused_tcp_port}" in ran.err
    assert "subworlds serve" in ran.err


@pytest.mark.parametrize("url", ["127.0.0.1", "ftp://127.0.0.1", ""])
def test_url_that_is_none_is_one_clear_message(subworlds: Command, url: str) -> None:
    ran = subworlds("run", "x/y", "--agent", "noop", "--url", url)
    assert ran.status in (1, 2)
    assert ran.err.startswith("subworlds: ")


def test_an_adversary_plays_and_is_not_paid_like_gold(
    subworlds: Command, worlds: Path, server_url: str
) -> None:
    for name in ("early-done", "answer-guessing", "half-gold", "repeat-write"):
        ran = subworlds(
            "run", "kiosk/sell-apples", "--agent", name, "--json", "--url", server_url, "--pack", worlds
        )
        assert (ran.status, ran.json["agent"]) == (0, name)
        assert ran.json["reward"] <= 0.35


def test_an_unknown_agent_is_named_beside_those_there_are(subworlds: Command) -> None:
    ran = subworlds("run", "kiosk/sell-apples", "--agent", "bold")
    assert (ran.status, ran.out) == (2, "")
    assert "there is no agent 'bold'; there are gold, noop, early-done," in ran.err


def test_a_guarded_server_is_played_with_its_token_only(
    subworlds: Command, serve: Callable[..., AbstractContextManager[str]], worlds: Path, tmp_path: Path
) -> None:
    token = "a-token-that-nobody-guesses"
    file = tmp_path / "token"
    file.write_text(token + "\n")
    settings = ServerSettings(manager=ManagerSettings(warm=False), access=Access(token=token))
    with serve([worlds], settings) as url:
        command = ("run", "kiosk/sell-apples", "--agent", "noop", "--json", "--url", url)
        refused = subworlds(*command)
        assert refused.status == 1
        assert "--token-file FILE or in SUBWORLDS_TOKEN" in refused.err
        assert subworlds(*command, "--token-file", file).json["reward"] == 0.0
