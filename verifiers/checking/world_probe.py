"""Plays a world as nobody would train on it: to learn what its tools and its verifiers do."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...scenarios.json_values import is_array, is_object
from ...scenarios.manager import ScenarioManager
from ...scenarios.seed_values import seed_values
from ...scenarios.session import WorldCrashed
from ...scenarios.task import Scenario, Task, ToolCall
from ...scenarios.tool import FailureKind, Tool
from ..service import Verification
from ..verdict import Verdict

_TRIES = 4
"""Calls of each tool."""
_VALUES_KEPT = 8
_MANY = 1000
"""More than any argument has values to choose from."""
_VALUES_READ = 2000
_NAMES_OF_TIMES = re.compile(r"date|time|_at$|_on$|deadline|start|end|until|since|from|to$")
_TIMES = ("2026-03-10", "2026-03-10T09:00:00", "09:00", "2026-03-10T09:00:00Z")
_LAST_DIGIT = re.compile(r"[0-9](?=[^0-9]*$)")
_USUAL: Mapping[str, tuple[Any, ...]] = {
    "integer": (1, 2, 3, 10),
    "number": (1, 10, 2.5, 100),
    "string": ("abc", "active", "1234", "2026-03-10"),
    "boolean": (True, False),
    "array": ([],),
    "object": ({},),
}


async def verdict_of_idleness(manager: ScenarioManager, verification: Verification, task: Task) -> Verdict:
    """What an agent gets that does nothing and says nothing.

    Raises:
        ScenarioError, SandboxError, ServerFull
    """
    session = await manager.start_session(task.scenario)
    try:
        final = await session.finish()
        return await verification.verify(task, initial=session.snapshot, final=final, answer=None, calls=0)
    except WorldCrashed as error:
        return Verdict("world_error", str(error))
    finally:
        await session.close()


@dataclass(frozen=True, slots=True)
class Probed:
    """What came of calling tools with likely arguments."""

    failing: Mapping[str, str]
    """The tools of which no call succeeded, with the last failure."""
    working: Mapping[str, ToolCall]
    """A call that succeeded, of each of the others."""


async def probe_tools(
    manager: ScenarioManager,
    scenario: Scenario,
    *,
    among: Collection[str] | None = None,
    tries: int = _TRIES,
    answers: Iterable[Any] = (),
) -> Probed:
    """Call tools a few times with what they require, in values that the world's SQL and other tools' results
    show under the same name. Raises as verdict_of_idleness does.

    A tool may be sound and yet fail, where nobody could guess what it wants.

    Args:
        among: the tools to call; None: all.
        answers: what tools are known to have answered, to learn values from.
    """
    failing: dict[str, str] = {}
    working: dict[str, ToolCall] = {}
    given_up: set[str] = set()
    seen = _Seen(seed_values(scenario))
    for answer in answers:
        seen.learn(answer)
    tools = [tool for tool in await manager.tools(scenario.name) if among is None or tool.name in among]
    tools.sort(key=lambda tool: len(tool.input_schema.get("required", ())))
    session = await manager.start_session(scenario.name, counted=False)
    try:
        for number in range(tries):
            for tool in tools:
                if tool.name in working or tool.name in given_up:
                    continue
                call = ToolCall(tool.name, seen.arguments(tool, number))
                outcome = await session.call(call.tool, call.arguments)
                if outcome.failure is None:
                    failing.pop(tool.name, None)
                    working[tool.name] = call
                    seen.learn(outcome.result)
                    continue
                if outcome.failure.kind is FailureKind.TIMEOUT or not session.alive:
                    given_up.add(tool.name)  # each further call would take as long
                if session.alive:
                    failing[tool.name] = outcome.failure.message.partition("\n")[0]
                else:
                    failing[tool.name] = f"its world ended: {outcome.failure.message}"
                    await session.close()
                    session = await manager.start_session(scenario.name, counted=False)
    except WorldCrashed:
        pass
    finally:
        await session.close()
    return Probed(failing, working)


class _Seen:
    """Values that have been seen, by the name they had."""

    def __init__(self, known: Iterable[tuple[str, Any]]) -> None:
        self._values: dict[str, list[Any]] = {}
        self._keep(known)

    def learn(self, result: Any) -> None:
        """Take in what a tool answered."""
        self._keep(itertools.islice(_named_values(result), _VALUES_READ))

    def _keep(self, named: Iterable[tuple[str, Any]]) -> None:
        for name, value in named:
            kept = self._values.setdefault(name, [])
            if value not in kept and len(kept) < _VALUES_KEPT:
                kept.append(value)

    def arguments(self, tool: Tool, number: int) -> dict[str, Any]:
        """What the tool requires, in the values of that try; later tries add an optional argument."""
        schema = tool.input_schema
        properties = schema.get("properties", {})
        required = list(schema.get("required", ()))
        optional = [name for name in properties if name not in required]
        extra = optional[(number - _TRIES) % len(optional)] if optional and number >= _TRIES else None
        names = required if extra is None else [*required, extra]
        chance = random.Random(number)
        return {
            name: self._value(name, properties.get(name, {}), self._turn(number, chance)) for name in names
        }

    def _turn(self, number: int, chance: random.Random) -> int:
        """Which of an argument's values it is: all the first, then all the second; later any mixture."""
        return number if number < _TRIES else chance.randrange(_MANY)

    def _value(self, name: str, schema: Mapping[str, Any], number: int) -> Any:
        for branch in schema.get("anyOf", ()):
            if branch.get("type") != "null":
                return self._value(name, branch, number)
        if schema.get("enum"):
            return schema["enum"][number % len(schema["enum"])]
        kind = schema.get("type", "string")
        fitting = [value for value in self._values.get(name, ()) if _fits(value, kind)]
        usual = _TIMES if kind == "string" and _NAMES_OF_TIMES.search(name) else _USUAL.get(kind, ("abc",))
        values = (*fitting[: _TRIES - 1], *usual, *fitting[_TRIES - 1 :], *_new_ones(fitting))
        return values[number % len(values)]


def _new_ones(values: Iterable[Any]) -> Iterator[str]:
    """Texts that look like these and are not yet in use."""
    for value in values:
        if isinstance(value, str):
            yield f"new.{value}"
            yield _LAST_DIGIT.sub(lambda digit: str((int(digit[0]) + 1) % 10), value)


def _fits(value: Any, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int)
        case "number":
            return isinstance(value, int | float)
        case _:
            return isinstance(value, str) and kind == "string"


def _named_values(result: Any, owner: str = "") -> Iterator[tuple[str, Any]]:
    """Each plain value with its key, and an `id` also as that of the list it was found in."""
    if is_object(result):
        for key, value in result.items():
            if is_object(value) or is_array(value):
                yield from _named_values(value, key)
            elif value is not None:
                yield key, value
                if key == "id" and owner:
                    yield f"{owner.removesuffix('s')}_id", value
    elif is_array(result):
        for item in result:
            yield from _named_values(item, owner)
