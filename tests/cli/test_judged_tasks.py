"""Judged tasks from the command line: where the judge comes from, and what is said where there is none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ..verifiers.judge_server import judge_server, says
from .conftest import Command
from .test_serve import ready_url, served

KEY = "sk-a-secret-that-nobody-may-see"


@pytest.fixture
def judged(kiosk: Path) -> Path:
    """The toy world with one task, which a judge decides."""
    task: dict[str, Any] = {
        "id": "kiosk/judged",
        "prompt": "Sell two pears.",
        "solution": [{"tool": "sell", "arguments": {"good_id": 2, "quantity": 2}}],
        "verify": {"kind": "judge", "criteria": "Two pears are sold."},
    }
    (kiosk / "tasks.jsonl").write_text(json.dumps(task))
    return kiosk


@pytest.mark.parametrize(("outcome", "reward"), [("complete", 1.0), ("incomplete", 0.0)])
def test_judge_from_the_environment_decides(
    subworlds: Command, judged: Path, monkeypatch: pytest.MonkeyPatch, outcome: str, reward: float
) -> None:
    with judge_server(says(outcome)) as server:
        monkeypatch.setenv("SUBWORLDS_JUDGE_URL", server.url)
        monkeypatch.setenv("SUBWORLDS_JUDGE_MODEL", "judge-model")
        monkeypatch.setenv("SUBWORLDS_JUDGE_KEY", KEY)
        ran = subworlds("run", "kiosk/judged", "--json", "--pack", judged)
        assert "SUBWORLDS_JUDGE_KEY" not in os.environ, "no process that is started later inherits it"
    assert (ran.status, ran.json["outcome"], ran.json["reward"]) == (0, outcome, reward)
    assert ran.json["verdict"]["judgment"]["model"] == "judge-model"
    assert server.keys == [f"Bearer {KEY}"]
    assert KEY not in ran.out + ran.err


def test_episode_without_a_judge_has_no_reward(subworlds: Command, judged: Path) -> None:
    ran = subworlds("run", "kiosk/judged", "--json", "--pack", judged)
    assert (ran.status, ran.json["outcome"], ran.json["reward"]) == (1, "verifier_error", None)
    assert "none is configured" in ran.err


def test_server_says_at_its_start_how_many_tasks_need_a_judge(judged: Path) -> None:
    with served("--port", "0", "--pack", judged) as process:
        ready_url(process)
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert err.startswith("1 task needs a judge, and none is configured")
    with judge_server(says()) as server:
        options = ("--judge-url", server.url, "--judge-model", "m")
        with served("--port", "0", "--pack", judged, *options) as process:
            ready_url(process)
            process.terminate()
            assert process.communicate(timeout=60)[1] == ""


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--judge-url", "http://127.0.0.1/v1"), "needs both"),
        (("--judge-model", "m"), "needs both"),
        (("--judge-url", "nonsense", "--judge-model", "m"), "must be one of http or https"),
    ],
)
def test_judge_named_by_half_is_refused(
    subworlds: Command, judged: Path, options: tuple[str, ...], reason: str
) -> None:
    ran = subworlds("run", "kiosk/judged", "--pack", judged, *options)
    assert ran.status == 2
    assert reason in ran.err
