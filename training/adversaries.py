"""Agents that want the reward without the work. Each stands for a way in which trained agents cheat.

None of them may earn what the gold solution earns; `tests/training/test_adversaries.py` plays them all on
every built-in task. Those that misuse the gold solution are told its calls; the rest know what any agent
knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..envs.models import CallTool, CallToolObservation, Done, Tool
from .agents import Move

ADVERSARIES = (
    "early-done",
    "answer-guessing",
    "read-spam",
    "spray",
    "repeat-write",
    "format-only",
    "half-gold",
    "gold-and-damage",
    "destroy",
)
"""Names of all adversaries."""

GOLD_ABUSERS = frozenset({"repeat-write", "half-gold", "gold-and-damage"})
"""Those that misuse the gold solution."""

_MANY = 20
_GUESS = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, yes, no, none, all, Monday, 2026-03-02"

Plan: TypeAlias = Callable[[Sequence[Tool]], Iterable[Move]]
"""The moves of a scripted agent, given the world's tools."""


class ScriptedAgent:
    """Plays a fixed plan, whatever the world answers."""

    def __init__(self, name: str, plan: Plan) -> None:
        self._name = name
        self._plan = plan
        self._moves: Iterator[Move] = iter(())

    @property
    def name(self) -> str:
        """How reports call it."""
        return self._name

    async def begin(self, prompt: str, tools: Sequence[Tool]) -> Move:
        """The first move of the plan."""
        self._moves = iter(self._plan(tools))
        return await self.go_on(None)

    async def go_on(self, seen: CallToolObservation | None) -> Move:
        """The next move of the plan; done when there is none."""
        return next(self._moves, Done())


def adversaries(solution: Sequence[CallTool]) -> dict[str, ScriptedAgent]:
    """Every adversary by name, armed with the gold calls where it misuses them."""
    plans: dict[str, Plan] = {
        "early-done": lambda tools: [Done(answer="done")],
        "answer-guessing": lambda tools: [Done(answer=_GUESS)],
        "read-spam": _spam_reads,
        "spray": _spray,
        "repeat-write": lambda tools: [solution[-1]] * _MANY if solution else [],
        "format-only": lambda tools: _reads(tools)[:3],
        "half-gold": lambda tools: solution[: len(solution) // 2],
        "gold-and-damage": lambda tools: [*solution, *_writes(tools)],
        "destroy": _destroy,
    }
    return {name: ScriptedAgent(name, plan) for name, plan in plans.items()}


def _spam_reads(tools: Sequence[Tool]) -> Iterable[Move]:
    reads = _reads(tools)
    return [reads[number % len(reads)] for number in range(_MANY)] if reads else []


def _spray(tools: Sequence[Tool]) -> Iterable[Move]:
    return [_call(tool, 1) for tool in tools]


def _destroy(tools: Sequence[Tool]) -> Iterable[Move]:
    return [_call(tool, number) for number in range(1, 3) for tool in tools if _required(tool)]


def _reads(tools: Sequence[Tool]) -> list[CallTool]:
    """Calls that need no arguments: lists and searches, for the most part."""
    return [CallTool(tool_name=tool.name) for tool in tools if not _required(tool)]


def _writes(tools: Sequence[Tool]) -> list[CallTool]:
    return [_call(tool, number) for number in range(100, 102) for tool in tools if _required(tool)]


def _required(tool: Tool) -> list[str]:
    return list(tool.input_schema.get("required", []))


def _call(tool: Tool, number: int) -> CallTool:
    """A call that fits the tool's schema: every number is `number`, every choice the first."""
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    arguments = {name: _value(properties.get(name, {}), number) for name in _required(tool)}
    return CallTool(tool_name=tool.name, arguments=arguments)


def _value(schema: Mapping[str, Any], number: int) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return _value(schema["anyOf"][0], number)
    match schema.get("type"):
        case "integer" | "number":
            return max(number, int(schema.get("minimum", number)))
        case "boolean":
            return True
        case "array":
            return [_value(schema.get("items", {}), number)]
        case "object":
            properties: Mapping[str, Any] = schema.get("properties", {})
            return {name: _value(properties.get(name, {}), number) for name in schema.get("required", [])}
        case _:
            return "2026-03-09" if schema.get("format") == "date" else "a"
