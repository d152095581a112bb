"""Curriculum and expert mix through the script: what they learn outlives a stop, and is of all processes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from .test_train_grpo import launch, run, steps

pytestmark = pytest.mark.timeout(900)
WORDS = (
    *("--turns", "3", "--turn-tokens", "40", "--tokens", "300", "--context", "2000", "--tools", "compact"),
    *("--tasks-per-step", "4", "--num-generations", "8", "--temperature", "0.3", "--learning-rate", "1e-5"),
    *("--curriculum", "--skip-zero-shot", "--show-every", "0", "--save-steps", "3", "--report-to", "none"),
)
"""Thirty-two episodes a step: two steps fill the window of 64 that opens a level."""


@pytest.fixture(scope="module")
def levels(worlds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy worlds with an easy and a medium task to train on."""
    folder = tmp_path_factory.mktemp("levels")
    shutil.copytree(worlds / "kiosk", folder / "kiosk")
    path = folder / "kiosk" / "tasks.jsonl"
    tasks: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    for task in tasks:
        if task["id"] == "kiosk/price-of-pear":
            task["difficulty"] = "medium"
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return folder


@pytest.fixture(scope="module")
def whole(taught: Path, levels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("curriculum")
    run(*_words(taught, levels, folder))
    return folder


def _words(taught: Path, levels: Path, folder: Path) -> list[str | Path]:
    return ["--model", taught, "--pack", levels, "--output-dir", folder, "--max-steps", "5", *WORDS]


def state(checkpoint: Path, name: str = "curriculum") -> Any:
    return json.loads((checkpoint / f"{name}.json").read_text())


def test_the_next_level_opens_once_the_first_has_earned_enough(whole: Path) -> None:
    assert [line["curriculum/level"] for line in steps(whole)][-1] == 1.0
    assert steps(whole)[0]["curriculum/level"] == 0.0
    assert [opened["level"] for opened in state(whole / "checkpoint-5")["openings"]] == ["easy", "medium"]


def test_a_resumed_curriculum_goes_on_exactly_as_if_it_had_not_stopped(
    whole: Path, taught: Path, levels: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole / "checkpoint-3", tmp_path / "checkpoint-3")
    (tmp_path / "checkpoint-4").mkdir()  # the trainer was killed while it wrote that one
    shutil.copy(whole / "metrics.jsonl", tmp_path)
    run(*_words(taught, levels, tmp_path), "--resume")
    assert state(tmp_path / "checkpoint-5") == state(whole / "checkpoint-5")
    for before, after in zip(steps(whole), steps(tmp_path), strict=True):
        for name in ("loss", "reward", "env/calls", "completions/mean_length", "curriculum/level"):
            assert after[name] == pytest.approx(before[name], abs=1e-6), (before["step"], name)


def test_two_processes_learn_one_curriculum_and_one_mix(taught: Path, levels: Path, tmp_path: Path) -> None:
    ran = launch(*_words(taught, levels, tmp_path), "--expert", "gold", "--expert-mix", "adaptive")
    assert ran.returncode == 0, ran.stderr
    curriculum, mix = state(tmp_path / "checkpoint-3"), state(tmp_path / "checkpoint-3", "expert")
    # One process alone would have seen 48 episodes in three steps: too few for a window of 64.
    assert len(curriculum["openings"]) == 2 or len(curriculum["rewards"]) == 64
    assert curriculum["drawn"] in (12, 16)  # the next step's tasks may be drawn ahead
    assert len(mix["rates"]) == 3
    assert [line["step"] for line in steps(tmp_path)] == [1, 2, 3, 4, 5]
    assert {"expert/ratio", "expert/asked"} <= steps(tmp_path)[0].keys()
