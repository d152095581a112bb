"""What a model says in one turn, read strictly: tool calls in Qwen's format, or an answer.

    <tool_call>
    {"name": "renew_loan", "arguments": {"loan_id": 17}}
    </tool_call>

A turn with a call is not over; one without is the answer, and ends the episode. A call that breaks the format
is told to the model as a typed observation, in the place of a result, and never guessed at.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_THOUGHT_ENDS = "</think>"
_BLOCK = re.compile(re.escape(OPEN) + r"(.*?)" + re.escape(CLOSE), re.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A well-formed call. Whether there is such a tool, and such arguments, is for the world to say."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that was meant to be a call."""

    reason: str

    def __str__(self) -> str:
        return f"invalid_tool_call: {self.reason}"


Request: TypeAlias = ToolRequest | Malformed


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the model."""

    requests: tuple[Request, ...]
    """In order. Empty where the turn is the answer."""
    answer: str | None
    """What it said at the end, without its thoughts; None where it asks for tools."""

    @property
    def malformed(self) -> bool:
        """Whether any call broke the format."""
        return any(isinstance(request, Malformed) for request in self.requests)


def read_turn(text: str) -> Turn:
    """Read one turn.

    Args:
        text: what the model wrote, without its end-of-turn token.
    """
    said = text.rpartition(_THOUGHT_ENDS)[2]
    if OPEN not in said and CLOSE not in said:
        return Turn((), said.strip())
    blocks = _BLOCK.findall(said)
    if said.count(OPEN) != len(blocks) or said.count(CLOSE) != len(blocks):
        return Turn((Malformed(f"every {OPEN} needs one {CLOSE} of its own"),), None)
    return Turn(tuple(_read_request(block) for block in blocks), None)


def write_request(request: ToolRequest) -> str:
    """A call as a model writes it."""
    body = json.dumps({"name": request.name, "arguments": request.arguments}, ensure_ascii=False)
    return f"{OPEN}\n{body}\n{CLOSE}"


def _read_request(block: str) -> Request:
    try:
        found = json.loads(block, object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        return Malformed(f"not JSON: {error}")
    if not isinstance(found, dict):
        return Malformed('not a JSON object with "name" and "arguments"')
    fields = cast("dict[str, Any]", found)
    name, arguments = fields.get("name"), fields.get("arguments", {})
    if not isinstance(name, str) or not name:
        return Malformed('"name" must be the name of a tool')
    if not isinstance(arguments, dict):
        return Malformed('"arguments" must be a JSON object')
    if unknown := sorted(fields.keys() - {"name", "arguments"}):
        return Malformed(f'only "name" and "arguments" belong there, not {", ".join(unknown)}')
    return ToolRequest(name, cast("dict[str, Any]", arguments))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")
