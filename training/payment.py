"""What an episode is paid in training: the rubric's reward, success alone, or, as a control, chance."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from .played import Played
from .rollout import episode_reward


class Payment(StrEnum):
    """Three ways to pay."""

    RUBRIC = "rubric"
    """What the server paid: success first, then how it came about."""
    SUCCESS = "success"
    """1 for a complete task, 0 for any other end."""
    SHUFFLED = "shuffled"
    """The success of another episode of the same task, drawn by chance. A group earns what it would have
    earned, but there is nothing in it to learn: who gets better all the same was not taught by rewards."""


def reward_func(payment: Payment, *, seed: int = 0) -> Callable[..., list[float | None]]:
    """The reward function for GRPOTrainer: `episode_reward` where the rubric pays.

    Args:
        seed: of the shuffling, which is another one in every step and the same in a run that is repeated.
    """

    def paid(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float | None]:
        rewards = episode_reward(prompts, completions, **columns)
        episodes: Sequence[Played] = columns["episode"]
        if payment is Payment.RUBRIC:
            return rewards
        successes = [float(each.complete) if each.valid else None for each in episodes]
        if payment is Payment.SUCCESS:
            return successes
        tasks = [each.assignment.task for each in episodes]
        return shuffled(successes, tasks, random.Random(f"{seed}/{columns['trainer_state'].global_step}"))

    paid.__name__ = episode_reward.__name__
    return paid


def shuffled(
    rewards: Sequence[float | None], tasks: Sequence[str], chance: random.Random
) -> list[float | None]:
    """The same rewards, dealt anew among the episodes of a task that have one."""
    waiting = defaultdict[str, list[float]](list)
    for reward, task in zip(rewards, tasks, strict=True):
        if reward is not None:
            waiting[task].append(reward)
    for of_task in waiting.values():
        chance.shuffle(of_task)
    return [
        None if reward is None else waiting[task].pop() for reward, task in zip(rewards, tasks, strict=True)
    ]
