"""Which task an episode plays. It travels inside the prompt message, since TRL passes on nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from datasets.arrow_dataset import Dataset

from ..envs.models import TaskCard


class RolloutError(RuntimeError):
    """The episodes that were asked for cannot be played; says what to change."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What to play."""

    task: str
    scenario: str
    prompt: str
    seed: int
    level: str | None = None
    """How hard the task says it is; None where it does not."""
    kind: str | None = None
    """What sort of task it is: its first tag; None where it has none."""

    @classmethod
    def of(cls, messages: Any) -> Assignment:
        """Read it from a prompt of `task_dataset`'s. Raises RolloutError where it is none."""
        try:
            message = messages[-1]
            return cls(
                message["task"],
                message["scenario"],
                message["content"],
                int(message["seed"]),
                message.get("level"),
                message.get("kind"),
            )
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise RolloutError(
                "the dataset's prompts do not say which task they are; build it with task_dataset()"
            ) from error

    def to_messages(self) -> list[dict[str, Any]]:
        """As a prompt for TRL."""
        return [
            {
                "role": "user",
                "content": self.prompt,
                "task": self.task,
                "scenario": self.scenario,
                "seed": self.seed,
                "level": self.level,
                "kind": self.kind,
            }
        ]


def prompt_of(task: TaskCard, *, seed: int = 0) -> list[dict[str, Any]]:
    """One task as a prompt for TRL, in the form that `make_rollout_func` reads."""
    return Assignment(task.id, task.scenario, task.prompt, seed, task.difficulty, task.kind).to_messages()


def task_dataset(tasks: Iterable[TaskCard], *, seed: int = 0) -> Dataset:
    """One prompt for each task; see `prompt_of`.

    Args:
        seed: of every episode's world: the same task is the same world each time it is played.
    """
    return _as_dataset(prompt_of(task, seed=seed) for task in tasks)


def assignment_dataset(assignments: Iterable[Assignment]) -> Dataset:
    """One prompt for each assignment."""
    return _as_dataset(assignment.to_messages() for assignment in assignments)


def _as_dataset(prompts: Iterable[list[dict[str, Any]]]) -> Dataset:
    rows = [{"prompt": prompt} for prompt in prompts]
    return Dataset.from_list(rows)  # pyright: ignore[reportUnknownMemberType] - datasets is half typed
