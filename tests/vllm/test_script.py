"""The training script with vLLM beside it, as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..training.test_train_grpo import SHORT, run

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(900)]


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
