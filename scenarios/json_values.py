"""What kind of JSON value it is, in a way that type checkers follow."""

from __future__ import annotations

from typing import TypeGuard

from .task import JSON


def is_object(value: JSON) -> TypeGuard[dict[str, JSON]]:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def is_array(value: JSON) -> TypeGuard[list[JSON]]:
    """Whether it is a JSON array."""
    return isinstance(value, list)
