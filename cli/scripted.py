"""The agents that commands know by name: the gold agent, the one that does nothing, and every adversary."""

from __future__ import annotations

from collections.abc import Sequence

from ..envs.models import CallTool
from ..scenarios.task import Task
from ..training.adversaries import ADVERSARIES, GOLD_ABUSERS, adversaries
from ..training.agents import Agent, GoldAgent, NoopAgent
from ..verifiers.answer import answer_text
from .failure import BadInput

SCRIPTED = ("gold", "noop", *ADVERSARIES)
"""Names of all scripted agents."""


def needs_solution(name: str) -> bool:
    """Whether the agent must be told the task's gold solution."""
    return name == "gold" or name in GOLD_ABUSERS


def scripted_agent(name: str, task: Task | None) -> Agent:
    """The agent of that name, one of SCRIPTED.

    Args:
        task: may be None for an agent that needs no solution.

    Raises:
        BadInput: the task has no gold solution for it.
    """
    if name == "noop":
        return NoopAgent()
    if not needs_solution(name):
        return adversaries(())[name]
    if task is None:
        raise BadInput(f"the {name} agent needs the task's gold solution, and so its pack")
    if name == "gold":
        return gold_agent(task)
    return adversaries(_gold_calls(task, name))[name]


def gold_agent(task: Task) -> GoldAgent:
    """An agent that plays the task's gold solution and gives its answer.

    Raises:
        BadInput: the task has no gold solution.
    """
    return GoldAgent(_gold_calls(task, "gold"), None if task.answer is None else answer_text(task.answer))


def _gold_calls(task: Task, agent: str) -> Sequence[CallTool]:
    if task.solution is None:
        raise BadInput(
            f"task '{task.id}' has no gold solution for the {agent} agent to play (AWM tasks have none); "
            "try --agent noop, or a task that has one"
        )
    return [CallTool(tool_name=call.tool, arguments=dict(call.arguments)) for call in task.solution]
