"""The tiny tier: many worlds around one small app, each with names, numbers and tasks of its own.

These are no built-in worlds, and easier than any of those: seven tools, three tables, a few lines of prompt.
A model of a million parameters can learn them on two CPU cores, and that is what they are for.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from subworlds.training.proof.errands import KINDS, Desk, Errand, Kind, Named, Thing
from subworlds.training.proof.words import Words, pools

_DESK = Path(__file__).parent / "desk"
_CLOCK = "2026-03-02T09:00:00Z"
_PEOPLE, _SHELVES, _THINGS = 8, 5, 20
_MOST_DRAWS = 1_000


@dataclass(frozen=True, slots=True)
class TierSettings:
    """How much of it there is. The same settings, the same files."""

    worlds: Mapping[str, int] = field(default_factory=lambda: {"train": 24, "validation": 6, "test": 10})
    """By split: a world belongs to one split, with all its tasks."""
    tasks: Mapping[str, int] = field(default_factory=lambda: {"train": 8, "validation": 1, "test": 4})
    """Tasks of each kind in one world."""
    seed: int = 0


def write_tier(folder: Path, settings: TierSettings) -> None:
    """Write the worlds into a new folder.

    Raises:
        FileExistsError: there is one already.
        ValueError: a world was asked for more different tasks of a kind than it has.
    """
    folder.mkdir(parents=True)
    for split, words in pools().items():
        for number in range(settings.worlds[split]):
            name = f"desk_{split}_{number:02}"
            chance = random.Random(f"{settings.seed}/{name}")
            desk = draw_desk(words, chance)
            write_world(folder / name, desk, draw_tasks(name, split, desk, settings.tasks[split], chance))


def draw_desk(words: Words, chance: random.Random) -> Desk:
    """The rows of a world. Half of its things are with somebody."""
    count = _PEOPLE + _SHELVES + _THINGS
    names, numbers = chance.sample(words.names, count), chance.sample(words.numbers, count)
    rows = [Named(number, name) for number, name in zip(numbers, names, strict=True)]
    people, shelves = rows[:_PEOPLE], rows[_PEOPLE : _PEOPLE + _SHELVES]
    things = [
        Thing(row.number, row.name, chance.choice(shelves), chance.choice(people) if place % 2 else None)
        for place, row in enumerate(rows[_PEOPLE + _SHELVES :])
    ]
    return Desk(tuple(people), tuple(shelves), tuple(things))


def draw_tasks(world: str, split: str, desk: Desk, each: int, chance: random.Random) -> list[dict[str, Any]]:
    """Lines of tasks.jsonl: `each` different tasks of every kind."""
    lines: list[dict[str, Any]] = []
    for kind in KINDS:
        lines += [
            {
                "id": f"{world}/{kind.name}-{number:03}",
                "prompt": errand.prompt,
                "difficulty": kind.difficulty,
                "split": split,
                "tags": [kind.name],
                "solution": list(errand.solution),
                **({"answer": errand.answer} if errand.answer else {}),
            }
            for number, errand in enumerate(_draw_different(kind, desk, each, chance), 1)
        ]
    return lines


def _draw_different(kind: Kind, desk: Desk, count: int, chance: random.Random) -> list[Errand]:
    found: dict[str, Errand] = {}
    for _ in range(_MOST_DRAWS):
        if len(found) == count:
            return list(found.values())
        errand = kind.draw(desk, chance)
        found[errand.prompt] = errand
    raise ValueError(f"a world has fewer than {count} different tasks of the kind {kind.name}")


def write_world(folder: Path, desk: Desk, tasks: Sequence[Mapping[str, Any]]) -> None:
    """A native world: see docs/authoring.md."""
    folder.mkdir()
    for name in ("app.py", "schema.sql"):
        shutil.copyfile(_DESK / name, folder / name)
    about = {
        "name": folder.name,
        "title": "A desk of the tiny tier",
        "description": "People, shelves, and things that are lent: for models of a million parameters.",
        "clock": _CLOCK,
    }
    (folder / "scenario.json").write_text(json.dumps(about, indent=2) + "\n")
    (folder / "seed.sql").write_text(_seed(desk))
    (folder / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in tasks))


def _seed(desk: Desk) -> str:
    people = [(each.number, each.name) for each in desk.people]
    shelves = [(each.number, each.name) for each in desk.shelves]
    things = [
        (each.number, each.name, each.shelf.number, each.holder.number if each.holder else None)
        for each in desk.things
    ]
    return "".join(
        _insert(table, rows) for table, rows in (("people", people), ("shelves", shelves), ("things", things))
    )


def _insert(table: str, rows: Sequence[tuple[Any, ...]]) -> str:
    lines = ",\n".join(f"  ({', '.join(map(_literal, row))})" for row in rows)
    return f"INSERT INTO {table} VALUES\n{lines};\n"


def _literal(value: Any) -> str:
    """SQL of a number, nothing, or a name; names are letters alone."""
    return "NULL" if value is None else str(value) if isinstance(value, int) else f"'{value}'"
