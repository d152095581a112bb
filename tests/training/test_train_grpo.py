"""The training script, from its command line to what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from subworlds.training import train_grpo
from subworlds.training.env_server import ServerDidNotStart

from .conftest import LIST_GOODS

SCRIPT = Path(train_grpo.__file__)
SHORT = (
    *("--turns", "3", "--turn-tokens", "40", "--tokens", "300", "--context", "2000"),
    *("--tools", "compact", "--tasks-per-step", "2", "--num-generations", "4"),
)


def run(*words: str | Path) -> None:
    """In this process."""
    train_grpo.main(train_grpo.parse([*map(str, words)]), None)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def steps(folder: Path) -> list[dict[str, Any]]:
    """The lines of single steps."""
    return [line for line in lines(folder) if "loss" in line]


@pytest.fixture(scope="module")
def taught_run(taught: Path, server_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four steps of the taught model, with a checkpoint after each second."""
    folder = tmp_path_factory.mktemp("run")
    run(*_taught_words(taught, server_url, folder))
    return folder


def _taught_words(taught: Path, url: str, folder: Path) -> list[str | Path]:
    rate = ("--learning-rate", "1e-4", "--max-steps", "4", "--save-steps", "2")
    return ["--model", taught, "--env-url", url, "--output-dir", folder, *rate, *SHORT]


def test_a_run_of_the_tiny_model_is_whole(worlds: Path, tmp_path: Path) -> None:
    """As a user types it: no GPU, no network, a server of its own."""
    words = ("--model", "tiny", "--max-steps", "2", "--skip-zero-shot", "--show-every", "2")
    ran = subprocess.run(
        [sys.executable, SCRIPT, *words, "--pack", worlds, "--output-dir", tmp_path / "run", *SHORT],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "training on 2 tasks of split 'train'" in ran.stdout
    assert ran.stdout.count("---- kiosk/") == 2
    assert [line["step"] for line in steps(tmp_path / "run")] == [1, 2]
    logged = {
        "reward/overall",
        "reward/task",
        "env/success_rate",
        "env/success/easy",
        "env/success/kind/read",
    }
    assert {*logged, "env/seconds"} <= steps(tmp_path / "run")[0].keys()
    assert list((tmp_path / "run").rglob("events.out.tfevents.*"))
    tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path / "run" / "final")
    model: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "final")
    assert model.config.vocab_size == len(tokenizer)
    assert "<tool_response>" in tokenizer.chat_template


def launch(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """In two processes."""
    one_machine = ("--num_machines", "1", "--main_process_port", "0", "--dynamo_backend", "no")
    processes = ("--cpu", "--num_processes", "2", "--mixed_precision", "no", *one_machine)
    return subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *processes, SCRIPT, *words],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(900)
def test_two_processes_share_a_step(taught: Path, server_url: str, tmp_path: Path) -> None:
    words = ("--max-steps", "1", "--learning-rate", "1e-3", "--save-steps", "9")
    ran = launch("--model", taught, "--env-url", server_url, "--output-dir", tmp_path, *words, *SHORT)
    assert ran.returncode == 0, ran.stderr
    zero_shot, step, _ = lines(tmp_path)
    assert zero_shot["zero_shot/success_rate"] > 0.0
    assert step["step"] == 1
    # Eight episodes in all, whose mean TRL takes over both processes: 2 tasks, 4 episodes each.
    assert step["reward"] == pytest.approx(step["reward/overall"], abs=1e-5)


def test_zero_shot_success_is_on_record_before_the_first_step(taught_run: Path) -> None:
    first = lines(taught_run)[0]
    assert first["step"] == 0
    assert 0.0 < first["zero_shot/success_rate"] <= 1.0
    assert 0.0 < first["zero_shot/reward"] <= 1.0


def test_a_resumed_run_goes_on_exactly_as_if_it_had_not_stopped(
    taught_run: Path, taught: Path, server_url: str, tmp_path: Path
) -> None:
    shutil.copytree(taught_run / "checkpoint-2", tmp_path / "checkpoint-2")
    unfinished = (taught_run / "metrics.jsonl").read_text() + '{"step": 4, "lo'
    (tmp_path / "metrics.jsonl").write_text(unfinished)
    run(*_taught_words(taught, server_url, tmp_path), "--resume")
    whole, resumed = steps(taught_run), steps(tmp_path)
    assert [line["step"] for line in resumed] == [1, 2, 3, 4]
    assert any(line["grad_norm"] for line in whole[2:])
    for before, after in zip(whole, resumed, strict=True):
        for name in ("loss", "grad_norm", "reward", "env/calls", "completions/mean_length", "entropy"):
            assert after[name] == pytest.approx(before[name], abs=1e-6), (before["step"], name)


