"""The gold agent of a task: its solution and its answer, which servers never send."""

from __future__ import annotations

import json

from ..envs.models import CallTool
from ..scenarios.task import Answer, Task
from ..training.agents import GoldAgent
from .failure import BadInput


def gold_agent(task: Task) -> GoldAgent:
    """An agent that plays the task's gold solution and gives its answer.

    Raises:
        BadInput: the task has no gold solution.
    """
    if task.solution is None:
        raise BadInput(
            f"task '{task.id}' has no gold solution for the gold agent to play (AWM tasks have none); "
            "try --agent noop, or a task that has one"
        )
    calls = [CallTool(tool_name=call.tool, arguments=dict(call.arguments)) for call in task.solution]
    return GoldAgent(calls, None if task.answer is None else answer_text(task.answer))


def answer_text(answer: Answer) -> str:
    """The answer as an agent says it: a number or a text as such, a list as a JSON array."""
    if answer.kind == "text":
        return str(answer.value)
    return json.dumps(answer.value, ensure_ascii=False)
