"""The gold agent of a task: its solution and its answer, which servers never send."""

from __future__ import annotations

from ..envs.models import CallTool
from ..scenarios.task import Task
from ..training.agents import GoldAgent
from ..verifiers.answer import answer_text
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
