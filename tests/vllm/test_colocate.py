"""vLLM beside the trainer: it writes what the trainer would have written, with the weights of every step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from peft import LoraConfig

from subworlds.training.rollout import Rollout

from ..training.conftest import APPLES, PEAR, MakeTrainer
from ..training.exactness import assert_exact, largest_difference
from ..training.test_rollout import SHORT, settings

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # vLLM and what it imports warn a lot
    pytest.mark.timeout(900),
]
LORA = LoraConfig(r=4, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")


@dataclass
class Witness:
    """A rollout function that looks at each batch while the model still is what it was written with."""

    rollout: Rollout
    tools: Any
    differences: list[float] = field(default_factory=list[float])
    """Between vLLM's log-probabilities and the trainer's, batch for batch."""
    stale: list[float] = field(default_factory=list[float])
    """The same, had vLLM written this batch with the weights of the one before."""
    turns: int = 0
    """The most that an episode had."""
    _before: dict[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])

    def __call__(self, batch: list[Any], trainer: Any) -> dict[str, Any]:
        columns = self.rollout(batch, trainer)
        assert_exact(columns, trainer, self.tools)
        self.turns = max(self.turns, *(episode.turns for episode in columns["episode"]))
        self.differences.append(largest_difference(columns, trainer))
        now = {name: weight.clone() for name, weight in trainer.model.state_dict().items()}
        if self._before:
            trainer.model.load_state_dict(self._before)
            self.stale.append(largest_difference(columns, trainer))
            trainer.model.load_state_dict(now)
        self._before = now
        return columns


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize("adapter", [None, LORA], ids=["all weights", "lora"])
def test_every_step_is_written_with_the_weights_of_the_step_before(
    server_url: str, make_trainer: MakeTrainer, kiosk_tools: Any, adapter: Any
) -> None:
    with Rollout(settings(server_url)) as rollout:
        witness = Witness(rollout, kiosk_tools)
        trainer = make_trainer(
            witness,
            APPLES,
            PEAR,
            adapter=adapter,
            use_vllm=True,
            vllm_mode="colocate",
            vllm_max_model_length=SHORT.context,
            per_device_train_batch_size=8,
            learning_rate=2e-3 if adapter else 1e-3,
            max_steps=3,
        )
        trainer.train()
    assert len(witness.differences) == 3
    assert max(witness.differences) < 1e-4
    assert min(witness.stale) > 10 * max(witness.differences)
    assert witness.turns > 1
    logged = [entry for entry in trainer.state.log_history if "loss" in entry]
    assert all(entry["sampling/sampling_logp_difference/max"] < 1e-4 for entry in logged)
