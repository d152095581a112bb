"""Lets a rollout know what comes next, so that no step waits for a reset.

A trainer's data loader fetches the rows of the next batch before it hands out the present one. A dataset that
tells of every fetch therefore tells of the next batch in time, in whatever order the trainer takes its tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from datasets.arrow_dataset import Dataset

from .rollout import Rollout


def announced(dataset: Dataset, rollout: Rollout) -> Dataset:
    """The same tasks; whenever rows are fetched, `rollout` expects them."""

    def tell(rows: Mapping[str, Any]) -> Mapping[str, Any]:
        rollout.expect(rows["prompt"])
        return rows

    told: Any = dataset
    return cast("Dataset", told.with_transform(tell))
