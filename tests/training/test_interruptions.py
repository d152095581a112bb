"""What becomes of a run when the trainer or a server of it is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from subworlds.training.checkpoints import last_whole_checkpoint
from subworlds.training.env_server import env_server

from .test_train_grpo import SCRIPT, SHORT, steps

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Tests that run in the background ignore SIGINT, and what they start would, too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def words(taught: Path, folder: Path, *more: str | Path) -> list[str]:
    said = ["--model", taught, "--output-dir", folder, "--skip-zero-shot", "--show-every", "1", *SHORT]
    return [*map(str, (*said, "--learning-rate", "1e-4", "--save-steps", "1", "--report-to", "none", *more))]


@contextmanager
def training(*said: str) -> Iterator[subprocess.Popen[str]]:
    """The script, as a user types it."""
    process = subprocess.Popen(
        [sys.executable, SCRIPT, *said],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_steps(process: subprocess.Popen[str], count: int) -> None:
    """Until so many steps were made; each shows two episodes."""
    shown = 0
    assert process.stdout is not None
    for line in process.stdout:
        shown += line.startswith("---- ")
        if shown == 2 * count:
            return
    pytest.fail(f"the run ended early: {process.communicate()[1]}")


def test_however_a_trainer_is_ended_nothing_stays_behind_and_resume_goes_on(
    taught: Path, worlds: Path, tmp_path: Path
) -> None:
    said, resume = words(taught, tmp_path, "--pack", worlds, "--max-steps", "7"), []
    for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        with training(*said, *resume) as process:
            wait_for_steps(process, 2)  # the first one's checkpoint is written by now
            started = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(how)
            _, told = process.communicate()
        assert process.returncode != 0
        assert started
        assert psutil.wait_procs(started, timeout=120)[1] == []
        resume = ["--resume"]
    assert "interrupted: --resume goes on from the last checkpoint" in told
    with training(*said, *resume) as process:
        _, told = process.communicate()
    assert process.returncode == 0, told
    assert [line["step"] for line in steps(tmp_path)] == [1, 2, 3, 4, 5, 6, 7]
    assert (tmp_path / "final" / "model.safetensors").exists()


@contextmanager
def killable(worlds: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A server in a process of its own, with its URL."""
    with env_server([worlds]) as url:
        (process,) = [child for child in psutil.Process().children() if "serve" in child.cmdline()]
        yield url, process


def test_a_run_whose_only_server_is_killed_ends_with_a_sentence(
    taught: Path, worlds: Path, tmp_path: Path
) -> None:
    with (
        killable(worlds) as (url, server),
        training(*words(taught, tmp_path, "--env-url", url, "--max-steps", "100")) as process,
    ):
        wait_for_steps(process, 2)
        server.kill()
        children = psutil.Process(process.pid).children(recursive=True)
        _, told = process.communicate()
    assert process.returncode == 1
    last = told.rstrip().splitlines()[-1]
    assert last.startswith(("RolloutError: no episode of the batch kept its server", "ConnectionError: no"))
    assert "Traceback" not in told
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert last_whole_checkpoint(tmp_path) is not None


def test_a_run_goes_on_with_the_server_that_is_left(
    taught: Path, worlds: Path, server_url: str, tmp_path: Path
) -> None:
    with killable(worlds) as (url, server):
        urls = ("--env-url", url, "--env-url", server_url)
        with training(*words(taught, tmp_path, *urls, "--max-steps", "4")) as process:
            wait_for_steps(process, 1)
            server.kill()
            _, told = process.communicate()
    assert process.returncode == 0, told
    assert [line["env/invalid_rate"] for line in steps(tmp_path)] == [0.0] * 4


def test_a_checkpoint_that_was_not_written_to_its_end_is_passed_over(tmp_path: Path) -> None:
    assert last_whole_checkpoint(tmp_path) is None
    for step in (2, 10, 12):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    (tmp_path / "checkpoint-12" / "trainer_state.json").write_text('{"global_st')
    (tmp_path / "checkpoint-2" / "curriculum.json").write_text("{}")
    assert last_whole_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    assert last_whole_checkpoint(tmp_path, ["curriculum.json"]) == tmp_path / "checkpoint-2"
    assert last_whole_checkpoint(tmp_path, ["expert.json"]) is None
