"""What is asked of vLLM, and what is taken from its answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from subworlds.training.generation import generate
from subworlds.training.memory import Memory
from subworlds.training.processes import Processes


class Echo:
    """Answers as TRL's VLLMGeneration does: each context with its own first token."""

    max_completion_length = 300

    def generate(self, prompts: list[list[int]], images: None, num_generations: int) -> Any:
        self.asked, self.most_tokens = prompts, self.max_completion_length
        return prompts, [each[:1] for each in prompts], [[[-0.5]] for _ in prompts], None


@pytest.mark.parametrize(("mode", "asked"), [("server", 4), ("colocate", 2)])
def test_processes_ask_a_vllm_server_for_as_many_as_each_other(
    monkeypatch: pytest.MonkeyPatch, mode: str, asked: int
) -> None:
    """Another process has four live episodes, this one two; the server's answers are shared out evenly."""
    monkeypatch.setattr(Processes, "gather", lambda _, mine: [*mine, 4])
    echo = Echo()
    accelerator = SimpleNamespace(num_processes=2)
    trainer = SimpleNamespace(use_vllm=True, vllm_mode=mode, vllm_generation=echo, accelerator=accelerator)
    written = generate(trainer, {3: [7, 8], 5: [9]}, 40, Memory())
    assert [(each.ids, each.logprobs) for each in written] == [([7], [-0.5]), ([9], [-0.5])]
    assert len(echo.asked) == asked
    assert (echo.most_tokens, echo.max_completion_length) == (40, 300)
