"""scenario.json: what a native scenario says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .fields import Fields, Place, expected, filled, flag, obj, text, whole
from .files import read_json
from .task import DEFAULT_CLOCK, JSON

ABOUT = "scenario.json"

_TIME = "a time such as '2026-03-01T09:00:00Z'"


@dataclass(frozen=True, slots=True)
class Generated:
    """How the generated lines of tasks.jsonl, those with a `template`, can be generated again."""

    seed: int
    count: int
    """How many there are."""


@dataclass(frozen=True, slots=True)
class About:
    """What scenario.json says."""

    title: str
    description: str
    clock: datetime
    generated: Generated | None = None
    """None where every task was written by hand."""
    strict_references: bool = True
    """Whether a seed row that points at a missing row stops the world."""


def read_about(path: Path, name: str, place: Place) -> About | None:
    """What the scenario called `name` says in the file at `path`; None if something is wrong (reported)."""
    fields = read_json(path, place)
    if fields is None:
        return None
    fields.only(("name", "title", "description", "clock", "generated", "strict_references"))
    _check_name(fields, name)
    title = fields.required("title", filled)
    description = fields.required("description", filled)
    clock = fields.optional("clock", _clock)
    generated = fields.optional("generated", _generated)
    strict = fields.optional("strict_references", flag)
    if title is None or description is None:
        return None
    return About(title, description, clock or DEFAULT_CLOCK, generated, strict is not False)


def _check_name(fields: Fields, name: str) -> None:
    written = fields.required("name", filled)
    if written is not None and written != name:
        expected(f"the folder's name {name!r}", written, fields.place.key("name"))


def _generated(value: JSON, place: Place) -> Generated | None:
    fields = obj(value, place)
    if fields is None:
        return None
    fields.only(("seed", "count"))
    seed, count = fields.required("seed", whole), fields.required("count", whole)
    return None if seed is None or count is None else Generated(seed, count)


def _clock(value: JSON, place: Place) -> datetime | None:
    written = text(value, place)
    if written is None:
        return None
    try:
        clock = datetime.fromisoformat(written)
    except ValueError:
        expected(_TIME, written, place)
        return None
    if clock.tzinfo is None:
        expected(f"{_TIME}, with its zone", written, place)
        return None
    return clock