def test_training_teaches(taught_run: Path, taught: Path) -> None:
    """The weights have moved, by finite steps."""
    before: Any = AutoModelForCausalLM.from_pretrained(taught)
    after: Any = AutoModelForCausalLM.from_pretrained(taught_run / "final")
    moved = [
        (new - old).abs().max().item()
        for old, new in zip(before.parameters(), after.parameters(), strict=True)
    ]
    assert 0.0 < max(moved) < 0.1


def test_a_model_that_earns_nothing_is_not_trained(server_url: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="all 10 zero-shot episodes earned 0") as stopped:
        run("--model", "tiny", "--env-url", server_url, "--output-dir", tmp_path, *SHORT)
    assert "--skip-zero-shot trains all the same" in str(stopped.value)
    assert not steps(tmp_path)


def test_raw_episodes_are_shown_as_the_model_saw_them(
    taught: Path, server_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = _taught_words(taught, server_url, tmp_path)
    run(*words, "--max-steps", "1", "--show-every", "1", "--temperature", "0.2", "--skip-zero-shot")
    shown = capsys.readouterr().out
    assert LIST_GOODS + "<|im_end|>" in shown
    assert "<tool_response>" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--split", "test"], "the test split is for evaluation only"),
        (
            ["--split", "holdout"],
            "--split holdout: there is no such split; the server has train, validation, test",
        ),
        (["--scenario", "moon"], "no task of split 'train' is in it"),
        (["--vllm-mode", "colocate"], "needs the package vllm: pip install '.[train,vllm]'"),
        (["--report-to", "trackio"], "needs the package trackio"),
        (["--load-in-4bit"], "add --lora-rank"),
        (["--load-in-4bit", "--lora-rank", "8"], "needs a GPU"),
        (["--load-in-4bit", "--lora-rank", "8", "--vllm-mode", "colocate"], "takes --vllm-mode off"),
        (["--num-generations", "1"], "episodes are compared"),
        (["--micro-batch", "3"], "must be a multiple of 1 processes times --micro-batch 3"),
        (["--turn-tokens", "500"], "must not be more than --tokens"),
        (["--resume"], "there is no checkpoint"),
        (["--model", "nobody/no-such-model"], "--model nobody/no-such-model cannot be loaded"),
        (["--model", "./no/folder"], "cannot be loaded"),
    ],
)
def test_a_run_that_cannot_work_says_so_at_once(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(SystemExit) as stopped:
        run("--model", "tiny", "--env-url", server_url, "--output-dir", tmp_path, *SHORT, *words)
    assert told in str(stopped.value.code)
    assert not list(tmp_path.glob("checkpoint-*"))


def test_a_folder_with_another_run_in_it_is_not_mixed_up(taught_run: Path) -> None:
    with pytest.raises(SystemExit, match="has the checkpoints of another run in it: go on with --resume"):
        run("--output-dir", taught_run, *SHORT)


def test_a_port_that_is_taken_is_named(
    worlds: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(ServerDidNotStart):
            run("--model", "tiny", "--pack", worlds, "--env-port", port, "--output-dir", tmp_path, *SHORT)
    assert port in capfd.readouterr().err


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^http://127.0.0.1:9: no server answers"):
        run("--model", "tiny", "--env-url", "http://127.0.0.1:9", "--output-dir", tmp_path, *SHORT)
    with pytest.raises(SystemExit, match=r"--vllm-url http://127.0.0.1:9: nobody answers"):
        train_grpo.require_listener("http://127.0.0.1:9")


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        train_grpo.parse(["--help"])
    assert stopped.value.code == 0
    told = capsys.readouterr().out
    assert "How a verdict becomes an advantage" in told
    for name in train_grpo.Args.__dataclass_fields__:
        assert f"--{name.replace('_', '-')} " in told


def test_an_option_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        train_grpo.parse(["--max-step", "3", "--epochs", "4"])
    assert stopped.value.code == 2
    assert "--epochs" in capsys.readouterr().err


def test_options_that_can_be_repeated_add_up() -> None:
    args = train_grpo.parse(["--env-url", "http://a", "--env-url", "http://b", "--scenario", "x", "y"])
    assert (args.env_url, args.scenario, args.pack) == (["http://a", "http://b"], ["x", "y"], [])
