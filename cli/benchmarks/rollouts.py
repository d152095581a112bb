"""Batches of episodes, ours and one by one, and the steps of a real GRPO trainer: where the seconds go."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from transformers import PrinterCallback, TrainerCallback
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from ...training.assignments import Assignment, assignment_dataset
from ...training.look_ahead import announced
from ...training.rollout import Rollout, RolloutSettings, episode_reward
from ..failure import CommandFailed
from .harness import Harness
from .rehearsal import EXPOSURE, LIMITS, Rehearsal

GROUP = 8
"""Episodes of the same task in a batch."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A batch, in seconds; the median of each over the rounds."""

    whole: float
    generation: float

    @property
    def rest(self) -> float:
        """Worlds, and what is done with what they say."""
        return self.whole - self.generation


@dataclass(frozen=True, slots=True)
class Compared:
    """The same batch both ways."""

    parameters: int
    """Of the model."""
    episodes: int
    ours: Timed
    one_by_one: Timed

    @property
    def ratio(self) -> float:
        """How many times as many episodes a second."""
        return self.one_by_one.whole / self.ours.whole


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of a training run, in seconds; the median of each."""

    episodes: int
    whole: float
    generation: float
    world: float

    @property
    def share(self) -> float:
        """Of a step's time, while nothing went on but the worlds."""
        return self.world / self.whole


def compare(rehearsal: Rehearsal, url: str, episodes: int, rounds: int) -> Compared:
    """Play the same batch both ways in turns, after one round that does not count.

    Raises:
        CommandFailed: they did not write the same number of tokens, or earned something else.
    """
    harness = Harness(url)
    ours, one_by_one = list[Timed](), list[Timed]()
    with _trainer(rehearsal, url, _batch(rehearsal, episodes), steps=1) as (rollout, trainer):
        prompts = [each.to_messages() for each in _batch(rehearsal, episodes)]
        for _ in range(rounds + 1):
            started = time.perf_counter()
            columns = rollout(prompts, trainer)
            ours.append(Timed(time.perf_counter() - started, columns["seconds"].generation))
            started = time.perf_counter()
            harness.play(prompts, trainer)
            one_by_one.append(Timed(time.perf_counter() - started, harness.generation_s))
            _require_same(columns, harness)
    return Compared(rehearsal.parameters, episodes, _typical(ours[1:]), _typical(one_by_one[1:]))


def train(rehearsal: Rehearsal, url: str, episodes: int, steps: int) -> Steps:
    """Let a real trainer take a few steps. The first, which connects, does not count."""
    clock = _Clock()
    batches = [each for step in range(steps + 1) for each in _batch(rehearsal, episodes, first=step)[::GROUP]]
    with _trainer(rehearsal, url, batches, steps=steps + 1, episodes=episodes, clock=clock) as (_, trainer):
        trainer.train()
        logged = [entry for entry in trainer.state.log_history if "env/seconds" in entry][1:]
    return Steps(
        episodes,
        median(clock.steps[1:]),
        median(entry["env/generation_seconds"] for entry in logged),
        median(entry["env/seconds"] for entry in logged),
    )


def _batch(rehearsal: Rehearsal, episodes: int, *, first: int = 0) -> list[Assignment]:
    """Groups of the same task, the tasks in turn."""
    tasks = rehearsal.assignments
    return [tasks[(first + place // GROUP) % len(tasks)] for place in range(episodes)]


@contextmanager
def _trainer(
    rehearsal: Rehearsal,
    url: str,
    tasks: Sequence[Assignment],
    *,
    steps: int,
    episodes: int = GROUP,
    clock: TrainerCallback | None = None,
) -> Generator[tuple[Rollout, Any]]:
    with (
        TemporaryDirectory() as folder,
        Rollout(RolloutSettings((url,), exposure=EXPOSURE, limits=LIMITS)) as rollout,
    ):
        config = GRPOConfig(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=GROUP,
            gradient_accumulation_steps=episodes // GROUP,
            num_generations=GROUP,
            max_completion_length=LIMITS.tokens,
            shuffle_dataset=False,
            beta=0.0,
            use_cpu=True,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer: Any = GRPOTrainer(
            model=rehearsal.model,
            processing_class=rehearsal.tokenizer,
            reward_funcs=episode_reward,
            args=config,
            train_dataset=announced(assignment_dataset(tasks), rollout),
            rollout_func=rollout,
            callbacks=[clock] if clock else [],
        )
        trainer.remove_callback(PrinterCallback)
        yield rollout, trainer


class _Clock(TrainerCallback):
    """How long each step took."""

    def __init__(self) -> None:
        self.steps: list[float] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start."""
        self._began = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stop."""
        self.steps.append(time.perf_counter() - self._began)


def _typical(batches: Sequence[Timed]) -> Timed:
    return Timed(median(each.whole for each in batches), median(each.generation for each in batches))


def _require_same(columns: dict[str, Any], harness: Harness) -> None:
    rewards = [episode.reward for episode in columns["episode"]]
    tokens = sum(map(sum, columns["env_mask"]))
    if rewards != harness.rewards or tokens != harness.tokens:
        raise CommandFailed(
            f"the two did not do the same: {tokens} tokens and rewards {rewards}; one by one "
            f"{harness.tokens} tokens and rewards {harness.rewards}"
        )
