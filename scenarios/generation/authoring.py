"""The author's side of generation: what a generator.py imports, and nothing that touches a file.

A generator has `rows(rng)`, which yields the seed row by row, and functions marked with `@template`, which
draw one task each time they are called, or None where this draw gives no sound task.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

Difficulty = Literal["easy", "medium", "hard"]
Call = dict[str, Any]
Row = dict[str, Any]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Draft:
    """One task as a template drew it."""

    prompt: str
    solution: Sequence[Call]
    """The gold calls, in order: see `call`."""
    answer: Mapping[str, Any] | None = None
    """`{"text"|"number"|"list": ...}` as in tasks.jsonl."""
    verify: Mapping[str, Any] | None = None
    """As in tasks.jsonl; None: the state that the solution reaches."""
    tags: tuple[str, ...] | None = None
    """Instead of the template's: for a draw that only reads where its siblings write."""
    about: Any = None
    """What the task is about, as JSON: drafts about the same thing share a split. None: its solution."""


class World:
    """The seeded database, to read, and the time at which an episode starts."""

    def __init__(self, connection: sqlite3.Connection, clock: datetime) -> None:
        connection.row_factory = _as_dict
        self._connection = connection
        self.clock = clock

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        """The rows of a query, each as a dict. Have it ordered: what is drawn follows the order."""
        return self._connection.execute(sql, parameters).fetchall()

    def value(self, sql: str, *parameters: Any) -> Any:
        """The first column of the first row; None where there is none."""
        found = self.rows(sql, *parameters)
        return next(iter(found[0].values())) if found else None


@dataclass(frozen=True, slots=True)
class TaskTemplate:
    """A function that draws tasks of one kind."""

    name: str
    difficulty: Difficulty
    tags: tuple[str, ...]
    draw: Callable[[World, random.Random], Draft | None]

    def __call__(self, world: World, rng: random.Random) -> Draft | None:
        return self.draw(world, rng)


def template(
    name: str, *, difficulty: Difficulty, tags: Sequence[str] = ()
) -> Callable[[Callable[[World, random.Random], Draft | None]], TaskTemplate]:
    """Mark a function as a template.

    Args:
        name: small letters, digits and dashes; the ids of its tasks are `world/name-001` and so on.
        difficulty: easy for 1-2 gold calls, medium for 3-5, hard for 6-12.
    """

    def mark(draw: Callable[[World, random.Random], Draft | None]) -> TaskTemplate:
        return TaskTemplate(name, difficulty, tuple(tags), draw)

    return mark


def call(tool: str, /, **arguments: Any) -> Call:
    """One gold call."""
    return {"tool": tool, "arguments": arguments}


def pick(rng: random.Random, choices: Sequence[T]) -> T | None:
    """One of the choices, or None where there are none."""
    return rng.choice(choices) if choices else None


def phrase(rng: random.Random, *phrasings: str, **values: Any) -> str:
    """One of the phrasings with its values filled in. All are tried, so that a slip in one shows at once."""
    return rng.choice([phrasing.format(**values) for phrasing in phrasings])


def _as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
