"""The training script with vLLM beside it, as a user types it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from ..training.test_train_grpo import SCRIPT, SHORT, run, steps

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(900)]


def typed(environment: dict[str, str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    colocated = ("--vllm-mode", "colocate", "--skip-zero-shot", "--show-every", "0")
    return subprocess.run(
        [sys.executable, SCRIPT, *words, *colocated, *SHORT],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_of_the_tiny_model_is_whole(on_cpu: dict[str, str], worlds: Path, tmp_path: Path) -> None:
    """From a random model, so the episodes earn nothing; vLLM's half precision is all that differs."""
    ran = typed(on_cpu, "--model", "tiny", "--max-steps", "2", "--pack", worlds, "--output-dir", tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert [line["step"] for line in steps(tmp_path)] == [1, 2]
    assert all(line["env/invalid_rate"] == 0.0 for line in steps(tmp_path))
    assert all(line["sampling/sampling_logp_difference/max"] < 0.1 for line in steps(tmp_path))
    assert (tmp_path / "final" / "model.safetensors").exists()


def test_a_lora_run_of_the_taught_model_is_resumed_and_merged(
    on_cpu: dict[str, str], taught: Path, worlds: Path, tmp_path: Path
) -> None:
    words = ("--model", taught, "--pack", worlds, "--output-dir", tmp_path, "--lora-rank", "4")
    rate = ("--learning-rate", "1e-2", "--save-steps", "1")
    first = typed(on_cpu, *words, *rate, "--max-steps", "1")
    assert first.returncode == 0, first.stderr
    second = typed(on_cpu, *words, *rate, "--max-steps", "2", "--resume", "--save-merged")
    assert second.returncode == 0, second.stderr
    assert [line["step"] for line in steps(tmp_path)] == [1, 2]
    assert all(line["sampling/sampling_logp_difference/max"] < 0.5 for line in steps(tmp_path))
    merged, base = (load_file(folder / "model.safetensors") for folder in (tmp_path / "merged", taught))
    assert merged.keys() == base.keys()
    assert any((merged[name].float() - base[name]).abs().max() > 1e-3 for name in base)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--vllm-mode", "server"],
            "--vllm-mode server needs a GPU, since weights travel to vLLM through NCCL",
        ),
        (["--vllm-mode", "colocate", "--context", "40000"], r"--context 40000|max_model_len"),
    ],
)
def test_a_run_that_cannot_work_says_so(server_url: str, tmp_path: Path, words: list[str], told: str) -> None:
    with pytest.raises(SystemExit, match=told):
        run("--model", "tiny", "--env-url", server_url, "--output-dir", tmp_path, *SHORT, *words)
