"""An expert that the agent may ask: a tool on the agent's side. No world has it.

Training offers it to a share of the episodes, evaluation only where it is told to (`eval --expert`).

Two experts stand behind one interface: a model behind an endpoint of its own, and one that knows the solution
and sees which of its calls were made, so that an experiment runs offline and is the same twice. What they say
is told to the model as any tool's answer is, and so is masked from the loss.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..envs.models import Tool
from .chat_endpoint import ChatEndpoint, EndpointFailed, EndpointSettings
from .solutions import Solution
from .tool_calls import ToolRequest

ASK_EXPERT = Tool(
    name="ask_expert",
    description="Ask an expert what to do next. Look and try yourself first; ask when you are stuck.",
    input_schema={
        "type": "object",
        "properties": {"question": {"type": "string", "description": "What you want to know"}},
        "required": ["question"],
    },
)
_LONGEST_QUESTION = 2_000
_LONGEST_ADVICE_TOKENS = 200
_SYSTEM = (
    "You advise an agent that works on a task with tools. You see the task, the tools, what the agent called "
    "so far, and its question. Name the next call with its arguments, or what it does wrong, or what to "
    "answer at the end. Two sentences at most."
)


@dataclass(frozen=True, slots=True)
class Made:
    """A call that the agent made."""

    request: ToolRequest
    answer: str
    succeeded: bool


@dataclass(frozen=True, slots=True)
class Consultation:
    """What an expert is told."""

    task: str
    prompt: str
    tools: tuple[Tool, ...]
    made: tuple[Made, ...]
    """So far, in order."""
    question: str


class ExpertFailed(Exception):
    """There is no advice, through no fault of the agent's."""


class Expert(Protocol):
    """Whoever can be asked."""

    async def advise(self, consultation: Consultation) -> str:
        """What to do next. Raises ExpertFailed."""
        ...


class GoldExpert:
    """Knows the solution of each task, and says its first call that has not been made yet."""

    def __init__(self, solutions: Iterable[Solution]) -> None:
        self._solutions = {solution.task: solution for solution in solutions}

    async def advise(self, consultation: Consultation) -> str:
        """The next call, or how to end. Raises ExpertFailed for a task without a solution."""
        solution = self._solutions.get(consultation.task)
        if solution is None:
            raise ExpertFailed(f"there is no solution of {consultation.task}")
        call = _first_not_made(solution.calls, consultation.made)
        if call is not None:
            return f"Call {call.name} with {json.dumps(call.arguments, ensure_ascii=False)}."
        if solution.answer is None:
            return "All is done. Say so."
        return f"All is done. Answer: {solution.answer}"


def _first_not_made(calls: Sequence[ToolRequest], made: Sequence[Made]) -> ToolRequest | None:
    """Each call that was made and succeeded stands for one of the solution's."""
    there = Counter(_key(each.request) for each in made if each.succeeded)
    for call in calls:
        if not there[_key(call)]:
            return call
        there[_key(call)] -= 1
    return None


def _key(call: ToolRequest) -> str:
    return json.dumps([call.name, call.arguments], sort_keys=True)


class ModelExpert:
    """A model behind an endpoint. Sees the task, the tools, the calls, and what is checked, if it is told."""

    def __init__(self, settings: EndpointSettings, criteria: Mapping[str, str] | None = None) -> None:
        """Args:
        settings: its own endpoint, key and model, whatever the agent's are.
        criteria: what makes a task complete, in words, by the task's id.
        """
        self._settings = settings
        self._criteria = dict(criteria or {})

    async def advise(self, consultation: Consultation) -> str:
        """What the model says. Raises ExpertFailed where its endpoint does."""
        messages = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": self._case(consultation)},
        ]
        try:
            async with ChatEndpoint(self._settings) as endpoint:
                completion = await endpoint.complete(messages, most_tokens=_LONGEST_ADVICE_TOKENS)
        except EndpointFailed as failure:
            raise ExpertFailed(str(failure)) from failure
        return completion.content.rpartition("</think>")[2].strip() or "I have no advice."

    def _case(self, consultation: Consultation) -> str:
        tools = [
            {"name": tool.name, "description": tool.description, "arguments": tool.input_schema}
            for tool in consultation.tools
        ]
        calls = [
            f"{each.request.name}({json.dumps(each.request.arguments)}) → {each.answer}"
            for each in consultation.made
        ]
        parts = {
            "The task": consultation.prompt,
            "What is checked": self._criteria.get(consultation.task, ""),
            "The tools": json.dumps(tools, ensure_ascii=False),
            "Calls so far": "\n".join(calls) or "none",
            "The agent asks": consultation.question,
        }
        return "\n\n".join(f"{title}:\n{text}" for title, text in parts.items() if text)


@dataclass(slots=True)
class Counsel:
    """An episode's access to the expert, and what came of it."""

    expert: Expert
    task: str
    prompt: str
    tools: tuple[Tool, ...] = ()
    made: list[Made] = field(default_factory=list[Made])
    asked: int = 0
    blind: int = 0
    """Questions before the agent did anything, or anything new."""
    recovered: int = 0
    """Questions that came after a failure, and before a call that succeeded."""
    failed: int = 0
    """Questions that the expert could not answer. They count as nothing else."""
    _acted: bool = False
    """Whether the agent did something since it asked last."""
    _stuck: bool = False
    """Whether what it did last failed."""
    _recovering: bool = False
    """Whether it was stuck when it asked."""

    async def ask(self, arguments: Mapping[str, Any]) -> str:
        """What the expert says to a question, or why it says nothing."""
        question = arguments.get("question")
        if not isinstance(question, str) or len(arguments) != 1:
            return 'error: invalid_arguments: ask_expert takes "question", a text, and nothing else'
        consultation = Consultation(
            self.task, self.prompt, self.tools, tuple(self.made), question[:_LONGEST_QUESTION]
        )
        try:
            advice = await self.expert.advise(consultation)
        except ExpertFailed:
            self.failed += 1
            return "error: the expert is not available"
        self.asked += 1
        self.blind += not self._acted
        self._recovering = self._acted and self._stuck
        self._acted = False
        return advice

    def note(self, request: ToolRequest, answer: str, *, succeeded: bool) -> None:
        """Take in a call of the agent's own to the world."""
        self.made.append(Made(request, answer, succeeded))
        self.recovered += succeeded and self._recovering
        self._acted, self._stuck, self._recovering = True, not succeeded, False

    def note_malformed(self) -> None:
        """Take in a call that broke the format."""
        self._acted, self._stuck = True, True
