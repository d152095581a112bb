"""A world's tool as agents see it, and what a call of it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .task import JSON


class FailureKind(StrEnum):
    """Why a tool call gave no result. Decided where the failure happens, never from its text."""

    TOOL_NOT_FOUND = "tool_not_found"
    INVALID_ARGUMENTS = "invalid_arguments"
    TOOL_FAILED = "tool_failed"
    TIMEOUT = "timeout"
    WORLD_CRASHED = "world_crashed"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of a world."""

    name: str
    description: str
    input_schema: dict[str, Any]
    """JSON Schema (an object) of the arguments."""


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """A tool call that gave no result."""

    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call answered: a result or a failure."""

    result: JSON = None
    failure: ToolFailure | None = None
    truncated: bool = False
    """Whether the output was over the limit and `result` is the text of its beginning, with a note."""
