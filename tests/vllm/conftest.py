"""Real vLLM on a CPU. These tests run where `make test-vllm` put it, and are not collected elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from ..training.conftest import goods, kiosk_tools, make_trainer, taught, tokenizer

__all__ = ["goods", "kiosk_tools", "make_trainer", "taught", "tokenizer"]

collect_ignore_glob = [] if find_spec("vllm_cpu_trainable") else ["test_*.py"]

ON_CPU = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
"""The environment of everything here; the cache for keys and values has one GiB."""


@pytest.fixture(scope="session", autouse=True)
def on_cpu() -> Iterator[dict[str, str]]:
    """The environment that a process of a user's would have; vLLM adds to that of its own process."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in ON_CPU.items():
            patched.setenv(name, value)
        yield dict(os.environ)


@pytest.fixture
def float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM computes as exactly as the trainer does: TRL leaves it to halve the weights' precision."""
    from functools import partial

    from trl.generation import vllm_generation

    llm: Any = getattr(vllm_generation, "LLM")  # noqa: B009 - it is there only beside vLLM
    monkeypatch.setattr(vllm_generation, "LLM", partial(llm, dtype="float32"))
