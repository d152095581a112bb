"""`subworlds solutions`: the gold solutions of a split, for trainers. Never those of the test split."""

from __future__ import annotations

import json
from typing import Any

from ..scenarios.pack import Catalog
from ..scenarios.task import Task
from ..training.solutions import Solution
from ..training.tool_calls import ToolRequest
from ..verifiers.answer import answer_text
from .failure import BadInput
from .worlds import Worlds

_EVALUATION = "test"


def print_solutions(worlds: Worlds, split: str) -> None:
    """Print the solved tasks of a split that certification has not found to fail, one JSON object a line.

    Raises:
        BadInput: unreadable packs, no such split, one without a solution, or the test split.
    """
    if split == _EVALUATION:
        raise BadInput(f"--split {split}: nobody may learn from the {split} split; it is for evaluation")
    catalog = worlds.catalog()
    if split not in catalog.splits():
        raise BadInput(f"there is no split '{split}'; there are {', '.join(catalog.splits())}")
    tasks = [
        task for entry in catalog.tasks_in(split) if (task := catalog.task(entry.id)).solution is not None
    ]
    if not tasks:
        raise BadInput(f"no task of split '{split}' has a gold solution (AWM tasks have none)")
    for task in tasks:
        print(json.dumps(_to_json(catalog, task), ensure_ascii=False))


def _to_json(catalog: Catalog, task: Task) -> dict[str, Any]:
    return {
        "task": task.id,
        "scenario": task.scenario,
        "prompt": task.prompt,
        "difficulty": task.difficulty,
        "standing": catalog.standing(task.id),
        "calls": [{"tool": call.tool, "arguments": dict(call.arguments)} for call in task.solution or ()],
        "answer": None if task.answer is None else answer_text(task.answer),
    }


def solution_of(task: Task) -> Solution:
    """A task's gold solution, as an expert knows it. Raises BadInput where it has none."""
    if task.solution is None:
        raise BadInput(f"task '{task.id}' has no gold solution for an expert to know (AWM tasks have none)")
    return Solution(
        task=task.id,
        scenario=task.scenario,
        prompt=task.prompt,
        difficulty=task.difficulty,
        certified=False,
        calls=tuple(ToolRequest(call.tool, dict(call.arguments)) for call in task.solution),
        answer=None if task.answer is None else answer_text(task.answer),
    )
