"""From verdict to reward."""

from __future__ import annotations

from typing import Any

from openenv.core.rubrics.base import Rubric

from .models import DoneObservation


class TaskRubric(Rubric):
    """1.0 for a complete task, 0.0 for an incomplete one. Invalid episodes are never scored."""

    def __init__(self) -> None:
        super().__init__()

    def forward(self, action: Any, observation: Any) -> float:
        """Score the observation that ends an episode."""
        assert isinstance(observation, DoneObservation)
        assert observation.verdict is not None
        return 1.0 if observation.verdict.outcome == "complete" else 0.0
