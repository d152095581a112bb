"""`subworlds bench rollout`: both ways do the same work; what is said of it. Never how fast it is."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

_START = "from subworlds.cli.main import main; main()"


def bench(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", _START, "bench", "rollout", "--quick", *map(str, words)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(600)
def test_the_report_compares_the_same_work_and_says_where_a_step_goes(worlds: Path) -> None:
    ran = bench("--episodes", "8", "--step", "16", "--json", "--pack", worlds)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    tiny, larger = found["rollouts"]
    assert tiny["parameters"] < 1_000_000 < 20_000_000 < larger["parameters"]
    for compared in (tiny, larger):
        ours, one_by_one = compared["ours"], compared["one_by_one"]
        assert all(0 < each["generation"] < each["whole"] for each in (ours, one_by_one))
        assert math.isclose(compared["ratio"], one_by_one["whole"] / ours["whole"])
    step = found["step"]
    assert step["generation"] + step["world"] < step["whole"]
    assert math.isclose(step["share"], step["world"] / step["whole"])
    assert all(task.startswith("kiosk/") for task in found["tasks"])


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--episodes", "12"], "batches are groups of 8"), (["--scenario", "moon"], "moon")],
)
def test_what_cannot_be_measured_is_said(worlds: Path, words: list[str], told: str) -> None:
    ran = bench(*words, "--pack", worlds)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert told in ran.stderr
